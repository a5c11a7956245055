"""A run with its schedule on a clock: latencies and serving metrics (docs/metrics.md)."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from instances import Instance
from instances.batch_time import NANOSECONDS
from kvopt.runs.task import FinishedRun
from schedules import Schedule
from schedules.clock.timeline import Timeline, make_timeline
from serving.metrics import ServingMetrics, goodput, serving
from serving.request_rows import request_frame
from serving.slo import SERVER_SLO, Slo, read_slo

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class TimedRun(FinishedRun):
    """A run on an instance in seconds; latencies without a schedule raise a ValueError."""

    instance: Instance = field(kw_only=True)
    slo: Slo | None = None

    @property
    def method(self) -> str:
        """The method in its canonical spelling, as in rows, tables and schedule files."""
        return self.record.method

    @property
    def batch_time(self) -> str:
        """The length of a round as text; empty for an instance in rounds."""
        return self.record.batch_time

    @property
    def tel(self) -> int | None:
        """TEL of the best schedule (rounds, or nanoseconds in real time); None without one."""
        return self.record.tel

    @property
    def tel_seconds(self) -> float | None:
        """TEL in seconds; None without one, or for an instance in rounds."""
        return self.in_seconds(self.tel)

    @cached_property
    def timeline(self) -> Timeline:
        """The moments of everything in the schedule (nanoseconds)."""
        return make_timeline(self.instance, self.required_schedule("to put on the clock"))

    @property
    def serving(self) -> ServingMetrics:
        """The serving metrics."""
        return serving(self.timeline, self.slo or SERVER_SLO)

    @property
    def requests(self) -> pd.DataFrame:
        """One row a request: times, latencies, evictions."""
        return request_frame(self.instance, self.timeline, self.slo)

    def goodput(self, slo: str) -> float:
        """Return the requests a second that keep an objective, as ``ttft:500ms,tpot:50ms``."""
        return goodput(self.timeline, read_slo(slo))

    def in_seconds(self, value: int | None) -> float | None:
        """Return a TEL or a bound in seconds; None for None, and for an instance in rounds."""
        return value / NANOSECONDS if self.batch_time and value is not None else None

    def required_schedule(self, wanted: str) -> Schedule:
        """Return the schedule, or raise a ValueError with its use."""
        if self.schedule is None:
            raise ValueError(f"{self.method} on {self.record.instance}: no schedule {wanted}")
        return self.schedule
