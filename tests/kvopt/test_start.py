"""How a command begins, and that no signal to stop is lost."""

import os
import sys

import pytest

from tests.commands import run_process
from tests.kvopt.sweep_tools import ROOT, in_python

#: Waits, and then runs the rest of its arguments in its own place.
_IN_ITS_PLACE = "import os, sys, time; time.sleep(7); os.execv(sys.executable, sys.argv[1:])"
#: A signal where Python raises nothing: in a callback.
_IN_A_CALLBACK = """
import os, signal, time, weakref
from kvopt.commands.entry_point import interrupt_once

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


@pytest.mark.slow("waits")
def test_the_time_of_a_shell_before_the_command_does_not_count() -> None:
    """``sh -c "pip install ... && python solve.py ..."`` runs its last command in its own place."""
    solve = [sys.executable, "solve.py", "tiny_handover", "--policy", "svf", "--time-limit", "5"]
    ended = run_process(sys.executable, "-c", _IN_ITS_PLACE, *solve, cwd=ROOT)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.split()[-2:] == ["checker", "valid"]


def test_without_docstrings() -> None:
    """Policies have no summaries then, and Pyomo, which needs its own, is loaded with them."""
    solve = [sys.executable, "-OO", "solve.py", "tiny_handover", "--method", "highs:ilp", "--quiet"]
    ended = run_process(*solve, cwd=ROOT, env=os.environ | {"PYTHONOPTIMIZE": "2"})
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.split()[-2:] == ["checker", "valid"]


def test_a_signal_in_a_callback_comes_again() -> None:
    """Python raises nothing there, as while an import's lock is dropped; nothing is printed."""
    assert in_python(f"import sys\nsys.stderr = sys.stdout\n{_IN_A_CALLBACK}") == "stopped"
