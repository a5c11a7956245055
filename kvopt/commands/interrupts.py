"""Ctrl-C and its kin: the first one is taken note of, the others must not disturb what follows."""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
#: Seconds after which a signal comes again that nothing could be raised for.
_AGAIN = 0.01


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
