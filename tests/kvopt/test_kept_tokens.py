"""Schedules that keep tokens over evictions: no optimum, no gap, no bound on OPT, anywhere."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import kvopt
from heuristics.policy_registry import policies
from heuristics.simulator import RunSetting, run_policy
from instances import Instance, Request, write_instance
from instances.batch_time import parse_batch_time
from kvopt.runs.events import Event, EventReport, ScheduleFound
from kvopt.runs.execute import execute
from kvopt.runs.state import RunState
from kvopt.store import Store
from kvopt.sweeps.contradictions import alarms, run_summaries
from reports.best_references import collect_statements, find_references
from reports.per_instance import average_seeds
from reports.prepared_rows import prepare_rows
from reports.stored_results import Results
from reports.tables.gaps import gaps_to_optimum
from schedules import Schedule, check_schedule, read_schedule, write_schedule
from schedules.schedule import (
    ENGINE_ACCOUNTING,
    KEEPS_TOKENS_NOTE,
    OUTSIDE,
    is_better_schedule,
    keeps_any_tokens,
)
from serving.engine import solve_in_seconds
from tests.kvopt.conftest import Command
from tests.kvopt.sweep_tools import store_runs, summary_of, task_of
from tests.kvopt.test_policies_table import table_of
from tests.oracles.brute_force import brute_force_optimum
from tests.oracles.draws import instance_of

pytestmark = pytest.mark.usefixtures("quick_bounds")

#: M = 2 and four requests of two tokens, at 0 or at 1.  A request that holds two tokens runs alone,
#: so OPT is 18 by brute force; vllm-v1 goes on with what it kept and needs 14.
INSTANCE = instance_of(2, (1, 0, 2), (0, 0, 2), (0, 0, 2), (1, 0, 2), name="kept4")
KNOWN = replace(INSTANCE, known_optimum=18, known_optimum_reason="brute force")
KEPT = run_policy(policies()["vllm-v1"], INSTANCE)
PLAIN = run_policy(policies()["svf"], INSTANCE)


def test_the_example_is_what_it_is_said_to_be() -> None:
    """Four by brute force and by the checker; the schedule of the problem is the better one."""
    assert (KEPT.tel, PLAIN.tel, brute_force_optimum(INSTANCE)) == (14, 18, 18)
    assert KEPT.easier
    assert not PLAIN.easier
    assert check_schedule(INSTANCE, KEPT).valid
    pairs = ((PLAIN, KEPT), (KEPT, PLAIN), (KEPT, KEPT))
    assert [is_better_schedule(*pair) for pair in pairs] == [1, 0, 0]
    # Any positive count; a list of zeros keeps nothing.
    assert [keeps_any_tokens(kept) for kept in (None, [], [[0], [0, 0]])] == [False] * 3
    assert [keeps_any_tokens(kept) for kept in ([[0], [0, 1]], [[2]])] == [True] * 2


def test_on_a_clock_the_total_latency_decides() -> None:
    """Kept tokens are prefilled again, which takes its time."""
    timed = replace(INSTANCE, time_unit="second")
    setting = RunSetting(batch_time=parse_batch_time("affine"))
    in_tokens = replace(setting, values={"accounting": "tokens"})
    kept = run_policy(policies()["vllm-v1"], timed, in_tokens)
    plain = run_policy(policies()["svf"], timed, setting)
    assert kept.easier
    assert (kept.tel < plain.tel, is_better_schedule(kept, plain)) == (True, True)


def test_auto_preempts_in_seconds_where_the_bound_covers_that() -> None:
    """A bound covers kept tokens unless prefills are free and decode steps are not: a shortcut."""
    requests = (Request(0, 0, 100, 100), Request(1, 20, 90, 1))
    instance = Instance("exchange", 200, requests, time_unit="second")
    found = {}
    for prefill in (1, 0):
        events: list[Event] = []
        batch_time = f"linear(1000,{prefill},0,{1 - prefill},0)"
        task = task_of(instance, "auto", time_limit=0.2, batch_time=batch_time)
        solve_in_seconds(task, EventReport(events.append))
        found[prefill] = [each.found_by for each in events if isinstance(each, ScheduleFound)]
    assert "policy srpt" in found[1]
    assert "policy srpt" not in found[0]


def _events(*schedules: Schedule, bound: int) -> RunState:
    state = RunState(INSTANCE, "file:own.py")

    def take(event: Event) -> None:
        state.take(event.model_copy(update={"seconds": 0.5}))

    report = EventReport(take)
    for each in schedules:
        report.found(each, "own method")
    report.bound(bound, "prices")
    state.close()
    return state


@pytest.mark.parametrize("bound", [13, 14, 15, 18])
def test_a_run_takes_no_bound_from_it(bound: int) -> None:
    """Feasible whatever the bound; neither an incumbent nor in the way of one."""
    account = _events(KEPT, bound=bound)
    assert (account.status(), account.contradictions) == ("feasible", [])
    assert (account.incumbents, account.lower_bound) == ([], bound)
    assert (account.gap, account.closed, account.upper_bound) == (None, False, None)
    assert account.detail() == [KEEPS_TOKENS_NOTE]
    both = _events(KEPT, PLAIN, KEPT, bound=bound)
    assert both.schedule is not None
    assert (both.schedule.tel, both.incumbents, both.upper_bound) == (18, [(0.5, 18)], 18)
    assert (both.status(), both.detail()) == ("optimal" if bound == 18 else "feasible", [])


#: A method of one's own that plays vllm-v1's schedule of the instance.
_OWN = f"""
def solve(instance, report):
    report("schedule", starts={KEPT.starts}, attempts={KEPT.attempts}, kept={KEPT.kept})
    report("bound", value=14)
