"""The engine's process: limits, crashes and lies are outcomes, never the end of the parent."""

import json
import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from instances import Request
from kvopt.best_known.registry_entry import UpperValue
from kvopt.runs import fork_server, memory_watch
from kvopt.runs.events import BoundProved, MethodDone, ScheduleFound
from kvopt.runs.state import RunState
from kvopt.runs.supervise import SupervisedRun, supervise
from schedules import make_schedule
from tests.kvopt.sweep_tools import PAIR, Patch, task_of


def _run(memory_limit: float | None = None, limit: float = 30.0) -> SupervisedRun:
    task = task_of(PAIR, "highs:ilp", time_limit=20.0, memory_limit=memory_limit)
    return supervise(task, limit)


def test_one_process_below_its_keeper() -> None:
    """A run of HiGHS is ready, has a model, and is done; its bound meets the optimum 2 + 4."""
    run = _run()
    state = run.state
    assert run.outcome.ending == "finished"
    assert (state.done, state.solver[:5], state.lower_bound) == (True, "HiGHS", 6)
    assert state.model["columns"] > 0
    assert 0 < run.start_seconds < 100
    assert run.outcome.peak_memory > 0


def test_a_long_line_waits_for_nobody(played: Callable[[str], None]) -> None:
    """A process that does not read what a pipe cannot hold ends at its limit all the same."""
    played('import time\nsend(\'{"kind": "ready"}\')\ntime.sleep(100)\n')
    many = replace(PAIR, requests=tuple(Request(i, 0, 1, 2) for i in range(20_000)))
    task = task_of(many, "highs:ilp")
    assert len(task.to_line()) > 100_000
    assert supervise(task, 0.2).outcome.ending == "time_limit"


def test_a_killed_server_is_replaced() -> None:
    """The next run has a new one."""
    assert _run().outcome.ending == "finished"
    server = fork_server._server.process
    os.kill(server, signal.SIGKILL)
    os.waitpid(server, 0)
    assert _run().outcome.ending == "finished"
    assert fork_server._server.process != server


def test_a_killed_compiler_is_replaced() -> None:
    """The server that loads numba is below the first one; the next run has another."""
    for _ in range(2):
        assert supervise(task_of(PAIR, "lp-swap"), 60).outcome.ending == "finished"
        (compiler,) = psutil.Process(fork_server._server.process).children()
        compiler.kill()
        compiler.wait(10)


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGHUP"])
def test_a_crash_names_its_signal(name: str, played: Callable[[str], None]) -> None:
    """Also one that the command holds back while it starts."""
    played(
        "import os, signal\n"
        f"signal.signal(signal.{name}, signal.SIG_DFL)\n"
        f"signal.pthread_sigmask(signal.SIG_UNBLOCK, {{signal.{name}}})\n"
        f"os.kill(os.getpid(), signal.{name})\n"
    )
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
    try:
        outcome = _run().outcome
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    assert (outcome.ending, outcome.detail) == ("crashed", name)


@pytest.mark.parametrize(
    ("last", "ending", "detail"),
    [
        ('{"kind": "done"}', "crashed", "exit code 7"),
        ('{"kind": "peak", "bytes": 1}', "finished", ""),
        ('{"kind": "peak", "bytes": 1}\\n{"kind": "note", "text": "late"}', "finished", ""),
    ],
)
def test_how_a_process_ends_after_its_last_word_is_no_crash(
    played: Callable[[str], None], last: str, ending: str, detail: str
) -> None:
    """What a method has said in full counts, whatever threads and libraries do at exit."""
    played(f"import os\nsend('{last}')\nos._exit(7)\n")
    outcome = _run().outcome
    assert (outcome.ending, outcome.detail) == (ending, detail)


def test_eating_memory_is_stopped(played: Callable[[str], None]) -> None:
    """Resident memory above the limit ends the run."""
    played("import time\nblock = bytearray(b'x' * 400_000_000)\ntime.sleep(100)\n")
    outcome = _run(memory_limit=0.2).outcome
    assert outcome.ending == "memory_limit"
    assert outcome.peak_memory > 200_000_000


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_what_a_process_prints_is_kept(played: Callable[[str], None], stream: str) -> None:
    """The last 4,000 characters, of either stream; a flood is no harm."""
    played(f"import os, sys\nprint('x' * 3_000_000, 'the end', file=sys.{stream}, flush=True)\n")
    output = _run().outcome.output
    assert len(output) == 4_000
    assert output.endswith("x the end")


@pytest.mark.parametrize("source", ["HiGHS", "CP-SAT", "search", "prices"])
def test_an_engines_own_proof_of_a_known_bound_is_one_more_witness(source: str) -> None:
    """Of a closed run the engine's own search is named; what else proves the same bound is not."""
    state = RunState(PAIR, "fine")
    state.offer(make_schedule(PAIR, [0, 3], "fine"), "fine")
    events = [BoundProved(value=6, source=each) for each in ("volumes", source)]
    assert [state.take(event) for event in events] == [True, source != "prices"]
    assert state.bound_source == ("volumes" if source == "prices" else source)


