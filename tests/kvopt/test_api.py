"""``import kvopt``: calls of a notebook's user, their results and their errors."""

import doctest
import importlib.util
import io
import json
import re
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
import pandas as pd
import pytest
from nbclient import NotebookClient

import kvopt
import kvopt.api
import kvopt.result
import kvopt.runs.certify
import kvopt.sweeps.comparison
from formulations.valid.volume_bounds import volume_bound
from instances import Instance, InstanceFileError, Request, write_instance
from kvopt.executors.local import run_local
from kvopt.methods.grammar import MethodError
from kvopt.registry_lookup import RegisteredValues, find_registered, judge_by_registry
from kvopt.runs.task import FinishedRun, Task
from kvopt.sweeps.sweep_inputs import InputError
from schedules import read_schedule
from schedules.evidence import COMPUTED, is_bound_believed
from tests.kvopt.best_known.registry import FOUR, PRICES
from tests.kvopt.sweep_tools import ROOT, Patch, in_python, own_method

FUNCTIONS = ("bound", "check", "compare", "read", "run", "solve")
SECONDS = Instance("seconds", 5, (Request(0, 0.5, 1, 1),), time_unit="second")
_LIMIT = re.compile(r"time_limit=\d+")


def test_importing_the_package_loads_nothing() -> None:
    """Every process that runs a method imports it."""
    loaded = "sorted(m for m in sys.modules if m.partition('.')[0] in "
    loaded += "('kvopt', 'instances', 'schedules', 'numpy', 'pandas', 'pydantic'))"
    assert in_python(f"import sys, kvopt; print({loaded})") == "['kvopt']"


def test_names_of_the_package() -> None:
    """All are there and listed; a module with the name of a function would replace it."""
    assert set(FUNCTIONS) <= set(dir(kvopt)) == set(kvopt.__all__)
    assert None not in [getattr(kvopt, name) for name in kvopt.__all__]
    assert [each for each in FUNCTIONS if importlib.util.find_spec(f"kvopt.{each}")] == []
    with pytest.raises(AttributeError, match="no attribute 'solv'"):
        _ = kvopt.solv


def test_a_result() -> None:
    """J1 Theorem 4.2's counterexample: 12, proved by CP-SAT; policies end at 13."""
    result = kvopt.solve(FOUR, "cpsat:cpsat", time_limit=30, threads=1)
    assert (result.tel, result.bound, result.gap, result.status) == (12, 12, 0.0, "optimal")
    assert result.method == "cpsat:cpsat"
    assert result.schedule is not None
    assert result.schedule.tel == sum(result.schedule.starts) + 1 + 1 + 3 + 3
    assert kvopt.check(FOUR, result).valid
    assert kvopt.check(FOUR, result.schedule.starts).valid
    trace = result.trace
    assert list(trace.columns) == ["seconds", "tel", "bound", "gap"]
    assert trace["seconds"].is_monotonic_increasing
    assert tuple(trace.iloc[-1][["tel", "bound", "gap"]]) == (12, 12, 0.0)


def test_the_summary() -> None:
    """Labels in their order, and the formulation that the size has chosen."""
    result = kvopt.solve(FOUR, "highs", time_limit=30)
    # Where the tests have just begun, kernels may still be compiled.
    shown = [label for label, _ in result.summary()]
    labels = [label for label in shown if label != "compiling"]
    expected = ["instance", "n", "M", "method", "status", "TEL", "AEL", "lower bound"]
    expected += ["HiGHS alone", "gap %"]
    assert labels == [*expected, "best known", "gap to these", "seconds", "checker"]
    told = dict(result.summary())
    assert told["method"] == "highs  (ilp(groups=yes), by size)"
    assert (told["best known"], told["checker"]) == ("TEL 12 (optimal)", "valid")


