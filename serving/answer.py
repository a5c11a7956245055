"""The answer on one instance: vLLM's scheduler, the best method by information, and the bound.

``solve.py`` on a trace and its table of all policies, ``evaluate.py``, its report and
``kvopt rates`` all print :class:`Answer`; :func:`relative` compares with vLLM's scheduler.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tabulate import tabulate

from instances import Instance
from instances.time_unit import ROUNDS, TimeUnit
from kvopt.methods.knowledge import (
    MARK,
    Knowledge,
    Lengths,
    knowledge,
    policy_name,
    shown_method,
    token_keeping_policies,
)
from kvopt.methods.witness import is_own
from kvopt.runs.task import Finished
from schedules.clock.timeline import timeline
from serving.best_bound import left, percent_left
from serving.waiting import HARDLY, no_request_waits, none_waits_long, what_binds

#: The policy that all are compared with, where it was run: what runs in production.
BASE = "vllm-v1"
_HINDSIGHT = "hindsight"
#: How an engine names the policy that it has a schedule of.
_POLICY = "policy "


@dataclass(frozen=True)
class MethodTotal:
    """Result of a method on an instance: the ``total`` of its latencies.

    ``label`` is how tables show it.  ``no_request_waits`` says that none waits under it,
    ``binding`` what is waited for (:mod:`serving.waiting`), else they are empty; ``at_once`` that
    none waits longer than the engine needs to plan, so that order changes nothing.
    """

    label: str
    method: str
    knowledge: Knowledge
    total: float
    no_request_waits: str = ""
    binding: str = ""
    at_once: bool = False


@dataclass(frozen=True)
class Answer:
    """The mean latency of a request under the best method of each class.

    The ``others`` are compared with the ``base``, each with its class in words, the class that
    knows least first.  ``bound`` is the sum of the lower bounds, None where an instance has none,
    and may be the optimum of each (``optimal``); ``covers_kept`` says that it holds for schedules
    that keep tokens over evictions, too.  ``few`` is the note on the bound of few at a time
    (:func:`serving.waiting.few_at_a_time`), or empty.
    """

    base: MethodTotal
    others: Sequence[tuple[str, MethodTotal]]
    bound: int | None
    covers_kept: bool
    requests: int
    unit: TimeUnit
    optimal: bool = False
    few: str = ""

    def __str__(self) -> str:
        cells = tabulate(
            self.rows(), self.headers, tablefmt="simple", disable_numparse=True,
            colalign=("left", "left", "right", "right"),
        )  # fmt: skip
        return f"{cells}\n{''.join(text for text, _ in self.conclusion())}".rstrip()

    @property
    def headers(self) -> tuple[str, str, str, str]:
        """The titles of the columns of :meth:`rows`."""
        rounds = ", rounds" if self.unit is ROUNDS else ""
        than = "vLLM" if self._vllm else self.base.label
        return "information", "best method", f"mean latency{rounds}", f"saving over {than}"

    def rows(self) -> list[tuple[str, str, str, str]]:
        """Return a row for the base, and one for each of the others: what it saves."""
        total = self.base.total
        of_base = _words(self.base.knowledge), self.base.label, self._mean(total), ""
        return [
            of_base,
            *(
                (words, other.label, self._mean(other.total), self._saves(other))
                for words, other in self.others
            ),
        ]

    def conclusion(self) -> Iterator[tuple[str, bool]]:
        """Yield what the bound says, in pieces, each with whether it is the name of a method."""
        if self.base.no_request_waits and (self.base.at_once or self.won < HARDLY):
            yield f"Order cannot win anything: {self.base.no_request_waits}.  ", False
        if self.bound is not None:
            yield self._bounded(self.bound), False
            if self.left is not None:
                yield ", so ", False
                yield ("vLLM's" if self._vllm else self.base.label), not self._vllm
                yield f" leaves at most {percent_left(self.left)} %", False
            yield ".", False
        for more in filter(None, (self.base.binding, self.few)):
            yield f"  {more[0].upper()}{more[1:]}.", False

    @property
    def _vllm(self) -> bool:
        return policy_name(self.base.method) == BASE

    @property
    def won(self) -> float:
        """The share of the total latency that the best of the methods saves; 0 without one."""
        best = min((other.total for _, other in self.others), default=self.base.total)
        return max(0.0, -relative(best, self.base.total))

    @property
    def left(self) -> float | None:
        """The share that any schedule could save at most; None where no bound says it."""
        if self.bound is None or self._spared:
            return None
        return left(math.ceil(self.base.total), self.bound)

    def _saves(self, other: MethodTotal) -> str:
        won = -relative(other.total, self.base.total)
        return f"{_percent_won(won)} %" if won > 0 else "nothing"

    def _mean(self, total: float) -> str:
        return f"{total / self.requests / self.unit.ticks:.3f}{self.unit.symbol}"

    @property
    def _spared(self) -> bool:
        """Return whether a named method keeps tokens, and the bound does not cover that."""
        named = (self.base, *(other for _, other in self.others))
        return not self.covers_kept and any(each.label.endswith(MARK) for each in named)

    def _bounded(self, bound: int) -> str:
        about = " within the problem" if self._spared else ""
        if self.optimal:
            # A mean as those of the methods, some of which may be as good.
            return f"The best schedule{about} has {self._mean(bound)}"
        # Rounded down: no scheduler is below what is shown.
        thousandths = bound * 1000 // (self.requests * self.unit.ticks)
        shown = f"{thousandths // 1000}.{thousandths % 1000:03}{self.unit.symbol}"
        return f"No scheduler{about} can be below {shown}"


def totals(instance: Instance, runs: Iterable[Finished]) -> Iterator[MethodTotal]:
    """Yield what runs on one instance have come to, those with a schedule.

    Of an engine the policy that found its schedule is named, if it was one.
    """
    for run in runs:
        record = run.record
        if record.tel is None:
            continue
        text, told = record.method, record.told
        policy = record.found_by.removeprefix(_POLICY)
        if policy != record.found_by and knowledge(text, told).lengths == "unknown":
            text, told = policy, ""
        kept = run.schedule is not None and bool(run.schedule.easier)
        known = knowledge(text, told).on(instance)
        label = marked(text, record.own_name, kept=kept)
        idle = no_request_waits(record.peak_waiting, record.mean_waiting, record.mean_running)
        told = once = ""
        if policy_name(text) == BASE and run.schedule is not None and record.peak_waiting:
            times = timeline(instance, run.schedule)
            told = what_binds(text, record.batch_time, instance.memory, times)
            idle = (once := none_waits_long(text, times)) or idle
        if idle and record.peak_tokens is not None:
            full = math.ceil(100 * record.peak_tokens / instance.memory)
            idle += f" and memory is at most {full} % full"
        yield MethodTotal(label, text, known, record.tel, idle, told, bool(once))


def marked(method: str, own_name: str = "", *, kept: bool = False) -> str:
    """Return how a method is shown, with the mark of those that may keep tokens."""
    keeps = kept or policy_name(method) in token_keeping_policies()
    return shown_method(method, own_name) + (MARK if keeps else "")


def relative(total: float, base: float) -> float:
    """Return by what share a total latency is above that of the policy it is compared with."""
    return total / base - 1


def percent(share: float) -> str:
    """Return a change in percent, with its sign."""
    # A rounded zero has no sign of its own.
    return f"{round(100 * share, 1) + 0.0:+.1f} %"


def _percent_won(share: float) -> str:
    """Return a share in percent, rounded down, since it is the least that is won."""
    return f"{math.floor(1000 * share + 1e-9) / 10 + 0.0:.1f}"


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
    unit: TimeUnit,
    optimal: bool = False,
    best: tuple[str, MethodTotal] | None = None,
    few: str = "",
) -> Answer | None:
    """Return the answer; None without a policy to compare with, or with nothing else.

    Named are the best method of each class, and the best of each file of one's own.  A further
    non-clairvoyant policy is if it is better than the one compared with, and what knows all
    arrivals if it is the best of all.  ``best`` are the best known schedules, in words and with
    what has found them, which are named where no method has come to as little.
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
        own = is_own(each.method) and all(_file(each) != _file(other) for other in of_class)
        shown = own or not (of_class or _says_nothing(words, each, base, found))
        if shown and each is not base:
            of_class.append(each)
    named = [(words, each) for words, of_class in others.items() for each in of_class]
    if best is not None and best[1].total < found[0].total:
        named.append(best)
    if bound is None and not named:
        return None
    return Answer(base, named, bound, covers_kept, requests, unit, optimal, few)


