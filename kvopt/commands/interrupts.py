"""Ctrl-C and its kin: the first one is taken note of, the others must not disturb what follows."""

from __future__ import annotations

import signal
from typing import NoReturn

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def interrupt_once() -> None:
    """Have the first signal to stop raise ``KeyboardInterrupt``, and those after it do nothing.

    ``timeout`` and a closed terminal send more than one, and the second would end a command that is
    just writing what the first one left it to write.  What is ignored already (``nohup``) stays so.
    """
    for number in _SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _interrupt)


def _interrupt(signum: int, frame: object) -> NoReturn:
    del signum, frame
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt
