"""One table of every policy on one instance, in rounds or in seconds."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from formulations.valid.volume_bounds import volume_bound
from heuristics.policy import AdvisedPolicy, ListPolicy, PlanPolicy
from heuristics.policy_registry import policies
from instances import Instance
from instances.time_unit import ROUNDS
from kvopt.commands.companion_runs import CompanionRuns, PolicyLimits, companion_bound
from kvopt.commands.plain_table import plain_table
from kvopt.methods.grammar import ANSWER, every_policy, read_prediction
from kvopt.methods.knowledge import OF_CLASSES, knowledge
from kvopt.methods.method_names import MARK, policy_name, token_keeping_policies
from kvopt.registry_lookup import find_registered
from kvopt.run_progress import SweepDisplay
from kvopt.runs.methods_in_turn import MethodSeries
from kvopt.runs.row_columns import Record
from kvopt.runs.run_evidence import find_misstatement
from kvopt.runs.serving_imports import bounds_kept_tokens
from kvopt.runs.task import FinishedRun, Task
from schedules import Schedule
from schedules.clock.timeline import make_timeline
from schedules.gap import gap
from schedules.schedule import KEEPS_TOKENS_COVERED, KEEPS_TOKENS_NOTE
from schedules.schedule_metrics import makespan, mean_memory
from serving.answer import answer_on, method_totals, missing_reason
from serving.batch_time_choice import rounds_only
from serving.best_bound import (
    KnownBound,
    best_bound,
    bound_of_run,
    bound_text,
    coverage,
    percent_left,
    share_left,
)
from serving.metrics import good
from serving.slo import Slo
from support.message_text import wrap_lines


@dataclass(frozen=True)
class TelReference:
    """Reference of TELs: the optimum or a bound (rounds or nanoseconds), 0 without one.

    ``covers_kept``: it holds for schedules that keep tokens, too.  ``slo``: the objective.
    """

    value: int = 0
    optimum: bool = False
    covers_kept: bool = False
    slo: Slo | None = None


@dataclass(frozen=True)
class PolicyLine:
    """Result of a policy: its row, and its schedule if it has a valid one."""

    instance: Instance
    finished: FinishedRun
    schedule: Schedule | None = None
    reason: str = ""

    @property
    def record(self) -> Record:
        """Return the row of its run."""
        return self.finished.record

    @property
    def tel(self) -> int | None:
        """TEL (rounds or nanoseconds) of the schedule; None without one."""
        return None if self.schedule is None else self.schedule.tel

    @property
    def keeps_tokens(self) -> bool:
        """Return whether the schedule keeps tokens over an eviction."""
        return self.schedule is not None and bool(self.schedule.easier)

    @property
    def marked(self) -> bool:
        """Return whether the method may keep tokens over an eviction, as in all tables."""
        return self.keeps_tokens or policy_name(self.record.method) in token_keeping_policies()


@dataclass(frozen=True)
class PoliciesOutcome:
    """The aligned text, the checker's verdict, and one line if something is wrong.

    ``accepted``: the checker accepted all schedules.  ``found``: there is one.  ``misstated``: a
    result contradicts the instance's file.  ``contradiction``: a schedule is below a bound.
    """

    text: str
    accepted: bool
    found: bool
    misstated: str
    contradiction: str = ""


def policies_table(
    instance: Instance,
    batch_time: str = "",
    *,
    slo: Slo | None = None,
    prediction: str | None,
    seed: int,
    limits: PolicyLimits,
    quiet: bool = True,
) -> PoliciesOutcome:
    """Run every policy until the deadline, the quick ones first, and return a table."""
    runnable, refused = _tasks(instance, batch_time, prediction, seed, limits)
    progress = SweepDisplay(sys.stderr, len(runnable), quiet)
    with companion_bound(instance, batch_time, seed, limits) as bound:
        if limits.jobs == 1:
            bound.start().result()
        series = MethodSeries(runnable, limits.deadline, progress.take)
        lines, why = _carried_out(instance, series, progress, bound)
        here = [each for line in lines for each in bound_of_run(instance, line.record)]
        here += bound.bounds(instance, at_once=bool(why))
    unbegun = why or "the time was over"
    compared, against, wrong, misstated = _compared(instance, batch_time, lines, here, slo)
    kept = KEEPS_TOKENS_COVERED if against.covers_kept else KEEPS_TOKENS_NOTE
    below = [
        f"predictions: {read_prediction(prediction)[2]}" if prediction else "",
        f"{MARK.strip()} {kept}" if any(line.marked for line in lines) else "",
        _answered(instance, lines, against, [] if why else series.waiting),
        compared,
        f"good %: requests that keep {slo}" if slo and batch_time else "",
        f"class: {OF_CLASSES}",
        *_unrun([(line.record.method, line.reason) for line in lines if line.reason]),
        *_unrun((name, f"not run: {reason}") for name, reason in refused),
        *_unrun((each.method.text, f"not run, {unbegun}") for each in series.waiting),
    ]
    notes = map(wrap_lines, filter(None, "\n".join(below).splitlines()))
    return PoliciesOutcome(
        "\n".join([table_text(instance, lines, against), *notes]),
        accepted=all(line.record.status != "refused" for line in lines),
        found=any(line.tel is not None for line in lines),
        misstated=misstated,
        contradiction=wrong,
    )


def _tasks(
    instance: Instance, batch_time: str, prediction: str | None, seed: int, limits: PolicyLimits
) -> tuple[list[Task], list[tuple[str, str]]]:
    """Return the runs, the quick ones first, and the refused policies with their reasons."""
    runs, refused = [], []
    methods = dict(zip(policies(), every_policy(prediction), strict=True))
    for name in sorted(policies(), key=_slowness):
        if reason := rounds_only(instance, methods[name]):
            refused.append((methods[name].text, reason))
        else:
            runs.append(limits.task(instance, methods[name], batch_time, seed))
    return runs, refused


def _slowness(name: str) -> tuple[int, int, str]:
    """Return a key for the order: the answer's policies first, then the quick ones."""
    policy = policies()[name]
    of_answer = [policy_name(text) for text in ANSWER]
    if isinstance(policy, AdvisedPolicy | PlanPolicy):
        return 3 if isinstance(policy, PlanPolicy) else 4, 0, name
    if name in of_answer:
        return 0, of_answer.index(name), name
    return 1 if isinstance(policy, ListPolicy) else 2, 0, name


