"""Every round takes one second, for any batch: the unit rounds of all four papers."""

from instances.batch_time import NANOSECONDS, BatchTime
from serving.batch_time.batch_time_kind import BatchTimeKind

_NAME = "unit"
KIND = BatchTimeKind(_NAME, lambda _: BatchTime(_NAME, base=1000 * NANOSECONDS))