"""


def test_rows_reports_and_alarms(tmp_path: Path) -> None:
    """A policy's row and a ``file:`` method's: feasible, marked, no UB, no alarm, no claim."""
    own = tmp_path / "own.py"
    own.write_text(_OWN)
    methods = ("vllm-v1", f"file:{own}", "cpsat:cpsat")
    runs = [execute(task_of(INSTANCE, each, planned=True, time_limit=20.0)) for each in methods]
    for run in runs[:2]:
        assert (run.record.status, run.record.tel) == ("feasible", 14), run.record.detail
        assert run.record.detail.startswith(KEEPS_TOKENS_NOTE)
        assert run.schedule is not None
        assert (run.schedule.lower_bound, run.schedule.status) == (None, "feasible")
    assert (runs[2].record.status, runs[2].record.tel) == ("optimal", 18)
    store_runs(tmp_path / "runs.sqlite", *runs)
    with closing(Store(tmp_path / "runs.sqlite")) as store:
        shown, table = run_summaries(store, None), store.rows()
    assert sorted(run.keeps_tokens for run in shown) == [False, True, True]
    assert alarms(shown) == []
    assert Results(table).contradictions == ()
    rows = prepare_rows(table)
    marked = rows.loc[rows["label"].str.endswith(" *"), "tel"]
    assert marked.tolist() == [14, 14]
    line = find_references(rows, collect_statements(rows)).iloc[0]
    assert (line["upper"], line["lower"], line["opt"]) == (18, 18, 18)


def test_rows_of_the_engines_accounting(tmp_path: Path) -> None:
    """Two of 2 + 2 tokens fit into 7 blocks less one at once, by the problem a round later."""
    pair = Instance("pair", 7, (Request(0, 0, 2, 2), Request(1, 0, 2, 2)))
    engine = "vllm-v1(accounting=engine,block=1)"
    runs = [execute(task_of(pair, each, planned=True)) for each in (engine, "cpsat:cpsat")]
    assert [run.record.tel for run in runs] == [4, 5]
    assert [run.record.status for run in runs] == ["feasible", "optimal"]
    assert (runs[0].record.evictions, kvopt.run(INSTANCE, "vllm-v1").record.evictions) == (0, 2)
    assert runs[0].record.detail.startswith(ENGINE_ACCOUNTING + OUTSIDE)
    store_runs(tmp_path / "runs.sqlite", *runs)
    with closing(Store(tmp_path / "runs.sqlite")) as store:
        shown, table = run_summaries(store, None), store.rows()
    assert sorted(run.keeps_tokens for run in shown) == [False, True]
    assert (alarms(shown), Results(table).contradictions) == ([], ())
    timed = replace(pair, time_unit="second")
    found = kvopt.run(timed, "vllm-v1(block=1)", batch_time="unit")
    assert found.schedule is not None
    assert (found.tel, found.schedule.engine_accounting) == (4 * 10**9, True)


def test_a_note_at_the_end_of_many_refusals_is_not_cut_off() -> None:
    """The row's TEL counts whatever became of the run, so its detail begins with what it means."""
    account = _events(KEPT, bound=14)
    for number in range(30):
        account.take(ScheduleFound(starts=[], found_by=f"{number} " + "x" * 200))
    assert (account.status(), account.detail()[0]) == ("refused", KEEPS_TOKENS_NOTE)


