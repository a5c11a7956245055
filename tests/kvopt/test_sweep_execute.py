"""One run and its judgement: clocks, limits, what is trusted and what is not."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from formulations.valid.volume_bounds import volume_bound
from instances import Instance, Request, write_instance
from kvopt.executors.local import run_local
from kvopt.runs.events import BoundProved, ScheduleFound
from kvopt.runs.execute import execute
from kvopt.runs.process import ProcessOutcome
from kvopt.runs.state import RunState
from kvopt.runs.task import Task
from schedules.evidence import COMPUTED, METHOD_FAILED, is_bound_believed
from tests.kvopt.sweep_tools import PAIR, Evaluate, Patch, own_method, task_of, wait_until
from tests.oracles.brute_force import brute_force_optimum
from tests.tiers import a_few


def _task(method: str, instance: Instance = PAIR, **more: object) -> Task:
    return task_of(instance, method, planned=True, **more)


def test_a_policy() -> None:
    """A run leaves a checked schedule, the volume bound, both traces and the instance."""
    finished = execute(_task("svf"))
    record = finished.record
    assert (record.status, record.ending, record.tel) == ("optimal", "finished", 6)
    assert finished.schedule is not None
    assert finished.schedule.starts == (0, 3)
    assert (finished.schedule.provenance["code"], finished.schedule.tel) == (record.code, 6)
    assert finished.instance == PAIR


def test_the_trip_over_a_wire() -> None:
    """A process gets the task as it was planned."""
    task = _task("svf")
    more = replace(task, deadline=7.5, warm_start=[0, 3], model_file="x.lp")
    assert [Task.from_line(each.to_line()) for each in (task, more)] == [task, more]


@pytest.mark.slow("waits")
def test_the_clock_starts_after_the_imports(tmp_path: Path) -> None:
    """Three quarters of a second of imports are no part of a limit of half a second."""
    method = own_method(tmp_path, "return [0, 3]", "import time\ntime.sleep(0.75)")
    record = execute(_task(method, time_limit=0.5)).record
    assert (record.status, record.ending, record.tel) == ("optimal", "finished", 6)
    assert record.start_seconds > 0.75
    assert record.seconds < 0.5


@pytest.mark.slow("waits")
def test_imports_that_never_end(tmp_path: Path) -> None:
    """Those of a file of one's own may take as long as its run: 0.2 s, a tenth and two seconds."""
    method = own_method(tmp_path, "return [0, 3]", "import time\ntime.sleep(600)")
    record = execute(_task(method, time_limit=0.2)).record
    assert (record.status, record.ending) == ("time_limit", "time_limit")
    assert "imports took more than 2.22 s" in record.detail


@pytest.mark.slow("waits")
def test_a_file_of_ones_own_sets_no_clock(tmp_path: Path) -> None:
    """What it sends while it is imported, as if it compiled, gives it no time."""
    lie = (
        "import os, time\n"
        "for pipe in range(3, 12):\n"
        "    try:\n"
        '        os.write(pipe, b\'{"kind": "compiling", "goes_on": true}\\n\')\n'
        "    except OSError:\n"
        "        pass\n"
        "time.sleep(600)"
    )
    # Asking the file what it declares takes its time before.
    task = _task(own_method(tmp_path, "return [0, 3]", lie), time_limit=60.0)
    record = execute(replace(task, deadline=time.monotonic() + 3.0)).record
    assert (record.status, record.ending) == ("time_limit", "time_limit")


def test_what_was_sent_before_a_crash_is_kept(tmp_path: Path) -> None:
    """A schedule that was checked stands; a sweep says beside it that the method failed."""
    body = "report('schedule', starts=[0, 4])\nreport('bound', value=3, source='mine')\n"
    method = own_method(
        tmp_path, body + "os.kill(os.getpid(), signal.SIGKILL)", "import os, signal"
    )
    record = execute(_task(method)).record
    assert (record.status, record.ending, record.tel) == ("feasible", "crashed", 7)
    assert (record.lower_bound, record.bound_source) == (6, "volumes")
    assert record.detail.startswith(METHOD_FAILED)
    assert "SIGKILL" in record.detail
    write_instance(PAIR, file := tmp_path / "pair.json")
    told = Evaluate([file, "--methods", method, "--store", tmp_path / "runs.sqlite"]).call()
    assert told.returncode == 1
    assert f"failed on all runs (1 feasible), first on pair, seed 0: {METHOD_FAILED}" in told.stderr


@pytest.mark.parametrize(
    ("body", "status", "detail"),
    [
        ("return [0, 3.0]", "error", "'float' object cannot be interpreted as an integer"),
        ("return 1 // 0", "error", "own.py:3: ZeroDivisionError: integer division or modulo by"),
        ("return [0]", "refused", ""),
        ("return [0, -3]", "refused", ""),
        ("return [0, 10**30]", "refused", "64 bits"),
        ("report('bound', value=10**30)", "error", "64 bits"),
        ("report('bound', value=1, source='a\\0b\\nc')\nreturn [0, 3]", "optimal", ""),
        ("report('dance')", "error", "takes schedule, bound and note"),
        ("import numpy as np; return np.array([0, 3])", "optimal", ""),
        ("import numpy as np; report('bound', value=np.int64(5)); return [0, 3]", "optimal", ""),
        ("return None", "no_solution", ""),
        ("import sys; sys.exit(3)", "error", "SystemExit"),
        ("raise MemoryError", "memory_limit", "out of memory"),
        ('print(\'{"kind": "bound"}\'); return [0, 3]', "optimal", ""),
    ],
)
def test_what_a_method_may_send(tmp_path: Path, body: str, status: str, detail: str) -> None:
    """Integers of 64 bits, one start a request; what it prints is not taken for an answer."""
    record = execute(_task(own_method(tmp_path, body))).record
    assert record.status == status
    assert detail in record.detail
    assert status != "refused" or record.lower_bound is None


