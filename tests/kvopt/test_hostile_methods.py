"""Methods that hide processes, flood the pipe or write nonsense to it: limits hold all the same."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import kvopt.runs.supervise
from instances import write_instance
from kvopt.runs.events import read_event
from kvopt.runs.supervise import supervise
from kvopt.store.row_files import read_rows
from tests.kvopt.sweep_tools import PAIR, Evaluate, Patch, own_method, task_of, write_small

#: Forks twice, with a session of its own between, so that no parent knows the sleeper.
_HIDE = """\
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        {what}
        time.sleep(600)
    os._exit(0)
"""
#: Runs a command and prints its exit code and the most memory that it and its children held.
_MEASURE = """\
import json, resource, subprocess, sys
code = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(json.dumps([code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss]))
"""
#: Writes to every descriptor that it can find, of which one is the pipe of the events.
_WRITE = """\
for fd in range(3, 30):
    try:
        {what}
    except OSError:
        pass
"""


def _sweep(folder: Path, body: str, *options: object) -> Evaluate:
    method = own_method(folder, body)
    path = folder / "pair.json"
    write_instance(PAIR, path)
    store = folder / "runs.sqlite"
    return Evaluate([path, "--methods", method, *options, "--store", store])


def _row(folder: Path) -> pd.Series:
    return read_rows(folder / "runs.sqlite").iloc[0]


@pytest.mark.slow("waits")
def test_a_hidden_process_ends_with_its_run(tmp_path: Path) -> None:
    """A child that has cut itself loose is below the run all the same, and killed with it."""
    command = _sweep(tmp_path, _HIDE.format(what="pass") + "return [0, 3]")
    assert (command.run().returncode, command.alive()) == (0, [])
    assert _row(tmp_path)["tel"] == 6


def test_a_hidden_process_ends_without_the_keeper(tmp_path: Path) -> None:
    """Where a method kills its keeper, the server kills what is hidden."""
    killed = "time.sleep(0.2)\nos.kill(os.getppid(), 9)\ntime.sleep(60)"
    command = _sweep(tmp_path, _HIDE.format(what="pass") + killed)
    command.start().communicate(timeout=60)
    assert command.alive() == []
    assert _row(tmp_path)["status"] == "crashed"


@pytest.mark.slow("waits")
def test_a_hidden_process_counts_as_memory(tmp_path: Path) -> None:
    """What it holds is held by the run."""
    hidden = _HIDE.format(what="block = bytearray(b'x' * 400_000_000)")
    command = _sweep(tmp_path, hidden + "time.sleep(60)", "--memory-limit", 0.3)
    assert command.run().returncode == 1
    row = _row(tmp_path)
    assert (row["status"], row["peak_memory"] > 3e8) == ("memory_limit", True)
    assert command.alive() == []


def test_a_hidden_process_ends_with_a_killed_sweep(tmp_path: Path) -> None:
    """Nobody is left who could tell the run to stop; the kernel closes the pipe that it watches."""
    ready = tmp_path / "ready"
    command = _sweep(tmp_path, _HIDE.format(what=f"open({str(ready)!r}, 'w')") + "time.sleep(600)")
    assert command.killed_when(ready.exists) == []


@pytest.mark.parametrize(
    "flood",
    [
        "while True: report('note', text='x' * 100_000)",
        pytest.param(
            _WRITE.format(what="while True: os.write(fd, b'x' * 1_000_000)"),
            marks=pytest.mark.slow("waits"),
        ),
    ],
    ids=["long notes", "one endless line"],
)
def test_a_flood_takes_neither_time_nor_memory(flood: str, tmp_path: Path) -> None:
    """The run is stopped at its limit of 1 s, and the sweep never holds more than it takes."""
    command = _sweep(
        tmp_path, f"report('schedule', starts=[0, 3])\n{flood}", "--time-limit", 1, "--quiet"
    )
    # Below pytest itself a process would inherit pytest's own most.
    measure = [sys.executable, "-c", _MEASURE, *command.line()]
    shown = subprocess.run(measure, stdout=subprocess.PIPE, check=True, timeout=120)
    code, most = json.loads(shown.stdout)
    assert code == 0
    row = _row(tmp_path)
    assert (row["tel"], row["ending"]) == (6, "time_limit")
    assert row["seconds"] <= 1.1 * 1 + 2 + 1.5  # a loaded machine wakes up late
    # Of the command and all that it waited for; the floods are gigabytes in three seconds.
    assert most < 1_000_000


def test_nonsense_on_the_pipe_loses_nothing(tmp_path: Path) -> None:
    """A schedule that was sent before stands, and nobody else is blamed."""
    lines = [
        rb"\xff\xfe\x00",
        b'{"kind": "done", "seconds": 0}',
        b"[" * 100_000,
        b'{"kind": "bound", "seconds": 0, "value": ' + b"9" * 5_000 + b', "source": ""}',
    ]
    (tmp_path / "noise").write_bytes(b"\n".join([*lines, b""]))
    write = _WRITE.format(what=f"os.write(fd, open({str(tmp_path / 'noise')!r}, 'rb').read())")
    command = _sweep(tmp_path, f"report('schedule', starts=[0, 3])\n{write}return None")
    assert command.call().returncode == 0
    row = _row(tmp_path)
    assert (row["status"], row["tel"]) == ("optimal", 6)
    assert "kvopt itself" not in row["detail"]


@pytest.mark.parametrize(
    "line",
    [
        b"hello",
        b"\xff",
        b"[" * 100_000,
        b'{"kind": "bound"}',
        b'{"kind": [], "seconds": 0}',
        b'{"kind": "bound", "seconds": 0, "value": 1.5, "source": "x"}',
        b'{"kind": "bound", "seconds": NaN, "value": 1, "source": "x"}',
        b'{"kind": "relaxation", "seconds": 0, "value": Infinity}',
        b'{"kind": "schedule", "seconds": 0, "starts": [true]}',
        b'{"kind": "error", "seconds": 0, "text": "x", "status": "optimal"}',
        b'{"kind": "unheard of", "seconds": 0}',
    ],
)
def test_what_is_no_event(line: bytes) -> None:
    """Neither text that is not JSON nor fields of a wrong type come through."""
    assert read_event(line) is None


def test_too_long_lines_are_dropped(played: Callable[[str], None], monkeypatch: Patch) -> None:
    """The lines before and after them are handed over; half a line at the end is not."""
    monkeypatch.setattr(kvopt.runs.supervise, "_LONGEST_LINE", 100)
    monkeypatch.setattr(kvopt.runs.supervise, "_BYTES_A_REQUEST", 0)
    notes = [f'{{"kind": "note", "text": "{text}"}}' for text in ("one", "x" * 100, "two")]
    played("\n".join(f"send({note!r})" for note in [*notes, ""]) + "\nsend('half', end='')")
    run = supervise(task_of(PAIR, "svf"), 30.0)
    assert run.state.notes == ["one", "two", "1 lines on its channel were no events"]


@pytest.mark.slow("waits")
def test_a_method_does_not_set_its_clock(tmp_path: Path) -> None:
    """The clock starts once; saying ``ready`` again and again gives no more time."""
    body = "for _ in range(150):\n    time.sleep(0.2)\n    report._report.ready()\nreturn [0, 3]"
    command = _sweep(tmp_path, body, "--time-limit", 1)
    assert command.run().returncode == 1
    row = _row(tmp_path)
    assert (row["status"], row["ending"]) == ("time_limit", "time_limit")
    assert row["seconds"] <= 1.1 * 1 + 2 + 1.5


@pytest.mark.slow("waits")
def test_a_method_that_closes_its_pipe(tmp_path: Path) -> None:
    """Nothing more can come of it, so nobody waits for it."""
    command = _sweep(tmp_path, "os.closerange(0, 1000)\ntime.sleep(300)", "--time-limit", 1.5)
    assert command.run().returncode == 1
    row = _row(tmp_path)
    assert row["status"] == "crashed"
    assert row["total_seconds"] < 1.1 * 1.5 + 2 + 3  # its start, and a loaded machine
    assert command.alive() == []


EXPECTED = {"segfault": "crashed", "memory_eater": "memory_limit", "infeasible": "refused"}
EXPECTED |= {"ignores_its_limit": "time_limit", "false_bound": "error"}
LIMIT = 1.0


def test_bad_methods_are_rows_and_lies_are_loud(tmp_path: Path) -> None:
    """Status, signal, limit, time and false bound; the command ends with 5 and names both liars."""
    write_small(tmp_path, 1)
    methods = ",".join(f"file:{Path(__file__).parent}/bad_methods/{name}.py" for name in EXPECTED)
    limits = ["--time-limit", LIMIT, "--memory-limit", 0.4, "--jobs", 2]
    store = tmp_path / "runs.sqlite"
    command = Evaluate([tmp_path, "--methods", f"{methods},svf", *limits, "--store", store])
    result = command.run()
    rows = read_rows(store)
    assert len(rows) == len(EXPECTED) + 1
    rows.index = rows["method"].str.extract(r"(\w+)(?:\.py)?$")[0]
    found: dict[Any, dict[Any, Any]] = rows.to_dict("index")
    assert {name: found[name]["status"] for name in EXPECTED} == EXPECTED
    assert "SIGSEGV" in found["segfault"]["detail"]
    eater = found["memory_eater"]
    assert (eater["ending"], eater["peak_memory"] > 4e8) == ("memory_limit", True)
    late = found["ignores_its_limit"]
    assert late["ending"] == "time_limit"
    # Killed a tenth and two seconds after its limit; a loaded machine wakes up late.
    assert LIMIT <= late["seconds"] <= 1.1 * LIMIT + 2 + 1.5
    assert "at time" in found["infeasible"]["detail"]
    liar = found["false_bound"]
    assert "lower bound 360 (claimed without a certificate) exceeds" in liar["detail"]
    # One after the other: 1 + (1+1) + (2+3) + (5+3) = 16.
    assert liar["tel"] == 16
    assert pd.isna(liar["lower_bound"])
    assert liar["bounds"] == []
    # The good method beside them: J1 Theorem 4.2's counterexample, OPT is 12.
    good = found["svf"]
    assert (good["status"], good["ending"], good["tel"] > 12) == ("feasible", "finished", True)
    lines = [line for line in result.stderr.splitlines() if "A METHOD IS WRONG" in line]
    assert (result.returncode, len(lines), command.alive()) == (5, 2, [])
    assert any("infeasible.py] on small_0" in line for line in lines)
    assert any("false_bound.py] on small_0" in line for line in lines)
