"""Start windows: rounds outside which no request of an optimal schedule starts."""

from collections.abc import Iterable
from dataclasses import dataclass

from formulations.valid.volume_bounds import completion_bounds
from instances import Instance

#: Up to this many requests the windows are tightened with an upper bound, in O(n²) time.
TIGHTEN_UP_TO = 300


@dataclass(frozen=True)
class Windows:
    """First and last start round of each request, shape (n,); no completion after ``horizon``."""

    earliest: tuple[int, ...]
    latest: tuple[int, ...]
    horizon: int

    @property
    def starts(self) -> int:
        """Number of (request, start round) pairs."""
        return self.entries(1 for _ in self.earliest)

    def rounds(self, request: int) -> range:
        """Return the rounds at which a request may start."""
        return range(self.earliest[request], self.latest[request] + 1)

    def entries(self, each: Iterable[int]) -> int:
        """Return the number of matrix entries if each start of request i has the i-th of these."""
        return sum(
            (last - first + 1) * entries
            for first, last, entries in zip(self.earliest, self.latest, each, strict=True)
        )


def start_windows(instance: Instance, upper_bound: int | None = None) -> Windows:
    """Return start windows that keep every optimal schedule.

    Proof.  *Horizon.*  Let A be the last arrival and take an optimal schedule.  If at some round
    t ≥ A no request is active while one has not started yet, all starts after t can move one
    round earlier: every request has arrived and the tokens held are the same one round earlier.
    That lowers the TEL, so from A on some request is active until all are complete.  Each request
    is active for o_i rounds, so the last completion is at most A + Σ o_i, and request i starts at
    most at A + Σ o_j − o_i.

    *Upper bound.*  Let U be the TEL of a feasible schedule.  In an optimal schedule the latencies
    of all requests but i sum to at least the volume bound L_i of the instance without i, since
    leaving i out keeps the schedule feasible.  So p_i + o_i − a_i ≤ U − L_i.

    Cutting the horizon at the makespan of a good schedule is *not* valid: an optimal schedule may
    end later (notes/experiments.md, traps).  With ``upper_bound``, U, the windows keep every
    optimal schedule that completes by the horizon, also when the known one is itself optimal.
    """
    requests = instance.requests
    arrivals = [int(request.arrival) for request in requests]
    horizon = max(arrivals) + sum(request.output for request in requests)
    latest = [horizon - request.output for request in requests]
    if upper_bound is not None and len(requests) <= TIGHTEN_UP_TO:
        total = sum(arrivals)
        for i, request in enumerate(requests):
            others = requests[:i] + requests[i + 1 :]
            least = sum(completion_bounds(others, instance.memory)) - (total - arrivals[i])
            slack = upper_bound - least - request.output + arrivals[i]
            latest[i] = max(arrivals[i], min(latest[i], slack))
        horizon = max(last + request.output for last, request in zip(latest, requests, strict=True))
    return Windows(tuple(arrivals), tuple(latest), horizon)