#: Price 1/3 a token at times 1 and 2: 1 2/3 + 3 2/3 twice, less 8 tokens' price, is 6 1/3.
PROOF = {"kind": "prices", "value": 7, "denominator": 3, "memory": [0, 1, 1]}
WITHOUT = "the method claims that no TEL is below 7; without a certificate it is not used"
LESS = "the method claims that no TEL is below 7; its certificate proves less"


@pytest.mark.parametrize(
    "source", a_few(("volumes", "certificate: prices", "mine", "prices", "HiGHS"), 1)
)
@pytest.mark.parametrize(
    ("certificate", "proved", "told"),
    [
        (None, False, WITHOUT),
        (PROOF, True, ""),
        (PROOF | {"memory": [0, 0, 0]}, False, LESS),
        (PROOF | {"kind": "nonsense"}, False, LESS),
        (PROOF | {"schema": "kvopt.certificate/1", "instance": "word"}, True, ""),
    ],
)
def test_the_word_of_a_method_of_one_s_own_is_no_bound(
    tmp_path: Path, source: str, certificate: object, proved: bool, told: str
) -> None:
    """Here OPT is 7 and the volumes say 6: a bound of 7 needs its proof, whatever it is called."""
    instance = Instance("word", 4, tuple(Request(i, 0, 1, o) for i, o in enumerate((1, 2, 2))))
    assert (brute_force_optimum(instance), volume_bound(instance)) == (7, 6)
    body = f"report('bound', value=7, source={source!r}, certificate={certificate})"
    seen = []
    task = _task(own_method(tmp_path, f"{body}\nreturn [0, 0, 2]"), instance)
    finished = execute(task, listen=lambda look: seen.append(look.state.lower_bound))
    record, schedule = finished.record, finished.schedule
    bound = (7, "certificate: prices") if proved else (6, "volumes")
    status = "optimal" if proved else "feasible"
    assert (record.status, record.tel) == (status, 7)
    assert (record.lower_bound, record.bound_source) == bound
    assert record.claimed_bound == (None if proved else 7)
    assert record.detail[: len(told) or None] == told
    assert [value for _, value in record.bounds] == ([6, 7] if proved else [6])
    assert {each for each in seen if each is not None} <= {6, bound[0]}
    assert schedule is not None
    assert (schedule.status, schedule.lower_bound) == (status, bound[0])
    shown = (record.status, record.detail, record.bound_source)
    assert is_bound_believed(*shown, word=False, proved=True)
    assert is_bound_believed(*shown, word=True) == (record.bound_source in COMPUTED)


def test_threads_left_behind_keep_nobody_waiting(tmp_path: Path) -> None:
    """The run ends when its method does."""
    method = own_method(
        tmp_path,
        "threading.Thread(target=time.sleep, args=(60,)).start()\n"
        "multiprocessing.get_context('fork').Process(target=time.sleep, args=(60,)).start()\n"
        "return [0, 3]",
        "import multiprocessing, threading, time",
    )
    started = time.monotonic()
    assert execute(_task(method)).record.tel == 6
    assert time.monotonic() - started < 20


def test_optimal_is_counted_not_claimed() -> None:
    """LB = UB in integers; a worse schedule is not the incumbent; how it ended is no matter."""
    state = RunState(PAIR, "m")
    state.take(ScheduleFound(seconds=0.5, starts=[0, 3], found_by="m"))
    state.take(ScheduleFound(seconds=0.5, starts=[0, 9], found_by="m"))
    state.take(BoundProved(value=5, source="m"))
    state.close()
    assert state.status() == "feasible"
    state.take(BoundProved(value=6, source="m"))
    state.end(ProcessOutcome("time_limit", "", 1.0, 0))
    assert state.status() == "optimal"
    assert (state.incumbents, state.notes) == ([(0.5, 6)], ["stopped at the time limit"])


def test_a_fault_of_the_sweep_itself_is_a_row(monkeypatch: Patch) -> None:
    """It costs one run, not the others."""
    monkeypatch.setattr(RunState, "take", lambda *_: 1 // 0)
    record = execute(_task("svf")).record
    assert record.status == "error"
    assert "kvopt itself failed: " in record.detail
    assert "ZeroDivisionError" in record.detail


def test_the_engine_stops_with_its_caller(tmp_path: Path) -> None:
    """Closing the generator stops what runs, and starts nothing more."""
    endless = own_method(tmp_path, "while True: pass")
    tasks = [_task("svf"), *(_task(endless, seed=seed) for seed in range(50))]
    results = run_local(tasks, 2)
    assert next(results).record.method == "svf"
    started = time.monotonic()
    results.close()  # type: ignore[attr-defined]
    assert time.monotonic() - started < 10


@pytest.mark.slow("waits")
def test_the_lock_of_the_interpreter_saves_nobody(tmp_path: Path) -> None:
    """A method stuck in C with the interpreter's lock dies with a parent that is killed."""
    # re.match runs for ages on this pattern and never lets go of the lock.
    method = own_method(tmp_path, "re.match('(a+)+b', 'a' * 64)", "import re")
    path = tmp_path / "pair.json"
    write_instance(PAIR, path)
    command = Evaluate([path, "--methods", method, "--store", tmp_path / "runs.sqlite"])
    process = command.start()
    wait_until(command.workers)
    time.sleep(2)  # its imports
    assert command.workers()
    process.kill()
    process.communicate()
    assert command.alive() == []
