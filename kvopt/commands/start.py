"""How the two long commands begin, by whichever name: before anything heavy is imported."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

from kvopt.commands.interrupts import interrupt_once
from kvopt.commands.watchdog import Watchdog, under_watch
from kvopt.running.kernel import occupy_streams, process_age


def start_solve(arguments: Sequence[str], program: str) -> int:
    """Solve one instance under a watchdog; return the exit code.

    Parameters
    ----------
    program
        The name by which the user called it.
    """
    occupy_streams()
    # Importing is part of the time limit.
    started = time.monotonic() - process_age()

    def run(watchdog: Watchdog) -> int:
        interrupt_once()
        try:
            watchdog.let_signals_in()
            from kvopt.commands.solve import main  # loads what the watcher does not need

            return main(arguments, watchdog, started, program)
        except KeyboardInterrupt:
            print(f"{program}: interrupted before there was a schedule", file=sys.stderr)
            return 4

    return under_watch(run)


def start_evaluate(arguments: Sequence[str], program: str) -> int:
    """Run many instances with many methods; return the exit code.

    Parameters
    ----------
    program
        The name by which the user called it.
    """
    occupy_streams()
    interrupt_once()
    try:
        from kvopt.commands.evaluate import main
    except KeyboardInterrupt:
        print(f"{program}: interrupted before anything was run", file=sys.stderr)
        return 130
    return main(arguments, program)
