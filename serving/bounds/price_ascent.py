"""The search for the prices of the bound in seconds: ascent on the dual, on finer and finer knots.

A found certificate counts only after ``serving.bounds.seconds_certificate`` has evaluated it, so
nothing here needs a proof.  For given values of the tokens, weights of the first tokens, prices of
memory and of sharing (v, π, m, e there), the least machine price y is computed knot by knot; the
bound is concave in v, m and e.  The ascent scales each coordinate by the running size of its
gradient (Kingma and Ba, 2015) and keeps the mean of its last points.  It also moves along price
curves that the values of all requests follow, since these directions are long.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import count
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from formulations.lagrangian.exact_integers import SAFE, largest_denominator
from instances import Instance, Request
from instances.batch_time import BatchTime, parse_batch_time
from serving.bounds.loads import PICOSECONDS, RoundRoom, least_decode_load
from serving.bounds.rough_schedule import RoughSchedule, guide, work_prices
from serving.bounds.seconds_certificate import (
    PLACES,
    ROOT_BITS,
    WEIGHTS,
    PartCertificate,
    RateCertificateError,
    SecondsCertificate,
    evaluate_seconds_certificate,
    read_seconds_certificate,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Stations of a request, in eighths of the way from its second token to its last.
_STATIONS = (0, 2, PLACES)
#: Levels of the search: share of the knots, steps at most, share of the time at their end, length
#: of the first step.  The last is repeated on twice the knots each time, while there is time.
_LEVELS = ((0.3, 800, 0.35, 0.06), (1.0, 1600, 1.0, 0.02))
#: Knots of requests in all, and knots, on the last level.
_WORK, _FEWEST, _MOST = 100_000, 400, 2000
#: Largest multiple of these knots.
_FINER = 4
#: Least factor on the bound for another level on as many knots.
_STILL = 1.0001
#: Factor on the length of a step at the end of a level, and steps that are averaged.
_SHRINK, _AVERAGED = 0.01, 40
#: Decay of the mean gradient and of its mean square; summand of its size.
_MEAN, _SQUARE, _FLOOR = 0.9, 0.99, 0.3
#: Picoseconds, 46 days, that fit 64 bits with room.
_LONGEST = 4e18
#: Largest denominator of machine prices.
_FINEST = 1 << 12


def best_rates(
    instance: Instance,
    batch_time: BatchTime,
    room: RoundRoom,
    deadline: float,
    begin: Sequence[PartCertificate] = (),
) -> Iterator[SecondsCertificate]:
    """Yield certificates of prices, each evaluated, until a deadline (``time.monotonic``).

    The search begins at the prices ``begin`` of parts that hold all requests, if given.  It yields
    none without a base or time, for times beyond :data:`_LONGEST`, or if nothing proves more
    than 0.
    """
    if not batch_time.base or time.monotonic() >= deadline:
        return
    load_kernel()
    hint = guide(instance, batch_time, room)
    if hint.ends.max() > _LONGEST:
        return
    table = _Table(instance, batch_time, room)
    search: _Ascent | None = None
    point: _Point | None = None
    began, before_value = time.monotonic(), 0
    ends = hint.ends - table.start * float(PICOSECONDS)
    stay = float((ends - table.since).sum() / max(ends.max(), 1.0))
    finest = min(max(int(_WORK / (1 + stay)), _FEWEST), _MOST, 2 * len(instance) + _FEWEST // 2)
    for level in count(len(_LEVELS) - 1 if begin else 0):
        part, steps, share, length = _LEVELS[min(level, len(_LEVELS) - 1)]
        finer = min(1 << max(level - len(_LEVELS) + 1, 0), _FINER)
        knots = _knots(table, hint, int(part * finer * finest))
        before, search = search, _Ascent(table, hint, knots)
        if point is None or before is None:
            work = work_prices(instance, batch_time, room)
            starts = [search.first_point(), search.work_point(*work)]
            if begin:
                starts.append(search.joined_point(begin))
            point = max(starts, key=lambda each: search.dual(each).value)
        else:
            # Curves of the other knots on these.
            curves = (np.interp(search.times, before.times, each) for each in point[3:])
            point = _Point(*point[:3], *curves)
        point = search.climb(point, steps, length, began + (deadline - began) * 0.9 * share)
        found = _certificate(instance, batch_time, room, search, point)
        if found is not None:
            yield found
        # On the finest knots only further steps remain.
        value = 0 if found is None else found.value
        still = finer < _FINER or value > before_value * _STILL
        before_value = max(value, before_value)
        if not still or time.monotonic() >= began + (deadline - began) * 0.9:
            return


@cache
def load_kernel() -> None:
    """Compile the kernel, or load it, before the time of the ascent begins."""
    two = tuple(Request(i, i, 1, 2 + i) for i in range(2))
    instance = Instance("two", 9, two, time_unit="second")
    batch_time, room = parse_batch_time("affine"), RoundRoom(instance.memory)
    table, hint = _Table(instance, batch_time, room), guide(instance, batch_time, room)
    search = _Ascent(table, hint, _knots(table, hint, 8))
    search.dual(search.first_point())


class _Table:
    """Requests as columns, shape (n,) or (n, stations + 1): first token, then the stations.

    Times and loads in picoseconds, times since the first arrival.
    """

    def __init__(self, instance: Instance, batch_time: BatchTime, room: RoundRoom) -> None:
        times, outputs = instance.arrival_times, instance.outputs
        self.start = int(times.min())
        self.arrivals: Ints = times - times.min()
        self.since: Floats = self.arrivals.astype(np.float64) * PICOSECONDS
        self.outputs: Floats = outputs.astype(np.float64)
        self.others: Floats = self.outputs - 1
        self.memory, self.base = float(room.size), float(batch_time.base)
        self.least = float(least_decode_load(instance, batch_time))
        numbers = np.stack(
            [np.ones_like(outputs)]
            + [np.minimum(2 + np.maximum(outputs - 2, 0) * x // PLACES, outputs) for x in _STATIONS]
        ).T
        loads, held = [], []
        for request, row in zip(instance.requests, numbers.tolist(), strict=True):
            prompt = request.prompt
            later = [batch_time.decode_load(prompt + j - 1) for j in row[1:]]
            loads.append([batch_time.prefill_load(prompt), *later])
            held.append([room.held(prompt, j) for j in row])
        self.loads: Floats = np.array(loads, dtype=np.float64)
        self.held: Floats = np.array(held, dtype=np.float64)
        self.ratios: Floats = self.loads / max(self.least, 1.0)
        self.numbers: Floats = numbers.astype(np.float64)
        #: Multiples of the value at a station in the sum over all tokens.
        self.multiples: Floats = np.zeros(numbers.shape)
        self.multiples[:, 0] = 1
        for s in range(1, numbers.shape[1] - 1):
            tokens = self.numbers[:, s + 1] - self.numbers[:, s]
            self.multiples[:, s] += np.where(tokens > 0, (tokens + 1) / 2, 0)
            self.multiples[:, s + 1] += np.where(tokens > 0, (tokens - 1) / 2, 0)
        self.multiples[:, -1] += 1
        self.multiples[numbers[:, -1] == 1, 1:] = 0

    def slopes(self, weights: Floats) -> Floats:
        """Return the weight of a token."""
        rest = np.where(self.others > 0, (1 - weights) / np.maximum(self.others, 1), 0.0)
        return np.column_stack([weights, *[rest] * len(_STATIONS)])

    def shares(self, weights: Floats) -> Floats:
        """Return θ of the tokens at the stations."""
        theta = weights[:, None] + self.slopes(weights) * (self.numbers - 1.5)
        theta[:, 0] = weights / 2
        return theta

    def roots(self, weights: Floats, splits: Floats) -> Floats:
        """Return 2·σ with the bits of a certificate."""
        bits = 1 << ROOT_BITS
        squares = self.shares(weights) * self.ratios
        squares[:, 0] *= splits
        found: Floats = np.floor(np.sqrt(squares) * bits * (1 - 1e-12)) / bits * 2
        return found


def _knots(table: _Table, hint: RoughSchedule, count: int) -> Ints:
    """Return about ``count`` knots (nanoseconds since the first arrival) near the events."""
    ends = (hint.ends / PICOSECONDS).astype(np.int64) - table.start
    last = int(max(ends.max() * 1.05, table.arrivals.max())) + 1
    events = np.sort(np.concatenate([table.arrivals, np.clip(ends, 0, last)]))
    if len(events) > count // 2:
        events = events[np.linspace(0, len(events) - 1, count // 2).astype(np.int64)]
    even = np.linspace(0, last, count // 2).astype(np.int64)
    return np.unique(np.concatenate([events, even, [0, last]]))


class _Point(NamedTuple):
    """Point of the ascent: own values, π, β, m, e, and the curve that values follow with m."""

    values: Floats
    weights: Floats
    splits: Floats
    memory: Floats
    sharing: Floats
    curve: Floats

    def copy(self) -> _Point:
        return _Point(*(each.copy() for each in self))


class _Size:
    """The direction of a step: the mean gradient by its size."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._mean, self._square, self._steps = np.zeros(shape), np.zeros(shape), 0

    def __call__(self, gradient: Floats) -> Floats:
        self._steps += 1
        self._mean = _MEAN * self._mean + (1 - _MEAN) * gradient
        self._square = _SQUARE * self._square + (1 - _SQUARE) * gradient * gradient
        mean = self._mean / (1 - _MEAN**self._steps)
        size = np.sqrt(self._square / (1 - _SQUARE**self._steps))
        found: Floats = mean / (size + _FLOOR)
        return found


