"""Best-known values are merged, and never made worse."""

import json
from typing import Any

import pytest

from formulations.certificates import reader_budget
from formulations.certificates.certificate_evaluation import evaluate_certificate
from formulations.certificates.certificate_file import read_certificate
from formulations.valid.volume_bounds import volume_bound
from instances import Instance, Request
from instances.ladder import Rung, read_ladder
from kvopt.best_known import __main__ as command
from kvopt.best_known import claims, known_values, rerun_proofs
from kvopt.best_known.claims import Claims
from support.click_command import Command
from tests.kvopt.best_known.registry import (
    FOUR,
    OPTIMAL,
    PAIR,
    PRICES,
    SWEEP,
    WORSE,
    Sweep,
    evaluations,
    put,
)
from tests.kvopt.sweep_tools import Capture, Patch


def test_an_optimum_by_two_engines(proved: Sweep) -> None:
    """The entry names schedule, bound, both proofs, the best certified bound and the history."""
    entry = proved.entry()
    assert entry["standing"] == "opt"
    assert entry["reason"] == "solver-reported by cpsat:cpsat and highs:ilp"
    assert (entry["upper"]["value"], entry["lower"]["value"]) == (12, 12)
    assert [proof["method"] for proof in entry["proofs"]] == ["cpsat:cpsat", "highs:ilp"]
    assert entry["lower"]["kind"] == "solver-reported"
    assert entry["lower"]["certified"]["value"] == volume_bound(FOUR)
    assert known_values(proved.folder)[FOUR.sha256]["upper_by"] == "cpsat:cpsat"
    # Each of pair holds 3 token-rounds of 3: completions at 1 and 2 at the earliest.
    pair = "one argument only: area and parallel-machine bound (certificate: volumes, construction)"
    assert proved.entry("pair")["reason"] == pair


def test_the_same_runs_again_change_nothing(proved: Sweep) -> None:
    """A second merge leaves every byte as it is, and --check says so."""
    before = {path: path.read_bytes() for path in proved.folder.rglob("*") if path.is_file()}
    # 3: nothing better in the store, and the optimum of ``four`` on words alone.
    assert (proved.merge("--check"), proved.merge()) == (3, 0)
    after = {path: path.read_bytes() for path in proved.folder.rglob("*") if path.is_file()}
    assert before == after
    proved.run(FOUR, "search", OPTIMAL, 12, "search", day=9)
    entry = proved.merged()
    assert (entry["upper"]["method"], entry["lower"]["method"]) == ("cpsat:cpsat", "cpsat:cpsat")
    assert [proof["method"] for proof in entry["proofs"]] == ["cpsat:cpsat", "highs:ilp", "search"]


def test_better_replaces_worse_and_never_the_reverse(sweep: Sweep) -> None:
    """UB 13, then 12, then 13 and a weaker bound again: 12 stays, with its history."""
    sweep.run(FOUR, "mc-sf", WORSE, 8, "volumes")
    assert sweep.merged()["upper"]["value"] == 13
    sweep.run(FOUR, "cpsat:cpsat", OPTIMAL, 11, "CP-SAT", day=3)
    assert (sweep.merge("--check"), sweep.entry()["upper"]["value"]) == (1, 13)
    assert sweep.merge() == 0
    sweep._path.unlink()
    sweep.run(FOUR, "mc-sf", WORSE, 10, "CP-SAT", day=4)
    sweep.run(FOUR, "cpsat:cpsat-strong", WORSE, 10, "CP-SAT", day=4)
    # 3: nothing better in the store, and a bound that is solver-reported.
    assert sweep.merge("--check") == 3
    entry = sweep.merged()
    assert (entry["upper"]["value"], entry["lower"]["value"]) == (12, 11)
    assert [step["value"] for step in entry["history"]["upper"]] == [13, 12]
    assert (entry["standing"], entry["reason"]) == ("open", "open")


def test_a_lying_bound_aborts_loudly(proved: Sweep) -> None:
    """A bound above a checked schedule names both; nothing is written, however good the rest is."""
    proved.run(FOUR, "highs:ilp(groups=yes)", WORSE, 13, "HiGHS", day=5)
    before = proved.path.read_bytes()
    assert proved.merge() == 5
    told = proved.err
    assert "four: lower bound 13 (highs:ilp(groups=yes), 2026-11-05) exceeds" in told
    assert "the checked TEL 12 (cpsat:cpsat, 2026-11-01)" in told
    assert proved.path.read_bytes() == before


def test_a_schedule_below_a_known_optimum_aborts(sweep: Sweep, monkeypatch: Patch) -> None:
    """A proof by construction is a statement like any other: one of the two is wrong."""
    wrong = Instance("wrong", 5, FOUR.requests, known_optimum=13, known_optimum_reason="guessed")
    put(monkeypatch, wrong)
    sweep.run(wrong, "cpsat:cpsat", OPTIMAL, 12, "CP-SAT")
    assert sweep.merge() == 5
    assert "wrong: the optimum by construction, 13 exceeds" in sweep.err
    assert not sweep.path.exists()