def _carried_out(
    instance: Instance, series: MethodSeries, progress: SweepDisplay, bound: CompanionRuns
) -> tuple[list[PolicyLine], str]:
    """Run a series, then the bound; return its lines, and the reason if the user ended it."""
    lines: list[PolicyLine] = []

    def take(finished: FinishedRun) -> None:
        lines.append(_line(instance, finished))
        bound.start()

    try:
        progress.follow(series.run(), take)
    except KeyboardInterrupt:
        series.interrupted = True
    if series.interrupted and not any(line.tel is not None for line in lines):
        raise KeyboardInterrupt
    return lines, "interrupted by the user" if series.interrupted else ""


def _line(instance: Instance, finished: FinishedRun) -> PolicyLine:
    record, schedule = finished.record, finished.schedule
    if record.status == "refused":
        return PolicyLine(instance, finished, reason=f"REFUSED: {record.detail}")
    if schedule is not None:
        return PolicyLine(instance, finished, schedule)
    reason = record.detail or record.status.replace("_", " ")
    if record.ending == "time_limit":
        reason = f"stopped after its share of the time, {record.time_limit:.1f} s"
    return PolicyLine(instance, finished, reason=f"not run to its end: {reason}")


def _compared(
    instance: Instance,
    batch_time: str,
    lines: Sequence[PolicyLine],
    here: list[KnownBound],
    slo: Slo | None,
) -> tuple[str, TelReference, str, str]:
    """Return a line on the reference of TELs, the reference, and contradictions."""
    covers = bounds_kept_tokens(instance, batch_time)
    bounded = [line for line in lines if covers or not line.keeps_tokens]
    upper = min((line.tel for line in bounded if line.tel is not None), default=None)
    volumes = [] if batch_time else [KnownBound(volume_bound(instance), "volumes")]
    bound = best_bound(instance, batch_time, here=[*volumes, *here], tel=upper)
    misstated = find_misstatement(instance, upper, volumes[0].value if volumes else None, None)
    known = find_registered(instance)
    checked = (upper, None if known is None else known.upper)
    least = min((each for each in checked if each is not None), default=None)
    if bound is not None and least is not None and least < bound.value:
        line = f"the bound {bound_text(bound, batch_time)} exceeds the TEL of a checked schedule"
        return line, TelReference(slo=slo), line, misstated
    value = 0 if bound is None else bound.value
    shown = f"best known {known}\n" if known is not None else ""
    if known is not None and known.upper == known.lower:
        return shown, TelReference(known.upper, True, covers, slo), "", misstated
    shown += f"lower bound {bound_text(bound, batch_time)}"
    if batch_time:
        shown += f"; batch time {batch_time}\nthe bound covers {coverage(instance, batch_time)}"
    return shown, TelReference(value, False, covers, slo), "", misstated