def test_values_of_the_registry() -> None:
    """An interval where the optimum is open; gaps (TEL − value) / TEL to both ends, and records."""
    upper, bound = str(find_registered(kvopt.read("uniform_100"))).split(", bound ")
    shown = re.fullmatch(r"(\d+) \(solver-reported\), (\d+) \(certified\)", bound)
    assert shown is not None
    assert int(shown[2]) < int(shown[1]) < int(upper.removeprefix("TEL "))
    assert str(find_registered(FOUR)) == "TEL 12 (optimal)"
    # In seconds the same requests have the same hash, and another optimum.
    for other in (replace(FOUR, memory=6), replace(FOUR, time_unit="second")):
        assert find_registered(other) is None
    assert dict(kvopt.run("am1_n200_seed0", "fcfs").summary())["best known"] == "not run yet"
    four = dict(kvopt.run(FOUR, "mc-sf").summary())
    tel = int(four["TEL"].split()[0])
    assert four["gap to these"] == f"{100 * (tel - 12) / tel:.3f} % to the TEL"
    open_ = RegisteredValues(upper=100, lower=80, reason="open")
    assert open_.compared(125, 70) == "20.000 % to the TEL, 36.000 % to the bound"
    better = "-4.167 % to the TEL, 16.667 % to the bound, a better schedule, a better bound"
    assert open_.compared(96, 84) == better


def test_a_bound_above_the_registry_is_withdrawn(monkeypatch: Patch) -> None:
    """It is wrong, as that schedule was checked; a schedule below the registry's bound is not."""
    run = kvopt.run(FOUR, "mc-sf")
    said = "lower bound 13 exceeds 12, the TEL of the registry's schedule"
    for bound, status, kept, wrong in ((12, "optimal", 12, ()), (13, "error", None, (said,))):
        record = replace(run.record, status="optimal", lower_bound=bound)
        proved = replace(run, record=record, status="optimal", certificate={})
        judged: Any = judge_by_registry(proved)
        found = judged.status, judged.record.status, judged.record.lower_bound
        assert (found, judged.contradictions) == ((status, status, kept), wrong)
        assert judged.certificate == (None if wrong else {})
    assert judged.record.detail.startswith(f"contradicted: {said}")
    assert (judged.schedule.lower_bound, judged.schedule.status) == (None, "feasible")
    values = RegisteredValues(99, 98, "open")
    monkeypatch.setattr("kvopt.registry_lookup.find_registered", lambda _: values)
    with pytest.warns(UserWarning, match=f"A BOUND IS WRONG: .* checked TEL {run.tel}"):
        kvopt.run(FOUR, "mc-sf")


def test_html_shows_names_as_they_are() -> None:
    """A notebook's table is the summary; a name is no markup."""
    shown = kvopt.run(replace(FOUR, name="<b>four</b>"), "svf")._repr_html_()
    assert "&lt;b&gt;four" in shown
    assert "<b>" not in shown
    assert shown.count("<tr>") == shown.count("</tr>") >= 10


def test_files(tmp_path: Path) -> None:
    """A saved schedule is checked from its file; a picture is written."""
    result = kvopt.run(FOUR, "svf")
    result.save(tmp_path / "schedule.json")
    assert read_schedule(tmp_path / "schedule.json") == result.schedule
    assert kvopt.check(FOUR, tmp_path / "schedule.json").valid
    axes = result.plot(tmp_path / "picture.png")
    assert axes.get_ylabel() == "KV memory held (tokens)"
    assert "time (rounds)" in [each.get_xlabel() for each in axes.figure.axes]
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match=r"\.svg or \.png or \.pdf"):
        result.plot(tmp_path / "picture.gif")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("raise ValueError('of mine')", "error"),
        ("import os; os._exit(3)", "crashed"),
        pytest.param("time.sleep(60)", "time_limit", marks=pytest.mark.slow("waits")),
    ],
)
def test_a_run_without_a_schedule_is_a_result(body: str, status: str, tmp_path: Path) -> None:
    """Status and note have the reason; only a call that needs a schedule raises."""
    result = kvopt.solve(FOUR, own_method(tmp_path, body), time_limit=1)
    assert (result.status, result.tel, result.schedule, result.gap) == (status, None, None, None)
    assert result.notes
    assert dict(result.summary())["checker"] == "nothing to check"
    assert len(result.trace) == len(result.record.bounds)
    for wanted in (result.plot, lambda: kvopt.check(FOUR, result)):
        with pytest.raises(ValueError, match="schedule"):
            wanted()


