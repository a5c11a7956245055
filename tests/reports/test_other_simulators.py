"""Vidur and BLIS beside this suite: committed rows, the literal between them, the command."""

from __future__ import annotations

import random
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from reports.other_simulators import __main__ as command
from reports.other_simulators import blis, page, rows, steps, vidur_driver
from reports.other_simulators.blocks import CachedBlocks
from reports.other_simulators.bridge import TURNED, simulate, turned
from reports.other_simulators.own import run_own
from reports.other_simulators.scenarios import (
    BLIS,
    DRAWN,
    KVOPT,
    SARATHI,
    SCENARIOS,
    SIMULATORS,
    VLLM,
    Machine,
    Scenario,
    ServedRequest,
    SimulatorError,
    draw_trace,
    read_trace,
)
from reports.other_simulators.vidur import run_vidur

#: 4 blocks of 4 tokens, 6 tokens a round, 3 requests at a time; τ = 10 + P + 2 D + 3 K ns.
SMALL = Machine(4, 4, 6, 3, (10_000, 1_000, 0, 2_000, 3_000))
HARD = [
    (scenario, simulator)
    for scenario in SCENARIOS
    if scenario.name in ("congested", "cut")
    for simulator in scenario.simulators
    if simulator != KVOPT
]


@pytest.mark.parametrize(
    ("scenario", "simulator"), HARD, ids=[f"{one.name}-{name}" for one, name in HARD]
)
def test_nothing_else_differs(scenario: Scenario, simulator: str) -> None:
    """With its rules turned the literal gives the other simulator's every time, in nanoseconds."""
    theirs = rows.read_rows(simulator)[scenario.name]
    found = simulate(read_trace(scenario.trace), scenario.machine, turned(*TURNED[simulator]))
    assert found == theirs


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.name)
def test_ours_are_the_rows(scenario: Scenario) -> None:
    """What this suite makes of the traces now is what the page compares."""
    assert (
        run_own(scenario.machine, read_trace(scenario.trace))
        == rows.read_rows(KVOPT)[scenario.name]
    )


@pytest.mark.parametrize("name", DRAWN)
def test_traces_are_drawn_by_families(name: str) -> None:
    """The committed traces are what our families draw, to the nanosecond."""
    assert read_trace(name) == draw_trace(name)


def test_ours_is_the_literal_on_small_traces() -> None:
    """With no rule turned the literal gives our simulator's times, evictions and cuts included."""
    evicted = cut = 0
    for seed in range(300):
        draw = random.Random(seed)
        machine = Machine(
            draw.randint(4, 8),
            draw.choice((1, 2, 4)),
            draw.choice((2, 3, 5, 9)),
            draw.randint(1, 4),
            (draw.randint(0, 9000), draw.choice((0, 1000)), draw.choice((0, 300)), 2500, 700),
        )
        trace = sorted(
            (draw.randint(0, 60), draw.randint(1, 6), draw.randint(1, 6))
            for _ in range(draw.randint(1, 9))
        )
        # What needs more blocks than there are alone can be served by nobody.
        trace = [row for row in trace if row[1] + row[2] <= machine.memory]
        if not trace:
            continue
        found = run_own(machine, trace)
        assert found == simulate(trace, machine, turned()), (seed, machine, trace)
        evicted += any(one.evictions for one in found)
        cut += any(prompt > machine.budget for _, prompt, _ in trace)
    assert evicted > 50
    assert cut > 50


def test_a_small_run_by_hand() -> None:
    """Two requests of 4 + 3 and 5 + 2 tokens; each line is a round, its batch, and what is held."""
    trace = [(0, 4, 3), (0, 5, 2)]
    # At 0: 4 tokens of the first; it then holds 5 with its token: 2 blocks.  The second needs 2
    # for its 6, and 2 tokens of budget are left: it computes 2, and takes one block.  P = 6: 16 ns.
    # At 16: the first reads 5: D = 1, K = 5; the second computes 3 more and holds 6: 10 + 3 + 2 +
    # 15 = 30 ns.  At 46 both read 6: 10 + 4 + 36 = 50 ns, after which both are done.
    assert simulate(trace, SMALL, turned()) == [ServedRequest(16, 96, 0), ServedRequest(46, 96, 0)]


