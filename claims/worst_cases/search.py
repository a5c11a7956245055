"""All instances of so many requests and so much memory: the optimum of each, and each policy's TEL.

All requests arrive at 0.  An instance is a multiset of (prompt, output), s ≥ 0, o ≥ 1, s + o ≤ M.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, permutations

from claims.ledger.shown import together
from heuristics.registry import policies
from heuristics.simulator import run_policy

#: A request as (prompt, output), tokens.
Pair = tuple[int, int]
#: Policies that know the outputs and draw nothing.
POLICIES = (
    "fcfs",
    "mc-sf",
    "mc-sf-first-fit",
    "mc-sf-total",
    "output-peak",
    "sorted-f-dp",
    "sorted-f-exact",
    "sorted-f-swap",
    "svf",
    "svf-first-fit",
)


@dataclass(frozen=True)
class Worst:
    """The largest TEL of a policy over the optimum, among instances of n requests and M tokens."""

    policy: str
    n: int
    memory: int
    tel: int
    optimum: int
    requests: tuple[Pair, ...]

    @property
    def ratio(self) -> Fraction:
        """TEL over the optimum."""
        return Fraction(self.tel, self.optimum)


def multisets(n: int, memory: int) -> Iterator[tuple[Pair, ...]]:
    """Return all instances of n requests, up to their order."""
    pairs = [(s, o) for s in range(memory) for o in range(1, memory - s + 1)]
    return combinations_with_replacement(pairs, n)


def optimum(requests: Sequence[Pair], memory: int) -> int:
    """Return the least TEL (rounds) of requests that all arrive at 0, by dynamic programming.

    The state is what waits and the tokens that those that run will hold at each later time.  At a
    round a waiting request starts, which costs its output, or the round passes, which costs one
    for each that waits.  Requests that start at one round do so in the order of the list.  Where
    none runs one of those that wait may start now: to wait would shift all that follows.
    """

    @cache
    def least(waiting: tuple[Pair, ...], held: tuple[int, ...], first: int) -> int:
        if not waiting:
            return 0
        found = [len(waiting) + least(waiting, held[1:], 0)] if held else []
        for place in range(first, len(waiting)):
            s, o = waiting[place]
            if place > first and waiting[place] == waiting[place - 1]:
                continue
            length = max(len(held), o)
            after = [*held, *[0] * (length - len(held))]
            after[:o] = [tokens + s + j for j, tokens in enumerate(after[:o], 1)]
            if max(after) <= memory:
                left = waiting[:place] + waiting[place + 1 :]
                found.append(o + least(left, tuple(after), place))
        return min(found, default=_NEVER)

    return least(tuple(sorted(requests)), (), 0)


#: Above every TEL of small instances: nothing that waits may start any more at this round.
_NEVER = 10**9


def worst(n: int, memory: int) -> list[Worst]:
    """Return the worst of each policy, over all orders of the requests; the first among equals."""
    found: dict[str, Worst] = {}
    for requests in multisets(n, memory):
        least = optimum(requests, memory)
        for order in dict.fromkeys(permutations(requests)):
            instance = together(memory, *order)
            for name in POLICIES:
                tel = run_policy(policies()[name], instance).tel
                best = found.get(name)
                if best is None or tel * best.optimum > best.tel * least:
                    found[name] = Worst(name, n, memory, tel, least, order)
    return list(found.values())
