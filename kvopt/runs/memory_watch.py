"""Resident memory of a run's processes; virtual memory would count stacks and libraries."""

import contextlib
import math
import sys
import time

import psutil

#: Seconds between looks with a limit, and before the first without: a short run sends its peak.
_LOOK_SECONDS, _FIRST_SECONDS = 0.05, 0.3
#: Rest after a look without a limit, as a multiple of its length, and the longest in seconds.
_REST, _LONGEST_REST = 100, 5.0


class MemoryWatch:
    """The most memory that a process and all below it held at a time, in bytes.

    A page that processes share counts once where the system has proportional set sizes.
    """

    def __init__(self, gigabytes: float | None) -> None:
        self.peak = 0
        self._limit = math.inf if gigabytes is None else gigabytes * 1e9
        self._next = time.monotonic() + (_LOOK_SECONDS if gigabytes else _FIRST_SECONDS)

    def exceeds(self, pid: int) -> bool:
        """Return whether a process tree has held more than the limit; looks from time to time."""
        # A look goes through all processes of the machine: not once for every event of a burst.
        if time.monotonic() > self._next:
            began = time.monotonic()
            with contextlib.suppress(psutil.NoSuchProcess):
                self.peak = max(self.peak, self._held(pid))
            ended = time.monotonic()
            free = self._limit == math.inf
            rest = min(_REST * (ended - began), _LONGEST_REST) if free else 0.0
            self._next = ended + max(_LOOK_SECONDS, rest)
        return self.peak > self._limit

    def _held(self, pid: int) -> int:
        """Return the bytes that the tree holds, and no more than the peak if that is sure."""
        least = sys.maxsize
        for _ in range(3):
            root = psutil.Process(pid)
            resident = {each: _resident(each) for each in (root, *root.children(recursive=True))}
            now = sum(resident.values())
            if now > self.peak:
                # Shares take a look at every page, and are less: only where they decide something.
                now = sum(min(rss, _share(process)) for process, rss in resident.items())
            least = min(least, now)
            # When a process ends meanwhile, the shares of the others contain its share again.
            gone = any(rss and not _resident(process) for process, rss in resident.items())
            if least <= self.peak or not gone:
                break
        return least


def _resident(process: psutil.Process) -> int:
    with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
        return int(process.memory_info().rss)
    return 0


def _share(process: psutil.Process) -> int:
    """Return the proportional set size of a process in bytes, if Linux has it; 0 of one gone."""
    with contextlib.suppress(psutil.Error):
        return int(getattr(process.memory_full_info(), "pss", 0)) or _resident(process)
    return _resident(process)
