"""Evaluation of the kind ``prices``: multipliers on memory, on window groups, on look-ahead rows.

    cost_i(p) = D·(p + o − a) + Σ_j (s + j)·memory[p + j] + Σ of prices under the windows of i
                + Σ over rows, over j of price[p + j]·M·pay_i(s + j, o − j)
    bound     = ⌈(Σ_i min_p cost_i(p) − M·Σ memory − Σ most·Σ prices − M²·Σ prices of rows) / D⌉

Proofs: docs/proofs/multipliers.md (P1), of rows docs/proofs/look_ahead_rows.md (P14).  Summed twice
by parts, what a run pays in a row is Σ_j Δ²pay(j)·B(p + j) over the few rounds j where the second
difference of its payments is not 0, with B(t) = Σ_{u ≥ t} (u − t + 1)·price_u.

With ``formulations.lagrangian``, which searches, this shares only the proof of where 64 bits are
exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.certificates.certificate_file import (
    Certificate,
    PricedLookAhead,
    PricedWindowGroup,
)
from formulations.certificates.reader_budget import CALL, OPERATION, CertificateError, ReaderBudget
from formulations.lagrangian.exact_integers import SAFE, lookahead_cost, run_cost
from instances import Instance, Request

#: Starts priced at a time, few enough for a processor's cache.
STARTS = 1 << 14
#: Steps of a start, of each of its windows, of each look-ahead row at its run.
STEPS_OF_A_START, STEPS_OF_A_WINDOW, STEPS_OF_A_ROW = 30, 10, 50
#: Calls of NumPy of a request, of each of its windows, and of each row for some of its starts.
CALLS_OF_A_REQUEST, CALLS_OF_A_WINDOW, CALLS_OF_A_ROW = 80, 8, 40
#: Numbers held for each time of a look-ahead row, and with rows for each time up to the last price,
#: each start and each output token of a request.
HELD_OF_A_ROW, HELD_OF_A_TIME, HELD_OF_A_START, HELD_OF_AN_OUTPUT = 8, 12, 4, 8

#: Group, and rounds of a window before the start and after it.
Window = tuple[int, int, int]


def check_group(instance: Instance, number: int, group: PricedWindowGroup) -> None:
    """Refuse members for which the proof in ``formulations.valid.window_groups`` does not hold."""
    positions = [position for position, _, _ in group.members]
    if len(set(positions)) < len(positions) or max(positions, default=0) >= len(instance):
        raise CertificateError(f"group {number}: expected different requests of the instance")
    requests = [instance.requests[position] for position in positions]
    least = min((request.prompt for request in requests), default=0)
    befores = sorted(request.prompt - least for request in requests)
    m = group.most + 1
    for request, (position, before, after) in zip(requests, group.members, strict=True):
        own = request.prompt - least
        others = befores[-2] if len(befores) > 1 and own == befores[-1] else befores[-1]
        overflow = request.peak + (m - 1) * (least + request.output) - instance.memory
        # A shorter window than the proved one holds fewer rounds, so it is proved as well.
        short = after <= request.output - others and (m - 1) * (after - 1) < overflow
        if not (-after < before <= own and short):
            name = instance.requests[position].id
            raise CertificateError(
                f"group {number}: the window of request id {name} is longer than proved"
            )


def check_row(instance: Instance, number: int, row: PricedLookAhead) -> None:
    """Refuse a row of another form than the proved one."""
    if len(set(row.core)) < len(row.core) or max(row.core, default=0) >= len(instance):
        raise CertificateError(f"lookahead {number}: expected different requests of the instance")
    rising = all(a < b for a, b in zip(row.times, row.times[1:], strict=False))
    if not rising or len(row.times) != len(row.prices):
        raise CertificateError(f"lookahead {number}: expected a price for each of rising times")


def worth_of(instance: Instance, certificate: Certificate) -> int:
    """Return denominator times the worth of memory, groups and look-ahead rows."""
    total = instance.memory * sum(certificate.memory)
    total += sum(group.most * sum(group.prices) for group in certificate.groups)
    return total + instance.memory**2 * sum(sum(_by_time(row)) for row in certificate.lookahead)


def least_costs(
    instance: Instance, certificate: Certificate, latest: Sequence[int] | None, budget: ReaderBudget
) -> int:
    """Return denominator times the sum of the requests' least priced costs."""
    found = measured(instance, certificate, latest, budget)
    return sum(
        len(positions) * min(int(pricing(positions[0], part).min()) for part in _parts(*span))
        for pricing, positions, span in found
    )


