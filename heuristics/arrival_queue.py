"""Parts of queue-based policies: a waiting line that keeps its order, and exact shares."""

from collections.abc import Iterable
from fractions import Fraction
from heapq import heappop, heappush


def exact_fraction(value: float) -> Fraction:
    """Return a parameter as the decimal number that was written, so that 0.2 means 1/5."""
    return Fraction(str(float(value)))


class ArrivalQueue:
    """Requests that wait in the order in which they arrived; one that comes back has its place."""

    def __init__(self) -> None:
        self._places: dict[int, int] = {}
        self._heap: list[tuple[int, int]] = []

    def __len__(self) -> int:
        return len(self._heap)

    def arrive(self, request: int) -> None:
        """Append a request that has just arrived."""
        self._places[request] = len(self._places)
        heappush(self._heap, (self._places[request], request))

    def put_back(self, requests: Iterable[int]) -> None:
        """Return requests to the places that their arrivals gave them."""
        for request in requests:
            heappush(self._heap, (self._places[request], request))

    def head(self) -> int:
        """Return the first request."""
        return self._heap[0][1]

    def pop(self) -> int:
        """Remove and return the first request."""
        return heappop(self._heap)[1]
