"""The command ``evaluate.py``: its runs, its output and its exit codes."""

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import pandas as pd
import pytest

import kvopt.commands.solve
import kvopt.executors.dask
import kvopt.methods.fingerprint
from instances import Instance, Request, write_instance
from kvopt.commands.evaluate import main
from kvopt.executors.local import run_local
from kvopt.methods.fingerprint import fingerprint
from kvopt.methods.grammar import read_method
from kvopt.runs.row_columns import PROVED
from kvopt.runs.task import FinishedRun, Task
from kvopt.store.row_files import read_rows
from kvopt.sweeps.contradictions import RunSummary
from kvopt.sweeps.failures import FailedMethod
from tests.kvopt.conftest import Refused
from tests.kvopt.sweep_tools import Capture, Evaluate, Patch, write_small

BAD = Path(__file__).parent / "bad_methods"
OWN = '''\
"""A method of one's own."""


def solve(instance, seed):
    """Return one request after the other."""
    starts, now = [], 0
    for request in instance.requests:
        starts.append(now)
        now += request.output
    return starts
'''
MEANT = "expected a suite or an instance, found a method"
Run = Callable[..., int]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Where the sweeps of a test are stored."""
    return tmp_path / "runs.sqlite"


@pytest.fixture
def evaluate(store: Path) -> Run:
    """Run the command in this process; the exit code comes back."""
    return lambda *arguments: main([*map(str, arguments), "--store", str(store)])


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A method of one's own, out of tree."""
    path = tmp_path / "own.py"
    path.write_text(OWN)
    return path


def test_what_is_stored_is_skipped(evaluate: Run, small: Path, capfd: Capture, store: Path) -> None:
    """The same command again runs nothing; a further method runs alone."""
    assert evaluate(small, "--methods", "svf") == 0
    before = set(read_rows(store)[["finished_utc", "key"]].itertuples(index=False))
    assert evaluate(small, "--methods", "svf,mc-sf") == 0
    out = capfd.readouterr().out
    assert "1 run, 0 of them stored already" in out
    assert "2 runs, 1 of them stored already" in out
    assert before < set(read_rows(store)[["finished_utc", "key"]].itertuples(index=False))
    assert evaluate(small, "--methods", "svf,mc-sf", "--quiet") == 0
    assert capfd.readouterr().out == ""


@pytest.mark.usefixtures("no_figures")
def test_it_ends_with_a_ranking_and_the_answer(
    evaluate: Run, small: Path, capfd: Capture, tmp_path: Path
) -> None:
    """Methods in their order, the answer of the page, and where the page is."""
    methods = "svf,mc-sf,vllm-v1,bound:bound-volume"
    assert evaluate(small, "--methods", methods, "--report", tmp_path / "report") == 0
    out = capfd.readouterr().out
    board = out.partition("class ")[2].partition("Rank: ")[0]
    places = [board.index(each) for each in ("vllm-v1 *", "mc-sf", "svf", "lower bound")]
    assert places == sorted(places)
    page = (tmp_path / "report" / "README.md").read_text(encoding="utf-8").replace("`", "")
    said = ("No scheduler", "The best schedule")
    (answer,) = [line for line in page.splitlines() if line.startswith(said)]
    assert answer in " ".join(out.split())
    assert "saved over vLLM" in page
    assert "saved over vLLM" in out
    assert out.splitlines()[-1].split() == ["written", str(tmp_path / "report" / "index.html")]


def test_a_report_that_fails_leaves_the_ranking(
    evaluate: Run, small: Path, capfd: Capture, tmp_path: Path, monkeypatch: Patch
) -> None:
    """One line on standard error and exit code 2; rows, ranking and summary are there."""
    failing = mock.Mock(side_effect=RuntimeError("no backend"))
    monkeypatch.setattr("reports.build.build_report", failing)
    rows = tmp_path / "rows.csv"
    named = ["--methods", "svf", "--report", tmp_path / "report", "--export", rows]
    assert evaluate(small, *named) == 2
    told = capfd.readouterr()
    assert "Rank: within the class" in told.out
    assert told.out.splitlines()[-1].split() == ["written", str(rows)]
    assert told.err.splitlines()[-1].endswith("could not be written: RuntimeError: no backend")


