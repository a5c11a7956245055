"""The answer on one instance: vLLM's scheduler, the best method by information, the bound."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from tabulate import tabulate

from instances import Instance
from instances.time_unit import ROUNDS, TimeUnit
from kvopt.methods.grammar import read_prediction
from kvopt.methods.knowledge import Knowledge, Lengths, knowledge
from kvopt.methods.method_names import MARK, policy_name, shown_method, token_keeping_policies
from kvopt.methods.syntax import parse_method
from kvopt.methods.witness import is_own
from kvopt.runs.task import FinishedRun
from schedules.clock.timeline import make_timeline
from serving.best_bound import percent_left, share_left
from serving.waiting_requests import HARDLY, no_request_waits, none_waits_long, what_binds

#: The policy that all are compared with, if it was run: vLLM's scheduler.
BASE = "vllm-v1"
_HINDSIGHT = "hindsight"
#: First parameters of predictions that tell every output; the middle of ``relative`` always does.
_TELLING = dict.fromkeys(("noise", "log-t", "refreshed"), 0)
_TELLING |= dict.fromkeys(("rank", "bins", "overestimate"), 1)
#: Begins an engine's name of the policy that found its schedule.
_POLICY = "policy "


@dataclass(frozen=True)
class MethodTotal:
    """Result of a method on an instance: the ``total`` of its latencies.

    ``label`` is its name in tables, ``p99`` the 99th percentile of the latencies (milliseconds).
    ``no_request_waits`` and ``binding`` (:mod:`serving.waiting_requests`) are sentences or empty.
    ``at_once``: no request waits longer than the engine plans, so that order changes nothing.
    """

    label: str
    method: str
    knowledge: Knowledge
    total: float
    p99: float | None = None
    no_request_waits: str = ""
    binding: str = ""
    at_once: bool = False


@dataclass(frozen=True)
class Answer:
    """The mean latency of a request under the best method of each class.

    The ``others`` are compared with the ``base``, each with its class in words, least knowledge
    first.  ``bound`` is the sum of the lower bounds, None if an instance has none; ``optimal``: of
    the optima.  ``covers_kept``: it holds for schedules that keep tokens over evictions, too.
    ``few`` is the note of :func:`serving.waiting_requests.few_at_a_time`, or empty.
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
        sides = ["left", "left", *["right"] * (len(self.headers) - 2)]
        cells = tabulate(self.rows(), self.headers, disable_numparse=True, colalign=sides)
        return f"{cells}\n{''.join(text for text, _ in self.conclusion())}".rstrip()

    @property
    def headers(self) -> tuple[str, ...]:
        """The titles of the columns of :meth:`rows`: the latency is the mean."""
        rounds = ", rounds" if self.unit is ROUNDS else ""
        than = "vLLM" if self._vllm else self.base.label
        p99 = () if self.base.p99 is None else ("p99",)
        return "information", "best method", f"latency{rounds}", *p99, f"saved over {than}"

    def rows(self) -> list[tuple[str, ...]]:
        """Return a row for the base, and one with its saving for each of the others."""
        rows: list[tuple[str, ...]] = []
        for words, each in [(_words(self.base), self.base), *self.others]:
            won = -relative(each.total, self.base.total)
            # Rounded down: the method saves no less.
            saving = f"{math.floor(1000 * won + 1e-9) / 10 + 0.0:.1f} %" if won > 0 else "nothing"
            p99 = ["-" if each.p99 is None else f"{each.p99 / 1000:.3f} s"][: len(self.headers) - 4]
            rows.append((words, each.label, self._mean(each.total), *p99, saving if rows else ""))
        return rows

    def conclusion(self) -> Iterator[tuple[str, bool]]:
        """Yield the sentence on the bound in pieces, each with True for the name of a method."""
        if self.base.no_request_waits and (self.base.at_once or self.won < HARDLY):
            proved = "" if self.bound is None else "Proved: "
            idle = f"Observed: {self.base.no_request_waits}, so there is hardly a queue to order."
            yield f"{idle}  {proved}", False
        if self.bound is not None:
            about, none = (" within the problem", "none of them") if self._spared else ("", "none")
            # Rounded down: no scheduler is below.  The best schedule has a mean as the methods.
            thousandths = self.bound * 1000 // (self.requests * self.unit.ticks)
            shown = f"{thousandths // 1000}.{thousandths % 1000:03}{self.unit.symbol}"
            best = f"The best schedule{about} has a mean of {self._mean(self.bound)}"
            yield best if self.optimal else f"No scheduler{about} has a mean below {shown}", False
            if self.left is not None:
                yield f", so {none} saves more than {percent_left(self.left)} % over ", False
                yield ("vLLM" if self._vllm else self.base.label), not self._vllm
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
        """The share that schedules within the problem save at most; None without a bound on it."""
        if self.bound is None or (self._spared and self.unit is ROUNDS):
            return None
        return share_left(math.ceil(self.base.total), self.bound)

    def _mean(self, total: float) -> str:
        return f"{total / self.requests / self.unit.ticks:.3f}{self.unit.symbol}"

    @property
    def _spared(self) -> bool:
        """Check if a named method keeps tokens, which the bound does not cover."""
        named = (self.base, *(other for _, other in self.others))
        return not self.covers_kept and any(each.label.endswith(MARK) for each in named)


