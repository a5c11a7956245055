"""Settings and fixtures of all tests."""

import os
import signal
import subprocess
import sys

import pytest
from hypothesis import settings

from tests.tiers import unknown_kinds

# On a loaded machine an example may take any time; pytest-timeout ends what hangs.
settings.register_profile("loaded", deadline=None)
settings.load_profile("loaded")

# As in the processes of runs (``kvopt.runs.fork_server``), before any linear algebra is loaded.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Tests start thousands of processes; each would compile all sources anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_configure() -> None:
    """Let Ctrl-C reach the commands that tests start, also from a shell's background."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


#: No two of them can be loaded in one process, and tests share theirs in any order.
ENGINES = {"highspy", "ortools"}
_loaded: set[str] = set()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """Fail the first test after which pytest's own process has an engine."""
    found = sys.modules.keys() & ENGINES - _loaded
    _loaded.update(found)
    assert not found, f"{found} loaded here: ask tests.engine_batch"


@pytest.fixture
def no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures take most of the time of a report; tests/reports looks at them."""
    monkeypatch.setattr("reports.build._figure", lambda *_: None)


#: Tests that run no compiled kernels come first, while these are made.
FIRST = ("tests/instances/", "tests/schedules/", "tests/heuristics/")
#: The longest file by far: at the end the other process would wait for it.
NEXT = "tests/docs/test_blocks.py"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put first what need not wait for the kernels of :func:`pytest_sessionstart`."""
    if unknown := unknown_kinds(items):
        raise pytest.UsageError(f"slow for a reason that tests/tiers.py does not list: {unknown}")
    items.sort(key=lambda item: (not item.nodeid.startswith(FIRST), NEXT not in item.nodeid))


def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile the kernels once beside the first tests, where several processes would run them."""
    config = session.config
    if not hasattr(config, "workerinput") and config.getoption("numprocesses", None):
        code = "from tests import engine_batch as e; e.compile_first(e.WITH_KERNELS)"
        subprocess.Popen([sys.executable, "-c", code], cwd=config.rootpath)
