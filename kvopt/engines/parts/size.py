"""Models too large to build are refused before they eat the memory."""

from __future__ import annotations

from collections.abc import Iterable

import psutil

#: Measured on models with 10^5 to 5·10^6 entries: Pyomo, its compiled matrix and HiGHS together
#: take about this many bytes an entry.
BYTES_PER_ENTRY = 400
#: Integers up to this have a floating-point number of their own.
EXACT_UP_TO = 2**53


def exact_as_floats(latest: Iterable[int]) -> bool:
    """Tell whether sums of start rounds up to the latest ones are exact in floating point."""
    return sum(latest) <= EXACT_UP_TO


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
