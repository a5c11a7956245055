"""Certificates of lower bounds in seconds, and their evaluation in integers.

The evaluation of a certificate proves the bound anew.  It shares no code with the search for prices
(``serving.bounds.seconds``) but loads that are valid for all prices (``serving.bounds.loads``).
Names are as in the statement.  Proof: docs/proofs/seconds.md (P7).
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from formulations.certificates.certificate_file import first_complaint, refuse_wide
from formulations.certificates.reader_budget import CertificateError, Counts, ReaderBudget
from formulations.lagrangian.exact_integers import SAFE
from formulations.valid.idle_gaps import chosen_of
from instances import Instance
from instances.batch_time import BatchTime, parse_batch_time
from serving.bounds.loads import PICOSECONDS, RoundRoom, alone_bound, least_decode_load, work_bound

#: Parts of the weight of a first token, and of the place of a station.
WEIGHTS, PLACES = 1 << 16, 8
ROOT_BITS = 10
#: Steps of a station of a request, and of it at each knot; numbers held for a station.
STEPS_OF_A_STATION, STEPS_AT_A_KNOT, HELD_OF_A_STATION = 3_000, 20, 40

#: Nanoseconds of a day are picoseconds of 67 bits, and products of these are prices.
_LARGEST = 1 << 200
_Price = Annotated[int, Field(strict=True, ge=0, lt=_LARGEST)]
_Prices = Annotated[tuple[_Price, ...], Field(fail_fast=True)]


class RateCertificateError(CertificateError):
    """A certificate in seconds proves nothing; the message is one line."""


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class PartCertificate:
    """A certificate of some requests, by their positions (``formulations.valid.idle_gaps``)."""

    requests: Annotated[Counts, Field(min_length=1)]
    certificate: dict[str, Any]


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class SecondsCertificate:
    """A lower bound on the total latency in real time (``value``, ns), and its proof.

    The kinds ``alone`` and ``work`` need nothing else; ``parts`` are bounds of disjoint requests,
    to be added up; ``rates`` are prices:

    - ``knots`` T_k, nanoseconds, increasing, and for each, 0 at the last, ``machine`` y_k ·
      denominator, ``memory`` m_k (picoseconds a token) and ``sharing`` e_k (picoseconds);
    - ``places``, the stations: token 2 + ⌊(o − 2)·x / 8⌋ for each x, from 0 to 8;
    - for each request ``weights`` π_i · 2^16 (2^16 is meant where the output is one token),
      ``splits`` β_i · 2^16, and ``values`` v_ij (picoseconds) of the first token, then of the
      stations; of the first token only where it is the only one.

    ``running`` and ``seat`` are of the :class:`~serving.bounds.loads.RoundRoom`: the bound holds
    for schedules whose rounds process at most ``running`` requests, for all where it is 0.
    """

    kind: Literal["alone", "work", "rates", "parts"]
    value: _Price
    batch_time: str
    running: _Price = 0
    seat: _Price = 0
    denominator: Annotated[int, Field(strict=True, ge=1, lt=_LARGEST)] = 1
    knots: Counts = ()
    machine: _Prices = ()
    memory: _Prices = ()
    sharing: _Prices = ()
    places: Counts = ()
    weights: Counts = ()
    splits: Counts = ()
    values: Annotated[tuple[_Prices, ...], Field(fail_fast=True)] = ()
    parts: Annotated[tuple[PartCertificate, ...], Field(fail_fast=True)] = ()


_ADAPTER = TypeAdapter(SecondsCertificate)


def read_seconds_certificate(document: object) -> SecondsCertificate:
    """Return the certificate of a JSON object; a RateCertificateError if it is not of this form."""
    refuse_wide(document)
    try:
        return _ADAPTER.validate_python(document)
    except ValidationError as error:
        raise RateCertificateError(first_complaint(error)) from None


def rate_certificate_document(certificate: SecondsCertificate) -> dict[str, Any]:
    """Return the JSON object of a certificate, without defaults."""
    document: dict[str, Any] = _ADAPTER.dump_python(certificate, mode="json", exclude_defaults=True)
    return document


def evaluate_seconds_certificate(
    instance: Instance, certificate: SecondsCertificate, budget: ReaderBudget | None = None
) -> int:
    """Return the lower bound on the total latency (nanoseconds) that a certificate proves.

    The parts of one certificate share a ``budget``.  A certificate of another instance, a broken
    condition, a wrong batch time or arrivals in rounds raise a :class:`RateCertificateError`, more
    steps than the length pays for a TooLongError.
    """
    budget = budget or ReaderBudget(len(instance), certificate)
    if instance.time_unit != "second":
        raise RateCertificateError("expected an instance with arrivals in seconds")
    try:
        _ = instance.arrival_times  # refused where one is too late
        batch_time = parse_batch_time(certificate.batch_time)
    except ValueError as error:
        raise RateCertificateError(str(error)) from None
    if certificate.seat and not certificate.running:
        raise RateCertificateError("seat: expected 0 where any number of requests may run")
    if (certificate.kind == "parts") != bool(certificate.parts):
        raise RateCertificateError("parts: expected with the kind parts, and only there")
    if certificate.kind == "parts":
        return _evaluate_parts(instance, certificate, budget)
    if certificate.kind == "alone":
        return alone_bound(instance, batch_time)
    if certificate.kind == "work":
        return work_bound(instance, batch_time, _room(instance, certificate))
    return _Rates(instance, batch_time, certificate, budget).value()


def _room(instance: Instance, certificate: SecondsCertificate) -> RoundRoom:
    return RoundRoom(instance.memory, certificate.running, certificate.seat)


def _evaluate_parts(
    instance: Instance, certificate: SecondsCertificate, budget: ReaderBudget
) -> int:
    positions = [i for each in certificate.parts for i in each.requests]
    if len(set(positions)) < len(positions) or max(positions) >= len(instance):
        raise RateCertificateError("parts: expected different requests of the instance")
    total = 0
    for number, each in enumerate(certificate.parts):
        own = read_seconds_certificate(each.certificate)
        alike = (own.batch_time, own.running) == (certificate.batch_time, certificate.running)
        if own.kind == "parts" or not alike:
            raise RateCertificateError(
                f"part {number}: expected one part, of the same batch time and running"
            )
        total += max(
            0, evaluate_seconds_certificate(chosen_of(instance, each.requests), own, budget)
        )
    return total


class _Rates:
    """The numbers of one evaluation; arrays over requests and stations are (n, 1 + stations)."""

    def __init__(
        self,
        instance: Instance,
        model: BatchTime,
        certificate: SecondsCertificate,
        budget: ReaderBudget,
    ) -> None:
        self._instance, self._batch_time, self._prices = instance, model, certificate
        self._room = _room(instance, certificate)
        self._budget = budget
        self._check_form()
        stations = len(instance) * (1 + len(certificate.places))
        budget.take(stations * STEPS_OF_A_STATION)
        budget.hold(stations * HELD_OF_A_STATION)
        requests = instance.requests
        self._first = [
            WEIGHTS if request.output == 1 else weight
            for request, weight in zip(requests, certificate.weights, strict=True)
        ]
        #: Token numbers of the stations, from the first token on.
        self._stations = [
            (1, *(2 + (r.output - 2) * x // PLACES for x in certificate.places if r.output > 1))
            for r in requests
        ]
        rows = zip(certificate.values, self._stations, strict=True)
        for position, (values, numbers) in enumerate(rows):
            if len(values) != len(numbers):
                raise RateCertificateError(f"values.{position}: expected {len(numbers)} numbers")

    def _check_form(self) -> None:
        prices, n, count = self._prices, len(self._instance), len(self._prices.knots)
        if count < 2 or any(low >= high for low, high in pairwise(prices.knots)):
            raise RateCertificateError("knots: expected two or more, increasing")
        for name in ("machine", "memory", "sharing"):
            row: Sequence[int] = getattr(prices, name)
            if len(row) != count or row[-1]:
                raise RateCertificateError(f"{name}: expected one for each knot, 0 at the last")
        places = prices.places
        if len(places) < 2 or places[0] or places[-1] != PLACES or sorted(places) != list(places):
            raise RateCertificateError(f"places: expected to go from 0 to {PLACES}")
        if {len(prices.weights), len(prices.splits), len(prices.values)} != {n}:
            raise RateCertificateError("weights, splits, values: expected one for each request")
        for name in ("weights", "splits"):
            if max(getattr(prices, name)) > WEIGHTS:
                raise RateCertificateError(f"{name}: expected at most {WEIGHTS}")
        times = self._instance.arrival_times
        if prices.knots[0] > times.min() or prices.knots[-1] < times.max():
            raise RateCertificateError("knots: expected to hold all arrivals")

    def value(self) -> int:
        """Return the bound, after the condition at every knot."""
        shared = self._shared()
        self._check_knots(shared)
        base, d = self._batch_time.base, self._prices.denominator
        twice = 0
        rows = zip(
            *(self._instance.requests, self._prices.values, self._stations),
            *(self._first, self._prices.splits),
            strict=True,
        )
        for request, values, stations, first, split in rows:
            load = self._batch_time.prefill_load(request.prompt)
            twice += WEIGHTS * _twice_the_sum(values, stations)
            twice += first * base + first * (WEIGHTS - split) * load // WEIGHTS
            twice += (request.output - 1) * base * (WEIGHTS + first)
        knots = zip(pairwise(self._prices.knots), pairwise(self._prices.machine), strict=True)
        paid = sum((after - before) * (y + z) for (before, after), (y, z) in knots)
        total = twice * d - PICOSECONDS * WEIGHTS * paid
        return max(0, -(-total // (2 * WEIGHTS * d * PICOSECONDS)))

    def _shared(self) -> list[int]:
        """Return ε_k at each knot (picoseconds)."""
        least = least_decode_load(self._instance, self._batch_time)
        if not least:
            if any(self._prices.sharing):
                raise RateCertificateError("sharing: expected 0 where a token has no load")
            return [0] * len(self._prices.knots)
        return [-(-e * e // least) for e in self._prices.sharing]

    def _check_knots(self, shared: Sequence[int]) -> None:
        prices, base = self._prices, self._batch_time.base
        columns = self._columns()
        arrivals = [int(time) for time in self._instance.arrival_times]
        kind = self._kind(columns)
        arrays: list[NDArray[Any]] = [np.array(column, dtype=kind) for column in columns]
        values, slopes, over, loads, held, roots = arrays
        times: NDArray[Any] = np.array(arrivals, dtype=kind)[:, None]
        begins = np.array([bisect_right(prices.knots, time) - 1 for time in arrivals])
        rows = zip(prices.knots, prices.machine, prices.memory, prices.sharing, shared, strict=True)
        for k, (knot, y, m, e, epsilon) in enumerate(rows):
            cost = (knot - times) * slopes // WEIGHTS * PICOSECONDS // over
            cost += y * loads // prices.denominator
            cost += m * held + 2 * e * roots // (1 << ROOT_BITS)
            short = np.maximum((values - cost).max(axis=1), 0)
            asked = int(short[begins <= k].sum())
            asked += self._room.size * m + epsilon
            if asked * prices.denominator > y * base:
                raise RateCertificateError(f"machine.{k}: the price is too low for what it pays")

    def _columns(self) -> tuple[list[list[int]], ...]:
        """Return v, the two parts of π, ℓ, h and σ · 2^10 of each request at its stations.

        Requests of one token repeat it, so that all rows are of one length.
        """
        width = 1 + len(self._prices.places)
        # With a least load of 0 sharing has no price, and σ no use.
        least = max(least_decode_load(self._instance, self._batch_time), 1)
        found: tuple[list[list[int]], ...] = ([], [], [], [], [], [])
        for i, request in enumerate(self._instance.requests):
            first, others = self._first[i], max(request.output - 1, 1)
            rows: list[tuple[int, ...]] = []
            for value, j in zip(self._prices.values[i], self._stations[i], strict=True):
                held = self._room.held(request.prompt, j)
                if j == 1:
                    part = (first, 1)
                    load = self._batch_time.prefill_load(request.prompt)
                    square = first * self._prices.splits[i] * load << 2 * ROOT_BITS
                    root = math.isqrt(square // (2 * WEIGHTS * WEIGHTS * least))
                else:
                    part = (WEIGHTS - first, others)
                    load = self._batch_time.decode_load(request.prompt + j - 1)
                    theta = 2 * first * others + (WEIGHTS - first) * (2 * j - 3)
                    square = theta * load << 2 * ROOT_BITS
                    root = math.isqrt(square // (2 * WEIGHTS * others * least))
                rows.append((value, *part, load, held, root))
            rows += [rows[0]] * (width - len(rows))
            for column, entries in zip(found, zip(*rows, strict=True), strict=True):
                column.append(list(entries))
        return found

    def _kind(self, columns: Sequence[list[list[int]]]) -> type:
        """Return Python's integers where 64 bits might not do.

        No product and no sum on the way is larger than ``largest``: the parts of a request's cost
        at a knot, and the shortfalls of all requests, for which a knot is before the arrival by
        less than the way to the next one.
        """
        prices = self._prices
        value, slope, over, load, held, root = (max(map(max, column)) for column in columns)
        span = prices.knots[-1] - prices.knots[0]
        gap = max(there - here for here, there in pairwise(prices.knots))
        largest = value + span * max(slope, PICOSECONDS) + max(prices.machine) * load
        largest += max(prices.memory) * held + 2 * max(prices.sharing) * root
        largest += sum(map(max, columns[0])) + len(columns[0]) * (PICOSECONDS * gap + 1)
        # Each stands alone where its factor is 0, or as a divisor.
        largest = max(largest, over, load, held, root)
        largest = max(largest, *prices.knots, *prices.machine, *prices.memory)
        largest = max(largest, 2 * max(prices.sharing), prices.denominator)
        kind: type = np.int64 if largest < SAFE else object
        steps = len(columns[0]) * len(prices.knots) * (1 + len(prices.places))
        steps *= 1 if kind is np.int64 else largest.bit_length()
        self._budget.take(steps * STEPS_AT_A_KNOT)
        return kind


def _twice_the_sum(values: Sequence[int], stations: Sequence[int]) -> int:
    """Return 2·Σ_j v_j over all tokens of a request, linear in j between its stations."""
    twice = 2 * values[0]
    if len(values) > 1:
        twice += 2 * values[-1]
    rows = zip(pairwise(stations[1:]), pairwise(values[1:]), strict=True)
    for (here, there), (value, other) in rows:
        tokens = there - here
        twice += tokens * 2 * value + (other - value) * (tokens - 1 if tokens else 0)
    return twice
