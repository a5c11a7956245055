"""Traces go straight into the commands, the API and suites, by the same options everywhere."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import kvopt
from instances.instance_files import write_instance
from kvopt.commands.evaluate import main as evaluate
from kvopt.commands.solve import main as solve
from kvopt.store.row_files import read_rows
from kvopt.suites import SuiteError, load, read_suite
from schedules.check_command import main as check
from serving.commands.rates_command import main as rates
from serving.traces import TraceError, TraceOptions
from serving.traces.read_trace import read_trace
from serving.traces.trace_options import TraceOptionError
from tests.kvopt.conftest import Refused
from tests.kvopt.sweep_tools import Capture, Patch
from tests.serving.traces.cases import BY_NAME

VIDUR, BURST = BY_NAME["vidur.csv"].path, BY_NAME["burstgpt.csv"].path


def test_solve_takes_a_trace(capsys: Capture, refused: Refused) -> None:
    """In rounds: 0, 211 (105.5 s of half a second), so both run at once: 18 + 5 rounds."""
    arguments = [str(BURST), "--memory", "100", "--round-seconds", "0.5", "--method", "svf"]
    assert solve(arguments) == 0
    told = capsys.readouterr()
    assert "burstgpt_m100_round0.5" in told.out
    assert "TEL          23" in told.out
    assert "1 row skipped: the request failed (first in row 3)" in told.err
    assert solve([*arguments, "--quiet"]) == 0
    assert capsys.readouterr().err == ""
    assert "a trace states no memory" in refused(solve, BURST)


@pytest.mark.slow("walks")
def test_a_file_that_hides_an_instance_is_told(
    tmp_path: Path, monkeypatch: Patch, capsys: Capture
) -> None:
    """By every command that takes a name: the file of one's own is run, and one line says so."""
    monkeypatch.chdir(tmp_path)
    write_instance(kvopt.read("tiny_handover"), "uniform_100")
    told = "uniform_100: the file here, not uniform_100 of the library"
    store = ["--store", "runs.sqlite", "--quiet"]
    for run in (
        lambda: solve(["uniform_100", "--policy", "svf", "--quiet", "--out", "schedule.json"]),
        lambda: evaluate(["uniform_100", "--methods", "svf", *store]),
        lambda: rates(["uniform_100", "--rates", "1", "--methods", "svf", *store]),
        lambda: check(["uniform_100", "schedule.json"]),
    ):
        assert run() == 0
        assert capsys.readouterr().err.count(told) == 1


def test_the_api_reads_traces() -> None:
    """``read`` gives the instance, ``read_trace`` the report with it."""
    instance = kvopt.read(VIDUR, memory=100, limit=2, round_seconds=1.0)
    again, report = kvopt.read_trace(VIDUR, memory=100, limit=2, round_seconds=1.0)
    assert instance == again
    # 4.064579 s is after round 4 has begun.
    assert instance.arrivals.tolist() == [0, 5]
    assert (report.rows, report.kept) == (2, 2)
    assert kvopt.run(instance, "svf").tel is not None


def test_the_api_refuses_in_one_line() -> None:
    """Options are checked by name; all errors are a ValueError."""
    with pytest.raises(TraceOptionError, match="states no memory"):
        kvopt.read(VIDUR)
    with pytest.raises(ValueError, match="field lmit: unknown key"):
        kvopt.read(VIDUR, memory=3, lmit=2)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="goes with a trace"):
        kvopt.read("tiny_handover", memory=3)


def test_a_sweep_runs_traces(tmp_path: Path, capsys: Capture, refused: Refused) -> None:
    """Two by one command, and beside instances, which take no options."""
    store = tmp_path / "runs.sqlite"
    arguments = ["--methods", "svf", "--store", str(store)]
    asked = ["--memory", "100", "--round-seconds", "1"]
    assert evaluate([str(VIDUR), str(BURST), "tiny_handover", *asked, *arguments]) == 0
    assert "the request failed" in capsys.readouterr().err
    names = {"vidur_m100_round1", "burstgpt_m100_round1", "tiny_handover"}
    assert set(read_rows(store)["instance"]) == names
    told = refused(evaluate, "tiny_handover", *asked, *arguments)
    assert "memory, round_seconds: goes with a trace, found none; instances/tiny/handover" in told
    assert "a trace states no memory" in refused(evaluate, VIDUR, *arguments)


