"""What an answer is: the schedule, its file format, the independent checker and metrics."""

from schedules.check import Verdict, check_schedule
from schedules.files import ScheduleFileError, read_schedule, write_schedule
from schedules.model import Schedule, Status, make_schedule

__all__ = [
    "Schedule",
    "ScheduleFileError",
    "Status",
    "Verdict",
    "check_schedule",
    "make_schedule",
    "read_schedule",
    "write_schedule",
]