class _Dual:
    """The value of the dual at a point, and the arrays of the kernel."""

    def __init__(self, knots: int, shape: tuple[int, int]) -> None:
        self.value = 0.0
        self.machine, self.rounds, self.tokens, self.shares = (np.zeros(knots) for _ in range(4))
        self.value_use, self.root_use = np.zeros(shape), np.zeros(shape)
        self.weight_use = np.zeros(shape[0])


class _Ascent:
    """The dual on given knots (nanoseconds since the first arrival)."""

    def __init__(self, table: _Table, hint: RoughSchedule, knots: Ints) -> None:
        self.table, self.knots = table, knots
        self.times: Floats = knots.astype(np.float64) * PICOSECONDS
        self.begins = np.searchsorted(knots, table.arrivals, side="right") - 1
        self._order = np.argsort(table.arrivals, kind="stable")
        gaps = np.diff(self.times)
        self.lengths = (np.append(gaps, 0) + np.append(0, gaps)) / 2
        origin = table.start * float(PICOSECONDS)
        self._first, self._last = hint.begins - origin, hint.ends - origin
        self._stay = np.maximum(hint.ends - origin - table.since, table.base)

    def first_point(self) -> _Point:
        """Return the start without further knowledge."""
        table, count = self.table, len(self.knots)
        weights = np.where(table.others > 0, 0.1, 1.0)
        values = table.slopes(weights) * self._stay[:, None] / 2
        running = np.array([((self._first <= t) & (t < self._last)).sum() for t in self.times])
        sharing = running * table.least / 2
        sharing[-1] = 0
        splits = np.full(len(weights), 0.5)
        return _Point(values, weights, splits, np.zeros(count), sharing, np.zeros(count))

    def work_point(self, times: Floats, worths: Floats) -> _Point:
        """Return the start with prices of work; values are the least that each token costs."""
        table = self.table
        curve = np.interp(self.times + table.start * float(PICOSECONDS), times, worths)
        curve[-1] = 0
        memory = curve * table.base / table.memory
        works = table.multiples * (table.loads + table.held * (table.base / table.memory))
        works[:, 0] += 1e-9
        # Even weights for even work, so that no token waits for the others.
        weights = np.where(table.others > 0, works[:, 0] / works.sum(axis=1), 1.0)
        slopes = table.slopes(weights)
        values = slopes * (self.times[-1] - table.since)[:, None]
        for k, (when, y, m) in enumerate(zip(self.times, curve, memory, strict=True)):
            there = self.begins <= k
            cost = slopes[there] * (when - table.since[there])[:, None]
            cost += y * table.loads[there] + m * table.held[there]
            values[there] = np.minimum(values[there], cost)
        splits = np.full(len(weights), 0.01)
        point = _Point(values, weights, splits, memory, np.zeros_like(memory), curve)
        point.values[:] -= self._followed(point)
        return point

    def joined_point(self, parts: Sequence[PartCertificate]) -> _Point:
        """Return the start with the prices of parts, which add up."""
        found = self.first_point()
        found.sharing[:] = 0
        for part in parts:
            own, chosen = read_seconds_certificate(part.certificate), list(part.requests)
            knots = (np.array(own.knots, dtype=np.float64) - self.table.start) * PICOSECONDS
            rows = (own.machine, own.memory, own.sharing)
            y, m, e = (np.interp(self.times, knots, row, left=0, right=0) for row in rows)
            found.curve[:] += y / own.denominator
            found.memory[:] += m
            found.sharing[:] += e * e
            found.weights[chosen] = np.array(own.weights) / WEIGHTS
            found.splits[chosen] = np.array(own.splits) / WEIGHTS
            for i, values in zip(chosen, own.values, strict=True):
                found.values[i, : len(values)] = values
        np.sqrt(found.sharing, out=found.sharing)
        found.curve[-1] = found.memory[-1] = found.sharing[-1] = 0
        found.values[:] -= self._followed(found)
        return found

    def prices(self, point: _Point) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """Return v, π, β, m and e, with v within the limit of the last knot."""
        most = self.table.slopes(point.weights) * (self.times[-1] - self.table.since)[:, None]
        return np.clip(point.values + self._followed(point), 0, most), *point[1:5]

    def _followed(self, point: _Point) -> Floats:
        """Return the part of the values from the curves."""
        table = self.table
        found = np.empty_like(table.loads)
        for part, when in ((np.s_[:, :1], self._first), (np.s_[:, 1:], self._last)):
            machine = np.interp(when, self.times, point.curve)[:, None]
            memory = np.interp(when, self.times, point.memory)[:, None]
            found[part] = machine * table.loads[part] + memory * table.held[part]
        return found

    def _gathered(self, loads: Floats) -> Floats:
        """Return the derivatives by a curve of the values that follow it."""
        found = np.zeros(len(self.times))
        for amounts, when in ((loads[:, 0], self._first), (loads[:, 1:].sum(axis=1), self._last)):
            k = np.clip(np.searchsorted(self.times, when, side="right") - 1, 0, len(found) - 2)
            part = np.clip((when - self.times[k]) / (self.times[k + 1] - self.times[k]), 0, 1)
            found += np.bincount(k, amounts * (1 - part), len(found))
            found += np.bincount(k + 1, amounts * part, len(found))
        return found

    def dual(self, point: _Point) -> _Dual:
        """Return the bound of a point (picoseconds) and its derivatives."""
        return self.dual_of(*self.prices(point))

    def dual_of(
        self, values: Floats, weights: Floats, splits: Floats, memory: Floats, sharing: Floats
    ) -> _Dual:
        """Return the bound of v, π, β, m and e (picoseconds) and its derivatives."""
        from serving.bounds.seconds_kernels import machine_prices  # loads the compiler

        table, found = self.table, _Dual(len(self.times), values.shape)
        machine_prices(
            np.array([table.memory, table.base, table.least]),
            *(table.since, self._order, self.begins, self.times, values, weights, table.others),
            *(table.loads, table.held, table.roots(weights, splits), memory, sharing),
            *(found.machine, found.rounds, found.tokens, found.shares, self.lengths),
            *(found.value_use, found.weight_use, found.root_use),
        )
        own = weights / 2 * (table.base + (1 - splits) * table.loads[:, 0])
        own += table.others * table.base * (1 + weights) / 2
        worth = (table.multiples * values).sum() + own.sum()
        found.value = float(worth - self.lengths @ found.machine)
        return found

    def climb(self, point: _Point, steps: int, first: float, until: float) -> _Point:
        """Return the mean of the last points of at most ``steps``, until a ``time.monotonic``."""
        sizes = [_Size(each.shape) for each in point]
        mean, best, best_value = point.copy(), point, self.dual(point).value
        began = time.monotonic()
        for step in range(steps):
            part = max(step / steps, (time.monotonic() - began) / max(until - began, 1e-9))
            if part >= 1:
                break
            self._advance(point := point.copy(), sizes, first * _SHRINK**part)
            share = max(1 / (step + 1), 1 / _AVERAGED)
            for average, each in zip(mean, point, strict=True):
                average += share * (each - average)
            if step % _AVERAGED == _AVERAGED - 1:
                value = self.dual(mean).value
                if value > best_value:
                    best, best_value = mean.copy(), value
        return mean if self.dual(mean).value > best_value else best

    def _advance(self, point: _Point, sizes: list[_Size], length: float) -> None:
        """Move a point by one step."""
        table, dual = self.table, self.dual(point)
        by_value = table.multiples - dual.value_use
        scale = 2 * (self._stay / table.outputs)[:, None]
        point.values[:] += length * scale * sizes[0](by_value / np.maximum(table.multiples, 0.5))
        prefills = table.loads[:, 0]
        by_weight = dual.weight_use
        by_weight += (table.base * table.outputs + (1 - point.splits) * prefills) / 2
        # By π, 2√x grows by x' / √x with x = σ².
        squares = np.maximum(table.shares(point.weights) * table.ratios, 1e-9)
        squares[:, 0] *= np.maximum(point.splits, 1e-9)
        rest = 1 - (table.numbers - 1.5) / np.maximum(table.others, 1)[:, None]
        rest[:, 0] = point.splits / 2
        by_weight += (dual.root_use * rest * table.ratios / np.sqrt(squares)).sum(axis=1)
        # Gains of β = 1 by sharing and of β = 0: √β·gain + (1 − β)·whole.
        whole = point.weights * prefills / 2
        gain = 2 * dual.root_use[:, 0] * np.sqrt(point.weights / 2 * table.ratios[:, 0])
        best = np.minimum(gain / np.maximum(2 * whole, 1e-9), 1) ** 2
        point.splits[:] += 0.1 * (best - point.splits)
        moved = point.weights + length / 2 * sizes[1](by_weight / (table.outputs * table.base))
        point.weights[:] = np.where(table.others > 0, np.clip(moved, 0.001, 1), 1.0)
        by_memory = -self.lengths * (table.memory - dual.tokens) / dual.rounds
        by_memory += self._gathered(by_value * table.held)
        usual = self._gathered(table.multiples * table.held)
        usual += 0.3 * self.lengths * table.memory / table.base
        price = 50 * table.base / table.memory
        point.memory[:] += length * price * sizes[3](by_memory / usual)
        np.maximum(point.memory, 0, out=point.memory)
        point.sharing[:] += 0.1 * (table.least * dual.shares / 2 - point.sharing)
        loads = table.multiples * table.loads
        usual = self._gathered(loads) + 1e-3 * loads.sum() / len(self.times) + 1e-9
        point.curve[:] += length * 50 * sizes[5](self._gathered(by_value * table.loads) / usual)
        point.memory[-1] = point.sharing[-1] = 0


