"""The one answer for who serves: what knowing more wins over vLLM's scheduler, in latency.

``evaluate.py``, the first sentence of its report, the leaderboard and the table of ``solve.py
--policy all`` all print :class:`Answer`; what is "relative to vllm-v1" is :func:`relative`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from instances.telling import counted
from instances.time_unit import ROUNDS, TimeUnit
from kvopt.best_bound import left, percent_left
from kvopt.methods.knowledge import MARK, Knowledge, policy_name
from kvopt.methods.witness import is_own

#: The policy that all are compared with, where it was run: what runs in production.
BASE = "vllm-v1"
_HINDSIGHT = "knowing all arrivals"


@dataclass(frozen=True)
class MethodTotal:
    """What a method has come to over some instances.

    Attributes
    ----------
    label
        How tables show the method.
    method
        Its text.
    knowledge
        What it knows; of a solver the outputs and all arrivals.
    total
        The sum of its TELs, rounds or nanoseconds.
    """

    label: str
    method: str
    knowledge: Knowledge
    total: float


@dataclass(frozen=True)
class Answer:
    """The mean latency of a request under the best method of each class.

    Attributes
    ----------
    base
        What the others are compared with.
    others
        Each with its class in words, the class that knows least first.
    bound
        The sum of the lower bounds; None where an instance has none.
    covers_kept
        Whether it holds for schedules that keep tokens over evictions, too.
    requests, instances
        How many there are.
    """

    base: MethodTotal
    others: Sequence[tuple[str, MethodTotal]]
    bound: int | None
    covers_kept: bool
    requests: int
    instances: int
    unit: TimeUnit

    def __str__(self) -> str:
        return "".join(text for text, _ in self.pieces())

    def pieces(self) -> Iterator[tuple[str, bool]]:
        """Yield the sentence in pieces, each with whether it is the name of a method."""
        rounds = " rounds" if self.unit is ROUNDS else ""
        yield self.base.label, True
        yield f": {self._mean(self.base.total)}{rounds} a request on average", False
        for words, other in self.others:
            yield f"; {words}, ", False
            yield other.label, True
            change = percent(relative(other.total, self.base.total))
            yield f": {self._mean(other.total)} ({change})", False
        if self.bound is not None:
            yield self._at_least(self.bound), False
        yield f" ({counted(self.instances, 'instance')}).", False

    def _mean(self, total: float) -> str:
        return f"{total / self.requests / self.unit.ticks:.3f}{self.unit.symbol}"

    def _at_least(self, bound: int) -> str:
        # Rounded down: no schedule is below what is shown.
        thousandths = bound * 1000 // (self.requests * self.unit.ticks)
        shown = f"{thousandths // 1000}.{thousandths % 1000:03}{self.unit.symbol}"
        named = (self.base, *(other for _, other in self.others))
        spared = not self.covers_kept and any(each.label.endswith(MARK) for each in named)
        share = None if spared else left(math.ceil(self.base.total), bound)
        change = "" if share is None else f" (-{percent_left(share)} % at most)"
        return f"; bound{f', not for{MARK}' if spared else ''}: at least {shown}{change}"


def relative(total: float, base: float) -> float:
    """Return by what share a total latency is above that of the policy it is compared with."""
    return total / base - 1


def percent(share: float) -> str:
    """Return a change in percent, with its sign."""
    # A rounded zero has no sign of its own.
    return f"{round(100 * share, 1) + 0.0:+.1f} %"


def is_base(method: str, knowledge: Knowledge) -> tuple[bool, bool, bool]:
    """Return a key that is least for what the others are compared with: vLLM's own, if it was run.

    Else it is a non-clairvoyant policy, without which there is no answer.
    """
    return method != BASE, policy_name(method) != BASE, not _is_blind(knowledge)


def answer(
    outcomes: Iterable[MethodTotal],
    *,
    bound: int | None,
    covers_kept: bool,
    requests: int,
    instances: int,
    unit: TimeUnit,
) -> Answer | None:
    """Return the answer; None without a policy to compare with, or with nothing else.

    Named are the best method of each class, and all of one's own.  A further non-clairvoyant policy
    is if it is better than the one compared with, and what knows all arrivals if it is the best of
    all.
    """
    # Of equal ones first who declares to know the outputs, not who has exact predictions of them.
    found = sorted(
        outcomes, key=lambda each: (each.total, each.knowledge.lengths == "exact", each.label)
    )
    base = min(found, key=lambda each: is_base(each.method, each.knowledge), default=None)
    if base is None or all(is_base(base.method, base.knowledge)):
        return None
    others: dict[str, list[MethodTotal]] = {words: [] for words in _ORDER}
    for each in found:
        words, of_class = _words(each.knowledge), others.setdefault(_words(each.knowledge), [])
        shown = is_own(each.method) or not (of_class or _says_nothing(words, each, base, found))
        if shown and each is not base:
            of_class.append(each)
    named = [(words, each) for words, of_class in others.items() for each in of_class]
    if bound is None and not named:
        return None
    return Answer(base, named, bound, covers_kept, requests, instances, unit)


def _says_nothing(
    words: str, each: MethodTotal, base: MethodTotal, found: Sequence[MethodTotal]
) -> bool:
    if words == "non-clairvoyant":
        return each.total >= base.total
    return words == _HINDSIGHT and any(
        each.total >= other.total for other in found if not other.knowledge.offline
    )


def _is_blind(knowledge: Knowledge) -> bool:
    return knowledge == Knowledge("nothing")


_ORDER = (
    *(str(Knowledge(each)) for each in ("nothing", "intervals", "file", "unknown", "outputs")),
    _HINDSIGHT,
)


def _words(knowledge: Knowledge) -> str:
    """Return the class in words: who has exact predictions knows the outputs."""
    if knowledge.offline:
        return _HINDSIGHT
    return str(Knowledge("outputs") if knowledge.lengths == "exact" else knowledge)
