"""Parallel map on all cores."""

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from kvopt.runs.linux_processes import end_with_parent
from kvopt.runs.provenance import usable_cores

T = TypeVar("T")
R = TypeVar("R")
#: Fewest things for a pool: a process takes a second to start.
SEVERAL = 20


class KilledError(RuntimeError):
    """A process was killed from outside; the message is one line."""


def side_by_side(function: Callable[[T], R], things: Sequence[T]) -> Iterator[R]:
    """Yield the results of a function in order, from a pool of processes."""
    if len(things) < SEVERAL:
        yield from map(function, things)
        return
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(usable_cores(), context, _begin, (os.getpid(),))
    try:
        # pool.map would cancel the rest of a broken pool.
        waiting = deque(pool.submit(function, each) for each in things)
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool:
        raise KilledError("one of the processes was killed; is memory over?") from None
    finally:
        # Without waiting, which takes minutes after Ctrl-C.
        pool.shutdown(wait=False, cancel_futures=True)
        for child in multiprocessing.active_children():
            child.terminate()


def _begin(parent: int) -> None:
    """Ignore Ctrl-C, and end with the first process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent(parent)