def answer_on(
    instance: Instance,
    outcomes: Iterable[MethodTotal],
    bound: int | None,
    *,
    covers_kept: bool,
    few: str = "",
) -> Answer | None:
    """Return the answer on one instance; see :func:`answer`."""
    return answer(
        outcomes,
        bound=bound,
        covers_kept=covers_kept,
        requests=len(instance),
        unit=instance.unit,
        few=few,
    )


def missing(unrun: Sequence[str]) -> str:
    """Return why there is no answer where some methods were not run to their end."""
    base = next((each for each in unrun if policy_name(each) == BASE), "another policy")
    return f"none, {base} was not run to the end; see --time-limit, --policy {base}"


def _file(outcome: MethodTotal) -> str:
    """Return the text of a method up to the parameters of a file of one's own."""
    return outcome.method.rpartition(".py")[0] or outcome.method


def _says_nothing(
    words: str, each: MethodTotal, base: MethodTotal, found: Sequence[MethodTotal]
) -> bool:
    if words == _KNOWING["nothing"]:
        return each.total >= base.total
    return words == _HINDSIGHT and any(
        each.total >= other.total for other in found if not other.knowledge.offline
    )


def _is_blind(knowledge: Knowledge) -> bool:
    return knowledge == Knowledge("nothing")


#: What is known, in the words of the answer, the least first.
_KNOWING: dict[Lengths, str] = {
    "nothing": "none",
    "intervals": "intervals",
    "deciles": "deciles",
    "file": "the file's predictions",
    "unknown": "not declared",
    "outputs": "lengths",
}
_ORDER = (*_KNOWING.values(), _HINDSIGHT)


def _words(knowledge: Knowledge) -> str:
    """Return what a method knows in words: who has exact predictions knows the outputs."""
    if knowledge.offline:
        return _HINDSIGHT
    return _KNOWING["outputs" if knowledge.lengths == "exact" else knowledge.lengths]