def test_a_suite_names_traces(tmp_path: Path) -> None:
    """Beside its file, with the options of the command; one file may stand there twice."""
    shutil.copy(VIDUR, tmp_path / "some.csv")
    suite = tmp_path / "mine.toml"
    suite.write_text(
        'summary = "s"\n[[section]]\nname = "a"\nmethods = ["svf"]\ninstances = [\n'
        '  { trace = "some.csv", memory = 100, round_seconds = 1.0 },\n'
        '  { trace = "./some.csv", memory = 100, limit = 2, window = [0, 9], rate = 2 },\n]\n'
    )
    loaded = [load(source) for source in read_suite(suite).sections[0].sources]
    second = TraceOptions(memory=100, limit=2, window=(0, 9), rate=2)
    options = [TraceOptions(memory=100, round_seconds=1.0), second]
    for found, wanted in zip(loaded, options, strict=True):
        assert found.fault == ""
        assert found.instance == read_trace(tmp_path / "some.csv", wanted)[0]


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ('{ trace = "none.csv", memory = 9 }', "expected a trace next to the suite, found none"),
        ('{ trace = "an.json", memory = 9 }', "expected a trace, found an instance file"),
        ('{ trace = "some.csv", memry = 9 }', "field memry: unknown key"),
        ("{ trace = 3, memory = 9 }", "instances.0.trace: Input should be a valid string"),
    ],
)
def test_a_suite_refuses_what_there_is_not(entry: str, expected: str, tmp_path: Path) -> None:
    """When it is read, before any run."""
    shutil.copy(VIDUR, tmp_path / "some.csv")
    write_instance(kvopt.read("tiny_handover"), tmp_path / "an.json")
    suite = tmp_path / "mine.toml"
    suite.write_text(
        f'summary = "s"\n[[section]]\nname = "a"\nmethods = ["svf"]\ninstances = [{entry}]\n'
    )
    with pytest.raises(SuiteError, match=expected):
        read_suite(suite)


def test_an_instance_file_stays_one(tmp_path: Path) -> None:
    """Whatever it is called, and on one line: its keys are not those of a trace."""
    instance = kvopt.read("tiny_handover")
    for name in ("some.csv", "some.jsonl", "some"):
        path = tmp_path / name
        write_instance(instance, path)
        assert kvopt.read(path) == instance
        path.write_text(path.read_text().replace("\n", " "))
        assert kvopt.read(path) == instance


COLUMNS = "time,in_tokens,out_tokens\n0.0,31,4\n"
#: Files, and what both commands say of each after its path, with a memory and without.
FILES = {
    "own.csv": (
        COLUMNS,
        "row 1: expected the columns of a format of kvopt convert --list (--format NAME), found "
        "time, in_tokens, out_tokens; or rename yours to arrived_at,num_prefill_tokens,num_decode_",
    ),
    "empty.csv": ("", "expected a trace, found an empty file"),
}


@pytest.mark.parametrize("spelled", ["{}", "./{}"])
@pytest.mark.parametrize("file", FILES)
def test_a_fault_names_the_file_once(
    file: str, spelled: str, tmp_path: Path, monkeypatch: Patch, refused: Refused
) -> None:
    """By its whole path in a sweep, whose rows have that, and as it was given else."""
    text, expected = FILES[file]
    (tmp_path / file).write_text(text)
    monkeypatch.chdir(tmp_path)
    named = [spelled.format(file), "--memory", "100"]
    told = refused(evaluate, *named, "--methods", "svf")
    assert told.startswith(f"evaluate.py: {tmp_path / file}: {expected}")
    assert refused(solve, *named, "--quiet").startswith(f"solve.py: {file}: {expected}")


@pytest.mark.parametrize("indent", [None, 1])
def test_an_instance_needs_no_schema(indent: int | None, tmp_path: Path, refused: Refused) -> None:
    """On one line or several; a trace of prompts has no list of requests."""
    request = {"id": 0, "arrival": 0, "prompt": 2, "output": 3}
    document = {"name": "mine", "memory": 9, "requests": [request]}
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(document, indent=indent))
    expected = f'{path}: field schema: expected "kvopt.instance/1", found none'
    assert refused(solve, path, "--quiet") == f"solve.py: {expected}"
    told = refused(evaluate, path, "--methods", "svf")
    assert told == f"evaluate.py: {expected}; no method ran on it"
    with pytest.raises(ValueError, match=f"^{re.escape(expected)}$"):
        kvopt.read(path)
    told = refused(evaluate, path, "--memory", 9)
    assert f"found none; {path} is an instance file" in told
    with pytest.raises(TraceError, match="expected a trace, found an instance file"):
        kvopt.read_trace(path, memory=9)


@pytest.mark.parametrize("command", [solve, evaluate])
def test_a_file_that_is_missing_is_told_with_its_neighbours(
    command: Callable[[list[str]], int], tmp_path: Path, refused: Refused
) -> None:
    """The nearest names only, in a line that a terminal holds."""
    (tmp_path / "trace.csv").write_text(COLUMNS)
    (tmp_path / "other.csv").write_text(COLUMNS)
    told = refused(command, tmp_path / "trac.csv", "--memory", 9)
    assert told.endswith("; did you mean trace.csv?")
    told = refused(command, "smok-e", "--memory", 9)
    assert len(told) < 130
    assert ("did you mean smoke?" in told) == (command is evaluate)