def test_bounds_that_are_not_believed(sweep: Sweep) -> None:
    """Those of runs that the parent caught, and of methods of one's own without a certificate."""
    sweep.run(FOUR, "svf", WORSE)
    sweep.run(FOUR, "highs:ilp", WORSE, 99, "HiGHS", status="error")
    sweep.run(FOUR, "cpsat:cpsat", WORSE, 99, "CP-SAT", status="refused")
    sweep.run(FOUR, "file:mine.py", WORSE, 99, "own method")
    lower = sweep.merged()["lower"]
    assert (lower["value"], lower["method"]) == (volume_bound(FOUR), "volumes")


def test_a_certificate_is_taken_from_anyone(sweep: Sweep) -> None:
    """What is evaluated here needs no trust; the value is what it proves, not what it says."""
    assert volume_bound(FOUR) == 10
    sweep.run(FOUR, "file:mine.py", WORSE, 99, "own method", certificate=PRICES | {"value": 99})
    lower = sweep.merged()["lower"]
    assert (lower["value"], lower["method"]) == (11, "file:mine.py")
    assert (lower["kind"], lower["certificate"]) == ("certified", "prices")
    assert sweep.check() == 0


def test_a_certificate_that_proves_nothing_is_left_out(sweep: Sweep) -> None:
    """One that is damaged, assumes an unknown schedule, or proves a number below 0."""
    prices = {"kind": "prices", "value": 9, "memory": [0, 1000]}
    assert evaluate_certificate(FOUR, read_certificate(prices)) < 0
    sweep.run(FOUR, "file:mine.py", WORSE, 9, "own method", certificate=prices)
    sweep.run(FOUR, "bound:bound-lp", WORSE, 9, "volumes", certificate={"kind": "prices"})
    assumed = PRICES | {"upper_bound": 11}
    sweep.run(FOUR, "bound:bound-dual", WORSE, 9, "volumes", certificate=assumed)
    assert sweep.merge() == 0
    told = sweep.err
    assert "certificate of bound:bound-lp: " in told
    assert "it assumes a schedule better than any that is known" in told
    assert sweep.entry()["lower"]["method"] == "volumes"
    assert sweep.entry()["lower"]["value"] == volume_bound(FOUR)


def test_a_sweep_is_evaluated_only_where_it_is_better(sweep: Sweep, monkeypatch: Patch) -> None:
    """A second merge takes no seconds for it, nor the first for a lesser one; more is looked at."""
    values = evaluations(monkeypatch, claims)
    assert volume_bound(FOUR) < 11
    sweep.run(FOUR, "auto", OPTIMAL, 11, "search", certificate=SWEEP | {"value": 11})
    for _ in range(2):
        assert (sweep.merge(), values) == (0, [11])
    sweep.run(FOUR, "search:sweep", OPTIMAL, 12, "search", certificate=SWEEP, day=2)
    sweep.run(FOUR, "auto", OPTIMAL, 12, "search", certificate=SWEEP, day=3)
    assert sweep.merge() == 0
    assert values == [11, 12]
    assert (sweep.entry()["lower"]["certificate"], sweep.check()) == ("sweep", 0)


def test_a_sweep_that_takes_too_long_is_one_note(sweep: Sweep, monkeypatch: Patch) -> None:
    """It is left out with a line; schedule and claimed bound of the same run are taken."""
    monkeypatch.setattr(reader_budget, "MOST_STEPS", 10)
    sweep.run(FOUR, "auto", OPTIMAL, 12, "search", certificate=SWEEP)
    assert sweep.merge() == 0
    told = sweep.err.splitlines()
    assert [line for line in told if "takes more than the 10 steps" in line] == told[:1]
    entry = sweep.entry()
    assert (entry["upper"]["value"], entry["lower"]["value"]) == (12, 12)
    assert entry["lower"]["certified"]["method"] == "volumes"


def test_ctrl_c_keeps_what_is_merged(sweep: Sweep) -> None:
    """It comes at the second instance: the first one is written, and the same command goes on."""
    sweep.run(FOUR, "cpsat:cpsat", OPTIMAL, 11, "CP-SAT")
    sweep.run(PAIR, "cpsat:cpsat", [0, 1], 3, "CP-SAT")

    def interrupted(instance: Instance, *more: Any) -> Claims:
        if instance.name == "pair":
            raise KeyboardInterrupt
        return claims.collect(instance, *more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "collect", interrupted)
        assert sweep.merge() == 130
    assert "interrupted" in sweep.err
    assert [each["instance"] for each in sweep.entries()] == ["four"]
    assert sweep.merge() == 0
    assert [each["instance"] for each in sweep.entries()] == ["four", "pair"]