def _answered(
    instance: Instance, lines: Sequence[PolicyLine], against: TelReference, waiting: Iterable[Task]
) -> str:
    """Return the answer, or which policy it lacks; empty where every policy was run."""
    runs = method_totals(instance, (line.finished for line in lines))
    found = answer_on(instance, runs, against.value or None, covers_kept=against.covers_kept)
    unrun = [task.method.text for task in waiting]
    unrun += [line.record.method for line in lines if line.tel is None]
    if found is not None:
        return str(found)
    return f"answer: {missing_reason(unrun)}" if unrun else ""


def _unrun(found: Iterable[tuple[str, str]]) -> list[str]:
    """Return one line for each reason, with the policies that lack a schedule for it."""
    of_reason: dict[str, list[str]] = {}
    for name, reason in found:
        of_reason.setdefault(reason, []).append(name)
    return [f"{', '.join(names)}: {reason}" for reason, names in of_reason.items()]


def table_text(instance: Instance, lines: Sequence[PolicyLine], against: TelReference) -> str:
    """Return the header and a line a schedule, by TEL; all fit into a hundred characters."""
    header, rows = ["policy", "class"], []
    for line in sorted(lines, key=lambda line: (line.tel or 0, line.record.method)):
        if (schedule := line.schedule) is None:
            continue
        name = line.record.method.partition(" with ")[0] + (MARK if line.marked else "")
        of_class = str(knowledge(line.record.method).on(instance)).removeprefix("with ")
        in_unit = _in_rounds if instance.unit is ROUNDS else _in_seconds
        titles, cells = zip(*in_unit(line, schedule, against), strict=True)
        header = ["policy", "class", *titles]
        rows.append([name, of_class, *("-" if each is None else str(each) for each in cells)])
    return plain_table(header, rows)


def _in_seconds(
    line: PolicyLine, schedule: Schedule, against: TelReference
) -> Iterator[tuple[str, str | None]]:
    """Yield title and text of each cell; means in seconds with their 99th percentiles."""
    about = against.value and (against.covers_kept or not line.keeps_tokens)
    share = share_left(schedule.tel, against.value) if about else None
    for title, name in (("E2EL s", "e2el"), ("TTFT s", "ttft"), ("TPOT s", "tpot")):
        yield title, _time(line, f"mean_{name}_ms")
        yield "p99", _time(line, f"p99_{name}_ms")
        if name == "e2el":
            yield "left %", None if share is None else percent_left(share)
    if against.slo is not None:
        timed = line.record.mean_ttft_ms is not None
        kept = good(make_timeline(line.instance, schedule), against.slo) if timed else None
        yield "good %", None if kept is None else f"{100 * kept.mean():.1f}"


def _in_rounds(
    line: PolicyLine, schedule: Schedule, against: TelReference
) -> Iterator[tuple[str, object]]:
    record, memory = line.record, mean_memory(line.instance, schedule) / line.instance.memory
    ratio = f"{schedule.tel / against.value:.4f}" if against.value else None
    yield "TEL", schedule.tel
    yield "TEL/OPT" if against.optimum else "TEL/LB", ratio
    if (known := find_registered(line.instance)) is not None:
        yield (
            "to best",
            None if line.keeps_tokens else f"{100 * gap(schedule.tel, known.upper):.2f} %",
        )
    yield "makespan", makespan(line.instance, schedule)
    yield "memory %", f"{100 * memory:.1f}"
    yield "evicted", sum(map(len, schedule.attempts or ()))
    yield "ms", f"{1000 * (record.solver_seconds or record.seconds):.1f}"


def _time(line: PolicyLine, name: str) -> str | None:
    value = getattr(line.record, name)
    # Six characters up to three hours.
    return None if value is None else f"{value / 1000:.{3 if value < 100_000 else 1}f}"
