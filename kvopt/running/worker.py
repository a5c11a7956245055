"""The engine's process: reads one job from standard input, writes events to standard output."""

from __future__ import annotations

import importlib
import os
import signal
import sys
import time

from kvopt.methods.engines import engine_of
from kvopt.running.job import Job, Report


def main() -> int:
    """Run one job; the exit code is 0 whenever the last event tells how it ended."""
    started = time.monotonic()
    # Engines print to file descriptor 1; the event stream must hold nothing but events.
    events = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    # The parent stops this process itself, after it has taken the last event.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    job = Job.from_line(sys.stdin.readline())
    report = Report(events, started)
    try:
        module = importlib.import_module(engine_of(job.solver).module)
        report("ready")
        module.solve(job, report)
    except MemoryError:
        report("error", text="out of memory")
    except Exception as error:
        text = " ".join(f"{type(error).__name__}: {error}".split())
        report("error", text=text[:500])
    return 0


if __name__ == "__main__":
    sys.exit(main())