@pytest.mark.parametrize(
    ("call", "error", "told"),
    [
        (lambda: kvopt.read("no_such"), InstanceFileError, "no_such"),
        (lambda: kvopt.solve("uniform_101"), InstanceFileError, "uniform_100"),
        (lambda: kvopt.solve(FOUR, "nothing"), MethodError, "nothing"),
        (lambda: kvopt.run(FOUR, "highs"), MethodError, "expected a policy"),
        (lambda: kvopt.bound(FOUR, "svf"), MethodError, "expected an engine, found a policy"),
        (lambda: kvopt.solve(FOUR, "svf", time_limit=float("nan")), ValueError, "time_limit: .*ab"),
        (lambda: kvopt.solve(FOUR, "svf", memory_limit=-1), ValueError, "memory_limit"),
        (lambda: kvopt.solve(FOUR, "svf", threads=0), ValueError, "threads: expected .*1 to"),
        (lambda: kvopt.solve(FOUR, "svf", seed=-1), ValueError, "seed"),
        (lambda: kvopt.compare(["uniform_10"], ["svf"]), InputError, "did you mean uniform_100"),
        (lambda: kvopt.compare([FOUR], ["svf"], jobs=0), ValueError, "jobs"),
        (lambda: kvopt.compare([FOUR], []), ValueError, "expected a method"),
        (lambda: kvopt.compare([], ["svf"]), ValueError, "expected an instance"),
        (lambda: kvopt.solve(SECONDS, "highs"), ValueError, "arrivals in seconds: .*round_seconds"),
        (lambda: kvopt.solve(SECONDS, "sorted-lp"), ValueError, "advised by an LP relaxation"),
        (lambda: kvopt.bound(SECONDS, "bound:bound-lp"), ValueError, "models in rounds"),
        (lambda: kvopt.bound(FOUR, "bound:bound-seconds"), ValueError, "arrivals in rounds"),
        (lambda: kvopt.compare(FOUR, "svf", batch_time="unit"), ValueError, "arrivals in seconds"),
        (lambda: kvopt.run(SECONDS, "svf", batch_time="units"), ValueError, "did you mean unit"),
        (lambda: kvopt.run(FOUR, "svf").serving, ValueError, "schedule with a clock"),
    ],
)
def test_bad_input_is_one_line(call: Any, error: type[Exception], told: str) -> None:
    """A ValueError that names what was expected, before anything runs."""
    with pytest.raises(error, match=told) as caught:
        call()
    assert isinstance(caught.value, ValueError)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.slow("walks")
def test_advised_by_the_relaxation_in_rounds() -> None:
    """In seconds, all at 0 and a second a round: the relaxation and TEL of the same in rounds."""
    rows = enumerate([(1, 3), (2, 1), (1, 2), (3, 2)])
    plain = Instance("plain", 6, tuple(Request(i, 0, s, o) for i, (s, o) in rows))
    requests = tuple(replace(each, arrival=0.0) for each in plain.requests)
    timed = replace(plain, requests=requests, time_unit="second")
    found = kvopt.run(timed, "sorted-lp", batch_time="unit")
    assert found.schedule is not None
    expected = kvopt.run(plain, "sorted-lp").schedule
    assert expected is not None
    assert found.schedule.starts == expected.starts
    assert kvopt.check(timed, found.schedule).valid


@pytest.mark.parametrize(
    ("schedule", "kind"),
    [
        ([0, 1, 0, 3], "valid"),
        ([0, 0, 0, 0], "infeasible"),
        ([0, 1, 0], "malformed"),
        ([0, 1, 0, 3.0], "malformed"),
        ([0, 1, 0, -3], "malformed"),
    ],
)
def test_checks(schedule: Sequence[int], kind: str) -> None:
    """A start round for each request, in integers; a file that is not there is an error."""
    assert kvopt.check(FOUR, schedule).kind == kind
    with pytest.raises(ValueError, match=r"no_such\.json"):
        kvopt.check(FOUR, "no_such.json")


def test_progress_as_lines() -> None:
    """As solve.py prints them, also where standard output is no file, as in a notebook."""
    shown = []
    for progress in (True, False):
        with redirect_stdout(stream := io.StringIO()):
            kvopt.solve(FOUR, "cpsat", time_limit=30, progress=progress)
        shown.append(stream.getvalue())
    # On a busy machine a line before the header says that starting takes long.
    assert "  seconds       incumbent " in shown[0]
    assert (shown[0].splitlines()[-1].split()[1:3], shown[1]) == (["12", "12"], "")


