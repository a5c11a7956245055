"""What the evaluation of a certificate may take, all of its parts together."""

from __future__ import annotations

from collections import Counter


class Budget:
    """Counts what is taken of each kind of step; the parts of a certificate share one."""

    def __init__(self) -> None:
        self._taken: Counter[str] = Counter()

    def left(self, kind: str, most: int) -> int:
        """Return how many more steps of a kind may be taken if ``most`` are allowed."""
        return most - self._taken[kind]

    def take(self, kind: str, steps: int, most: int) -> bool:
        """Count steps of a kind; tell whether no more than ``most`` have been taken."""
        self._taken[kind] += steps
        return self._taken[kind] <= most
