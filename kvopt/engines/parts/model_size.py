"""Models too large to build are refused before they take the memory."""

from collections.abc import Callable
from typing import Any

import psutil

from kvopt.engines.job import EngineJob
from kvopt.runs.events import EventReport
from support.build_limit import NotBuiltError, limit_building

#: Bytes an entry of Pyomo, its compiled matrix and HiGHS, measured with 10^5 to 5·10^6 entries.
BYTES_PER_ENTRY = 400


def too_large(
    entries: int, memory_limit: float | None, entry_bytes: int = BYTES_PER_ENTRY
) -> str | None:
    """Return a one-line reason if a model with that many entries cannot fit in memory.

    The limit is in gigabytes; None stands for the memory that the machine has available now.
    """
    available = psutil.virtual_memory().available / 1e9
    limit = available if memory_limit is None else min(available, memory_limit)
    needed = entries * entry_bytes / 1e9
    if needed <= limit:
        return None
    return (
        f"the model would have {entries:,} entries and need about {needed:,.1f} GB, "
        f"{limit:,.1f} GB may be used"
    )


def fits(
    job: EngineJob, report: EventReport, entries: int, entry_bytes: int = BYTES_PER_ENTRY
) -> bool:
    """Return whether a model with that many entries fits in memory; report why not."""
    if reason := too_large(entries, job.memory_limit, entry_bytes):
        report.note(reason)
    return not reason


def build_in_time(
    job: EngineJob, report: EventReport, entries: int, build: Callable[[], Any]
) -> Any:
    """Return a model; None where it is too large or late, and report why."""
    if not fits(job, report, entries):
        return None
    try:
        with limit_building(job.end_of_building()):
            return build()
    except NotBuiltError as error:
        report.note(str(error))
        return None