def measured(
    instance: Instance, certificate: Certificate, latest: Sequence[int] | None, budget: ReaderBudget
) -> list[tuple[_Pricing, list[int], tuple[int, int]]]:
    """Return the pricing, positions of equal requests, and their first and last start to price."""
    budget.take(len(instance) * CALLS_OF_A_REQUEST * CALL)
    rows = [_RowPayments(instance, row) for row in certificate.lookahead]
    length = max(
        *(1, len(certificate.memory), *(len(each.prices) for each in certificate.groups)),
        *(row.last + 1 for row in rows),
    )
    most = _largest(instance, certificate, rows, length)
    # Python's integers where 64 bits might not do.
    kind: type = np.int64 if most < SAFE else object
    factor = 1 if kind is np.int64 else int(most).bit_length()
    if rows:
        times = sum(row.last - row.first + 1 for row in rows)
        budget.hold((HELD_OF_A_ROW * times + HELD_OF_A_TIME * length) * factor)
        budget.take(times * factor * OPERATION)
    windows: list[list[Window]] = [[] for _ in instance.requests]
    for number, group in enumerate(certificate.groups):
        for position, before, after in group.members:
            windows[position].append((number, before, after))
    cores: list[list[int]] = [[] for _ in instance.requests]
    for number, each in enumerate(certificate.lookahead):
        rows[number].prepare(kind)
        for position in each.core:
            cores[position].append(number)
    pricing = _Pricing(instance, certificate, windows, rows, length, kind)
    found: dict[Any, list[int]] = {}
    for position, r in enumerate(instance.requests):
        limit = latest[position] if latest else None
        own, core = tuple(windows[position]), tuple(cores[position])
        like = (int(r.arrival), r.prompt, r.output), limit, own, core
        found.setdefault(like, []).append(position)
    spans, steps = {}, 0
    for like, (position, *_) in found.items():
        _, limit, own, _ = like
        last = length + max((b for _, b, _ in own if b > 0), default=0)
        spans[like] = first, end = pricing.span(position, last, limit)
        steps += (end - first + 1) * (STEPS_OF_A_START + STEPS_OF_A_WINDOW * len(own))
        steps += CALL * CALLS_OF_A_WINDOW * len(own)
    budget.take(steps * factor)
    if rows:
        longest = max(last - first + 1 for first, last in spans.values())
        outputs = max(request.output for request in instance.requests)
        budget.hold((HELD_OF_A_START * longest + HELD_OF_AN_OUTPUT * outputs) * factor)
        spans = {like: pricing.narrowed(found[like][0], *span) for like, span in spans.items()}
        steps = pricing.row_steps((found[like][0], *span) for like, span in spans.items())
        budget.take(steps * factor)
    return [(pricing, positions, spans[like]) for like, positions in found.items()]


def _parts(first: int, last: int) -> Iterator[NDArray[np.int64]]:
    """Yield the rounds first..last, some at a time."""
    for begin in range(first, last + 1, STARTS):
        yield np.arange(begin, min(begin + STARTS, last + 1))


def _largest(
    instance: Instance, certificate: Certificate, rows: Sequence[_RowPayments], length: int
) -> int:
    """Return a bound on every number on the way to the cost of one start."""
    horizon = length + max(int(request.arrival) for request in instance.requests)
    peak = max(request.peak for request in instance.requests)
    paid = sum(sum(group.prices) for group in certificate.groups)
    # Windows and outputs end a peak after the last priced round at the latest.
    of_all = (horizon + 2 * peak, peak, sum(certificate.memory), paid)
    return int(run_cost(certificate.denominator, *of_all)) + sum(row.most for row in rows)


