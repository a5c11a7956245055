"""Who is best: the boards, and sentences of which every figure comes from the rows."""

from dataclasses import replace
from itertools import takewhile
from typing import Any

import pandas as pd
import pytest

from reports.build import _parts
from reports.markdown import table_page
from reports.paper_exports import latex_table
from reports.stored_results import Results
from reports.table import Table
from reports.terminal_report import format_ranking
from reports.time_units import is_adversarial
from reports.verdict_sentences import verdict
from tests.reports.synthetic import record, results_of
from tests.reports.test_tables import table_of

pytestmark = pytest.mark.usefixtures("no_figures")


def _tables(results: Results) -> dict[str, pd.DataFrame]:
    made = takewhile(lambda part: part.slug not in ("ratios", "instances"), _parts(results))
    tables = [part for part in made if isinstance(part, Table)]
    return {each.slug: each.frame.set_index("label") for each in tables if "label" in each.frame}


def _policies(**changed: int) -> list[Any]:
    """Return runs of three policies on a known instance and an open one, with its bound."""
    tels = {"svf_a": 100, "svf_b": 200, "fcfs_a": 125, "fcfs_b": 160, "alpha-beta_a": 400}
    tels |= {"alpha-beta_b": 400} | changed
    known = {"a": 100, "b": None}
    runs = [
        record(instance=name[-1], method=name[:-2], tel=tel, known_optimum=known[name[-1]])
        for name, tel in tels.items()
    ]
    bound = record(instance="b", method="bound:bound-lp", tel=200, lower_bound=120, seconds=3.0)
    return [*runs, bound]


CLAIRVOYANT, BLIND = "leaderboard-clairvoyant", "leaderboard-non-clairvoyant"


def test_ranks_by_the_mean_gap_and_says_up_to_where() -> None:
    """The gap to OPT where it is known, to UB and to LB where it is open; a board a class."""
    tables = _tables(results_of(*(replace(each, family=each.instance) for each in _policies())))
    lines = tables[CLAIRVOYANT]
    # svf: 0, and (200 - 160) / 200 to (200 - 120) / 200; fcfs: 25 / 125, and 0 to 40 / 160.
    assert lines["gap"].to_dict() == {"svf": "[10.0, 20.0] %", "fcfs": "[10.0, 22.5] %"}
    # Equal lower ends: the lower upper end is first.
    assert lines["rank"].tolist() == [1, 2]
    # Of the family of b no optimum is known.
    assert lines["optimal"].tolist() == [1.0, 0.0]
    # The greatest lower end: 200 / 160 = 1.25 on b, 125 / 100 on a.
    assert lines["worst"].tolist() == ["[1.250, 1.667]", "1.250"]
    assert lines["instance"].tolist() == ["b", "a"]
    # 300 / 400, and 240 / 400 to 280 / 400.
    assert tables[BLIND]["gap"].to_dict() == {"alpha-beta": "[67.5, 72.5] %"}
    assert tables[BLIND]["rank"].tolist() == [1]


def test_families_weigh_alike() -> None:
    """Three tiny instances without a gap, and one of another family with a half: 25 %, not 12.5."""
    tiny = [
        record(instance=name, family="tiny", method=method, tel=10, known_optimum=10)
        for name in ("t1", "t2", "t3")
        for method in ("svf", "fcfs")
    ]
    large = [
        record(instance="u", method=method, tel=tel, known_optimum=100)
        for method, tel in (("svf", 200), ("fcfs", 100))
    ]
    results = results_of(*tiny, *large)
    lines = _tables(results)[CLAIRVOYANT]
    assert lines["gap"].to_dict() == {"fcfs": "0.0 %", "svf": "25.0 %"}
    # Half of the families have all optima.
    assert lines["optimal"].to_dict() == {"fcfs": 1.0, "svf": 0.5}
    note = table_of(results, CLAIRVOYANT).note
    assert "mean over 4 instances in 2 families of equal weight" in note
    (line,) = [each for each in format_ranking(results).splitlines() if " svf " in each]
    assert " 25.0 % " in line


