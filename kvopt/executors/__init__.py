"""Executors of a sweep's runs: threads on this machine, or Dask workers."""


class ExecutorError(Exception):
    """The executor cannot go on, whatever the tasks are; the message is one line."""
