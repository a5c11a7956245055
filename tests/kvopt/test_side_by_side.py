"""Many things on all cores: in order, nothing left behind, and a killed process is an error."""

import multiprocessing
import os
import signal
import time

import pytest

from kvopt.best_known.parallel_map import SEVERAL, KilledError, side_by_side


def _told(number: int) -> tuple[int, int]:
    return number, os.getpid()


def _killed(number: int) -> int:
    if number == SEVERAL:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def test_many_come_in_order_from_other_processes() -> None:
    """Also where only the first is taken: then no process is left."""
    many = list(range(2 * SEVERAL))
    told = list(side_by_side(_told, many))
    assert [number for number, _ in told] == many
    assert os.getpid() not in {process for _, process in told}
    results = side_by_side(_told, many)
    next(results)
    results.close()  # type: ignore[attr-defined]
    # Not ``join``: where the pool's thread has just reaped a child, it returns at once, and the
    # child is listed until that thread goes on.
    until = time.monotonic() + 10
    while multiprocessing.active_children() and time.monotonic() < until:
        time.sleep(0.01)
    assert multiprocessing.active_children() == []


def test_a_killed_process_is_an_error() -> None:
    """As where memory is over; nothing waits for its result."""
    with pytest.raises(KilledError, match="is memory over"):
        list(side_by_side(_killed, list(range(2 * SEVERAL))))
