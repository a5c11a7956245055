"""Where the runs of a sweep are carried out: processes of this machine, or Dask workers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from kvopt.runs.task import Finished, Task


class ExecutorError(Exception):
    """The executor cannot go on, whatever the tasks are; the message is one line."""


class Executor(Protocol):
    """Carries out runs side by side.

    ``run`` yields every task's result once, as it comes, in any order.  When the caller stops
    asking (``GeneratorExit``, Ctrl-C), the runs under way are stopped with all their processes.
    """

    def run(self, tasks: Sequence[Task]) -> Iterator[Finished]:
        """Carry out tasks and yield the results as they come.

        Raises
        ------
        ExecutorError
            If the machines that carry out the runs are not to be had any more.
        """
        ...
