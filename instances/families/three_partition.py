"""3-Partition as a schedule: every round would have to hold three requests that fill it exactly.

Source: wang2025 Theorem 2.2 (Appendix 8), with the memory corrected.  Given 3m integers x that sum
to mT, all with T/4 < x < T/2, each becomes a request with s = x and o = 1.  The paper sets M = T,
but three requests that sum to T need T + 3 tokens (each also holds its output token), so here
M = T + 3.

*At most three run at once.*  Four integers above T/4 sum to at least T + 1, so four requests hold
at least T + 5 tokens.  Three fit exactly if their x sum to at most T.  As all outputs are one
token, the j-th completion is at round ceil(j/3) at the earliest, so TEL >= 3(1 + ... + m)
= 3m(m+1)/2.  Equality needs three requests in each of the rounds 1..m, each three summing to at
most T and all together to mT, hence each to T: a partition.

*Yes.*  The integers are drawn as m triples that sum to T; OPT = 3m(m+1)/2.

*No.*  Let d be the least prime factor of m.  All x are congruent to one residue r modulo d, where
3r is congruent to T - e and 0 < e < d: then every triple sums to T - e modulo d, never to T, so
there is no partition and OPT >= 3m(m+1)/2 + 1.  The sum mT does not give this away, since d
divides m.  The integers are drawn as m - 1 triples that sum to T - e and one that sums to
T + (m-1)e.  So one more round is enough: the m - 1 triples run in rounds 1..m-1, two of the
remaining three in round m (two integers below T/2 sum to less than T), the last in round m + 1,
with TEL 3m(m+1)/2 + 1, which is therefore OPT.
"""

from typing import Annotated

from instances.families.draws import Draws
from instances.families.shared import Count, Seed, Within, at_least, not_too_many, numbered, ranged
from instances.instance import MAX_TOKENS, Instance


@ranged
def generate(
    seed: Seed = 0,
    m: Count = 4,
    solvable: bool = True,
    target: Annotated[int, Within(12, MAX_TOKENS - 3)] = 1000,
) -> Instance:
    """Draw a yes- or a no-instance in random order; its optimum is known either way.

    It has m triples, each of the sum T = ``target`` (tokens), and M = T + 3.  Raises ValueError if
    a no-instance does not exist in this form: T is too small for m, or m is odd and both m and T
    are multiples of three.
    """
    step, residue, _ = _sums(m, solvable, target)
    rows = _drawn(seed, m, solvable, target)
    least = 3 * m * (m + 1) // 2
    answer = "yes" if solvable else "no"
    return Instance(
        name=f"three_partition_{answer}_m{m}_seed{seed}",
        family="three-partition",
        source="wang2025 Theorem 2.2, with M = T + 3 instead of T",
        seed=seed,
        memory=target + 3,
        requests=numbered((0, number, 1) for number, _ in rows),
        known_optimum=least if solvable else least + 1,
        known_optimum_reason=(
            "at most three requests fit in a round, and m planted triples fill m rounds exactly"
            if solvable
            else f"no three prompts sum to T, since all are {residue} modulo {step}; "
            "m - 1 planted triples fit in a round, so one request waits one round more"
        ),
    )


def planted_starts(
    seed: int = 0, m: int = 4, solvable: bool = True, target: int = 1000
) -> tuple[int, ...]:
    """Return the start rounds of the schedule that the triples imply; parameters as above."""
    return tuple(start for _, start in _drawn(seed, m, solvable, target))


def _drawn(seed: int, m: int, solvable: bool, target: int) -> list[tuple[int, int]]:
    """Return the numbers with planted starts; the last may start a round after its triple."""
    step, residue, sums = _sums(m, solvable, target)
    draws = Draws(seed)
    low, high = target // 4 + 1, (target - 1) // 2
    rows = [
        (number, k)
        for k, total in enumerate(sums)
        for number in _triple(draws, total, low, high, step, residue)
    ]
    if not solvable:
        rows[-1] = rows[-1][0], m
    return draws.shuffled(rows)


def _sums(m: int, solvable: bool, target: int) -> tuple[int, int, list[int]]:
    """Return the modulus d, the residue r, and the sums of the m triples."""
    at_least(1 if solvable else 2, m=m)
    not_too_many(3 * m)
    if solvable:
        return 1, 0, [target] * m
    step = next(d for d in range(2, m + 1) if m % d == 0)
    deficit = target % 3 if step == 3 else 1
    if deficit == 0:
        raise ValueError(f"target: expected no multiple of 3 for m = {m}, found {target}")
    residue = next(r for r in range(step) if (3 * r - target + deficit) % step == 0)
    return step, residue, [target - deficit] * (m - 1) + [target + (m - 1) * deficit]


def _triple(
    draws: Draws, total: int, low: int, high: int, step: int, residue: int
) -> tuple[int, int, int]:
    """Draw three integers of low..high, all congruent to the residue, with the given sum."""
    # In units of the step: residue + step * k.
    k_low = -((residue - low) // step)
    k_high = (high - residue) // step
    k_total = (total - 3 * residue) // step
    if not 3 * k_low <= k_total <= 3 * k_high:
        raise ValueError(
            f"target: expected one large enough for triples of {low}..{high} that are "
            f"{residue} modulo {step} and sum to {total}"
        )
    first = draws.integer(max(k_low, k_total - 2 * k_high), min(k_high, k_total - 2 * k_low))
    rest = k_total - first
    second = draws.integer(max(k_low, rest - k_high), min(k_high, rest - k_low))
    return (
        residue + step * first,
        residue + step * second,
        residue + step * (rest - second),
    )
