"""Batch times: models of the length of a round, one file each in ``kinds``."""

from serving.batch_time.batch_time_names import DEFAULT, batch_times, read_batch_time

__all__ = ["DEFAULT", "batch_times", "read_batch_time"]