def test_a_run_without_a_schedule_counts_in_full() -> None:
    runs = [each for each in _policies() if (each.method, each.instance) != ("fcfs", "a")]
    failed = record(instance="a", method="fcfs", status="no_solution", known_optimum=100)
    lines = _tables(results_of(*runs, failed))[CLAIRVOYANT]
    assert lines.loc["fcfs", "gap"] == "[50.0, 62.5] % (1 failed)"
    # On b the ratio is 1.000 at least; of a there is none.
    assert lines.loc["fcfs", "worst"] == "[1.000, ?]"
    assert lines.loc["fcfs", "unsolved"] == 1
    on_b = record(instance="b", method="fcfs", status="no_solution")
    results = results_of(*_policies(), replace(failed, seed=1), replace(on_b, seed=1))
    assert _tables(results)[CLAIRVOYANT].loc["fcfs", "gap"] == "[55.0, 61.3] % (2 failed)"


def test_without_a_bound_the_upper_end_is_unknown() -> None:
    results = results_of(*[each for each in _policies() if not each.method.startswith("bound")])
    assert _tables(results)[CLAIRVOYANT].loc["svf", "gap"] == "[10.0, ?] %"
    assert "fcfs, svf leave at least 10.0 % (" in str(verdict(results.units)[0])


def test_only_shared_instances_rank() -> None:
    """A policy that was run elsewhere is named below with how many instances it has."""
    more = [record(instance="c", method=name, tel=50) for name in ("mc-sf", "svf")]
    results = results_of(*_policies(), *more)
    board = table_of(results, CLAIRVOYANT)
    assert set(board.frame["label"]) == {"svf", "fcfs"}
    assert board.frame["instances"].tolist() == [2, 2]
    assert board.note.endswith(" Not ranked, run on fewer instances: mc-sf (1).")


def test_what_keeps_tokens_is_marked_and_ranked_in_its_own_problem() -> None:
    """Its reference is the best schedule of the easier problem; no bound of ours is about it."""
    kept = [
        record(instance=name, method="vllm-v1", tel=tel, known_optimum=known)
        for name, tel, known in (("a", 80, 100), ("b", 200, None))
    ]
    results = results_of(*_policies(), *kept)
    lines = _tables(results)[BLIND]
    # On a it is its own best, since 80 < 100; on b (200 - 160) / 200.
    assert lines["gap"].to_dict() == {"vllm-v1 *": "[10.0, ?] %", "alpha-beta": "[67.5, 72.5] %"}
    assert lines["rank"].tolist() == [1, 2]
    assert lines.loc["vllm-v1 *", "worst"] == "[1.250, ?]"
    assert lines["optimal"].isna().tolist() == [True, False]
    assert any("OPT and LB are no bounds for it" in each for each in table_of(results, BLIND).notes)
    told = str(verdict(results.units)[2])
    assert "Non-clairvoyant, 2 policies: vllm-v1 * leaves at least 10.0 %; alpha-beta" in told
    # What its schedules are compared with is theirs: no table has a gap of it to OPT.
    assert "vllm-v1 *" not in _tables(results)["gaps"].index


@pytest.mark.parametrize(
    "method",
    ["bound:bound-lp", "highs:ilp-sparse(groups=yes,relaxed=yes)", "highs:ilp-sparse(relaxed=yes)"],
)
def test_bounds_have_a_board_of_their_own(method: str) -> None:
    """The schedule that a bound's run begins with is a policy's: it stands in no table of gaps."""
    bound = record(instance="b", method=method, tel=160, lower_bound=120, seconds=3.0)
    policies = [each for each in _policies() if not each.method.startswith("bound")]
    tables = _tables(results_of(*policies, bound))
    for slug in (CLAIRVOYANT, "gaps-open"):
        assert method not in tables[slug].index
    assert "solvers" not in tables
    # (160 - 120) / 160.
    board = tables["bounds-board"]
    assert (board["mean"][method], board["closed"][method]) == (0.25, 0)


