"""The exact worst ratios: an independent optimum, rows that can be derived again, the page."""

from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heuristics.policy_registry import policies
from heuristics.simulator import run_policy
from instances import read_instance
from instances.instance_names import library_files
from instances.worst_case_rows import (
    Triple,
    WorstCase,
    format_worst_cases,
    read_rows,
    worst_case_instances,
    worst_of_each,
)
from papers.ledger.check_results import arriving
from papers.worst_cases.__main__ import main
from papers.worst_cases.exhaustive import POLICIES, SAME, left_out, multisets, optimum, worst
from papers.worst_cases.ratio_page import figures, page_text
from tests.oracles.brute_force import brute_force_optimum
from tests.tiers import a_few

ROWS = read_rows()
SIZES = sorted({row.size for row in ROWS})


@given(
    rows=st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 4), st.integers(1, 4)), min_size=1, max_size=5
    ),
    room=st.integers(0, 5),
    arrivals=st.booleans(),
)
@settings(max_examples=120, deadline=None)
def test_the_optimum_is_that_of_brute_force(rows: list[Triple], room: int, arrivals: bool) -> None:
    """Dynamic programming over what waits against all start rounds."""
    requests = [(a if arrivals else 0, s, o) for a, s, o in rows]
    memory = max(s + o for _, s, o in rows) + room
    assert optimum(requests, memory) == brute_force_optimum(arriving(memory, requests))


def test_all_instances_are_gone_through() -> None:
    """M(M + 1)/2 kinds at each round: C(kinds + n − 1, n) multisets, less those without round 0."""
    for n, memory, latest in ((1, 3, 0), (2, 4, 0), (3, 3, 0), (2, 3, 3), (3, 2, 2)):
        found = list(multisets(n, memory, latest))
        kinds = memory * (memory + 1) // 2
        late = comb(kinds * latest + n - 1, n) if latest else 0
        assert len(found) == len(set(found)) == comb(kinds * (latest + 1) + n - 1, n) - late
        assert all(s + o <= memory and a <= latest for each in found for a, s, o in each)


def test_every_policy_has_a_row_of_every_size() -> None:
    """Of policies that know the outputs and draw nothing; the page names the others."""
    assert len(ROWS) == len(SIZES) * len(POLICIES)
    assert {(row.policy, row.size) for row in ROWS} == {
        (name, size) for name in POLICIES for size in SIZES
    }
    assert {(2, 5, 0), (3, 5, 0), (4, 4, 0), (3, 3, 3)} <= set(SIZES)
    assert all(not policies()[name].randomised for name in POLICIES)
    assert set(left_out()) | set(POLICIES) == set(policies())


def test_policies_that_are_left_out_as_the_same_are_the_same() -> None:
    """On all instances of three requests and three tokens, and the worst with arrivals."""
    several = [arriving(3, each) for each in multisets(3, 3)]
    several += [arriving(row.memory, row.requests) for row in ROWS if row.latest]
    for name, other in SAME.items():
        for instance in several:
            starts = [run_policy(policies()[each], instance).starts for each in (name, other)]
            assert starts[0] == starts[1]


def test_rows_are_what_they_say() -> None:
    """Each instance: TEL by the simulator, optimum by brute force."""
    for row in ROWS:
        instance = arriving(row.memory, row.requests)
        assert len(instance) == row.n
        assert max(row.requests)[0] <= row.latest
        assert run_policy(policies()[row.policy], instance).tel == row.tel
        assert brute_force_optimum(instance) == row.optimum


@pytest.mark.parametrize(
    ("n", "memory", "latest"),
    a_few([(2, 3, 0), (2, 3, 3), (2, 5, 0), (3, 2, 2), (3, 3, 0), (3, 4, 0)], 3),
)
def test_rows_are_derived_again(n: int, memory: int, latest: int) -> None:
    """All instances of a size anew."""
    kept = [row for row in ROWS if row.size == (n, memory, latest)]
    assert format_worst_cases(worst(n, memory, latest)) == format_worst_cases(kept)


def test_the_library_has_the_worst_of_each_policy() -> None:
    """Each file names the policies that it is the worst of, and the rows have the same figures."""
    family = list(worst_case_instances())
    for arrivals in (False, True):
        for row in worst_of_each(ROWS, arrivals=arrivals):
            if any(arrival for arrival, _, _ in row.requests) != arrivals:
                continue  # with arrivals none that arrives late is worse
            stated = f"{row.policy} {row.tel}/{row.optimum}"
            of_policy = [
                each
                for each in family
                if stated in (each.source or "") and each.name.endswith("_arrivals") == arrivals
            ]
            assert len(of_policy) == 1
            assert read_instance(library_files()[of_policy[0].name]) == of_policy[0]
            assert run_policy(policies()[row.policy], of_policy[0]).tel == row.tel


def test_the_page_ranks() -> None:
    """The least bad policy comes first, with its instance."""
    good = [WorstCase(name, 2, 3, 0, 7, 7, ((0, 0, 1), (0, 1, 1))) for name in POLICIES[1:]]
    bad = WorstCase(POLICIES[0], 2, 3, 0, 8, 7, ((0, 1, 1), (0, 2, 1)))
    lines = page_text([bad, *good]).splitlines()
    last = max(i for i, line in enumerate(lines) if "8/7" in line)
    assert "(1, 1), (2, 1)" in lines[last]
    assert all(i < last for i, line in enumerate(lines) if "7/7" in line)


def test_a_panel_a_policy() -> None:
    """Every ratio by size stands in the figure as text: letters are shapes, so as groups."""
    for arrivals, svg in zip((False, True), figures(ROWS).values(), strict=True):
        kept = [row for row in ROWS if (row.latest > 0) == arrivals]
        assert svg.count('<g id="patch_') >= len(kept)
        assert "currentColor" in svg


def test_the_page_is_what_the_rows_give(capsys: pytest.CaptureFixture[str]) -> None:
    """As ``--check`` says; sizes are two numbers, and go not with it."""
    assert main(["--check"]) == 0
    capsys.readouterr()
    for arguments, complaint in (
        (["--run", "4"], "expected n,M or n,M,LATEST of 1 to 9 each"),
        (["--run", "0,4"], "expected n,M or n,M,LATEST of 1 to 9 each"),
        (["--run", "2,3", "--check"], "not allowed with --check"),
    ):
        assert main(arguments) == 2
        assert complaint in capsys.readouterr().err