def test_a_block_that_stands_is_found_again() -> None:
    """Blocks of a prompt keep what they hold until they are taken, from the first freed on."""
    memory = CachedBlocks(4, 2)
    assert memory.grow(0, 5, 5, prefill=True)
    memory.release(0)
    # The line is now block 3, then 2, 1, 0 of the request, whose last block was freed first.
    assert memory.cached(0, 5) == 4
    assert memory.grow(1, 6, 6, prefill=True)
    # Blocks 3, 2 and 1 were taken: of the first request's prompt the first two tokens are left.
    assert memory.cached(0, 5) == 2
    assert not memory.grow(0, 5, 5, prefill=True)
    memory.release(1)
    assert memory.grow(0, 3, 5, prefill=True)
    assert memory.free == 1


def test_batch_time_in_vidur() -> None:
    """Its batch of a chunk of 3 after 4 and a request that reads 9, in picoseconds, rounded up."""
    requests = [
        SimpleNamespace(num_processed_tokens=4, is_prefill_complete=False),
        SimpleNamespace(num_processed_tokens=9, is_prefill_complete=True),
    ]
    batch = SimpleNamespace(requests=requests, num_tokens=[3, 1])
    # 7² - 4² = 33 squares: 1 + 3 · 10 + 33 · 100 + 1,000 + 9 · 10,000 = 94,331 ps.
    assert vidur_driver.batch_time(batch, [1, 10, 100, 1_000, 10_000]) == 95


def test_batch_time_in_blis() -> None:
    """BLIS's sum over its terms, cut to an integer, is ours for P = 70, D = 9, K = 1,234."""
    machine = SCENARIOS[0].machine
    values = blis.coefficients(machine)
    decode_operations = 9 * blis._OPERATIONS + 4 * (1_234 - 9)
    found = values[1] * decode_operations + values[6] + values[8] * 70 + values[9] * 1_234
    # 54,260,000 + 311,900 · 70 + 196,300 · 9 + 144 · 1,234 ns.
    assert int(found) == 54_260_000 + 21_833_000 + 1_766_700 + 177_696
    squares = next(one for one in SCENARIOS if one.name == "squares").machine
    with pytest.raises(SimulatorError, match="without squares"):
        blis.coefficients(squares)


def _program(place: Path, text: str) -> Path:
    path = place / "program"
    path.write_text(f"#!{sys.executable}\n{text}", encoding="utf-8")
    path.chmod(0o755)
    return path


ANSWERS = """
import csv, json, sys
options = dict(zip(sys.argv[2::2], sys.argv[3::2]))
assert sys.argv[1] == "replay" and options["--total-kv-blocks"] == "4"
rows = list(csv.DictReader(open(options["--trace-data"])))
answers = [
    {"request_id": int(row["request_id"]), "ttft_us": 1.0, "e2e_us": float(row["output_tokens"])}
    for row in rows
]
json.dump(answers, open(options["--results-path"], "w"))
json.dump({"preemption_count": 1}, open(options["--metrics-path"], "w"))
"""


def test_answers_of_blis(tmp_path: Path) -> None:
    """Times are told since the arrival, evictions in the log, and both must be complete."""
    trace = [(5, 1, 4), (7, 2, 3)]
    log = 'print("evicting request_1 to make room", file=sys.stderr)\n'
    program = _program(tmp_path, ANSWERS + log)
    assert blis.run_blis(program, SMALL, trace) == [ServedRequest(6, 9, 0), ServedRequest(8, 10, 1)]
    with pytest.raises(SimulatorError, match="2 requests and 1 evictions, found 2 and 0"):
        blis.run_blis(_program(tmp_path, ANSWERS), SMALL, trace)
    failing = 'import sys\nprint("no such device", file=sys.stderr)\nsys.exit(3)\n'
    program = _program(tmp_path, failing)
    with pytest.raises(SimulatorError, match="ended with 3: no such device"):
        blis.run_blis(program, SMALL, trace)