def test_the_verdict_is_computed() -> None:
    """A sentence a class and one on the worst; another row gives another winner."""
    over = "(mean over 2 instances)."
    first, none, second, third = map(str, verdict(results_of(*_policies()).units))
    assert first == (
        "Clairvoyant, 2 policies: svf leaves 10.0 % to the best known schedules, at most 20.0 % to "
        f"OPT {over}"
    )
    assert none == "No policy with predictions was run."
    assert second == (
        "Non-clairvoyant, 1 policy: alpha-beta leaves 67.5 % to the best known schedules, at most "
        f"72.5 % to OPT {over}"
    )
    assert third == "The worst ratio to OPT, seeds averaged, is 4.000 (alpha-beta on a)."
    changed = _policies(svf_a=150)
    changed[-1] = record(instance="b", method="bound:bound-lp", tel=200, lower_bound=160)
    # Open no more: 0 and 25 / 125.
    told = str(verdict(results_of(*changed).units)[0])
    assert told == f"Clairvoyant, 2 policies: fcfs leaves 10.0 % to OPT {over}"
    alone = verdict(results_of(record(tel=100)).units)
    assert str(alone[2]) == "No non-clairvoyant policy was run."


def test_a_custom_method_stands_in_the_main_result() -> None:
    """Seventh of its class, below the best five, and the note says which lines stand there."""
    names = ("svf", "fcfs", "mc-sf", "h-sf", "a-random", "mc-benchmark")
    runs = [record(method=name, tel=100 + place) for place, name in enumerate(names)]
    own = record(method="file:mine.py", told="clairvoyant", tel=200)
    table = table_of(results_of(*runs, own), "main-result-table")
    assert table.frame["label"].tolist() == [*names[:5], "file:mine.py"]
    assert "at most 5 clairvoyant, and every ranked custom method" in table.note


def test_every_file_of_a_board_defines_its_numbers() -> None:
    """On the page the first board does it for all."""
    first, second = (table_of(results_of(*_policies()), slug) for slug in (CLAIRVOYANT, BLIND))
    defined = "gap: the share of its own total latency"
    assert defined in " ".join(first.notes)
    assert defined not in " ".join(second.notes)
    assert defined in table_page(second)
    assert defined in latex_table(second)


def _with_a_trap() -> list[Any]:
    """Return runs in which svf is first but on a trap, where it needs ten times the optimum."""
    trap: dict[str, Any] = {"instance": "t", "family": "mcsf-trap", "known_optimum": 10}
    lines = (("svf", 100), ("fcfs", 20), ("alpha-beta", 40))
    return [*_policies(), *(record(**trap, method=name, tel=tel) for name, tel in lines)]


def test_an_adversarial_instance_counts_in_no_rank() -> None:
    """Board and sentences are those without it; a table of its own has it."""
    alone, joined = results_of(*_policies()), results_of(*_with_a_trap())
    before, after = (_tables(each)[CLAIRVOYANT] for each in (alone, joined))
    pd.testing.assert_frame_equal(before, after)
    *same, worst = map(str, verdict(joined.units))
    *others, ratio = map(str, verdict(alone.units))
    assert (same, worst) == (others, ratio.replace("OPT,", "OPT outside adversarial instances,"))
    lines = _tables(joined)["adversarial"]
    # (100 - 10) / 100, (20 - 10) / 20 and (40 - 10) / 40, by name.
    gaps = {"alpha-beta": "75.0 %", "fcfs": "50.0 %", "svf": "90.0 %"}
    assert list(lines["gap"].items()) == list(gaps.items())
    assert lines["worst"].tolist() == ["4.000", "2.000", "10.000"]
    assert "adversarial" not in _tables(alone)


def test_of_adversarial_instances_alone_there_is_a_rank() -> None:
    tables = _tables(results_of(*[each for each in _with_a_trap() if each.instance == "t"]))
    assert tables[CLAIRVOYANT].index.tolist() == ["fcfs", "svf"]
    assert "adversarial" not in tables


@pytest.mark.parametrize(
    ("family", "apart"),
    [
        *((name, True) for name in ("mcsf-trap", "late-burst", "worst-case", "example-3-1")),
        *((name, False) for name in ("uniform", "planted", "three-partition", "")),
    ],
)
def test_which_families_are_adversarial(family: str, apart: bool) -> None:
    assert is_adversarial(family) is apart
