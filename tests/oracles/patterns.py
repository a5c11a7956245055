"""Decide from the definition of ``running_states`` whether states are a pattern."""

from collections.abc import Sequence


def is_pattern(states: Sequence[tuple[int, int]], memory: int) -> bool:
    """Tell whether requests in these states (w, r) can run on from now within memory."""
    return all(
        sum(held + rounds for held, left in states if left >= rounds) <= memory
        for _, rounds in states
    )
