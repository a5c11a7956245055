"""Steadiness of a run: sustained, a burst that drains after the last arrival, or too short.

Arrivals cut the requests into thirds: warm-up, first half, second half.  The backlog is what has
arrived and is not complete.
"""

from dataclasses import dataclass, replace

import numpy as np

from instances.batch_time import NANOSECONDS
from schedules.clock.timeline import Timeline

#: Share of the arrivals by which throughput may stay behind, and the backlog grow.
TOLERANCE = 0.02
_OF_REQUESTS = "arrivals begins first_tokens completions evictions recomputed prompts outputs"
#: Least lengths of a half (``Steadiness.lengths``): of a sustained run, and of a burst that grows.
LEAST, LONG = 5, 20


@dataclass(frozen=True)
class Steadiness:
    """Comparison of the two halves of a run behind the warm-up.

    ``lengths`` is the length of a half over the mean time from a request's first round to its last.
    Throughputs count requests completed in the halves, and their output tokens.  The run ``grows``
    if throughput stays behind the arrivals, or the mean backlog rises from half to half, by more
    than 2 % of the arrivals and chance.
    """

    lengths: float
    throughput: float
    output_throughput: float
    grows: bool

    def sustained(self, rate: float, most: float, *, waits: bool = True) -> bool | None:
        """Return if ``rate`` is sustained, None if the run is too short to tell.

        No scheduler sustains more than ``most`` (both a second).  What runs is no backlog unless a
        request ``waits``.
        """
        grows = self.grows and waits
        if rate > most or (grows and self.lengths >= LONG):
            return False
        return None if grows or self.lengths < LEAST else True


def steadiness(timeline: Timeline) -> Steadiness:
    """Compare a timeline's halves; less than three requests, or all at one time, have no length."""
    arrivals, completions = np.sort(timeline.arrivals), timeline.completions
    n = len(arrivals)
    begin, middle, end = (int(arrivals[min(n * part // 3, n - 1)]) for part in (1, 2, 3))
    if not begin < middle < end:
        return Steadiness(0.0, 0.0, 0.0, grows=True)
    first, second = _backlog(timeline, begin, middle), _backlog(timeline, middle, end)
    completed = (completions > begin) & (completions <= end)
    arrived, chance = n - n // 3, float(np.sqrt(first))
    grows = arrived - int(completed.sum()) > TOLERANCE * arrived + 2 * chance
    grows |= second - first > TOLERANCE * arrived / 2 + chance
    served = float((completions - timeline.begins).mean())
    seconds = (end - begin) / NANOSECONDS
    done, tokens = int(completed.sum()), int(timeline.outputs[completed].sum())
    return Steadiness((end - begin) / 2 / served, done / seconds, tokens / seconds, grows)


def behind_warm_up(timeline: Timeline) -> Timeline:
    """Return a timeline with the requests of the halves alone, the rounds of all and no gaps."""
    order = np.argsort(timeline.arrivals, kind="stable")[len(timeline.arrivals) // 3 :]
    kept = {name: getattr(timeline, name)[order] for name in _OF_REQUESTS.split()}
    return replace(timeline, **kept, gaps=timeline.gaps[:0], gap_counts=timeline.gap_counts[:0])


def _backlog(timeline: Timeline, begin: int, end: int) -> float:
    """Return the mean backlog over a time."""
    inside = np.minimum(timeline.completions, end) - np.maximum(timeline.arrivals, begin)
    return float(np.maximum(inside, 0).sum()) / (end - begin)