@pytest.mark.parametrize(
    "source", ["volumes", " volumes", "volumes ", "volumes\t", "\u00a0volumes\n"]
)
def test_no_method_lends_the_name_of_the_volumes(source: str) -> None:
    """Volumes prove 6 here; a 7 in their name, also with blanks around it, is an error."""
    state = RunState(PAIR, "file:own.py")
    assert state.take(BoundProved(value=6, source="volumes"))
    assert not state.take(BoundProved(value=7, source=source))
    state.close()
    assert (state.standing(), state.lower_bound, state.bound_source) == ("error", None, "")
    assert state.contradictions == ["a lower bound of 7 that volumes do not prove"]


def test_names_are_as_short_as_the_registry_wants_them() -> None:
    """One endless name in a row would have its whole store refused there."""
    state = RunState(PAIR, "file:own.py")
    state.take(ScheduleFound(starts=[0, 3], found_by="y" * 1000))
    state.take(BoundProved(value=1, source="x" * 1000))
    state.take(MethodDone(solver="z" * 1000))
    for name in (state.found_by, state.bound_source, state.solver):
        told: dict[str, Any] = {"value": 1, "method": "file:own.py", "date": "2026-11-01"}
        UpperValue(**told, found_by=name, seconds=0.0, solver=name)


@pytest.mark.slow("compiles")
@pytest.mark.parametrize(("compiles", "ending"), [(True, "finished"), (False, "time_limit")])
def test_only_compiling_is_free(played: Callable[[str], None], compiles: bool, ending: str) -> None:
    """A start of 3 s is killed after 2.5 s; if it compiles, it has 2.5 + 3 s, as snapshots say."""
    events = [json.dumps({"kind": "compiling", "goes_on": goes_on}) for goes_on in (True, False)]
    first, then = events if compiles else ["not an event"] * 2
    last = '{"kind": "ready"}\n{"kind": "peak", "bytes": 1}'
    start = f"send({first!r})\ntime.sleep(3)\nsend({then!r})\n"
    played(f"import time\n{start}send({last!r})\n")
    looks: list[float] = []
    given = task_of(PAIR, "highs:ilp", time_limit=20.0), 30.0
    end = time.monotonic() + 2.5
    run = supervise(*given, kill_at=end, listen=lambda look: looks.append(look.compiling))
    assert run.outcome.ending == ending
    assert (max(looks) > 1) == compiles
    assert (run.compiling > 1) == compiles


#: 300 MB, written where they stay, and five copies of the process that write no page of their own.
_SHARED = (
    "import os, time\n"
    "block = bytearray(300_000_000)\n"
    "block[::4096] = b'x' * len(block[::4096])\n"
    "for _ in range(5):\n"
    "    if os.fork() == 0:\n"
    "        time.sleep(100)\n"
    "time.sleep(1.5)\n"
    'send(\'{"kind": "peak", "bytes": 1}\')\n'
)
_tells_shares = pytest.mark.skipif(
    not Path("/proc/self/smaps_rollup").exists(), reason="Linux tells shares"
)


@pytest.mark.slow("waits")
@_tells_shares
def test_shared_pages_count_once(played: Callable[[str], None]) -> None:
    """Of 1.8 GB that six processes call theirs there are 300 MB."""
    played(_SHARED)
    outcome = _run(memory_limit=0.6).outcome
    assert outcome.ending == "finished"
    assert 300_000_000 < outcome.peak_memory < 600_000_000


@pytest.mark.slow("waits")
@_tells_shares
def test_ends_during_a_look_count_once(played: Callable[[str], None], monkeypatch: Patch) -> None:
    """Neither all that such a process held counts, nor its share a second time in the others'."""
    share, resident = memory_watch._share, memory_watch._resident
    copies: list[psutil.Process] = []

    def end(process: psutil.Process) -> None:
        process.kill()
        while resident(process):
            time.sleep(0.01)

    def share_of_the_ending(process: psutil.Process) -> int:
        if not copies and len(process.children()) == 5:
            copies.extend(process.children())
        if process in copies[:1]:
            end(process)
        told = share(process)
        if process in copies[1:]:
            end(process)
        return told

    played(_SHARED)
    monkeypatch.setattr(memory_watch, "_share", share_of_the_ending)
    outcome = _run(memory_limit=0.6).outcome
    assert len(copies) == 5
    assert outcome.ending == "finished"
    # One look at the shares of six, then five, four, three and two tells 50 + 60 + 75 + 100 + 150.
    assert 300_000_000 < outcome.peak_memory < 400_000_000
