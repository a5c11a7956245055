"""The request with the smallest key of a changing set, ties by fixed numbers or drawn anew."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heappop, heappush


class FixedTies:
    """Requests with an integer key each; of equals the one with the smaller number of its own."""

    def __init__(self, numbers: Sequence[float]) -> None:
        self._numbers = numbers
        self._keys: dict[int, int] = {}
        # Entries of requests that have left, or come back with another key, are passed over.
        self._heap: list[tuple[int, float, int]] = []

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, request: int, key: int) -> None:
        self._keys[request] = key
        heappush(self._heap, (key, self._numbers[request], request))

    def draw(self) -> int:
        """Return a request with the smallest key, which stays."""
        while self._keys.get(self._heap[0][2]) != self._heap[0][0]:
            heappop(self._heap)
        return self._heap[0][2]

    def remove(self, request: int) -> None:
        del self._keys[request]


class FreshTies:
    """The same, where ``pick`` chooses from a list of equals, anew at each draw."""

    def __init__(self, pick: Callable[[list[int]], int]) -> None:
        self._pick = pick
        self._groups: dict[int, list[int]] = {}
        self._places: dict[int, tuple[int, int]] = {}
        # Keys whose group has become empty are passed over.
        self._heap: list[int] = []

    def __len__(self) -> int:
        return len(self._places)

    def add(self, request: int, key: int) -> None:
        if key not in self._groups:
            self._groups[key] = []
            heappush(self._heap, key)
        self._places[request] = (key, len(self._groups[key]))
        self._groups[key].append(request)

    def draw(self) -> int:
        while self._heap[0] not in self._groups:
            heappop(self._heap)
        return self._pick(self._groups[self._heap[0]])

    def remove(self, request: int) -> None:
        key, place = self._places.pop(request)
        last = self._groups[key].pop()
        if last != request:
            self._groups[key][place] = last
            self._places[last] = (key, place)
        if not self._groups[key]:
            del self._groups[key]
