"""How long a round takes in real time: batch-time models, one file each in ``kinds``."""

from instances.batch_time.model import NANOSECONDS, Batch, BatchTime, BatchTimeError, Range
from instances.batch_time.registry import DEFAULT, batch_times, parse_batch_time, read_batch_time

__all__ = [
    "DEFAULT",
    "NANOSECONDS",
    "Batch",
    "BatchTime",
    "BatchTimeError",
    "Range",
    "batch_times",
    "parse_batch_time",
    "read_batch_time",
]