def test_a_certified_bound_replaces_an_equal_claim(sweep: Sweep) -> None:
    """Of two equal bounds the one that can be verified stands in the entry."""
    sweep.run(FOUR, "cpsat:cpsat", OPTIMAL, 11, "CP-SAT")
    assert sweep.merged()["lower"]["method"] == "cpsat:cpsat"
    sweep.run(FOUR, "bound:bound-lp", WORSE, 11, "prices", certificate=PRICES, day=2)
    entry = sweep.merged()
    assert (entry["lower"]["method"], entry["lower"]["kind"]) == ("bound:bound-lp", "certified")
    # The value itself did not change.
    assert len(entry["history"]["lower"]) == 1


def test_what_a_policy_kept_is_no_upper_bound(sweep: Sweep, monkeypatch: Patch) -> None:
    """A policy that keeps tokens over an eviction solves an easier problem: the merge goes on."""
    # Tokens 1, 2 of request 0 at times 1, 2, of request 1 at 1 and, kept, at 3: TEL 5, below the
    # optimum by construction.  Without that one waits for the other: 2 + 4 = 6.
    requests = (Request(0, 0, 0, 2), Request(1, 0, 0, 2))
    two = Instance("two", 2, requests, known_optimum=6, known_optimum_reason="one by one")
    put(monkeypatch, two)
    sweep.run(two, "vllm-v1", [0, 1], None, attempts=[[], [(0, 1)]], kept=[[0], [0, 1]])
    sweep.run(two, "svf", [0, 2], None)
    assert (sweep.merged("two")["upper"]["value"], sweep.err) == (6, "")


@pytest.mark.parametrize(
    ("stated", "told"),
    [
        (4, "the optimum by construction, 4 exceeds the checked TEL 3"),
        (2, "lower bound 3 (volumes, 2026-11-01) exceeds the optimum by construction, 2"),
    ],
)
def test_a_stated_optimum_is_a_witness(
    proved: Sweep, stated: int, told: str, monkeypatch: Patch
) -> None:
    """Where the library states another optimum than schedule and bound, the check says so."""
    other = Instance("pair", 3, PAIR.requests, known_optimum=stated, known_optimum_reason="typo")
    put(monkeypatch, other)
    assert proved.check() == 1
    assert told in proved.err


def test_a_planted_schedule_is_taken_if_it_is_better(sweep: Sweep, monkeypatch: Patch) -> None:
    """The schedule of the construction replaces a worse one, and is replaced by none as good."""
    sweep.run(FOUR, "svf", WORSE, day=3)
    assert sweep.merged()["upper"]["method"] == "svf"
    put(monkeypatch, FOUR, *OPTIMAL)
    upper = sweep.merged()["upper"]
    assert (upper["method"], upper["value"], upper["date"]) == ("construction", 12, "2026-11-03")
    sweep.run(FOUR, "mc-sf", OPTIMAL, day=4)
    assert (sweep.merged()["upper"], sweep.check()) == (upper, 0)


def test_cancelled_attempts_are_dropped(sweep: Sweep) -> None:
    """The last attempts alone are a schedule with the same TEL, and that is what is kept."""
    late = [0, 1, 3, 6]
    sweep.run(FOUR, "alpha-greedy", late, None, attempts=[[], [], [(0, 1)], []])
    assert sweep.merge() == 0
    document = json.loads(sweep.proof("schedules").read_text())
    assert (document["starts"], "attempts" in document, sweep.check()) == (late, False, 0)


def test_an_instance_of_the_ladder_is_drawn_and_known(sweep: Sweep, monkeypatch: Patch) -> None:
    """Only what has runs is drawn, no cache is asked, and --check finds the entry right."""
    asked: list[str] = []
    drawing = Rung.draw

    def draw(rung: Rung) -> Instance:
        asked.append(rung.name)
        return drawing(rung)

    monkeypatch.setattr(Rung, "draw", draw)
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    rung = read_ladder()["am1_n5_seed1"]
    drawn = rung.draw()
    sweep.run(drawn, "svf", list(range(0, 500, 100)))
    entry = sweep.merged(drawn.name)
    assert (entry["file"], entry["sha256"]) == ("ladder.csv", rung.sha256)
    assert set(asked) == {drawn.name}
    sweep.check()
    assert drawn.name not in sweep.err
    # As where a library rounds otherwise.
    monkeypatch.setattr(Rung, "draw", lambda _: FOUR)
    assert sweep.check() == 1
    assert f"{rung.name}: expected sha256" in sweep.err


@pytest.mark.parametrize(
    ("main", "arguments", "code"),
    [
        (command.main, [], 2),
        (command.main, ["--nope"], 2),
        (command.main, ["--store", "/nowhere/at/all.sqlite"], 2),
        (command.main, ["--check", "--folder", "/nowhere"], 1),
        *((rerun_proofs.main, wrong, 2) for wrong in (["--zzz"], ["--each", "soon"], ["--folder"])),
    ],
)
def test_bad_usage_is_a_line(
    main: Command, arguments: list[str], code: int, capsys: Capture
) -> None:
    """No traceback, no usage, one line, the exit code that --help tells."""
    assert main(arguments) == code
    told = capsys.readouterr().err
    assert told.startswith(f"{main.name}: ")
    assert told.count("\n") == 1