def _certificate(
    instance: Instance, batch_time: BatchTime, room: RoundRoom, search: _Ascent, point: _Point
) -> SecondsCertificate | None:
    """Return a point as a certificate in integers, with its value; None if it proves nothing."""
    table = search.table
    parts = np.where(table.others > 0, np.rint(point.weights * WEIGHTS), WEIGHTS)
    splits = np.rint(np.clip(point.splits, 0, 1) * WEIGHTS)
    point = point._replace(weights=parts / WEIGHTS, splits=splits / WEIGHTS)
    values, weights, shared, memory, sharing = search.prices(point)
    # Margin for rounding errors of the search.
    values = np.maximum(np.floor(values * (1 - 1e-12)) - (PICOSECONDS + 4), 0)
    memory, sharing = np.rint(memory), np.floor(sharing)
    machine = search.dual_of(values, weights, shared, memory, sharing).machine
    # The certificate rounds the parts of a cost down, time by less than a nanosecond.
    machine = machine * (1 + 1e-9) + (PICOSECONDS + 4) * (len(instance) + 1) / table.base
    machine[-1] = 0
    most = float(table.loads.max()) + float(table.loads.mean())
    denominator = largest_denominator(lambda d: float(machine.max()) * d * most < SAFE / 8, _FINEST)
    if denominator is None:
        return None

    def integers(row: Floats) -> tuple[int, ...]:
        return tuple(row.astype(np.int64).tolist())

    rows = zip(values.astype(np.int64).tolist(), table.others.tolist(), strict=True)
    certificate = SecondsCertificate(
        kind="rates",
        value=0,
        batch_time=batch_time.name,
        running=room.running,
        seat=room.seat,
        denominator=denominator,
        knots=tuple((search.knots + table.start).tolist()),
        machine=integers(np.ceil(machine * denominator)),
        memory=integers(memory),
        sharing=integers(sharing),
        places=_STATIONS,
        weights=integers(parts),
        splits=integers(splits),
        values=tuple(tuple(row if others else row[:1]) for row, others in rows),
    )
    try:
        value = evaluate_seconds_certificate(instance, certificate)
    except RateCertificateError:
        return None
    return replace(certificate, value=value) if value else None