def test_one_run_that_keeps_marks_the_method() -> None:
    """Of two runs the first reaches the optimum by kept tokens, which is no UB and no optimum."""
    columns = {"instance": "a", "instance_sha256": "a" * 64, "method": "file:own.py", "n": 4}
    first = columns | {"seed": 0, "tel": 14, "detail": f"{KEEPS_TOKENS_NOTE}; more"}
    second = columns | {"seed": 1, "tel": 19, "detail": ""}
    rows = prepare_rows(pd.DataFrame([first, second]).assign(known_optimum=14))
    assert rows["label"].tolist() == ["file:own.py *"] * 2
    assert rows["preempts"].tolist() == [True, False]
    unknown = rows.assign(known_optimum=pd.array([None] * 2, dtype="Int64"))
    assert find_references(unknown, collect_statements(unknown)).iloc[0]["upper"] == 19
    runs = Results(rows, {"a" * 64: {"construction": 14}}).runs
    assert pd.isna(runs["gap_opt"].tolist()[0])
    assert gaps_to_optimum(runs).frame["optimal"].tolist() == [0.0]
    averaged = average_seeds(runs[runs["seed"] == 0])
    assert averaged["optimal"].tolist() == [0.0]


def test_the_summary_and_the_schedule_file(solve: Command, tmp_path: Path) -> None:
    """Feasible, exit 0, one note, no gap; the file states no bound, and the checker accepts it."""
    path, out = tmp_path / "kept4.json", tmp_path / "out.json"
    for instance in (INSTANCE, KNOWN):
        write_instance(instance, path)
        result = solve(path, "--policy", "vllm-v1", "--out", out)
        assert (result.returncode, result.stderr) == (0, "")
        assert result.stdout.count(KEEPS_TOKENS_NOTE) == 1
        lines = summary_of(result.stdout)
        assert "gap %" not in lines
        assert (lines["status"], lines["TEL"].split()[0]) == ("feasible", "14")
        schedule = read_schedule(out)
        assert (schedule.lower_bound, schedule.status) == (None, "feasible")
        assert check_schedule(instance, schedule).valid


def test_the_table_of_all_policies_marks_it() -> None:
    """What kept tokens here is marked and explained; no gap is taken against the stated optimum."""
    table = table_of(KNOWN)
    text = table.text
    assert (table.accepted, table.misstated) == (True, "")
    marked = [line.split()[0] for line in text.splitlines() if " * " in line]
    assert "vllm-v1" in marked
    assert "svf" not in marked
    assert f"* {KEEPS_TOKENS_NOTE}" in text.splitlines()


def test_a_bound_beside_kept_tokens(tmp_path: Path) -> None:
    """A bound up to the TEL beside ``kept`` stays valid; the claim that it is the optimum not."""
    path = tmp_path / "old.json"
    old = replace(KEPT, lower_bound=14)
    write_schedule(old, path)
    assert check_schedule(INSTANCE, read_schedule(path)).valid
    write_schedule(replace(old, status="optimal"), path)
    assert check_schedule(INSTANCE, read_schedule(path)).kind == "malformed"
