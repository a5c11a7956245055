"""Start of a command, before anything heavy is imported."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

#: Variable by which a shell asks for proposals.
_COMPLETE = "_KVOPT_COMPLETE"
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
#: Seconds after which a signal is sent again where Python could not raise.
_AGAIN = 0.01


def kvopt(program: str = "kvopt") -> int:
    """Run the command line of this process, by the name of its program; return the exit code."""
    if asked := os.environ.get(_COMPLETE):
        return _complete(program, asked)
    return _start(program)


def script(program: str, name: str) -> int:
    """Run a script that is one subcommand, such as ``solve.py``; return the exit code."""
    return _start(program, name)


def _start(program: str, name: str = "") -> int:
    """Run a subcommand, or ``kvopt`` itself, from the moment from which its time limit counts."""
    given = sys.argv[1:]
    # Nothing here needs more, and where there are no threads left OpenBLAS interrupts its process.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Importing is part of the time limit.  The age of the process is no measure: a shell that runs
    # its last command in its own place has waited for all commands before.
    started = time.monotonic()
    try:
        interrupt_once()
        from kvopt.runs.linux_processes import occupy_streams  # not before Ctrl-C is heeded

        occupy_streams()
        from kvopt.commands.main import main, subcommand

        return (subcommand(name) if name else main)(given, program, started)
    except KeyboardInterrupt:
        program = program if name else f"{program} {''.join(given[:1])}"
        solves = "solve" in (name, *given[: not name])
        what = "before there was a schedule" if solves else "before anything was run"
        print(f"{program}: interrupted {what}", file=sys.stderr)
        return 130


def interrupt_once() -> None:
    """Make the first signal to stop raise ``KeyboardInterrupt``, and later ones do nothing.

    ``timeout`` and a closed terminal send more than one, and the second would end a command that
    still writes its result.  A signal that is ignored already (``nohup``) stays so.
    """
    heeded = [each for each in _SIGNALS if signal.getsignal(each) != signal.SIG_IGN]

    def heed() -> None:
        for each in heeded:
            signal.signal(each, interrupt)

    def interrupt(signum: int, frame: object) -> NoReturn:
        del frame
        for each in _SIGNALS:
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt(signum)

    def again(unraisable: UnraisableHookArgs) -> None:
        # A callback of the interpreter, as for an import lock, cannot raise anything.
        if not isinstance(unraisable.exc_value, KeyboardInterrupt) or not unraisable.exc_value.args:
            sys.__unraisablehook__(unraisable)
            return
        heed()
        signum = unraisable.exc_value.args[0]
        threading.Timer(_AGAIN, os.kill, (os.getpid(), signum)).start()

    heed()
    sys.unraisablehook = again


def _complete(program: str, asked: str) -> int:
    from click.shell_completion import shell_complete

    from kvopt.commands.main import COMMANDS

    return shell_complete(COMMANDS, {}, program, _COMPLETE, asked)
