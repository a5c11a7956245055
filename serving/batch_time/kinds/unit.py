"""Every round takes one second, for any batch: the unit rounds of all four papers."""

from __future__ import annotations

from instances.batch_time import NANOSECONDS, BatchTime
from serving.batch_time.batch_time_kind import BatchTimeKind

_NAME = "unit"


def _build(options: dict[str, str]) -> BatchTime:
    del options
    return BatchTime(_NAME, base=1000 * NANOSECONDS)


KIND = BatchTimeKind(_NAME, _build)
