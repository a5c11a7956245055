"""The request with the smallest key of a changing set."""

from collections.abc import Callable
from heapq import heappop, heappush

#: Compared in order; numbers after the first break ties.
Key = tuple[float, ...]


class SmallestKey:
    """Requests with a key each; ``pick`` chooses from a list of equals, anew at each draw."""

    def __init__(self, pick: Callable[[list[int]], int]) -> None:
        self._pick = pick
        self._groups: dict[Key, list[int]] = {}
        self._places: dict[int, tuple[Key, int]] = {}
        # Keys whose group has become empty are passed over.
        self._heap: list[Key] = []

    def __len__(self) -> int:
        return len(self._places)

    def add(self, request: int, key: Key) -> None:
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