def test_progress_as_calls() -> None:
    """A function is told of every improvement, the last one being the result."""
    told: list[Any] = []
    result = kvopt.solve(FOUR, "cpsat", time_limit=30, progress=told.append)
    assert (told[-1].tel, told[-1].bound, told[-1].gap) == (result.tel, result.bound, result.gap)
    assert len({(each.tel, each.bound) for each in told}) == len(told)


def test_an_error_of_the_callers_function_is_raised(tmp_path: Path) -> None:
    """As itself, and the run is stopped at once."""

    def fail(progress: object) -> None:
        raise KeyError("mine", progress)

    method = own_method(tmp_path, "report('bound', value=1); time.sleep(60)")
    began = time.monotonic()
    with pytest.raises(KeyError, match="mine"):
        kvopt.solve(FOUR, method, time_limit=50, progress=fail)
    assert time.monotonic() - began < 30


@pytest.mark.slow("waits")
def test_an_interrupted_run_returns_what_it_had(tmp_path: Path) -> None:
    """Ctrl-C is how a notebook's cell is interrupted; the schedule sent before is kept."""
    body = "report('schedule', starts=[0, 1, 0, 3]); time.sleep(60)"
    code = f"""\
import os, signal, kvopt
from tests.kvopt.best_known.registry import FOUR as four
def interrupt(progress):
    if progress.tel is not None:
        os.kill(os.getpid(), signal.SIGINT)
result = kvopt.solve(four, {own_method(tmp_path, body)!r}, time_limit=50, progress=interrupt)
print(result.status, result.tel, result.record.ending, *result.notes, sep=", ")
"""
    assert in_python(code) == "feasible, 12, interrupted, interrupted by the user"


@pytest.mark.slow("waits")
def test_beside_the_main_thread() -> None:
    """As a notebook's background jobs and web servers call it."""
    with ThreadPoolExecutor(2) as pool:
        found = [pool.submit(kvopt.solve, FOUR, "cpsat", time_limit=30) for _ in range(2)]
    assert [each.result().tel for each in found] == [12, 12]


def test_a_comparison(tmp_path: Path) -> None:
    """One row a run in the order asked for; a seed counts for methods that draw only."""
    broken = str(tmp_path / "broken.json")
    Path(broken).write_text("{")
    write_instance(FOUR, tmp_path / "four.json")
    table = kvopt.compare([FOUR, broken], "svf, a-random", seeds=2)
    rows = table[["instance", "method", "seed", "status"]].to_numpy().tolist()
    runs = [["svf", 0], ["a-random", 0], ["a-random", 1]]
    ended = (("four", "feasible"), (broken, "error"))
    assert rows == [[name, *run, status] for name, status in ended for run in runs]
    assert table["detail"].iloc[-1].startswith(broken)
    # The registry knows that instance by another name, and that 12 is its optimum.
    assert table[["best", "best_bound"]].dropna().to_numpy().tolist() == [[12, 12]] * 3
    assert list(kvopt.compare(str(tmp_path / "f*.json"), "svf")["instance"]) == ["four"]
    assert list(kvopt.compare(tmp_path, "svf")["status"]) == ["error", "feasible"]


def test_the_ratio_of_an_open_instance_is_an_interval() -> None:
    """TEL over the registry's best schedule and bound, which are better than these runs'."""
    table = kvopt.compare("uniform_100", ["mc-sf", "vllm-v1"])
    policy, keeps = table.iloc[0], table.iloc[1]
    assert policy["best"] < policy["tel"]
    assert policy["ratio_low"] == pytest.approx(policy["tel"] / policy["best"])
    assert policy["ratio_high"] == pytest.approx(policy["tel"] / policy["best_bound"])
    assert policy["gap"] == pytest.approx(1 - policy["bound"] / policy["tel"])
    assert pd.isna(keeps["gap"])