def _by_time(row: PricedLookAhead) -> list[int]:
    """Return the price at each time from the first one on, to the last one."""
    found = []
    for k, (time, price) in enumerate(zip(row.times[:-1], row.prices[:-1], strict=True)):
        span, rise = row.times[k + 1] - time, row.prices[k + 1] - price
        found += [price + rise * after // span for after in range(span)]
    return [*found, row.prices[-1]]


class _RowPayments:
    """Payments of starts in one row, with ``prices`` from time ``first`` to ``last``.

    No number on the way exceeds ``most``.
    """

    def __init__(self, instance: Instance, row: PricedLookAhead) -> None:
        self._memory, self._row, self._core = instance.memory, row, frozenset(row.core)
        self.rounds = row.rounds
        # M·κ, with y and κ in M-ths.
        self._kappa = row.share * instance.memory
        for position in row.core:
            held = instance.requests[position].prompt + 1
            self._kappa += max(0, instance.memory - row.share * held)
        self.first, self.last = row.times[0], row.times[-1]
        peak = max(request.peak for request in instance.requests)
        times = self.last - self.first + 1
        of_row = (row.rounds, row.share, self._kappa, times, max(1, *row.prices))
        self.most = lookahead_cost(instance.memory, peak, *of_row, self.last)

    def prepare(self, kind: type) -> None:
        """Add up the prices from every time on, and these sums again."""
        self.prices: NDArray[Any] = np.array(_by_time(self._row), dtype=kind)
        after = np.cumsum(self.prices[::-1])
        self._twice, self._once = np.cumsum(after)[::-1], after[-1]

    def of_request(self, position: int, request: Request, kind: type) -> list[tuple[int, Any]]:
        """Return the rounds with a second difference of its payments, and these differences."""
        held: NDArray[Any] = request.prompt + np.arange(1, request.output + 1).astype(kind)
        left: NDArray[Any] = np.arange(request.output - 1, -1, -1).astype(kind)
        y = np.minimum(self._memory, self._row.share * held)
        if position in self._core:
            y = np.full_like(held, self._memory)
        short = np.maximum(0, self._row.rounds - left)
        pays = np.maximum(0, self._memory * held + y * self._row.rounds - self._kappa * short)
        nothing: NDArray[Any] = np.zeros(2, dtype=kind)
        second = np.diff(np.concatenate([nothing, pays, nothing]), 2)
        return [(int(k) + 1, second[k]) for k in np.flatnonzero(second)]

    def paid(self, parts: Sequence[tuple[int, Any]], starts: NDArray[np.int64]) -> NDArray[Any]:
        """Return a request's payments in M-ths of a token at price, for increasing starts."""
        total: NDArray[Any] = np.zeros(len(starts), dtype=self._twice.dtype)
        for after, change in parts:
            place = starts + after - self.first
            inside = place[: np.searchsorted(place, len(self._twice))]
            # Before the first price each round earlier adds all prices once more.  ``ahead`` has
            # the sums' kind: a Python integer times 64 bits would be 64 bits.
            ahead = np.maximum(-inside, 0).astype(self._twice.dtype)
            later = self._twice[np.maximum(inside, 0)] + self._once * ahead
            total[: len(inside)] += change * later
        return total


class _Pricing:
    """Prices the starts of a request, by its position, in units of 1 / denominator."""

    def __init__(
        self,
        instance: Instance,
        certificate: Certificate,
        windows: Sequence[Sequence[Window]],
        rows: Sequence[_RowPayments],
        length: int,
        kind: type,
    ) -> None:
        self._requests, self._windows, self._rows = instance.requests, windows, rows
        self._denominator, self._length, self._kind = certificate.denominator, length, kind
        self._of_tokens = _token_sums(certificate.memory, length, kind)
        # As long as its prices, so that many short ones take little memory.
        groups = (each.prices for each in certificate.groups)
        self._opened = [_running(prices, len(prices), kind) for prices in groups]
        # Rows pay at most (w + ℓ)·M for each M-th: as a price on tokens, and one on rounds.
        self._ahead = None
        if rows:
            tokens: NDArray[Any] = np.zeros(length, dtype=kind)
            rounds = tokens.copy()
            for row in rows:
                tokens[row.first : row.last + 1] += instance.memory * row.prices
                rounds[row.first : row.last + 1] += instance.memory * row.rounds * row.prices
            self._ahead = _token_sums(tokens.tolist(), length, kind), _running(rounds, length, kind)

    def __call__(self, position: int, starts: NDArray[np.int64]) -> NDArray[Any]:
        """Return the costs of increasing starts."""
        cost, _ = self.between(position, starts)
        request = self._requests[position]
        for row in self._rows:
            begin = max(row.first - request.output - int(starts[0]), 0)
            end = min(row.last - int(starts[0]), len(starts))
            if begin < end:
                parts = row.of_request(position, request, self._kind)
                cost[begin:end] += row.paid(parts, starts[begin:end])
        return cost

    def between(
        self, position: int, starts: NDArray[np.int64]
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the costs of starts without look-ahead rows, and upper bounds with them."""
        request = self._requests[position]
        low = np.minimum(starts + 1, self._length)
        high = np.minimum(starts + request.output + 1, self._length)
        wide: NDArray[Any] = starts.astype(self._kind)
        cost = (wide + (request.output - int(request.arrival))) * self._denominator
        cost += _tokens_paid(request.prompt, wide, low, high, self._of_tokens)
        for number, before, after in self._windows[position]:
            paid = self._opened[number]
            cost += paid[np.clip(starts + after, 0, len(paid) - 1)]
            cost -= paid[np.clip(starts - before, 0, len(paid) - 1)]
        if self._ahead is None:
            return cost, cost
        of_tokens, rounds = self._ahead
        most = _tokens_paid(request.prompt, wide, low, high, of_tokens)
        return cost, cost + most + rounds[high] - rounds[low]

    def span(self, position: int, last: int, latest: int | None) -> tuple[int, int]:
        """Return the first and last start that may be the cheapest.

        A start costs its latency at least, so none later than the last beats the first.
        """
        request = self._requests[position]
        arrival = int(request.arrival)
        last = max(arrival, last if latest is None else min(last, latest))
        _, at_once = self.between(position, np.array([arrival]))
        later = int(at_once[0]) // self._denominator - request.output + 1
        return arrival, min(last, arrival + max(later, 0))

    def narrowed(self, position: int, first: int, last: int) -> tuple[int, int]:
        """Return the first and last start within a span that may be the cheapest."""
        costs = [self.between(position, part) for part in _parts(first, last)]
        least = min(int(most.min()) for _, most in costs)
        some = np.flatnonzero(np.concatenate([cost for cost, _ in costs]) <= least)
        return first + int(some[0]), first + int(some[-1])

    def row_steps(self, spans: Iterable[tuple[int, int, int]]) -> int:
        """Return the rows' steps for the starts of positions, first to last."""
        steps = 0
        for position, first, last in spans:
            output = self._requests[position].output
            for row in self._rows:
                reached = min(last, row.last) - max(first, row.first - output) + 1
                if reached > 0:
                    parts = -(-reached // STARTS)
                    steps += STEPS_OF_A_ROW * reached
                    steps += (STEPS_OF_A_ROW * output + CALLS_OF_A_ROW * CALL) * parts
        return steps


def _token_sums(prices: Iterable[Any], length: int, kind: type) -> tuple[Any, Any]:
    """Return the sums of λ_t and of t·λ_t over the times before each."""
    values = list(prices)
    moments = (t * price for t, price in enumerate(values))
    return _running(values, length, kind), _running(moments, length, kind)


def _tokens_paid(prompt: int, start: Any, low: Any, high: Any, of_tokens: tuple[Any, Any]) -> Any:
    """Return the payments of prompt + t − start tokens at each time t of low..high − 1."""
    sums, moments = of_tokens
    return (prompt - start) * (sums[high] - sums[low]) + moments[high] - moments[low]


def _running(values: Iterable[Any], length: int, kind: type) -> NDArray[Any]:
    """Return the sums of the values before each time 0..length, shape (length + 1,)."""
    sums: NDArray[Any] = np.zeros(length + 1, dtype=kind)
    given: NDArray[Any] = np.array(list(values), dtype=kind)
    sums[1 : len(given) + 1] = np.cumsum(given)
    sums[len(given) + 1 :] = sums[len(given)]
    return sums
