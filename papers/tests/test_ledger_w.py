"""Refuted statements of W, derived a second time by brute force over subsets and starts."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

import pytest

from heuristics.reference.sorted_f import Item
from papers.ledger.check_results import together
from papers.ledger.checks import w
from papers.tests.errata_alone import to_the_letter
from tests.oracles.brute_force import brute_force_optimum

Pair = tuple[int, int]


def fits(batch: Sequence[Pair], memory: int) -> bool:
    """Return True if a batch fits if all of it starts together."""
    longest = max(o for _, o in batch)
    return all(
        sum(s + time for s, o in batch if o >= time) <= memory for time in range(1, longest + 1)
    )


def least(pairs: Sequence[Pair], memory: int) -> list[tuple[Pair, ...]]:
    """Return the batches of least F, the larger ones among equal F."""
    every = [
        batch
        for size in range(1, len(pairs) + 1)
        for batch in combinations(sorted(pairs), size)
        if fits(batch, memory)
    ]

    def rank(batch: tuple[Pair, ...]) -> tuple[Fraction, int]:
        return Fraction(sum(o for _, o in batch), len(batch) ** 2), -len(batch)

    return sorted({batch for batch in every if rank(batch) == min(map(rank, every))})


def held(rows: Sequence[tuple[int, int, int]], time: int) -> int:
    """Return the tokens of (start, s, o) at a time."""
    return sum(s + time - p for p, s, o in rows if 1 <= time - p <= o)


def test_batches_leave_a_gap() -> None:
    """(3, 1) and (1, 3) are one batch; the third (3, 1) starts at 3, the second ends at 2."""
    pairs = [(1, 3), (3, 1), (3, 1), (3, 1)]
    assert least(pairs, 7) == [((1, 3), (3, 1))]
    assert least([(3, 1), (3, 1)], 7) == [((3, 1),)]
    started = [(0, 3, 1), (0, 1, 3)]
    assert held([*started, (0, 3, 1)], 1) > 7
    started.append((1, 3, 1))
    assert held(started, 2) == 7
    # A fourth does not fit at 1 or 2, since the longest still runs; at 3 it does.
    assert held([*started, (1, 3, 1)], 2) > 7
    assert held([*started, (2, 3, 1)], 3) == 8
    assert held([*started, (3, 3, 1)], 4) <= 7
    assert w.equation_3().drawn[0].schedule.starts == (0, 0, 1, 3)


@pytest.mark.parametrize(
    ("batches", "memory", "found", "one_by_one"),
    [([[(1, 1)], [(1, 1)]], 2, 4, 3), ([[(5, 1)] * 7, [(5, 1)], [(1, 5)]], 43, 17, 16)],
)
def test_theorem_4_4_fails_to_the_letter(
    batches: list[list[tuple[int, int]]], memory: int, found: int, one_by_one: int
) -> None:
    """Algorithm 1 counts a request at t = p + o, s + o tokens, next to the starts at t."""
    for k, batch in enumerate(batches):
        assert tuple(sorted(batch)) in [
            tuple(sorted(each)) for each in least([pair for b in batches[k:] for pair in b], memory)
        ]
    assert to_the_letter([(0, *pair) for batch in batches for pair in batch], memory) == found
    begin = separate = 0
    for batch in batches:
        separate += sum(begin + o for _, o in batch)
        begin += max(o for _, o in batch)
    assert separate == one_by_one


def test_aligned_sorted_f_costs_more() -> None:
    """By the formula Σ ō·(requests after) + Σ o: batches of 3, 1, 1, 1, 1 against 2, 2, 2, 1."""
    small, large = [(1, 1)] * 3, [(7, 1)] * 4
    pairs = small + large
    assert least(pairs, 10) == [tuple(small)]
    assert least(large, 10) == [((7, 1),)]

    def aligned(sizes: Sequence[int]) -> int:
        after = [sum(sizes[k + 1 :]) for k in range(len(sizes))]
        return sum(after) + sum(sizes)  # every mean output is 1

    assert aligned((3, 1, 1, 1, 1)) == 17
    assert aligned((2, 2, 2, 1)) == 16
    assert brute_force_optimum(together(10, *pairs)) == 16


@pytest.mark.parametrize("pairs", [[(1, 3), (3, 1), (3, 1), (3, 1)], [(0, 2), (1, 1), (2, 3)]])
def test_batches_are_those_of_least_f(pairs: list[Pair]) -> None:
    """The pseudocode's batches, which the checks use, are least by brute force."""
    left = list(pairs)
    for batch in w.batches(together(7, *pairs)):
        chosen = tuple(sorted((item.prompt, item.output) for item in batch))
        assert chosen in least(left, 7)
        for pair in chosen:
            left.remove(pair)