def test_what_cannot_be_read_leaves_nothing(
    evaluate: Run, tmp_path: Path, store: Path, refused: Refused
) -> None:
    """Neither a store nor a report, and the message names a header that works."""
    trace = tmp_path / "mine.csv"
    trace.write_text("when,prompt_len,gen_len\n0.5,3,2\n")
    asked = [trace, "--memory", 9, "--methods", "svf"]
    line = refused(main, *asked, "--report", tmp_path / "report", "--store", store)
    assert not store.exists()
    assert not (tmp_path / "report").exists()
    header = "arrived_at,num_prefill_tokens,num_decode_tokens"
    assert f"rename yours to {header} (arrival in seconds, " in line
    trace.write_text(trace.read_text().replace("when,prompt_len,gen_len", header))
    assert evaluate(*asked, "--quiet") == 0


def test_predictions_that_a_trace_lacks_are_the_lengths(
    evaluate: Run, tmp_path: Path, capfd: Capture
) -> None:
    """The row of the answer is that of a policy that knows the outputs."""
    trace = tmp_path / "mine.csv"
    trace.write_text("arrived_at,num_prefill_tokens,num_decode_tokens\n0.5,3,2\n")
    assert evaluate(trace, "--memory", 99, "--methods", "vllm-v1,vllm-priority") == 0
    assert re.search("^lengths +vllm-priority", capfd.readouterr().out, re.MULTILINE)


def test_rerun_and_rerun_failed(evaluate: Run, small: Path, store: Path, capsys: Capture) -> None:
    """``--rerun`` runs all again, ``--rerun-failed`` only what gave nothing of worth."""

    def run_now(*more: str) -> int:
        assert evaluate(small, "--methods", f"svf,file:{BAD / 'infeasible.py'}", *more) == 5
        (told,) = re.findall(r"^runs +2, of which (\d) now$", capsys.readouterr().out, re.MULTILINE)
        return int(told)

    assert run_now() == 2
    first = read_rows(store).set_index("method")["total_seconds"]
    assert run_now("--rerun-failed") == 1
    assert read_rows(store).set_index("method")["total_seconds"]["svf"] == first["svf"]
    assert run_now("--rerun") == 2


def test_edited_code_is_run_again(evaluate: Run, small: Path, own: Path, store: Path) -> None:
    """A new line of a method makes a new row of it, and of it alone."""
    methods = f"svf,file:{own}"
    assert evaluate(small, "--methods", methods) == 0
    own.write_text(OWN.replace("now += request.output", "now += request.output + 1"))
    assert evaluate(small, "--methods", methods) == 0
    rows = read_rows(store)
    # One after the other 1 + 2 + 5 + 8 = 16; one more round before each of the last three.
    assert sorted(rows[rows["method"] == f"file:{own.name}"]["tel"]) == [16, 16 + 1 + 2 + 3]
    assert len(rows) == 3


def test_another_version_is_run_again(
    evaluate: Run, small: Path, store: Path, monkeypatch: Patch
) -> None:
    """A library of another version makes another run, which says what differs where it runs."""
    assert evaluate(small, "--methods", "svf") == 0
    real = kvopt.methods.fingerprint.versions
    other = "kvopt.sweeps.plan.versions"
    monkeypatch.setattr(other, lambda method, _: real(method) | {"numpy": "0.0.1"})
    assert evaluate(small, "--methods", "svf") == 1
    rows = read_rows(store)
    assert sorted(rows["status"]) == ["error", "feasible"]
    assert "the sweep began with 0.0.1" in rows["detail"].max()


def test_sources_edited_during_the_sweep_are_not_passed_off(
    evaluate: Run, small: Path, own: Path, store: Path, capsys: Capture
) -> None:
    """A run whose method is edited before it ends has the digest of the new, and is run again."""
    edit = "    open(__file__, 'a').write('# more')\n    starts, now"
    own.write_text(OWN.replace("    starts, now", edit))
    planned = fingerprint(read_method(f"file:{own}"))
    for _ in range(2):
        assert evaluate(small, "--methods", f"file:{own}") == 0
        told = capsys.readouterr()
        assert "0 of them stored already" in told.out
        assert "its sources have changed during the sweep" in told.err
    assert planned not in set(read_rows(store)["code"])


