"""The answer: the schedule, its file format, the independent checker and metrics."""

from typing import TYPE_CHECKING

from schedules.schedule import Clock, Schedule, Status, make_schedule
from schedules.schedule_files import ScheduleFileError, read_schedule, write_schedule

if TYPE_CHECKING:
    from schedules.check import Verdict, check_schedule

__all__ = [
    "Clock",
    "Schedule",
    "ScheduleFileError",
    "Status",
    "Verdict",
    "check_schedule",
    "make_schedule",
    "read_schedule",
    "write_schedule",
]


def __getattr__(name: str) -> object:
    # The checker is imported on first use: `python -m schedules.check` imports this package
    # first, and runpy warns when that already brought in the module it is about to run.
    if name in ("Verdict", "check_schedule"):
        from schedules import check

        return getattr(check, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
