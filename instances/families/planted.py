"""Waves of requests that fill the memory exactly; the optimum is known at any size.

Ours; the idea of 3-Partition, with outputs longer than one token and waves of any width.

*Construction.*  Let k be the width, and q = M // (k+1).  Wave w = 1..m consists of k requests with
one common output o_w and prompts of at least q tokens that sum to M - k·o_w.  Waves are numbered
so that o_1 <= o_2 <= ... <= o_m.  With S_w = o_1 + ... + o_w, a request of wave w arrives at round
0 or, in the online form, at a random round from 0..S_(w-1).  The requests are listed by arrival,
otherwise in random order.

*Upper bound.*  Start all of wave w at round S_(w-1).  Nobody has arrived later, the waves follow
each other, and wave w holds its most at S_w: the prompts and k·o_w tokens, which is M.  Every
request of wave w completes at S_w, so TEL = k·(S_1 + ... + S_m) - (sum of the arrivals).

*Lower bound.*  At any integer time at which k + 1 requests were active they would hold at least
(k+1)(q+1) > M tokens, as each holds its prompt and one token or more.  So at most k are active at
any time, and the runs of any schedule can be laid on k lanes, where the runs of a lane do not
overlap.  In a lane, the completion of a run is at least the sum of its own output and those of all
runs before it in that lane; so the completions of a lane sum to at least 1 × its last output
+ 2 × the last but one + and so on.  Over all lanes each factor 1, 2, 3, ... is used at most k
times, so the sum is least when the k longest outputs have factor 1, the next k factor 2, and so
on: at least the sum over w of k·(m - w + 1)·o_w = k·(S_1 + ... + S_m).  Arrivals leave this bound
on the completions as it is: they only rule schedules out.  Their sum is what TEL subtracts.
"""

from itertools import accumulate

from instances.families.draws import Draws
from instances.families.shared import (
    Count,
    Length,
    Memory,
    Seed,
    at_least,
    not_too_many,
    numbered,
    ranged,
)
from instances.instance import Instance


@ranged
def generate(
    seed: Seed = 0,
    waves: Count = 10,
    width: Count = 3,
    memory: Memory = 240,
    longest: Length | None = None,
    online: bool = False,
) -> Instance:
    """Draw an instance of m ``waves`` of k = ``width`` requests with a planted optimal schedule.

    M is at least k(k+1), so that an output of one token exists; ``longest`` outputs have at most M
    // k - M // (k+1) tokens, by default half of that, rounded up: the longer they are, the less the
    prompts of a wave can differ.  ``online`` requests arrive at random rounds up to their planted
    start.
    """
    rows = _drawn(seed, waves, width, memory, longest, online)
    form = "_online" if online else ""
    return Instance(
        name=f"planted{form}_n{len(rows)}_k{width}_seed{seed}",
        family="planted",
        source="kvopt, instances/families/planted.py",
        seed=seed,
        memory=memory,
        requests=numbered(row[:3] for row in rows),
        known_optimum=sum(start + output - arrival for arrival, _, output, start in rows),
        known_optimum_reason=(
            f"never more than {width} requests fit together, and planted waves of {width} equal "
            "outputs, shortest first, fill the memory exactly"
        ),
    )


def planted_starts(
    seed: int = 0,
    waves: int = 10,
    width: int = 3,
    memory: int = 240,
    longest: int | None = None,
    online: bool = False,
) -> tuple[int, ...]:
    """Return the start rounds of the planted schedule, request by request; parameters as above."""
    return tuple(start for *_, start in _drawn(seed, waves, width, memory, longest, online))


def _drawn(
    seed: int, waves: int, width: int, memory: int, longest: int | None, online: bool
) -> list[tuple[int, int, int, int]]:
    """Return arrival, prompt, output and planted start of each request, by arrival."""
    not_too_many(waves * width)
    at_least(width * (width + 1), memory=memory)
    least_prompt = memory // (width + 1)
    longest = _longest(memory // width - least_prompt, longest)
    draws = Draws(seed)
    outputs = sorted(draws.integer(1, longest) for _ in range(waves))
    rows = []
    for output, end in zip(outputs, accumulate(outputs), strict=True):
        spare = memory - width * (output + least_prompt)
        for part in _parts(draws, spare, width):
            arrival = draws.integer(0, end - output) if online else 0
            rows.append((arrival, least_prompt + part, output, end - output))
    return sorted(draws.shuffled(rows), key=lambda row: row[0])


def _longest(most: int, longest: int | None) -> int:
    if longest is not None and longest > most:
        raise ValueError(f"longest: expected at most M // k - M // (k+1) = {most}, found {longest}")
    return (most + 1) // 2 if longest is None else longest


def _parts(draws: Draws, total: int, count: int) -> list[int]:
    """Split a total at random places into integers of 0 or more."""
    cuts = sorted(draws.integer(0, total) for _ in range(count - 1))
    return [high - low for low, high in zip([0, *cuts], [*cuts, total], strict=True)]