def _failing(folder: Path, name: str, condition: str) -> Path:
    """Write a method that fails where a condition on the instance holds."""
    path = folder / name
    failing = f"    assert not ({condition}), 'too bad'\n    starts, now"
    path.write_text(OWN.replace("    starts, now", failing))
    return path


def test_failing_methods_are_named_and_one_that_always_fails_ends_with_1(
    evaluate: Run, tmp_path: Path, capfd: Capture
) -> None:
    """One line a method: on how many of its runs, the statuses, the first run and its reason."""
    folder = tmp_path / "in"
    write_small(folder, 3)
    always = _failing(tmp_path, "always.py", "True")
    once = _failing(tmp_path, "once.py", "instance.memory == 6")
    assert evaluate(folder, "--methods", f"svf,file:{once}", "--quiet") == 0
    (line,) = capfd.readouterr().err.splitlines()
    told = "evaluate.py: once failed on 1 of 3 runs (1 error), first on small_1, seed 0: "
    assert line.startswith(told)
    assert line.endswith("too bad")
    # What is stored counts as what is run now.
    for _ in range(2):
        assert evaluate(folder, "--methods", f"svf,file:{once},file:{always}", "--quiet") == 1
        first, second = capfd.readouterr().err.splitlines()
        assert first == line
        told = "evaluate.py: always failed on all runs (3 error), first on small_0, "
        assert second.startswith(told)


def test_an_instance_that_cannot_be_run_is_no_failure_of_a_method(
    evaluate: Run, small: Path, tmp_path: Path, capfd: Capture, store: Path
) -> None:
    """It is named once; the code is 2 where there is no other, as for any bad input."""
    torn = tmp_path / "torn.json"
    torn.write_text("{")
    never = tmp_path / "never.json"
    never.write_text(small.read_text().replace('"output": 3', '"output": 3000'))
    assert evaluate(small, torn, never, "--methods", "svf,mc-sf", "--quiet") == 0
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith(f"evaluate.py: {torn}: no valid JSON")
    assert line.endswith("; no method ran on it")
    assert evaluate(torn, "--methods", "svf", "--quiet") == 2
    assert not read_rows(store)["instance"].str.contains("torn").any()
    assert evaluate(never, "--methods", "svf", "--quiet") == 0
    rows = read_rows(store).set_index("instance")
    assert set(rows.loc[[str(never)], "status"]) == {"infeasible"}


def test_a_method_that_knows_rounds_only_fails_on_seconds(
    evaluate: Run, tmp_path: Path, capfd: Capture
) -> None:
    """It is named with what to do, beside a policy, which runs; alone it is a failure."""
    seconds = tmp_path / "seconds.json"
    requests = (Request(0, 0.5, 1, 1),)
    write_instance(Instance("late", 5, requests, time_unit="second"), seconds)
    assert evaluate(seconds, "--methods", "svf,highs", "--quiet") == 1
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith("evaluate.py: highs failed on all runs (1 error), first on late, seed 0")
    assert "late has arrivals in seconds: read the trace with --round-seconds S" in line


def test_what_a_failing_method_has_printed() -> None:
    """The last line of its output stands in its line, unless the reason says the same."""
    run = RunSummary("k", "i", "h", "file:own.py", 0, "error", "own.py:3: boom", None, None)
    failure = FailedMethod(1, [run])
    line = "file:own.py failed on all runs (1 error), first on i, seed 0: own.py:3: boom"
    assert failure.line() == line
    assert failure.line("a\nb  c\n") == f"{line}; its output ends: b c"
    assert failure.line("Traceback ...\nboom\n") == line