def _batches(*outputs: Sequence[int]) -> list[list[Item]]:
    return [[Item(0, 0, 1, o) for o in batch] for batch in outputs]


@pytest.mark.parametrize(
    ("outputs", "ends", "separate", "groups", "aligned"),
    [
        # (1 + 4)/4 > 1 and (4 + 13)/4 > 4: one group.  18 + 1·2 + 4·1; 18; 18.
        ([[1], [4], [13]], [False, False, True], 24, 18, 18),
        # (1 + 3)/4 = 1: a group ends.  17 + 1·2 + 3·1; the same, of single requests.
        ([[1], [3], [13]], [True, False, True], 22, 19, 19),
        # (5 + 9)/9 > 5/4, (9 + 30)/4 > 9: one group.  44 + 3·2 + 9; 44.
        ([[2, 3], [9], [30]], [False, False, True], 59, 44, 44),
        # (5 + 4)/9 < 5/4: the first is a group by itself, its mean 5/2: 9 + 3; 9 + 5/2.
        ([[2, 3], [4]], [True, True], 12, 12, Fraction(23, 2)),
    ],
)
def test_groups_of_batches(
    outputs: list[list[int]], ends: list[bool], separate: int, groups: int, aligned: Fraction
) -> None:
    """Σ o, and for each later request the longest outputs before it, of groups, or their means."""
    found = _batches(*outputs)
    assert w.ends_of_groups(found) == ends
    assert w.one_after_the_other(found) == separate
    assert w.grouped(found, aligned=False) == groups
    assert w.grouped(found, aligned=True) == aligned


def test_a_group_that_is_too_long_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lemma 4.10 fails where batches of falling outputs are taken for a group."""
    assert w.theorem_4_7().holds
    monkeypatch.setattr(w, "ends_of_groups", lambda found: [False] * (len(found) - 1) + [True])
    assert not w.theorem_4_7().holds


def test_the_last_group_leaves_memory() -> None:
    """Three of (1, 1) fill 6 tokens; the fourth is alone, whatever the groups, and holds 2."""
    assert least([(1, 1)] * 4, 6) == [((1, 1),) * 3]
    assert least([(1, 1)], 6) == [((1, 1),)]
    shown = w.theorem_4_7_memory()
    assert not shown.holds
    assert shown.lines[0].startswith("batches of [3, 1]; peaks of those that end a group [6, 2]")


def test_the_middle_of_equation_4() -> None:
    """In pairs the powers of a group are 1, 1, 1/2, 1/2, ..; with (a + 1)/2 the middle is right."""
    for a in range(1, 60):
        powers = sum((Fraction(1, 2) ** (k // 2) for k in range(a)), Fraction())
        assert powers > 4 - 4 * Fraction(1, 2 ** ((a - 1) // 2))
        assert powers <= 4 - 4 * Fraction(1, 2 ** ((a + 1) // 2))
    shown = w.equation_4_middle()
    assert not shown.holds
    assert shown.lines[0] == "a = 1: 1, stated at most 0"
    assert "a = 3: 5/2, stated at most 2" in shown.lines