def method_totals(instance: Instance, runs: Iterable[FinishedRun]) -> Iterator[MethodTotal]:
    """Yield the totals of the runs with a schedule; a policy that found an engine's is named."""
    for run in runs:
        record = run.record
        if record.tel is None:
            continue
        text, declared = record.method, record.told
        policy = record.found_by.removeprefix(_POLICY)
        if policy != record.found_by and knowledge(text, declared).lengths == "unknown":
            text, declared = policy, ""
        kept = run.schedule is not None and bool(run.schedule.easier)
        known = knowledge(text, declared).on(instance)
        label = marked(text, record.own_name, kept=kept)
        idle = no_request_waits(record.peak_waiting, record.mean_waiting, record.mean_running)
        binding = once = ""
        if policy_name(text) == BASE and run.schedule is not None and record.peak_waiting:
            times = make_timeline(instance, run.schedule)
            binding = what_binds(text, record.batch_time, instance.memory, times)
            idle = (once := none_waits_long(text, times)) or idle
        if idle and record.peak_tokens is not None:
            full = math.ceil(100 * record.peak_tokens / instance.memory)
            idle += f" and memory is at most {full} % full"
        told = idle, binding, bool(once)
        yield MethodTotal(label, text, known, record.tel, record.p99_e2el_ms, *told)


def marked(method: str, own_name: str = "", *, kept: bool = False) -> str:
    """Return the label of a method, with the mark of those that may keep tokens."""
    keeps = kept or policy_name(method) in token_keeping_policies()
    return shown_method(method, own_name) + (MARK if keeps else "")


def relative(total: float, base: float) -> float:
    """Return the share by which a total latency is above the base."""
    return total / base - 1


def percent(share: float) -> str:
    """Return a change in percent, with its sign."""
    # + 0.0 removes the sign of a rounded zero.
    return f"{round(100 * share, 1) + 0.0:+.1f} %"


def is_base(method: str, knowledge: Knowledge) -> tuple[bool, bool, bool]:
    """Return a key that is least for vLLM's scheduler, then for non-clairvoyant policies."""
    return method != BASE, policy_name(method) != BASE, knowledge != Knowledge("nothing")


def make_answer(
    outcomes: Iterable[MethodTotal],
    *,
    bound: int | None,
    covers_kept: bool,
    requests: int,
    unit: TimeUnit,
    optimal: bool = False,
    best: MethodTotal | None = None,
    few: str = "",
) -> Answer | None:
    """Return the answer; None without a policy to compare with, or with nothing else.

    It names the best method of each class and the best of each custom file.  It names a further
    non-clairvoyant policy that is better than the base, and hindsight that is the best of all.
    ``best`` are the best known schedules and their finder, named if no method reaches them.
    """
    # Of equal ones declared knowledge of the outputs comes before exact predictions.
    found = sorted(outcomes, key=lambda x: (x.total, x.knowledge.lengths != "outputs", x.label))
    base = min(found, key=lambda each: is_base(each.method, each.knowledge), default=None)
    if base is None or all(is_base(base.method, base.knowledge)):
        return None
    online = min((each.total for each in found if not each.knowledge.offline), default=math.inf)
    #: Classes that add nothing at these totals.
    useless = {_KNOWING["nothing"]: base.total, _HINDSIGHT: online}
    others: dict[str, list[MethodTotal]] = {words: [] for words in (*_KNOWING.values(), _HINDSIGHT)}
    for each in found:
        words = _words(each)
        of_class = others.setdefault(words, [])
        own = is_own(each.method) and _file(each) not in map(_file, of_class)
        first = not of_class and each.total < useless.get(words, math.inf)
        if each is not base and (own or first):
            of_class.append(each)
    named = [(words, each) for words, of_class in others.items() for each in of_class]
    if best is not None and best.total < found[0].total:
        named.append((_words(best), best))
    if bound is None and not named:
        return None
    return Answer(base, named, bound, covers_kept, requests, unit, optimal, few)


def answer_on(
    instance: Instance, outcomes: Iterable[MethodTotal], bound: int | None, **how: Any
) -> Answer | None:
    """Return the answer on one instance; see :func:`make_answer`."""
    return make_answer(outcomes, bound=bound, requests=len(instance), unit=instance.unit, **how)


def missing_reason(unrun: Sequence[str]) -> str:
    """Return the reason for no answer after methods that did not end."""
    base = next((each for each in unrun if policy_name(each) == BASE), "another policy")
    less = "of a trace, --limit and --window read less"
    return f"none, {base} was not run to the end; see --time-limit, --policy {base} ({less})"


def _file(outcome: MethodTotal) -> str:
    """Return the text of a method up to the parameters of a custom file."""
    return outcome.method.rpartition(".py")[0] or outcome.method


#: Knowledge in the words of the answer, the least first.
_KNOWING: dict[Lengths, str] = {
    "nothing": "none",
    "intervals": "predictions",
    "deciles": "deciles",
    "file": "the file's predictions",
    "unknown": "not declared",
    "outputs": "lengths",
}


def _words(outcome: MethodTotal) -> str:
    """Return the knowledge in words; exact predictions are knowledge of the outputs."""
    lengths = outcome.knowledge.lengths
    if outcome.knowledge.offline:
        return _HINDSIGHT
    exact = lengths == "exact" or (lengths == "intervals" and _is_exact(outcome.method))
    return _KNOWING["outputs" if exact else lengths]


@cache
def _is_exact(method: str) -> bool:
    """Check if a prediction tells every output, as ``noise(0)`` and ``rank(1)`` do."""
    prediction, values, _ = read_prediction(parse_method(method).prediction or "interval")
    first = next(iter(values.values()), None)
    return prediction.name == "relative" or _TELLING.get(prediction.name, -1) == first
