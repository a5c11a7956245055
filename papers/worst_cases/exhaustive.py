"""All instances of a size: the optimum of each, and each policy's TEL.

A size is a number of requests, a memory and a latest arrival.  An instance is a multiset of
requests (a, s, o) with s ≥ 0, o ≥ 1, s + o ≤ M; the first arrives at 0.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations_with_replacement, permutations

from heuristics.policy import AdvisedPolicy
from heuristics.policy_registry import policies
from heuristics.simulator import run_policy
from instances.worst_case_rows import Triple, WorstCase
from papers.ledger.check_results import arriving

#: Policies that know the outputs, draw nothing, and differ from one another.
POLICIES = (
    *("fcfs", "mc-sf", "mc-sf-first-fit", "mc-sf-total", "output-peak", "sorted-f-dp"),
    *("sorted-f-exact", "sorted-f-swap", "svf", "svf-1bit", "svf-first-fit", "wait"),
)
#: Policies with the schedules of another policy.
SAME = {"h-sf": "mc-sf", "mc-benchmark": "fcfs"}
#: A cost above every TEL of small instances: no waiting request may start at this round.
_NEVER = 10**9


def left_out() -> dict[str, str]:
    """Return the reason by policy for having no exact worst case."""
    return {name: _reason(name) for name in policies() if name not in POLICIES}


def _reason(name: str) -> str:
    policy = policies()[name]
    if name in SAME:
        return f"makes the schedules of `{SAME[name]}`"
    if isinstance(policy, AdvisedPolicy):
        return "follows one of several optimal solutions of an LP relaxation"
    if getattr(policy, "keeps_tokens", False):
        return "keeps tokens over evictions, an easier problem with another optimum"
    if policy.randomised:
        return "draws: its TEL is a mean over seeds"
    if not policy.clairvoyant:
        return "does not know the outputs: its TEL depends on the predictions, or has no end"
    return "not computed yet"


def multisets(n: int, memory: int, latest: int = 0) -> Iterator[tuple[Triple, ...]]:
    """Return all instances of n requests up to order; the first arrives at 0."""
    kinds = [
        (a, s, o)
        for a in range(latest + 1)
        for s in range(memory)
        for o in range(1, memory - s + 1)
    ]
    return (found for found in combinations_with_replacement(kinds, n) if found[0][0] == 0)


def optimum(requests: Sequence[Triple], memory: int) -> int:
    """Return the least TEL (rounds), by dynamic programming.

    The state is the round, the waiting requests, and the tokens that running requests hold at later
    times.  A waiting request starts, at the cost of its output, or the round passes, at a cost of
    one per waiting request.  Starts at one round follow the list's order.  If none runs and all
    have arrived, one starts now: waiting would only shift the schedule.
    """
    last = max(arrival for arrival, _, _ in requests)

    @cache
    def least(now: int, waiting: tuple[Triple, ...], held: tuple[int, ...], first: int) -> int:
        if not waiting:
            return 0
        arrived = sum(arrival <= now for arrival, _, _ in waiting)
        later = min(now + 1, last)
        passes = held or arrived < len(waiting)
        found = [arrived + least(later, waiting, held[1:], 0)] if passes else []
        for place in range(first, len(waiting)):
            a, s, o = waiting[place]
            if a > now or (place > first and waiting[place] == waiting[place - 1]):
                continue
            length = max(len(held), o)
            after = [*held, *[0] * (length - len(held))]
            after[:o] = [tokens + s + j for j, tokens in enumerate(after[:o], 1)]
            if max(after) <= memory:
                left = waiting[:place] + waiting[place + 1 :]
                found.append(o + least(now, left, tuple(after), place))
        return min(found, default=_NEVER)

    return least(0, tuple(sorted(requests)), (), 0)


def worst(n: int, memory: int, latest: int = 0) -> list[WorstCase]:
    """Return each policy's first worst case over all instances and request orders."""
    found: dict[str, WorstCase] = {}
    for requests in multisets(n, memory, latest):
        least = optimum(requests, memory)
        for order in dict.fromkeys(permutations(requests)):
            instance = arriving(memory, order)
            for name in POLICIES:
                tel = run_policy(policies()[name], instance).tel
                best = found.get(name)
                if best is None or tel * best.optimum > best.tel * least:
                    found[name] = WorstCase(name, n, memory, latest, tel, least, order)
    return list(found.values())
