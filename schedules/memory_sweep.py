"""The first time at which the tokens held exceed the memory: one sweep in Python integers."""

import itertools
from collections.abc import Callable, Iterator

from instances import Instance
from schedules.verdict import Verdict
from support.message_text import integer_text

_IDS_SHOWN = 10


#: (position of the request, begin, end, constant, slope): the request holds constant + slope · t
#: tokens at each time t of begin..end−1.
Piece = tuple[int, int, int, int, int]


def memory_exceeded(instance: Instance, pieces: Callable[[], Iterator[Piece]]) -> Verdict | None:
    """Sweep the times at which the set of pieces changes, and the stretches between.

    Between two changes the tokens held are exactly constant + slope · t, where the slope is the
    number of requests that make tokens and so never negative; the first t at which they exceed M
    follows by division.

    ``pieces`` yields all pieces, each time anew.
    """
    constants: dict[int, int] = {}
    slopes: dict[int, int] = {}
    for _, begin, end, constant, slope in pieces():
        constants[begin] = constants.get(begin, 0) + constant
        slopes[begin] = slopes.get(begin, 0) + slope
        constants[end] = constants.get(end, 0) - constant
        slopes[end] = slopes.get(end, 0) - slope
    constant = slope = 0
    for begin, end in itertools.pairwise(sorted(slopes)):
        constant += constants[begin]
        slope += slopes[begin]
        if constant + slope * (end - 1) <= instance.memory:
            continue
        time = begin
        if constant + slope * begin <= instance.memory:
            # The slope is positive here: the tokens exceed M at the end but not at the beginning.
            time = (instance.memory - constant) // slope + 1
        return _verdict(instance, pieces(), time, constant + slope * time)
    return None


def _verdict(instance: Instance, pieces: Iterator[Piece], time: int, tokens: int) -> Verdict:
    active = {
        instance.requests[position].id
        for position, begin, end, _, _ in pieces
        if begin <= time < end
    }
    ids = tuple(sorted(active))
    more = f" and {len(ids) - _IDS_SHOWN} more" if len(ids) > _IDS_SHOWN else ""
    listed = ", ".join(str(identity) for identity in ids[:_IDS_SHOWN])
    return Verdict(
        "infeasible",
        f"at time {integer_text(time)}, {tokens} tokens are held, memory is {instance.memory}; "
        f"active request ids: {listed}{more}",
        time=time,
        tokens=tokens,
        request_ids=ids,
    )
