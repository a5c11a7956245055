"""A function of many things, on all cores."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from threading import Thread
from typing import TypeVar

from kvopt.runs.provenance import usable_cores

T = TypeVar("T")
R = TypeVar("R")
#: From so many things on: a process takes a second to begin.
SEVERAL = 20


class KilledError(RuntimeError):
    """A process was killed from outside; the message is one line."""


def side_by_side(function: Callable[[T], R], things: Sequence[T]) -> Iterator[R]:
    """Yield what a function returns of each thing, in their order, from a pool of processes.

    Raises
    ------
    KilledError
        If a process was killed, as where memory is over.
    """
    if len(things) < SEVERAL:
        yield from map(function, things)
        return
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(usable_cores(), mp_context=context, initializer=_begin)
    try:
        # Not ``pool.map``, which cancels what a broken pool is about to end.
        waiting = deque(pool.submit(function, each) for each in things)
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool:
        raise KilledError("one of the processes was killed; is memory over?") from None
    finally:
        # The executor would wait for what runs, minutes after Ctrl-C.
        pool.shutdown(wait=False, cancel_futures=True)
        for child in multiprocessing.active_children():
            child.terminate()


def _begin() -> None:
    """Leave Ctrl-C to the first process, and end where that is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None  # this is a child
    parent.join()
    os._exit(1)
