"""Look-ahead admission against trying every round and adding the tokens of every time."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from heuristics.admission import Active, first_feasible


@st.composite
def _workers(draw: st.DrawFn) -> list[tuple[int, int, int]]:
    """Draw active requests: (start, prompt, end believed), all active at round 10 or just over."""
    size = draw(st.integers(0, 5))
    return [
        (draw(st.integers(0, 10)), draw(st.integers(0, 4)), draw(st.integers(9, 20)))
        for _ in range(size)
    ]


def _fits(
    active: list[tuple[int, int, int]], start: int, prompt: int, length: int, memory: int
) -> bool:
    """Tell whether M suffices at every time of a candidate's run."""
    return all(
        prompt + time - start + sum(s + time - p for p, s, end in active if p < time <= end)
        <= memory
        for time in range(start + 1, start + length + 1)
    )


@given(
    active=_workers(),
    prompt=st.integers(0, 4),
    length=st.integers(1, 8),
    spare=st.integers(0, 30),
    rounds=st.integers(0, 14),
)
@settings(max_examples=600, deadline=None)
def test_the_first_round_is_that_of_trying_all(
    active: list[tuple[int, int, int]], prompt: int, length: int, spare: int, rounds: int
) -> None:
    """From round 10 on, up to a limit that may come first; M may be exceeded without it."""
    memory, now = prompt + length + spare, 10
    limit = now + rounds
    active.sort(key=lambda each: each[2])
    bases = [s - p for p, s, _ in active]
    columns = Active([end for _, _, end in active], bases, list(range(len(active))))
    found = first_feasible(columns, 0, len(active), sum(bases), prompt, length, memory, now, limit)
    fitting = (r for r in range(now, limit) if _fits(active, r, prompt, length, memory))
    assert found == next(fitting, limit)
