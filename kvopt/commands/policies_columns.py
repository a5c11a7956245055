"""The lines of the table of every policy: what is shown of a schedule in rounds and in seconds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from instances import Instance
from instances.time_unit import ROUNDS
from kvopt.best_bound import left, percent_left
from kvopt.methods.knowledge import MARK, knowledge, policy_name, token_keeping_policies
from kvopt.registered import registered
from kvopt.runs.record import Record
from kvopt.runs.task import Finished
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
class Line:
    """What a policy has come to: its row, and its schedule unless it has none that stands."""

    instance: Instance
    finished: Finished
    schedule: Schedule | None = None
    reason: str = ""

    @property
    def record(self) -> Record:
        """The row of its run."""
        return self.finished.record

    @property
    def tel(self) -> int | None:
        """TEL (rounds or nanoseconds) of the schedule; None without one."""
        return None if self.schedule is None else self.schedule.tel

    @property
    def keeps_tokens(self) -> bool:
        """Whether the schedule keeps tokens over an eviction."""
        return self.schedule is not None and self.schedule.keeps_tokens

    @property
    def marked(self) -> bool:
        """Whether the method may keep tokens over an eviction, as in all tables."""
        return self.keeps_tokens or policy_name(self.record.method) in token_keeping_policies()


@dataclass(frozen=True)
class Shown:
    """A schedule that a line of the table tells of, with its row."""

    instance: Instance
    record: Record
    schedule: Schedule
    against: Against


Cell = Callable[[Shown], str]

#: Means in seconds, each with its 99th percentile behind it.
_TIMES = {"E2EL s": "e2el", "TTFT s": "ttft", "TPOT s": "tpot"}
_P99 = "p99"


def columns(instance: Instance, against: Against) -> list[tuple[str, Cell]]:
    """Return header and cell of each column behind the class; all fit into a hundred characters."""
    if instance.unit is not ROUNDS:
        e2el, *others = (
            [(header, _time(f"mean_{name}_ms")), (_P99, _time(f"{_P99}_{name}_ms"))]
            for header, name in _TIMES.items()
        )
        good = [("good/s", _goodput)] if against.slo else []
        return [*e2el, ("left %", _left), *(each for pair in others for each in pair), *good]
    best = [("to best", _to_best)] if registered(instance) else []
    return [
        ("TEL", lambda shown: str(shown.schedule.tel)),
        ("TEL/OPT" if against.optimum else "TEL/LB", _ratio),
        *best,
        ("makespan", lambda shown: str(measure(shown.instance, shown.schedule).makespan)),
        ("memory %", _memory),
        ("evicted", lambda shown: str(sum(map(len, shown.schedule.attempts or ())))),
        ("ms", lambda shown: f"{1000 * (shown.record.solver_seconds or shown.record.seconds):.1f}"),
    ]


def table_text(instance: Instance, lines: Sequence[Line], against: Against) -> str:
    """Return the header and a line a policy, by TEL; a reason may stand in place of the figures.

    All have the same predictions, which are named elsewhere.
    """
    shown_as = columns(instance, against)
    rows = [["policy", "class", *(header for header, _ in shown_as)]]
    for line in sorted(lines, key=_by_tel):
        name = line.record.method.partition(" with ")[0] + (MARK if line.marked else "")
        if line.schedule is None:
            rows.append([name, line.reason])
            continue
        shown = Shown(line.instance, line.record, line.schedule, against)
        of_class = str(knowledge(line.record.method).on(line.instance)).removeprefix("with ")
        rows.append([name, of_class, *(cell(shown) for _, cell in shown_as)])
    return _aligned(rows)


def _by_tel(line: Line) -> tuple[float, str]:
    return math.inf if line.tel is None else line.tel, line.record.method


def _aligned(lines: list[list[str]]) -> str:
    """Return lines of cells as text; those with a reason in place of numbers are not aligned."""
    columns = len(lines[0])
    full = [line for line in lines if len(line) == columns]
    widths = [max(len(line[column]) for line in full) for column in range(columns)]
    widths[0] = max(len(line[0]) for line in lines)
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column < 2 or len(line) < columns else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=False))
        ).rstrip()
        for line in lines
    )


def _ratio(shown: Shown) -> str:
    value = shown.against.value
    return f"{shown.schedule.tel / value:.4f}" if value else "-"


def _left(shown: Shown) -> str:
    against = shown.against
    about = against.value and (against.covers_kept or not shown.schedule.keeps_tokens)
    share = left(shown.schedule.tel, against.value) if about else None
    return "-" if share is None else percent_left(share)


def _memory(shown: Shown) -> str:
    return f"{100 * measure(shown.instance, shown.schedule).mean_memory_share:.1f}"


def _to_best(shown: Shown) -> str:
    known = registered(shown.instance)
    if known is None or shown.schedule.keeps_tokens:
        return "-"
    return f"{known.gap(shown.schedule.tel):.2f} %"


def _goodput(shown: Shown) -> str:
    slo = shown.against.slo
    if slo is None or shown.record.mean_ttft_ms is None:
        return "-"
    return f"{goodput(timeline(shown.instance, shown.schedule), slo):.3f}"


def _time(name: str) -> Cell:
    def cell(shown: Shown) -> str:
        value = getattr(shown.record, name)
        # Six characters up to three hours.
        return "-" if value is None else f"{value / 1000:.{3 if value < 100_000 else 1}f}"

    return cell