def test_a_suite_with_a_method_of_ones_own(
    evaluate: Run, tmp_path: Path, own: Path, store: Path
) -> None:
    """``--methods`` replaces those of a suite: a new policy on the instances of an old table."""
    write_small(tmp_path, 2)
    suite = tmp_path / "mine.toml"
    suite.write_text(
        'summary = "two"\n[[section]]\nname = "both"\ninstances = ["./small_*.json"]\n'
        'methods = ["svf"]\ntime_limit = 7\n'
    )
    assert evaluate(suite, "--methods", f"file:{own}") == 0
    rows = read_rows(store)
    assert list(rows["instance"]) == ["small_0", "small_1"]
    assert (set(rows["method"]), set(rows["section"])) == ({f"file:{own.name}"}, {"both"})
    assert set(rows["time_limit"]) == {7.0}


NASTY = '<b onmouseover="x">&\'a,b";../../../etc/passwd=1+1|`|%s{0}[red]\\'


def test_names_are_only_names(evaluate: Run, tmp_path: Path, store: Path, capfd: Capture) -> None:
    """HTML, commas, quotes, slashes and dots in names go through store, files and summary."""
    folder = tmp_path / "f"
    (path,) = write_small(folder, 1)
    path.write_text(path.read_text().replace('"small_0"', json.dumps(NASTY)))
    path.rename(folder / "a,b 'c' \"d\" <i>.json")
    method, torn = folder / "x,y(z) 'q' <i>.py", folder / "=1+1,<script>.json"
    method.write_text(OWN)
    torn.write_text("{")
    before = set(tmp_path.rglob("*"))
    methods = f'svf,file:"{folder}/../f/{method.name}",a-min with interval(1,1000)'
    exports = [tmp_path / "rows.csv", tmp_path / "rows.parquet"]
    for file in exports:
        assert evaluate(folder, "--methods", methods, "--export", file) == 0
    rows = read_rows(store)
    assert set(rows["instance"]) == {NASTY}
    assert set(rows["method"]) == {"svf", f'file:"{method.name}"', "a-min with interval"}
    for file in exports:
        pd.testing.assert_frame_equal(read_rows(file), rows.drop(columns=PROVED))
    added = set(tmp_path.rglob("*")) - before
    names = {each.name.partition("-")[0] for each in added if each.parent.name != "__pycache__"}
    # SQLite and Python keep files of their own.
    assert names - {"__pycache__", "runs.sqlite"} == {each.name for each in exports}
    first, second = capfd.readouterr().err.splitlines()
    assert first == second
    assert first.startswith(f"evaluate.py: {torn}: no valid JSON")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["\0"], "found none"),
        (["smoke", "--methods", "svg"], "unknown method 'svg'"),
        (["smoke", "--methods", ","], "expected a method"),
        (["smoke", "--export", "rows.xls"], ".csv or .parquet"),
        (["smoke", "--rerun", "--rerun-failed"], "not allowed with"),
        (["smoke", "--scheduler", "tcp://127.0.0.1:1"], "--executor dask"),
        (["smoke", "--executor", "slurm"], "'--executor': 'slurm' is not one of 'local', 'dask'"),
        # A method where an instance is expected was meant for the option before it.
        *(
            (["smoke", "--methods", "svf", each], f"{each!r}: {MEANT}")
            for each in ("vllm-v1(block=16)", "highs:ilp", "file:own.py")
        ),
    ],
)
def test_bad_usage_is_one_line_and_exit_2(
    arguments: list[str], reason: str, store: Path, refused: Refused
) -> None:
    """What was expected and what was found, without a traceback."""
    line = refused(main, *arguments, "--store", store)
    assert line.startswith("evaluate.py: ")
    assert reason in line


