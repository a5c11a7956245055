"""How a command begins in a process of its own: before anything heavy is imported."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

from kvopt.commands.watchdog import Watchdog, interrupt_once, under_watch
from kvopt.runs.begun import begin_ahead
from kvopt.runs.linux import occupy_streams

#: The variable by which a shell asks what may follow on the command line.
_COMPLETE = "_KVOPT_COMPLETE"
#: Options with which a command that solves only tells something.
_TELLING = {"-h", "--help", "--list"}


def kvopt(program: str = "kvopt") -> int:
    """Run the command line of this process, by the name it was called; return the exit code."""
    if asked := os.environ.get(_COMPLETE):
        return _complete(program, asked)
    first = sys.argv[1] if len(sys.argv) > 1 else ""

    def run(watchdog: Watchdog | None) -> int:
        from kvopt.commands.main import main

        return main(sys.argv[1:], program, watchdog)

    return _start(f"{program} {first}", run, solves=first == "solve")


def script(program: str, name: str) -> int:
    """Run a script that is one subcommand, such as ``solve.py``; return the exit code."""

    def run(watchdog: Watchdog | None) -> int:
        from kvopt.commands.main import subcommand

        return subcommand(name)(sys.argv[1:], program, watchdog)

    return _start(program, run, solves=name == "solve")


def _start(program: str, run: Callable[[Watchdog | None], int], *, solves: bool) -> int:
    """Run a command, under a watchdog where it solves; what it loads its watcher does not need."""
    occupy_streams()
    # Nothing here needs more, and where there are no threads left OpenBLAS interrupts its process.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Importing is part of the time limit.  How old the process is does not tell: a shell that runs
    # its last command in its own place has waited for all commands before.
    started = time.monotonic()

    def begin(watchdog: Watchdog | None = None) -> int:
        interrupt_once()
        try:
            if watchdog is not None:
                watchdog.let_signals_in()
            if solves and not _TELLING & set(sys.argv):
                begin_ahead()
            return run(watchdog)
        except KeyboardInterrupt:
            what = "before there was a schedule" if solves else "before anything was run"
            print(f"{program}: interrupted {what}", file=sys.stderr)
            return 130

    return under_watch(begin, started) if solves else begin()


def _complete(program: str, asked: str) -> int:
    from click.shell_completion import shell_complete

    from kvopt.commands.main import COMMANDS

    return shell_complete(COMMANDS, {}, program, _COMPLETE, asked)
