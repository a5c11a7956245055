"""Columns of the table of every policy, for a schedule in rounds and in seconds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
    """Reference of TELs: the optimum or a bound (rounds or nanoseconds), 0 without one.

    ``covers_kept``: it holds for schedules that keep tokens, too.  ``slo``: objective of goodput.
    """

    value: int = 0
    optimum: bool = False
    covers_kept: bool = False
    slo: Slo | None = None


@dataclass(frozen=True)
class PolicyLine:
    """Result of a policy: its row, and its schedule if it has a valid one."""

    instance: Instance
    finished: Finished
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


def table_text(instance: Instance, lines: Sequence[PolicyLine], against: Against) -> str:
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
    line: PolicyLine, schedule: Schedule, against: Against
) -> Iterator[tuple[str, str | None]]:
    """Yield title and text of each cell; means in seconds with their 99th percentiles."""
    about = against.value and (against.covers_kept or not line.keeps_tokens)
    share = left(schedule.tel, against.value) if about else None
    for title, name in (("E2EL s", "e2el"), ("TTFT s", "ttft"), ("TPOT s", "tpot")):
        yield title, _time(line, f"mean_{name}_ms")
        yield "p99", _time(line, f"p99_{name}_ms")
        if name == "e2el":
            yield "left %", None if share is None else percent_left(share)
    if against.slo is not None:
        timed = line.record.mean_ttft_ms is not None
        good = goodput(timeline(line.instance, schedule), against.slo) if timed else None
        yield "good/s", None if good is None else f"{good:.3f}"


def _in_rounds(
    line: PolicyLine, schedule: Schedule, against: Against
) -> Iterator[tuple[str, object]]:
    record, memory = line.record, mean_memory(line.instance, schedule) / line.instance.memory
    ratio = f"{schedule.tel / against.value:.4f}" if against.value else None
    yield "TEL", schedule.tel
    yield "TEL/OPT" if against.optimum else "TEL/LB", ratio
    if (known := registered(line.instance)) is not None:
        yield "to best", None if line.keeps_tokens else f"{known.gap(schedule.tel):.2f} %"
    yield "makespan", makespan(line.instance, schedule)
    yield "memory %", f"{100 * memory:.1f}"
    yield "evicted", sum(map(len, schedule.attempts or ()))
    yield "ms", f"{1000 * (record.solver_seconds or record.seconds):.1f}"


def _time(line: PolicyLine, name: str) -> str | None:
    value = getattr(line.record, name)
    # Six characters up to three hours.
    return None if value is None else f"{value / 1000:.{3 if value < 100_000 else 1}f}"
