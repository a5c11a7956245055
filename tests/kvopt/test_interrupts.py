"""A signal to stop is never lost."""

from __future__ import annotations

from tests.kvopt.sweep_tools import in_python

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
    assert in_python(f"import sys\nsys.stderr = sys.stdout\n{_IN_A_CALLBACK}") == "stopped"
