"""A signal to stop is never lost."""

from __future__ import annotations

import subprocess
import sys

_IN_A_CALLBACK = """
import os, signal, time, weakref
from kvopt.commands.watchdog import interrupt_once

class Thing: pass

def callback(_):
    os.kill(os.getpid(), signal.SIGINT)
    for _ in range(1000): pass  # where the signal's handler is called

interrupt_once()
thing = Thing()
reference = weakref.ref(thing, callback)
try:
    del thing
    time.sleep(30)
except KeyboardInterrupt:
    print("stopped")
"""


def test_a_signal_in_a_callback_comes_again() -> None:
    """Python raises nothing there, as while an import's lock is dropped; nothing is printed."""
    ran = subprocess.run(
        [sys.executable, "-c", _IN_A_CALLBACK], capture_output=True, text=True, timeout=60
    )
    assert (ran.stdout, ran.stderr) == ("stopped\n", "")