def test_a_comparison_with_a_store_is_resumed(tmp_path: Path) -> None:
    """A stored run is not run again, so its seconds stay; nothing else is left behind."""
    store = tmp_path / "runs.sqlite"
    first, again = (kvopt.compare([FOUR], ["svf", "mc-sf"], store=store) for _ in range(2))
    pd.testing.assert_frame_equal(first, again)
    assert list(tmp_path.iterdir()) == [store]


def test_an_interrupted_comparison_returns_what_had_finished(monkeypatch: Patch) -> None:
    """With a warning that says how many runs are missing."""

    def interrupted(tasks: Sequence[Task], *_: object) -> Iterator[FinishedRun]:
        yield from run_local(tasks[:1])
        raise KeyboardInterrupt

    monkeypatch.setattr("kvopt.sweeps.comparison.run_local", interrupted)
    with pytest.warns(UserWarning, match="interrupted: 2 of 3 runs are missing"):
        table = kvopt.compare([FOUR], ["svf", "mc-sf", "fcfs"])
    assert list(table["method"]) == ["svf"]


def test_a_claim_of_a_bound_is_told_and_enters_nothing(tmp_path: Path) -> None:
    """The volumes say 10: so do bound, gap, trace, calls and file, whatever the method says."""
    # Starts 0, 2, 2, 5 have TEL 17.
    body = "report('bound', value=12, source='prices'); return [0, 2, 2, 5]"
    told: list[int | None] = []
    own = own_method(tmp_path, body)
    result = kvopt.solve(FOUR, own, progress=lambda now: told.append(now.bound))
    assert (result.tel, result.bound, result.gap) == (17, volume_bound(FOUR), 7 / 17)
    assert {*told, *result.trace["bound"].dropna()} - {None} == {10}
    assert "lower bound   10  (from area bound)" in str(result)
    assert result.notes == (
        "the method claims that no TEL is below 12; without a certificate it is not used",
    )
    result.save(tmp_path / "schedule.json")
    assert json.loads((tmp_path / "schedule.json").read_text())["lower_bound"] == 10


#: Thousands of levels, which take seconds to prove nothing; the length pays for them.
SLOW = {"kind": "sweep", "value": 40_000, "memory": [0] * 4_000, "strict": []}


def _certifying(folder: Path, certificate: dict[str, Any]) -> str:
    sent = f"report('bound', value=12, certificate={certificate!r})"
    return own_method(folder, f"{sent}; return [0, 2, 2, 5]")


def test_a_certificate_counts_for_what_it_proves(tmp_path: Path) -> None:
    """It proves 11 and the method says 12: only 11 is a bound."""
    result = kvopt.solve(FOUR, _certifying(tmp_path, PRICES))
    assert (result.tel, result.bound) == (17, 11)
    assert result.record.bound_source == "certificate: prices"
    assert result.certificate == PRICES
    assert result.notes == (
        "the method claims that no TEL is below 12; its certificate proves less, and only that is "
        "used",
    )


