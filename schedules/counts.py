"""Numbers of running and waiting requests over time, by a schedule in rounds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from instances.model import Instance
from schedules.metrics import holdings
from schedules.model import Schedule

Ints = NDArray[np.int64]


def running_and_waiting(instance: Instance, schedule: Schedule, times: Ints) -> tuple[Ints, Ints]:
    """Return the running and the waiting requests at integer times (rounds), shape (k,) each.

    A request waits from its arrival to its completion whenever it does not run.
    """
    held = list(holdings(instance, schedule))
    started = np.sort([each.start for each in held])
    ended = np.sort([each.start + each.tokens for each in held])
    arrived = np.sort([int(request.arrival) for request in instance.requests])
    outputs = [request.output for request in instance.requests]
    completed = np.sort([p + o for p, o in zip(schedule.starts, outputs, strict=True)])
    running = np.searchsorted(started, times) - np.searchsorted(ended, times)
    present = np.searchsorted(arrived, times) - np.searchsorted(completed, times)
    return running, present - running