def test_dask_gets_its_address_and_is_an_extra(
    evaluate: Run, small: Path, monkeypatch: Patch, capfd: Capture
) -> None:
    """Without its packages one line names the extra, and nothing has been run."""
    asked: list[str] = []

    def recorded(tasks: list[Task], scheduler: str) -> Iterator[FinishedRun]:
        asked.append(scheduler)
        return run_local(tasks)

    monkeypatch.setattr(kvopt.executors.dask, "run_on_dask", recorded)
    dask = [small, "--methods", "fcfs", "--rerun", "--executor", "dask"]
    assert evaluate(*dask, "--scheduler", "tcp://127.0.0.1:9") == 0
    assert asked == ["tcp://127.0.0.1:9"]
    assert evaluate(*dask) == 2
    monkeypatch.delitem(sys.modules, "kvopt.executors.dask")
    monkeypatch.setitem(sys.modules, "distributed", None)
    capfd.readouterr()
    assert evaluate(*dask, "--scheduler", "tcp://127.0.0.1:9") == 7
    (line,) = capfd.readouterr().err.splitlines()
    assert "expected the packages of the extra kvopt[cluster]" in line


def test_a_store_that_is_none(small: Path, tmp_path: Path) -> None:
    """A text file is no store, a folder neither, and a folder that is missing is not made."""
    text = tmp_path / "notes.txt"
    text.write_text("not a database, but long enough to be taken for the head of one\n" * 20)
    for name in (text, tmp_path, tmp_path / "missing" / "runs.sqlite"):
        result = Evaluate([small, "--methods", "svf", "--store", name]).call()
        assert (result.returncode, len(result.stderr.splitlines())) == (6, 1)
    assert text.read_text().startswith("not a database")


def test_export_of_all_that_is_stored(evaluate: Run, small: Path, tmp_path: Path) -> None:
    """Without an instance, all rows of the store are written; with one, those of the sweep."""
    assert evaluate(small, "--methods", "svf,mc-sf") == 0
    assert evaluate("--export", tmp_path / "all.csv", "--quiet") == 0
    assert evaluate(small, "--methods", "svf", "--export", tmp_path / "one.csv") == 0
    assert len(read_rows(tmp_path / "all.csv")) == 2
    assert len(read_rows(tmp_path / "one.csv")) == 1


def test_provenance_is_in_every_row(evaluate: Run, small: Path, store: Path) -> None:
    """Commit, versions, machine, limits and time stand with the result."""
    assert evaluate(small, "--methods", "svf", "--memory-limit", 2, "--threads", 2) == 0
    (row,) = read_rows(store).to_dict("records")
    assert len(row["git_commit"]) in (0, 40)
    assert {"python", "numpy"} <= set(row["versions"])
    assert min(row["cores"], row["ram_gb"], row["peak_memory"] - 10_000_000) > 0
    assert (row["memory_limit"], row["threads"], row["time_limit"]) == (2.0, 2, 60.0)
    assert row["finished_utc"].endswith("+00:00")
    assert 0 < row["seconds"] + row["start_seconds"] <= row["total_seconds"]
    assert row["incumbents"][-1][1] == row["tel"]
    assert row["bounds"][-1][1] == row["lower_bound"]


@pytest.mark.slow("walks")
def test_the_leaderboard_is_that_of_the_report(
    evaluate: Run, small: Path, capfd: Capture, tmp_path: Path
) -> None:
    """The sentences and the titles of the boards, in the terminal as on the page."""
    report = tmp_path / "report"
    assert evaluate(small, "--methods", "svf,fcfs,bound:bound-volume", "--report", report) == 0
    capfd.readouterr()
    assert evaluate() == 0
    shown = capfd.readouterr().out
    page = (report / "README.md").read_text(encoding="utf-8")
    sentences = [line for line in page.splitlines() if line.startswith(("Where", "No ", "The w"))]
    assert len(sentences) == 3
    assert all(each.replace("`", "") in " ".join(shown.split()) for each in sentences)
    for title in ("Leaderboard: clairvoyant", "Bounds"):
        assert f"\n{title}\n" in f"\n{shown}"
        assert f"\n## {title}\n" in page


def test_a_leaderboard_of_nothing(capfd: Capture, tmp_path: Path, monkeypatch: Patch) -> None:
    """No store, no input: one line and an exit code."""
    monkeypatch.chdir(tmp_path)
    for arguments, code in (([], 2), (["--store", "none.sqlite"], 6), (["--store", "none.csv"], 6)):
        assert main(arguments) == code
        told = capfd.readouterr()
        assert (told.out, len(told.err.splitlines())) == ("", 1)
