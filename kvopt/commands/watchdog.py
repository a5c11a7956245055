"""A limit on a command as a whole, which holds also while it reads a file that is too large.

Python cannot interrupt itself within a library that reads or validates millions of numbers.  So the
command works in a copy of its process, and this one waits: it kills the copy at the time that was
agreed, and says so.

In the copy the first signal to stop is taken note of; the others must not disturb what follows.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, NoReturn

from kvopt.runs.linux import end_with

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
#: Seconds after which a signal comes again that nothing could be raised for.
_AGAIN = 0.01
_POLL_SECONDS = 0.2
#: A wait that takes longer than it should by these seconds was no wait: the process was stopped.
_STOPPED_SECONDS = 1.0


def interrupt_once() -> None:
    """Have the first signal to stop raise ``KeyboardInterrupt``, and those after it do nothing.

    ``timeout`` and a closed terminal send more than one, and the second would end a command that is
    just writing what the first one left it to write.  What is ignored already (``nohup``) stays so.
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
        # A callback of the interpreter's, such as that of an import lock, cannot raise anything.
        if not isinstance(unraisable.exc_value, KeyboardInterrupt) or not unraisable.exc_value.args:
            sys.__unraisablehook__(unraisable)
            return
        heed()
        signum = unraisable.exc_value.args[0]
        threading.Timer(_AGAIN, os.kill, (os.getpid(), signum)).start()

    heed()
    sys.unraisablehook = again


class Watchdog:
    """What the command tells its watcher; without one (``descriptor`` None) nobody watches.

    Attributes
    ----------
    started
        From when the time limit counts, on the clock of ``time.monotonic``: now, if left out.
    """

    def __init__(
        self,
        descriptor: int | None = None,
        held_back: Collection[signal.Signals] = (),
        started: float | None = None,
    ) -> None:
        self._descriptor, self._held_back = descriptor, held_back
        self.started = time.monotonic() if started is None else started

    def let_signals_in(self) -> None:
        """Let signals come that are held back until the command is ready to be interrupted."""
        if self._held_back:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, self._held_back)

    def bark_at(self, moment: float, exit_code: int, message: str) -> None:
        """Have this process killed at a moment, with an exit code and one line on standard error.

        Parameters
        ----------
        moment
            On the clock of ``time.monotonic``, seconds.
        """
        self._send(f"{moment!r} {exit_code} {message}\n")

    def rest(self) -> None:
        """Have nothing killed any more."""
        self._send("\n")

    def _send(self, order: str) -> None:
        if self._descriptor is not None:
            os.write(self._descriptor, order.encode())


def under_watch(run: Callable[[Watchdog], int], started: float) -> int:
    """Run a command in a copy of this process and return its exit code.

    The copy gets no signal before it calls :meth:`Watchdog.let_signals_in`.
    Signals that are sent to this process alone are passed on; what a terminal sends reaches both.
    Where the system cannot wait for signals, as macOS, or has no process left, the command runs
    here, unwatched.
    """
    if not hasattr(signal, "sigtimedwait"):
        return run(Watchdog(started=started))
    orders, descriptor = os.pipe()
    waited = {*_SIGNALS, signal.SIGCHLD}
    signal.pthread_sigmask(signal.SIG_BLOCK, waited)
    watcher = os.getpid()
    try:
        child = os.fork()
    except OSError:
        # The run, which needs a process too, tells what is wrong.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, waited)
        return run(Watchdog(started=started))
    if child == 0:
        os.close(orders)
        end_with(watcher)
        return run(Watchdog(descriptor, waited, started))
    os.close(descriptor)
    os.set_blocking(orders, False)
    return _watch(child, orders, waited)


def _watch(child: int, orders: int, waited: set[signal.Signals]) -> int:
    bark: tuple[float, int, str] | None = None
    looked = time.monotonic()
    while True:
        arrived = signal.sigtimedwait(waited, _POLL_SECONDS)
        asleep = time.monotonic() - looked - _POLL_SECONDS
        looked += _POLL_SECONDS + asleep
        if asleep > _STOPPED_SECONDS and bark is not None:
            # Both were stopped (Ctrl-Z); the command must have its chance to tell what it has.
            bark = (bark[0] + asleep, *bark[1:])
        # A positive code says that the kernel sent it, as a terminal does: to the child as well.
        if arrived and arrived.si_signo in _SIGNALS and arrived.si_code <= 0:
            os.kill(child, arrived.si_signo)
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return _exit_code(status)
        if (order := _last_order(orders)) is not None:
            moment, _, rest = order.partition(" ")
            code, _, message = rest.partition(" ")
            bark = (float(moment), int(code), message) if moment else None
        if bark is not None and time.monotonic() > bark[0]:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            print(bark[2], file=sys.stderr)
            return bark[1]


def _last_order(orders: int) -> str | None:
    try:
        lines = os.read(orders, 1 << 16).decode().splitlines()
    except BlockingIOError:
        return None
    return lines[-1] if lines else None


def _exit_code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    # As a shell tells of a process that a signal has ended.
    return code if code >= 0 else 128 - code
