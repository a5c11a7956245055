"""Measure the time of a call next to the benchmark."""

import statistics
import time
from collections.abc import Callable


def seconds(
    function: Callable[[], object], repeats: int = 1, clock: Callable[[], float] = time.perf_counter
) -> float:
    """Return the median time of some calls."""
    times = []
    for _ in range(repeats):
        began = clock()
        function()
        times.append(clock() - began)
    return statistics.median(times)
