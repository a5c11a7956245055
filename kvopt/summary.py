"""The summary of a result: labels and values, in a fixed order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from instances.batch_time import parse_batch_time
from instances.ladder import read_ladder
from instances.time_unit import ROUNDS
from kvopt.registry_lookup import find_registered
from kvopt.runs.serving_imports import bounds_kept_tokens
from schedules.schedule import CACHED
from serving.answer import Answer, answer_on, method_totals, missing_reason
from serving.best_bound import KnownBound, bound_text, coverage, percent_left
from serving.metrics import measured_lines, serving_lines
from serving.waiting_requests import no_request_waits, none_waits_long, what_binds

if TYPE_CHECKING:
    from kvopt.result import Result

SummaryLine = tuple[str, str]


def summary_rows(result: Result) -> list[SummaryLine]:
    """Return labels and values of the summary of a result."""
    instance, record = result.instance, result.record
    served = parse_batch_time(result.batch_time).served if result.batch_time else None
    clock = result.batch_time + (f"  ({served})" if served else "")
    rows = [
        ("instance", instance.name),
        ("n", str(len(instance))),
        ("M", f"{instance.memory} tokens"),
        *([("batch time", clock)] if clock else []),
        ("method", _shown_method(result)),
        ("status", result.status),
    ]
    if result.tel is not None:
        rows.append(("TEL", f"{instance.unit.text(result.tel)}  (from {record.found_by})"))
        if not result.batch_time:  # in seconds the line E2EL has the mean
            rows.append(("AEL", instance.unit.mean(result.tel, len(instance))))
    rows += _of_bounds(result)
    if result.tel is not None and record.mean_ttft_ms is not None:
        # The measurement is of an engine, not of whatever schedule is best.
        named = result.measured if result.method != "auto" else None
        rows += serving_lines(result.timeline, result.slo, named)
        if result.measured is not None and named is None:
            rows += measured_lines(result.measured)
        limits = result.method, result.batch_time, instance.memory
        if binding := what_binds(*limits, result.timeline):
            rows.append(("waiting", binding))
    rows.append(("seconds", f"{result.seconds:.2f}"))
    # Kernels are compiled once on a machine.
    if (compiling := f"{result.compiling:.2f}") != "0.00":
        rows.append(("compiling", f"{compiling} s, not counted"))
    checked = "nothing to check" if result.tel is None else "valid"
    rows.append(("checker", "REFUSED" if result.refused else checked))
    mismatch = served.mismatch(instance.memory) if served else ""
    covered = dict(rows).get("covers", "")
    rows += [("note", note) for note in (mismatch, *result.notes) if note not in covered]
    return [*rows, *_answered(result)]


def _shown_method(result: Result) -> str:
    """Return the method, and the formulation where it was left to the size."""
    chosen = result.formulation
    left = chosen and f":{chosen}" not in result.method
    return f"{result.named}  ({chosen}, by size)" if left else result.named


def _of_bounds(result: Result) -> Iterator[SummaryLine]:
    """Yield the lines of the bounds and known values, and of the distance to them."""
    record, instance, known = result.record, result.instance, result.known_bound
    yield "lower bound", bound_text(known, result.batch_time)
    if record.lower_bound is not None:
        own = KnownBound(record.lower_bound, record.bound_source)
        if known is None or instance.unit.text(own.value) != instance.unit.text(known.value):
            yield "of this run", bound_text(own, result.batch_time)
    yield from _alone(result)
    if result.gap is not None:
        yield "gap %", f"{100 * result.gap:.3f}"
    if result.gap is not None and result.batch_time:
        idle = no_request_waits(record.peak_waiting, record.mean_waiting, record.mean_running)
        if record.peak_waiting:
            idle = none_waits_long(result.method, result.timeline) or idle
        most = f"at most {percent_left(result.gap)} % of the TEL"
        yield "left to gain", f"{most}; hardly by order: {idle}" if idle else most
        yield "covers", coverage(instance, result.batch_time)
    stated = instance.stated_optimum
    if stated is not None and not result.about_the_file:
        yield "stated optimum", f"{stated}  (by the file, not proved)"
    if best := find_registered(instance):
        yield "best known", str(best)
        # A schedule that keeps tokens solves an easier problem.
        if result.tel is not None and result.bounded:
            yield "gap to these", best.compared(result.tel, result.bound)
    elif instance.unit is ROUNDS and instance.sha256 in {x.sha256 for x in read_ladder().values()}:
        yield "best known", "not run yet"
    if record.relaxation is not None:
        yield "LP relaxation", f"{record.relaxation:.6f}"


def _alone(result: Result) -> Iterator[SummaryLine]:
    """Yield the line of the engine's part, where other methods helped."""
    record = result.record
    if result.engine and not record.engine_formulation:
        met = ": bound and schedule had met before" if result.gap == 0 else ""
        yield f"{result.engine} alone", f"not started{met}"
    elif result.engine:
        tel, bound = record.engine_tel, record.engine_bound
        found = "no schedule" if tel is None else f"incumbent {tel}"
        proved = "no bound" if bound is None else f"bound {bound}"
        yield f"{result.engine} alone", f"{record.engine_formulation}: {found}, {proved}"


def answer_of(result: Result) -> Answer | None:
    """Return the answer of a result and the runs with it; None without others."""
    if not result.others:
        return None
    runs = method_totals(result.instance, (*result.others, result))
    found = [each.schedule.easier for each in (*result.others, result) if each.schedule]
    covers = CACHED not in found and bounds_kept_tokens(result.instance, result.batch_time)
    return answer_on(result.instance, runs, result.bound, covers_kept=covers)


def _answered(result: Result) -> Iterator[SummaryLine]:
    """Yield the line with the answer, and the lines with its policies that were not run."""
    answer = answer_of(result)
    for each in result.others:
        if each.failure:
            text = each.record.method
            yield "not run", f"{text}: {each.failure.removeprefix(f'{text}: ')}"
    if answer is not None:
        yield "answer", f"mean latency of the best method by information on outputs:\n{answer}"
        names = ", ".join(result.unrun)
        if names:
            yield "not run", f"{names} to the end, for the answer; see --time-limit, --policy NAME"
    elif result.unrun:
        yield "answer", missing_reason(result.unrun)


def exceeded_bounds(result: Result) -> list[str]:
    """Return one line for each bound, also of other runs, that exceeds the TEL of the schedule."""
    tel = result.tel if result.bounded else None
    known = dict.fromkeys(filter(None, (*result.companion_bounds, result.known_bound)))
    return [
        f"the bound {bound_text(each, result.batch_time)} exceeds the TEL of a checked schedule"
        for each in known
        if tel is not None and tel < each.value
    ]
