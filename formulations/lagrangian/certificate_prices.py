"""Evaluation of prices on memory and window groups: the least priced cost of each request."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.lagrangian import certificate_limits as limits
from formulations.lagrangian.budget import Budget
from formulations.lagrangian.certificate_file import Certificate, CertificateError, PricedGroup
from formulations.lagrangian.certificate_lookahead import RowPayments
from formulations.lagrangian.exact import SAFE, run_cost
from formulations.lagrangian.tree import tokens_paid
from instances import Instance


def check_group(instance: Instance, number: int, group: PricedGroup) -> None:
    """Refuse members for which the proof in ``formulations.valid.groups`` does not hold."""
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
        if (
            not -after < before <= own
            or after > request.output - others
            or (m - 1) * (after - 1) >= overflow
        ):
            raise CertificateError(
                f"group {number}: the window of request id {instance.requests[position].id} is "
                "longer than proved"
            )


def least_costs(
    instance: Instance, certificate: Certificate, latest: Sequence[int] | None, budget: Budget
) -> int:
    """Return denominator times the sum of the requests' least priced costs."""
    rows = [RowPayments(instance, row) for row in certificate.lookahead]
    length = max(
        *(1, len(certificate.memory), *(len(each.prices) for each in certificate.groups)),
        *(row.last + 1 for row in rows),
    )
    most = _largest(instance, certificate, rows, length)
    # Python's own integers where 64 bits might not do.
    kind: type = np.int64 if most < SAFE else object
    windows: list[list[tuple[int, int, int]]] = [[] for _ in instance.requests]
    for number, group in enumerate(certificate.groups):
        for position, before, after in group.members:
            windows[position].append((number, before, after))
    cores: list[list[int]] = [[] for _ in instance.requests]
    for number, each in enumerate(certificate.lookahead):
        rows[number].prepare(kind)
        for position in each.core:
            cores[position].append(number)
    cost_of = _pricing(instance, certificate, windows, rows, length, kind)
    likes = [
        (
            (int(r.arrival), r.prompt, r.output),
            latest[position] if latest else None,
            tuple(windows[position]),
            tuple(cores[position]),
        )
        for position, r in enumerate(instance.requests)
    ]
    found = {like: position for position, like in enumerate(likes)}
    lasts, steps = {}, 0
    for like, position in found.items():
        (arrival, _, output), limit, own, _ = like
        last = max(arrival, length + max((b for _, b, _ in own if b > 0), default=0))
        last = last if limit is None else min(last, max(limit, arrival))
        # A start costs its latency at least: none later than this beats the first one.
        at_once = int(cost_of(position, np.array([arrival]))[0]) // certificate.denominator
        lasts[like] = min(last, arrival + max(at_once - output + 1, 0))
        steps += (lasts[like] - arrival + 1) * (limits.STEPS_OF_A_START + len(own))
        for row in rows:
            reached = min(lasts[like], row.last) - max(arrival, row.first - output) + 1
            if reached > 0:
                steps += limits.STEPS_OF_A_ROW * (reached + output)
    limits.refuse_long(budget, steps * (1 if kind is np.int64 else int(most).bit_length()))
    least = {
        like: min(
            int(cost_of(found[like], np.arange(first, min(first + limits.STARTS, last + 1))).min())
            for first in range(like[0][0], last + 1, limits.STARTS)
        )
        for like, last in lasts.items()
    }
    return sum(least[like] for like in likes)


def _largest(
    instance: Instance, certificate: Certificate, rows: Sequence[RowPayments], length: int
) -> int:
    """Return what no number on the way to the cost of one start exceeds."""
    horizon = length + max(int(request.arrival) for request in instance.requests)
    peak = max(request.peak for request in instance.requests)
    paid = sum(sum(group.prices) for group in certificate.groups)
    # Windows and outputs end a peak after the last priced round at the latest.
    of_all = (horizon + 2 * peak, peak, sum(certificate.memory), paid)
    return int(run_cost(certificate.denominator, *of_all)) + sum(row.most for row in rows)


def _pricing(
    instance: Instance,
    certificate: Certificate,
    windows: Sequence[Sequence[tuple[int, int, int]]],
    rows: Sequence[RowPayments],
    length: int,
    kind: type,
) -> Callable[[int, NDArray[np.int64]], NDArray[Any]]:
    """Return what prices the starts of the request at a position, in units of 1 / denominator."""
    sums = _running(certificate.memory, length, kind)
    moments = _running((t * price for t, price in enumerate(certificate.memory)), length, kind)
    # As long as its own prices, so that many short ones take little memory.
    opened = [_running(group.prices, len(group.prices), kind) for group in certificate.groups]

    def cost_of(position: int, starts: NDArray[np.int64]) -> NDArray[Any]:
        request = instance.requests[position]
        low = np.minimum(starts + 1, length)
        high = np.minimum(starts + request.output + 1, length)
        wide: NDArray[Any] = starts.astype(kind)
        cost = (wide + (request.output - int(request.arrival))) * certificate.denominator
        cost += tokens_paid(request.prompt, wide, low, high, sums, moments)
        for number, before, after in windows[position]:
            paid = opened[number]
            cost += paid[np.clip(starts + after, 0, len(paid) - 1)]
            cost -= paid[np.clip(starts - before, 0, len(paid) - 1)]
        for row in rows:
            # Starts increase, one by one.
            begin = max(row.first - request.output - int(starts[0]), 0)
            end = min(row.last - int(starts[0]), len(starts))
            if begin < end:
                parts = row.of_request(position, request, kind)
                cost[begin:end] += row.paid(parts, starts[begin:end])
        return cost

    return cost_of


def _running(values: Iterable[int], length: int, kind: type) -> NDArray[Any]:
    """Return the sums of the values before each time 0..length, shape (length + 1,)."""
    sums: NDArray[Any] = np.zeros(length + 1, dtype=kind)
    given: NDArray[Any] = np.array(list(values), dtype=kind)
    sums[1 : len(given) + 1] = np.cumsum(given)
    sums[len(given) + 1 :] = sums[len(given)]
    return sums