@pytest.mark.slow("waits")
def test_a_certificate_that_takes_too_long_costs_no_schedule(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    """It is evaluated in a process of its own, which is killed: one line, no evaluation."""
    # So it is where it would settle which of method and file is wrong.
    monkeypatch.setattr(kvopt.runs.certify, "certificate_seconds", lambda *_: 0.3)
    for instance in (FOUR, replace(FOUR, known_optimum=11, known_optimum_reason="typed")):
        result = kvopt.solve(instance, _certifying(tmp_path, SLOW))
        assert (result.tel, result.bound, result.certificate) == (17, volume_bound(FOUR), None)
        told = "certificate was not evaluated within the time limit: it is not used"
        assert [told in line for line in result.notes if "certificate" in line] == [True]


@pytest.mark.slow("waits")
def test_ctrl_c_during_an_evaluation_keeps_the_schedule(tmp_path: Path) -> None:
    """It comes once the process of the evaluation is there."""
    code = f"""\
import os, signal, threading, time, kvopt
from kvopt.runs import certify
from tests.kvopt.best_known.registry import FOUR as four
begun, call = threading.Event(), certify.call_in_process
def called(*given, **more):
    begun.set()
    return call(*given, **more)
certify.call_in_process = called
def interrupt():
    begun.wait(50)
    time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt, daemon=True).start()
result = kvopt.solve(four, {_certifying(tmp_path, SLOW)!r}, time_limit=50)
print(result.status, result.tel, result.record.ending, *result.notes, sep="; ")
"""
    told = in_python(code).split("; ")
    assert told[:3] == ["feasible", "17", "interrupted"]
    assert "interrupted by the user" in told
    assert "its certificate was not evaluated before the interrupt: it is not used" in told


def test_a_claim_in_seconds_is_told_in_seconds(tmp_path: Path) -> None:
    """What each request takes alone is proved here, and counts in tables; an hour not."""
    body = "report('bound', value=3600 * 10**9, source='volumes')"
    seconds = replace(FOUR, time_unit="second")
    result = kvopt.solve(seconds, own_method(tmp_path, body), batch_time="affine(base=1,token=0)")
    record = result.record
    assert record.bound_source in ("certificate: alone", "certificate: work")
    told = (record.status, record.detail, record.bound_source)
    assert is_bound_believed(*told, word=False, proved=True)
    assert is_bound_believed(*told, word=True) == (record.bound_source in COMPUTED)
    assert 0 < (result.bound or 0) < 3600 * 10**9 == record.claimed_bound
    assert "no TEL is below 3600.000 s; without a certificate" in str(result)


@pytest.mark.slow("walks")
def test_a_comparison_warns_of_a_method_that_is_wrong(tmp_path: Path) -> None:
    """A bound of 13 exceeds the TEL that another run has shown; it is not believed besides."""
    method = own_method(tmp_path, "report('bound', value=13)")
    with pytest.warns(UserWarning, match="A METHOD IS WRONG.*lower bound 13 exceeds the TEL 12"):
        table = kvopt.compare([FOUR], [method, "cpsat"], time_limit=20)
    assert list(table["bound"]) == [volume_bound(FOUR), 12]
    assert list(table["best_bound"]) == [12, 12]
    refused = own_method(tmp_path, "report('schedule', starts=[0] * 4)")
    with pytest.warns(UserWarning, match="A METHOD IS WRONG"):
        assert kvopt.compare([FOUR], refused, time_limit=20)["bound"].isna().all()


@pytest.mark.parametrize(
    ("module", "public"),
    [(kvopt.api, FUNCTIONS), (kvopt.result, ["Result"]), (kvopt.sweeps.comparison, ["comparison"])],
)
def test_the_examples_of_the_docstrings(
    module: Any, public: Sequence[str], tmp_path: Path, monkeypatch: Patch
) -> None:
    """Each public function has one, with its output."""
    monkeypatch.chdir(tmp_path)
    found = doctest.DocTestFinder(exclude_empty=True).find(module, globs={"kvopt": kvopt})
    tests = [test for test in found if test.examples]
    assert {test.name.rpartition(".")[2] for test in tests} >= set(public)
    report = io.StringIO()
    for test in tests:
        runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
        runner.run(test, out=report.write, clear_globs=False)
    assert report.getvalue() == ""


@pytest.mark.slow("walks")
def test_the_notebook(tmp_path: Path) -> None:
    """It runs as it stands there, but for its time limits, and shows one picture."""
    path = ROOT / "docs" / "quickstart.ipynb"
    notebook = nbformat.read(path, as_version=4)
    printed = _lasting(notebook)
    assert len(printed) >= 3
    for cell in notebook.cells:
        cell.source = _LIMIT.sub("time_limit=2", cell.source)
    resources = {"metadata": {"path": tmp_path}}
    client = NotebookClient(notebook, timeout=180, startup_timeout=180, resources=resources)
    client.execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert sum("image/png" in output.get("data", {}) for output in outputs) == 1
    assert _lasting(notebook) == printed
    assert path.stat().st_size < 100_000


def _lasting(notebook: Any) -> dict[int, list[str]]:
    """Return what the cells show that neither set a limit nor go on from one, without seconds."""
    return {
        number: [
            re.sub(r"[\d.]+ s>", "s>", output.get("data", {}).get("text/plain", ""))
            for output in cell.outputs
        ]
        for number, cell in enumerate(notebook.cells)
        if cell.cell_type == "code" and not re.search(r"time_limit|\bresult\b", cell.source)
    }
