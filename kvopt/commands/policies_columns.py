"""The lines of the table of every policy: what is shown of a schedule in rounds and in seconds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from instances import Instance
from instances.time_unit import ROUNDS
from kvopt.commands.plain_table import plain_table
from kvopt.methods.knowledge import MARK, knowledge, policy_name, token_keeping_policies
from kvopt.registered import registered
from kvopt.runs.record import Record
from kvopt.runs.task import Finished
from schedules import Schedule
from schedules.clock.timeline import timeline
from schedules.metrics import makespan, mean_memory
from serving.best_bound import left, percent_left
from serving.metrics import goodput
from serving.slo import Slo


@dataclass(frozen=True)
class Against:
    """What TELs are compared with: the optimum or a bound (rounds or nanoseconds), 0 without one.

    ``covers_kept`` says that it holds for schedules that keep tokens, too; goodput counts by the
    ``slo``.
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
        return self.schedule is not None and bool(self.schedule.easier)

    @property
    def marked(self) -> bool:
        """Whether the method may keep tokens over an eviction, as in all tables."""
        return self.keeps_tokens or policy_name(self.record.method) in token_keeping_policies()


Cell = Callable[[Line, Schedule, Against], object]

#: Means in seconds, each with its 99th percentile behind it.
_TIMES = {"E2EL s": "e2el", "TTFT s": "ttft", "TPOT s": "tpot"}


def table_text(instance: Instance, lines: Sequence[Line], against: Against) -> str:
    """Return the header and a line a schedule, by TEL; all fit into a hundred characters.

    All have the same predictions, which are named elsewhere.
    """
    shown_as = _columns(instance, against)
    rows = []
    for line in sorted(lines, key=lambda line: (line.tel or 0, line.record.method)):
        if (schedule := line.schedule) is None:
            continue
        name = line.record.method.partition(" with ")[0] + (MARK if line.marked else "")
        of_class = str(knowledge(line.record.method).on(instance)).removeprefix("with ")
        cells = (cell(line, schedule, against) for _, cell in shown_as)
        rows.append([name, of_class, *("-" if each is None else str(each) for each in cells)])
    return plain_table(["policy", "class", *(header for header, _ in shown_as)], rows)


def _columns(instance: Instance, against: Against) -> list[tuple[str, Cell]]:
    """Return header and cell of each column behind the class."""
    if instance.unit is not ROUNDS:
        e2el, *others = (
            [(header, _time(f"mean_{name}_ms")), ("p99", _time(f"p99_{name}_ms"))]
            for header, name in _TIMES.items()
        )
        good = [("good/s", _goodput)] if against.slo else []
        return [*e2el, ("left %", _left), *(each for pair in others for each in pair), *good]
    return [
        ("TEL", lambda _, schedule, __: schedule.tel),
        ("TEL/OPT" if against.optimum else "TEL/LB", _ratio),
        *([("to best", _to_best)] if registered(instance) else []),
        ("makespan", lambda _, schedule, __: makespan(instance, schedule)),
        ("memory %", _memory),
        ("evicted", lambda _, schedule, __: sum(map(len, schedule.attempts or ()))),
        ("ms", _milliseconds),
    ]


def _ratio(line: Line, schedule: Schedule, against: Against) -> str | None:
    del line
    return f"{schedule.tel / against.value:.4f}" if against.value else None


def _left(line: Line, schedule: Schedule, against: Against) -> str | None:
    about = against.value and (against.covers_kept or not line.keeps_tokens)
    share = left(schedule.tel, against.value) if about else None
    return None if share is None else percent_left(share)


def _memory(line: Line, schedule: Schedule, against: Against) -> str:
    del against
    return f"{100 * mean_memory(line.instance, schedule) / line.instance.memory:.1f}"


def _milliseconds(line: Line, *_: object) -> str:
    return f"{1000 * (line.record.solver_seconds or line.record.seconds):.1f}"


def _to_best(line: Line, schedule: Schedule, against: Against) -> str | None:
    del against
    known = registered(line.instance)
    return None if known is None or line.keeps_tokens else f"{known.gap(schedule.tel):.2f} %"


def _goodput(line: Line, schedule: Schedule, against: Against) -> str | None:
    if against.slo is None or line.record.mean_ttft_ms is None:
        return None
    return f"{goodput(timeline(line.instance, schedule), against.slo):.3f}"


def _time(name: str) -> Cell:
    def cell(line: Line, *_: object) -> str | None:
        value = getattr(line.record, name)
        # Six characters up to three hours.
        return None if value is None else f"{value / 1000:.{3 if value < 100_000 else 1}f}"

    return cell