def test_vidur_that_does_not_run(tmp_path: Path) -> None:
    """A folder without Vidur, and an interpreter that there is none of, are one line."""
    trace = [(0, 1, 1)]
    with pytest.raises(SimulatorError, match="ModuleNotFoundError: No module named 'vidur'"):
        run_vidur(tmp_path, sys.executable, SARATHI, SMALL, trace)
    with pytest.raises(SimulatorError, match="Vidur: "):
        run_vidur(tmp_path, str(tmp_path / "python"), VLLM, SMALL, trace)


def test_the_page_is_what_the_rows_give() -> None:
    """The committed page is a function of the committed rows and steps."""
    every = {name: rows.read_rows(name) for name in SIMULATORS}
    found = page.page(every, steps.read_steps())
    assert command.PAGE.read_text(encoding="utf-8") == found
    # Where memory suffices, all of the others but Vidur's older scheduler agree with ours.
    assert every[KVOPT]["calm"] == every[SARATHI]["calm"] == every[BLIS]["calm"]


@pytest.mark.slow("walks")
def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It writes our rows, the steps and the page; --check tells whether the page is stale."""
    committed = steps.read_steps()
    shutil.copytree(rows.ROWS, tmp_path / "rows")
    wanted = command.PAGE.read_text(encoding="utf-8")
    monkeypatch.setattr(rows, "ROWS", tmp_path / "rows")
    monkeypatch.setattr(steps, "FILE", tmp_path / "rows" / "steps.csv")
    monkeypatch.setattr(command, "FOLDER", tmp_path)
    monkeypatch.setattr(command, "PAGE", tmp_path / "README.md")
    # Both take seconds and have tests of their own.
    monkeypatch.setattr(command, "all_steps", lambda _: committed)
    ours = rows.read_rows(KVOPT)
    known = {(one.machine, one.trace): ours[one.name] for one in SCENARIOS}
    names = {tuple(read_trace(name)): name for name in DRAWN}
    monkeypatch.setattr(
        command, "run_own", lambda machine, trace: known[machine, names[tuple(trace)]]
    )
    for path in (tmp_path / "rows" / "kvopt.csv", tmp_path / "rows" / "steps.csv"):
        path.unlink()
    assert command.main([]) == 0
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == wanted
    assert (tmp_path / page.FIGURE).read_text(encoding="utf-8").startswith("<svg")
    assert rows.read_rows(KVOPT) == ours
    assert command.main(["--check"]) == 0
    (tmp_path / "README.md").write_text(wanted.replace("1,000", "1,001"), encoding="utf-8")
    assert command.main(["--check"]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "README.md is stale"


def test_order_of_completions() -> None:
    """Of three pairs one is in the opposite order; equal times are in no order."""
    here = [ServedRequest(0, time, 0) for time in (1, 2, 3)]
    there = [ServedRequest(0, time, 0) for time in (2, 1, 2)]
    assert page.out_of_order(here, there) == pytest.approx(100 / 3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "there is none"),
        ("scenario,request\ncalm,0\n", "expected scenario,request,first_token_ns"),
        ("scenario,request,first_token_ns,completion_ns,evictions\ncalm,0,a,1,0\n", "expected"),
        ("scenario,request,first_token_ns,completion_ns,evictions\ncalm,0,1,1,0\n", "found calm"),
    ],
)
def test_damaged_rows(
    text: str | None, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that are missing, of another form or of other scenarios are refused in one line."""
    monkeypatch.setattr(rows, "ROWS", tmp_path)
    if text is not None:
        (tmp_path / "blis.csv").write_text(text, encoding="utf-8")
    with pytest.raises(SimulatorError, match=message):
        rows.read_rows(BLIS)


@pytest.mark.parametrize(
    "arguments", [["--vidur", "nowhere"], ["--blis", "nowhere"], ["--nothing"]], ids=" ".join
)
def test_bad_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A simulator that is not where it is said to be is one line, before anything is run."""
    assert command.main(arguments) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_steps_of_the_file_are_read_back() -> None:
    """The last step to each simulator has all of its requests; the file is in one form."""
    found = steps.read_steps()
    assert steps.steps_text(found) == steps.FILE.read_text(encoding="utf-8")
    last = {(step.scenario, step.simulator): step for step in found}
    sizes = {one.name: len(read_trace(one.trace)) for one in SCENARIOS}
    assert {key: step.same for key, step in last.items()} == {
        (scenario, name): sizes[scenario] for scenario, name in last
    }
