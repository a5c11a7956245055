"""The exact worst ratios: an optimum of their own, rows that can be derived again, the page."""

from __future__ import annotations

from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from claims.ledger.shown import together
from claims.worst_cases.__main__ import main, page_text, read_rows, rows_text
from claims.worst_cases.search import POLICIES, Pair, Worst, multisets, optimum, worst
from heuristics.registry import policies
from heuristics.simulator import run_policy
from tests.oracles.brute_force import brute_force_optimum
from tests.tiers import a_few

ROWS = read_rows()
SIZES = sorted({(row.n, row.memory) for row in ROWS})


@given(
    pairs=st.lists(st.tuples(st.integers(0, 4), st.integers(1, 4)), min_size=1, max_size=5),
    room=st.integers(0, 5),
)
@settings(max_examples=80, deadline=None)
def test_the_optimum_is_that_of_brute_force(pairs: list[Pair], room: int) -> None:
    """Dynamic programming over what waits against all start rounds."""
    memory = max(s + o for s, o in pairs) + room
    assert optimum(pairs, memory) == brute_force_optimum(together(memory, *pairs))


def test_all_instances_are_gone_through() -> None:
    """M(M + 1)/2 kinds of requests, so C(kinds + n − 1, n) multisets, each once."""
    for n, memory in ((1, 3), (2, 4), (3, 3)):
        found = list(multisets(n, memory))
        assert len(found) == len(set(found)) == comb(memory * (memory + 1) // 2 + n - 1, n)
        assert all(s + o <= memory for pairs in found for s, o in pairs)


def test_every_policy_has_a_row_of_every_size() -> None:
    """Of policies that know the outputs and draw nothing; n up to 4."""
    assert len(ROWS) == len(SIZES) * len(POLICIES)
    assert {(row.policy, row.n, row.memory) for row in ROWS} == {
        (name, *size) for name in POLICIES for size in SIZES
    }
    assert {(2, 5), (3, 5), (4, 4)} <= set(SIZES)
    assert all(not policies()[name].randomised for name in POLICIES)


def test_rows_are_what_they_say() -> None:
    """Each instance: TEL by the simulator, optimum by brute force."""
    for row in ROWS:
        instance = together(row.memory, *row.requests)
        assert len(instance) == row.n
        assert run_policy(policies()[row.policy], instance).tel == row.tel
        assert brute_force_optimum(instance) == row.optimum


@pytest.mark.parametrize(("n", "memory"), a_few([(2, 3), (2, 5), (3, 3), (3, 4)], 2))
def test_rows_are_derived_again(n: int, memory: int) -> None:
    """All instances of a size anew."""
    stored = [row for row in ROWS if (row.n, row.memory) == (n, memory)]
    assert rows_text(worst(n, memory)) == rows_text(stored)


def test_the_page_ranks() -> None:
    """The least bad policy comes first, with its instance."""
    good = [Worst(name, 2, 3, 7, 7, ((0, 1), (1, 1))) for name in POLICIES[1:]]
    bad = Worst(POLICIES[0], 2, 3, 8, 7, ((1, 1), (2, 1)))
    lines = page_text([bad, *good]).splitlines()
    last = max(i for i, line in enumerate(lines) if "8/7" in line)
    assert "(1, 1), (2, 1)" in lines[last]
    assert all(i < last for i, line in enumerate(lines) if "7/7" in line)


def test_the_page_is_what_the_rows_give(capsys: pytest.CaptureFixture[str]) -> None:
    """As ``--check`` says; sizes are two numbers, and go not with it."""
    assert main(["--check"]) == 0
    capsys.readouterr()
    for arguments, complaint in (
        (["--run", "4"], "expected n,M of 1 to 9 each"),
        (["--run", "0,4"], "expected n,M of 1 to 9 each"),
        (["--run", "2,3", "--check"], "not allowed with --check"),
    ):
        assert main(arguments) == 2
        assert complaint in capsys.readouterr().err
