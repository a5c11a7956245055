"""Total latency in seconds: Lagrangian multipliers on work and memory over time (ours)."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from formulations.bounds.computed_bound import ComputedBound
from formulations.bounds.outcome import Bound, Reporter
from formulations.valid.parts import chosen_of, gaps
from instances import Instance
from instances.batch_time import BatchTime
from serving.batch_time import DEFAULT, read_batch_time
from serving.bounds.certificate import PartRates, RateCertificate, rate_certificate_document
from serving.bounds.loads import Room, alone, alone_bound, work_bound
from serving.bounds.rates import best_rates

#: Requests up to which prices are searched for all at once, first and then.  Of more, windows in
#: the order of arrival are priced each for itself: it takes many steps for many requests to
#: converge, and windows of few do not see who waits for requests of the window before.
WINDOWS = (250, 1000)
#: Share of the time that the small windows have.
SMALL_SHARE = 0.4
#: Seconds between two sums over parts, which are as long as the instance.
SECONDS_BETWEEN = 1.0
#: What a seat may count as, in parts of the memory that there is for each of them.
_SEATS = (0, 0.25, 1, 4, 64)


class SecondsBound(NamedTuple):
    """A lower bound on the total latency (ns), its certificate as JSON, and that of each source."""

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

    Proofs: :mod:`serving.bounds.loads` (which takes no deadline), :mod:`serving.bounds.certificate`
    for prices, and :mod:`formulations.valid.parts` for sums over the parts that idle gaps set
    apart, and over windows of at most :data:`WINDOWS` requests of these.  Where ``running`` is not
    0 it holds for schedules of which no round processes more requests.  A ValueError is raised
    where arrivals are in rounds.
    """
    if instance.time_unit != "second":
        raise ValueError(
            f"bound-seconds: expected arrivals in seconds, found rounds in {instance.name!r}"
        )
    sources: dict[str, int] = {}
    room = _room(instance, batch_time, running)
    best, work = _without_search(instance, batch_time, room)

    def take(certificate: RateCertificate) -> None:
        nonlocal best
        sources[certificate.kind] = max(certificate.value, sources.get(certificate.kind, 0))
        if certificate is best or certificate.value > best.value:
            best = certificate
            if report is not None:
                report.bound(value=certificate.value, source=certificate.kind)

    for certificate in (best, work):
        take(certificate)
    for certificate in _searched(instance, batch_time, room, deadline):
        take(certificate)
    return SecondsBound(best.value, rate_certificate_document(best), sources)


def _room(instance: Instance, batch_time: BatchTime, running: int) -> Room:
    """Return the room in which requests have the most work; that is proved for each."""
    each = instance.memory / max(running, 1)
    seats = {int(part * each) for part in _SEATS} if running else {0}
    rooms = [Room(instance.memory, running, seat) for seat in sorted(seats)]
    return max(rooms, key=lambda room: work_bound(instance, batch_time, room))


def _without_search(instance: Instance, batch_time: BatchTime, room: Room) -> list[RateCertificate]:
    text, of_room = batch_time.name, (room.running, room.seat)
    return [
        RateCertificate("alone", alone_bound(instance, batch_time), text, *of_room),
        RateCertificate("work", work_bound(instance, batch_time, room), text, *of_room),
    ]


def _searched(
    instance: Instance, batch_time: BatchTime, room: Room, deadline: float
) -> Iterator[RateCertificate]:
    """Yield what is found for small windows, then for large ones from the prices of the small."""
    times = [alone(request, batch_time) for request in instance.requests]
    parts = gaps(instance.arrival_times.tolist(), times)
    small, large = (_windows(parts, size) for size in WINDOWS)
    now = time.monotonic()
    plans = [(large, deadline)]
    if len(small) > len(large):
        plans.insert(0, (small, now + SMALL_SHARE * (deadline - now)))
    begin: Sequence[PartRates] = ()
    for groups, until in plans:
        if len(groups) == 1:
            yield from best_rates(instance, batch_time, room, until, begin)
        else:
            sums = _Sums(instance, batch_time, room, groups)
            yield from sums.by(until)
            begin = sums.priced()


def _windows(groups: Iterable[Sequence[int]], size: int) -> list[Sequence[int]]:
    """Return the groups, large ones cut into windows of about equal size, in the order of time."""
    found: list[Sequence[int]] = []
    for group in groups:
        count = -(-len(group) // size)
        ends = [len(group) * k // count for k in range(count + 1)]
        found += [group[begin:end] for begin, end in pairwise(ends)]
    return found


class _Sums:
    """The best certificate of each part, and their sum."""

    def __init__(
        self,
        instance: Instance,
        batch_time: BatchTime,
        room: Room,
        groups: Sequence[Sequence[int]],
    ) -> None:
        self._groups, self._batch_time, self._room = groups, batch_time, room
        self._parts = [chosen_of(instance, group) for group in groups]
        self._best = [
            max(_without_search(part, batch_time, room), key=lambda each: each.value)
            for part in self._parts
        ]

        #: The best prices of each part, also where another source is better.
        self._rates: list[RateCertificate | None] = [None] * len(groups)

    def by(self, deadline: float) -> Iterator[RateCertificate]:
        """Yield sums until the deadline, now and then; small parts are priced first.

        What a request takes alone is all that is known where it is the only one of its part.
        """
        several = [k for k, part in enumerate(self._parts) if len(part) > 1]
        still = sum(len(self._parts[k]) for k in several)
        told = time.monotonic()
        for k in sorted(several, key=lambda k: len(self._parts[k])):
            part, now = self._parts[k], time.monotonic()
            if now >= deadline:
                break
            share = now + (deadline - now) * len(part) / still
            still -= len(part)
            found = list(best_rates(part, self._batch_time, self._room, share))
            self._rates[k] = max(found, key=lambda each: each.value, default=None)
            self._best[k] = max([self._best[k], *found], key=lambda each: each.value)
            if time.monotonic() > told + SECONDS_BETWEEN:
                yield self._added_up()
                told = time.monotonic()
        yield self._added_up()

    def priced(self) -> Sequence[PartRates]:
        """Return the prices that were found of each part, nothing if of one there are none."""
        pairs = zip(self._groups, self._rates, strict=True)
        found = [(group, own) for group, own in pairs if own is not None]
        if len(found) < len(self._groups):
            return ()
        return [PartRates(tuple(each), rate_certificate_document(own)) for each, own in found]

    def _added_up(self) -> RateCertificate:
        parts = tuple(
            PartRates(tuple(group), rate_certificate_document(own))
            for group, own in zip(self._groups, self._best, strict=True)
        )
        value = sum(own.value for own in self._best)
        text, running = self._batch_time.name, self._room.running
        return RateCertificate("parts", value, text, running, parts=parts)


def compute_bound(
    instance: Instance,
    *,
    deadline: float,
    report: Reporter,
    batch_time: BatchTime | None = None,
    **options: Any,
) -> Bound:
    """Return :func:`bound_in_seconds`, of the default batch time where none is given."""
    del options
    model = read_batch_time(DEFAULT) if batch_time is None else batch_time
    found = bound_in_seconds(instance, model, deadline, report)
    return Bound(
        found.value, prices=None, expected_starts=None, objective=None, rates=found.certificate
    )


FORMULATION = ComputedBound(name="bound-seconds", compute=compute_bound, time_unit="second")
