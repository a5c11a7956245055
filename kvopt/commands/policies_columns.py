"""The columns of the table of every policy: what is told of a schedule in rounds and in seconds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from instances import Instance
from instances.time_unit import ROUNDS
from kvopt.best_bound import left, percent_left
from kvopt.registered import registered
from kvopt.running.record import Record
from schedules import Schedule
from schedules.metrics import measure
from schedules.real_time.serving import goodput
from schedules.real_time.slo import Slo
from schedules.real_time.timeline import timeline


@dataclass(frozen=True)
class Against:
    """What TELs are compared with.

    Attributes
    ----------
    value
        The optimum or a bound (rounds or nanoseconds), 0 without one.
    optimum
        Whether it is the optimum.
    covers_kept
        Whether it holds for schedules that keep tokens, too.
    slo
        The objective that goodput counts by.
    """

    value: int = 0
    optimum: bool = False
    covers_kept: bool = False
    slo: Slo | None = None


@dataclass(frozen=True)
class Shown:
    """A schedule that a line of the table tells of, with its row."""

    instance: Instance
    record: Record
    schedule: Schedule
    against: Against


Cell = Callable[[Shown], str]

_TIMES = {
    "TTFT s": "mean_ttft_ms",
    "TTFT p99": "p99_ttft_ms",
    "TPOT s": "mean_tpot_ms",
    "TPOT p99": "p99_tpot_ms",
    "E2EL s": "mean_e2el_ms",
    "E2EL p99": "p99_e2el_ms",
}


def columns(instance: Instance, against: Against) -> dict[str, Cell]:
    """Return header and cell of each column between what a policy is told and the verdict."""
    ratio = "TEL/OPT" if against.optimum else "TEL/LB"
    own: dict[str, Cell] = {"makespan": _makespan, "memory %": _memory}
    if instance.unit is not ROUNDS:
        own = {"left %": _left} | {header: _time(name) for header, name in _TIMES.items()}
    good: dict[str, Cell] = {"good/s": _goodput} if against.slo else {}
    best: dict[str, Cell] = {"to best %": _to_best} if registered(instance) else {}
    took: dict[str, Cell] = {"evictions": _evictions, "ms": _milliseconds}
    tel: dict[str, Cell] = {f"TEL{instance.unit.symbol}": _tel, ratio: _ratio}
    return {**tel, **own, **good, **took, **best}


def _tel(shown: Shown) -> str:
    return shown.instance.unit.number(shown.schedule.tel)


def _ratio(shown: Shown) -> str:
    value = shown.against.value
    return f"{shown.schedule.tel / value:.4f}" if value else "-"


def _left(shown: Shown) -> str:
    against = shown.against
    about = against.value and (against.covers_kept or not shown.schedule.keeps_tokens)
    share = left(shown.schedule.tel, against.value) if about else None
    return "-" if share is None else percent_left(share)


def _makespan(shown: Shown) -> str:
    return str(measure(shown.instance, shown.schedule).makespan)


def _memory(shown: Shown) -> str:
    return f"{100 * measure(shown.instance, shown.schedule).mean_memory_share:.1f}"


def _evictions(shown: Shown) -> str:
    return str(sum(map(len, shown.schedule.attempts or ())))


def _milliseconds(shown: Shown) -> str:
    return f"{1000 * (shown.record.solver_seconds or shown.record.seconds):.1f}"


def _to_best(shown: Shown) -> str:
    known = registered(shown.instance)
    if known is None or shown.schedule.keeps_tokens:
        return "-"
    return f"{known.gap(shown.schedule.tel):.3f}"


def _goodput(shown: Shown) -> str:
    slo = shown.against.slo
    if slo is None or shown.record.mean_ttft_ms is None:
        return "-"
    return f"{goodput(timeline(shown.instance, shown.schedule), slo):.3f}"


def _time(name: str) -> Cell:
    def cell(shown: Shown) -> str:
        value = getattr(shown.record, name)
        return "-" if value is None else f"{value / 1000:.3f}"

    return cell
