"""Executors of a sweep's runs: threads on this machine, or Dask workers."""


class ExecutorError(Exception):
    """The executor cannot go on with any task; the message is one line."""
