"""Total latency in seconds: Lagrangian multipliers on work and memory over time (ours)."""

import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from itertools import chain, pairwise
from typing import Any, NamedTuple

from formulations.bounds.bound_result import BoundResult, Reporter
from formulations.bounds.computed_bound import ComputedBound
from formulations.valid.idle_gaps import chosen_of, gaps
from instances import Instance
from instances.batch_time import BatchTime
from serving.batch_time import DEFAULT, read_batch_time
from serving.bounds.loads import RoundRoom, alone, alone_bound, work_bound
from serving.bounds.price_ascent import best_rates
from serving.bounds.seconds_certificate import (
    PartCertificate,
    SecondsCertificate,
    rate_certificate_document,
)

#: Requests of a window, first and then.  Windows by arrival are priced one by one: large ones take
#: many steps, and small ones do not see waiting for the window before.
WINDOWS = (250, 1000)
#: Share of the time for the small windows.
SMALL_SHARE = 0.4
#: Seconds between two sums over parts, which are as long as the instance.
SECONDS_BETWEEN = 1.0
#: Sizes of a seat, in parts of its share of the memory.
_SEATS = (0, 0.25, 1, 4, 64)


class SecondsBound(NamedTuple):
    """A lower bound on the total latency (ns), its certificate, and the bound of each source."""

    value: int
    certificate: dict[str, Any]
    sources: dict[str, int]


def bound_in_seconds(
    instance: Instance,
    batch_time: BatchTime,
    deadline: float,
    report: Reporter | None = None,
    running: int = 0,
) -> SecondsBound:
    """Return the best certified bound by the deadline (``time.monotonic``); report improvements.

    Proofs: :mod:`serving.bounds.loads` (without a deadline),
    :mod:`serving.bounds.seconds_certificate` for prices, and :mod:`formulations.valid.idle_gaps`
    for sums over parts between idle gaps, and over windows of at most :data:`WINDOWS` requests.
    With ``running`` it holds for schedules whose rounds process no more requests.  Arrivals in
    rounds raise a ValueError.
    """
    if instance.time_unit != "second":
        raise ValueError(
            f"bound-seconds: expected arrivals in seconds, found rounds in {instance.name!r}"
        )
    sources: dict[str, int] = {}
    # The bound is proved in each room; this one has the most work.
    each = instance.memory / max(running, 1)
    seats = {int(part * each) for part in _SEATS} if running else {0}
    rooms = [RoundRoom(instance.memory, running, seat) for seat in sorted(seats)]
    room = max(rooms, key=lambda room: work_bound(instance, batch_time, room))
    first = _without_search(instance, batch_time, room)
    best = first[0]
    for certificate in chain(first, _searched(instance, batch_time, room, deadline)):
        sources[certificate.kind] = max(certificate.value, sources.get(certificate.kind, 0))
        if certificate is best or certificate.value > best.value:
            best = certificate
            if report is not None:
                report.bound(value=certificate.value, source=certificate.kind)
    return SecondsBound(best.value, rate_certificate_document(best), sources)


def _without_search(
    instance: Instance, batch_time: BatchTime, room: RoundRoom
) -> list[SecondsCertificate]:
    text, of_room = batch_time.name, (room.running, room.seat)
    return [
        SecondsCertificate("alone", alone_bound(instance, batch_time), text, *of_room),
        SecondsCertificate("work", work_bound(instance, batch_time, room), text, *of_room),
    ]


def _searched(
    instance: Instance, batch_time: BatchTime, room: RoundRoom, deadline: float
) -> Iterator[SecondsCertificate]:
    """Yield certificates of small windows, then of large ones from the prices of the small."""
    times = [alone(request, batch_time) for request in instance.requests]
    parts = gaps(instance.arrival_times.tolist(), times)
    small, large = (_windows(parts, size) for size in WINDOWS)
    now = time.monotonic()
    plans = [(large, deadline)]
    if len(small) > len(large):
        plans.insert(0, (small, now + SMALL_SHARE * (deadline - now)))
    begin: Sequence[PartCertificate] = ()
    for groups, until in plans:
        if len(groups) == 1:
            yield from best_rates(instance, batch_time, room, until, begin)
        else:
            begin = yield from _sums(instance, batch_time, room, groups, until)


def _windows(groups: Iterable[Sequence[int]], size: int) -> list[Sequence[int]]:
    """Return the groups, large ones cut into windows of about equal size, by time."""
    found: list[Sequence[int]] = []
    for group in groups:
        count = -(-len(group) // size)
        ends = [len(group) * k // count for k in range(count + 1)]
        found += [group[begin:end] for begin, end in pairwise(ends)]
    return found


def _sums(
    instance: Instance,
    batch_time: BatchTime,
    room: RoundRoom,
    groups: Sequence[Sequence[int]],
    deadline: float,
) -> Generator[SecondsCertificate, None, Sequence[PartCertificate]]:
    """Yield sums over parts until the deadline, now and then; small parts are priced first.

    The only request of a part keeps its bound alone.  The prices of all parts are returned, or
    nothing if a part has none.
    """
    parts = [chosen_of(instance, group) for group in groups]
    best = [
        max(_without_search(part, batch_time, room), key=lambda each: each.value) for part in parts
    ]
    #: The best prices of each part, also below another source.
    rates: list[SecondsCertificate | None] = [None] * len(groups)

    def of_groups(found: Iterable[SecondsCertificate]) -> tuple[PartCertificate, ...]:
        pairs = zip(groups, found, strict=True)
        return tuple(
            PartCertificate(tuple(each), rate_certificate_document(own)) for each, own in pairs
        )

    def added_up() -> SecondsCertificate:
        value = sum(own.value for own in best)
        return SecondsCertificate(
            "parts", value, batch_time.name, room.running, parts=of_groups(best)
        )

    several = [k for k, part in enumerate(parts) if len(part) > 1]
    still = sum(len(parts[k]) for k in several)
    last = time.monotonic()
    for k in sorted(several, key=lambda k: len(parts[k])):
        now = time.monotonic()
        if now >= deadline:
            break
        share = now + (deadline - now) * len(parts[k]) / still
        still -= len(parts[k])
        found = list(best_rates(parts[k], batch_time, room, share))
        rates[k] = max(found, key=lambda each: each.value, default=None)
        best[k] = max([best[k], *found], key=lambda each: each.value)
        if time.monotonic() > last + SECONDS_BETWEEN:
            yield added_up()
            last = time.monotonic()
    yield added_up()
    known = [each for each in rates if each is not None]
    return of_groups(known) if len(known) == len(groups) else ()


def compute_bound(
    instance: Instance,
    *,
    deadline: float,
    report: Reporter,
    batch_time: BatchTime | None = None,
    **options: Any,
) -> BoundResult:
    """Return :func:`bound_in_seconds`, by default with the default batch time."""
    del options
    found = bound_in_seconds(instance, batch_time or read_batch_time(DEFAULT), deadline, report)
    return BoundResult(
        found.value, None, expected_starts=None, objective=None, rates=found.certificate
    )


FORMULATION = ComputedBound(name="bound-seconds", compute=compute_bound, time_unit="second")
