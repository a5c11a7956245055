"""Certificates of lower bounds: what a file keeps of a bound, and its evaluation in integers.

Whoever found the numbers, evaluating a certificate proves the bound anew.  The evaluation shares
no code with the search for prices and runs in exact arithmetic.  For that independence it writes
anew, with ``tree``, what starts cost (``costs``, ``kernels``) and patterns are worth (``states``):
the one second writing that is meant, and what it shares with that search is what is valid
whatever the prices are, and where 64 bits are exact (``exact``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from formulations.lagrangian.exact import SAFE, run_cost
from formulations.lagrangian.priced_states import (
    Count,
    PricedStates,
    Prices,
    interpolated,
    times_at_once,
    worths,
)
from formulations.lagrangian.states import PriceTable
from formulations.lagrangian.swept import SweptError, prove
from formulations.lagrangian.tree import TreeError, TreeNode, evaluate_tree, tokens_paid
from formulations.valid.groups import WindowGroup
from formulations.valid.states import searchable_states
from formulations.valid.volumes import volume_bound
from formulations.valid.windows import start_windows
from instances import Instance, Request

#: Steps of an evaluation beyond which a certificate is refused before any is taken.  A step adds
#: two numbers of 64 bits, some nanoseconds; larger numbers count one for each of their bits.  Those
#: of the library take up to 10⁸, and searches for prices on states stop at a quarter of this.
MOST_STEPS = 4_000_000_000
#: Numbers of 64 bits that are held at a time, one GiB; larger ones count as above.
MOST_HELD = 1 << 27
#: Steps of one interpolation between prices of states, and of a call that adds many numbers.
_STEPS_OF_A_PRICE, _STEPS_OF_A_CALL = 100, 300
#: Divisions and products for a price at a time between knots.
_STEPS_OF_A_TIME = 4
#: Starts that are priced at a time.
_STARTS = 1 << 20

_CONFIG = ConfigDict(extra="forbid")

#: Position of the request in the instance, rounds of its window before its start and after.
Member = tuple[Count, Annotated[int, Field(strict=True)], Annotated[int, Field(strict=True)]]


class CertificateError(ValueError):
    """A certificate proves nothing; the message is one line."""


@dataclass(frozen=True, config=_CONFIG)
class PricedGroup:
    """A window group (``formulations.valid.groups``): at most ``most`` windows hold one round.

    ``prices`` are numerators of μ_t for t = 0, 1, ...
    """

    most: Annotated[int, Field(strict=True, ge=1)]
    members: tuple[Member, ...]
    prices: Prices


@dataclass(frozen=True, config=_CONFIG)
class Certificate:
    """A lower bound on the TEL and what proves it.

    Attributes
    ----------
    kind
        ``volumes`` (nothing else is needed), ``prices``, ``patterns``, ``tree`` or ``sweep``.
    value
        The bound, rounds.
    upper_bound
        TEL of a feasible schedule that the starts were limited with
        (``formulations.valid.windows``); None where every start from the arrival on is allowed.
    denominator, memory, groups
        Prices as fractions: ``memory[t]`` / denominator on a token at time t, and those of groups.
    states
        Of the kind ``patterns``, and of ``sweep`` where it has no ``memory``: prices on states,
        in units of 1 / denominator.
    tree
        Of the kind ``tree``: branches and leaves in preorder (``formulations.lagrangian.tree``).
    multipliers
        Of the kind ``sweep``: of each different request, in units of 1 / denominator; empty where
        the sweep alone does (``formulations.lagrangian.swept``).
    """

    kind: Literal["volumes", "prices", "patterns", "tree", "sweep"]
    value: Count
    upper_bound: Count | None = None
    denominator: Annotated[int, Field(strict=True, ge=1)] = 1
    memory: Prices = ()
    groups: tuple[PricedGroup, ...] = ()
    states: PricedStates | None = None
    tree: tuple[TreeNode, ...] = ()
    multipliers: tuple[Annotated[int, Field(strict=True)], ...] = ()

    @property
    def bare(self) -> bool:
        """Whether it rests on the memory limit alone, not on windows or groups."""
        return self.upper_bound is None and not self.groups


_ADAPTER = TypeAdapter(Certificate)


def read_certificate(document: object) -> Certificate:
    """Return the certificate of a JSON object.

    Raises
    ------
    CertificateError
        If it is not of this form.
    """
    try:
        return _ADAPTER.validate_python(document)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        where = ".".join(str(step) for step in first["loc"])
        raise CertificateError(f"{where}: {first['msg']}" if where else first["msg"]) from None


def certificate_document(certificate: Certificate) -> dict[str, Any]:
    """Return the JSON object of a certificate, with what is not set left out."""
    document: dict[str, Any] = _ADAPTER.dump_python(certificate, mode="json", exclude_defaults=True)
    return document


def price_certificate(
    value: int,
    denominator: int,
    memory: NDArray[np.int64],
    *,
    upper_bound: int | None = None,
    groups: Sequence[WindowGroup] = (),
    group_prices: NDArray[np.int64] | None = None,
) -> dict[str, Any]:
    """Return the JSON object of the certificate of a bound from prices.

    A value of 0 or less needs no prices, since no TEL is below 0.

    Parameters
    ----------
    memory
        Numerators of λ, shape (T + 1,).
    upper_bound
        TEL that limited the starts; None where nothing did.
    group_prices
        Numerators of μ, shape (groups, T + 1); without ``groups`` None.
    """
    if value <= 0:
        return certificate_document(Certificate("prices", 0))
    rows = [] if group_prices is None else group_prices.tolist()
    priced = tuple(
        PricedGroup(
            group.most, tuple((m.request, m.before, m.after) for m in group.members), tuple(row)
        )
        for group, row in zip(groups, rows, strict=True)
    )
    return certificate_document(
        Certificate("prices", value, upper_bound, denominator, tuple(memory.tolist()), priced)
    )


def pattern_certificate(
    value: int, table: PriceTable, *, lookahead: bool = True, upper_bound: int | None = None
) -> dict[str, Any]:
    """Return the JSON object of the certificate of a bound from prices on states."""
    states = _listed(table, lookahead=lookahead)
    return certificate_document(
        Certificate("patterns", value, upper_bound, table.denominator, states=states)
    )


def _listed(table: PriceTable, *, lookahead: bool) -> PricedStates:
    return PricedStates(
        tuple(table.knots.tolist()),
        tuple(table.tokens.tolist()),
        tuple(table.left.tolist()),
        tuple(table.numerators.ravel().tolist()),
        lookahead,
    )


def certificate_schema() -> dict[str, Any]:
    """Return the JSON Schema of a certificate."""
    return _ADAPTER.json_schema()


def evaluate(instance: Instance, certificate: Certificate) -> int:
    """Return the lower bound on the TEL (rounds) that a certificate proves, exactly.

    Proof.  For ``volumes`` see :func:`formulations.valid.volumes.volume_bound`.  For ``prices``
    take a feasible schedule with starts p_i.  At every time t the tokens held are at most M, and
    of the windows of a group at most ``most`` hold a round, which is checked here for every group
    by the conditions that ``formulations.valid.groups`` proves sufficient.  For ``patterns`` see
    :func:`formulations.bounds.patterns.compute_bound`, for ``tree``
    :func:`formulations.lagrangian.tree.evaluate_tree`, for ``sweep``
    :mod:`formulations.lagrangian.swept`.  With λ, μ ≥ 0,

        TEL ≥ Σ_i c_i(p_i) − M Σ_t λ_t − Σ_g most_g Σ_t μ_gt,

    where c_i(p) is the latency of a start at p plus the prices that its tokens and windows pay.
    c_i(p_i) is at least the minimum of c_i over all starts from the arrival on.  Let the prices be
    those of times below L, and b the largest ``before`` of a window of i, or 0 where none is above
    0.  From a start p ≥ L + b on the run holds tokens after L only and every window begins at
    p − b or later, so at L or later: c_i(p) is the latency, which grows with p.  A ``before``
    below 0 delays a window, not the run, so it makes no earlier start the last one to be looked
    at.  With ``upper_bound`` U, starts end at the latest of the windows
    that U proves; the caller must know that a schedule with TEL ≤ U exists.  The sum of fractions
    is rounded up, since the TEL is an integer.

    Raises
    ------
    CertificateError
        If a group is not one, a grid does not hold all states, a tree is none of this instance,
        the arrivals are not rounds, or it takes more than :data:`MOST_STEPS` steps or numbers
        (of a tree, :data:`formulations.lagrangian.tree.MOST_STEPS`).
    """
    if instance.time_unit != "round":
        raise CertificateError("expected an instance with arrivals in rounds")
    if certificate.kind == "volumes":
        return volume_bound(instance)
    if (certificate.kind == "tree") != bool(certificate.tree):
        raise CertificateError("tree: expected with the kind tree, and only there")
    if certificate.tree:
        return _evaluate_tree(instance, certificate)
    if certificate.kind == "sweep":
        return _evaluate_sweep(instance, certificate)
    if certificate.multipliers:
        raise CertificateError("multipliers: expected with the kind sweep only")
    if (certificate.kind == "patterns") != (certificate.states is not None):
        raise CertificateError("states: expected with the kind patterns, and only there")
    for number, group in enumerate(certificate.groups):
        _check_group(instance, number, group)
    latest = _latest(instance, certificate)
    if certificate.states is not None:
        return _evaluate_states(instance, certificate, certificate.states, latest)
    total = _least_costs(instance, certificate, latest)
    total -= instance.memory * sum(certificate.memory)
    total -= sum(group.most * sum(group.prices) for group in certificate.groups)
    return -(-total // certificate.denominator)


def _latest(instance: Instance, certificate: Certificate) -> Sequence[int] | None:
    """Return the last start of each request; None where every start is allowed."""
    if certificate.upper_bound is None:
        return None
    return start_windows(instance, certificate.upper_bound).latest


def too_long(instance: Instance, document: Mapping[str, Any]) -> str | None:
    """Return why :func:`evaluate` refuses prices on states for their size; None where it does not.

    Whoever found the prices had compiled kernels, and may use more steps than a reader is asked to.
    """
    certificate = read_certificate(document)
    if certificate.states is None:
        return None
    try:
        _measured(instance, certificate, certificate.states, _latest(instance, certificate))
    except CertificateError as error:
        return str(error)
    return None


def shrink(instance: Instance, certificate: Certificate) -> Certificate:
    """Return a certificate of the same bound with a smaller denominator, so with shorter numbers.

    Prices that end in zeros are cut there.  Trees and sweeps are made with short numbers.
    """
    if certificate.kind in ("volumes", "tree", "sweep"):
        return certificate
    bits = certificate.denominator.bit_length()
    for exponent in range(2, bits, 2):
        smaller = _rounded(certificate, 1 << exponent)
        if evaluate(instance, smaller) >= certificate.value:
            return smaller
    return _rounded(certificate, certificate.denominator)


def _rounded(certificate: Certificate, denominator: int) -> Certificate:
    def scaled(prices: Sequence[int]) -> Prices:
        old = certificate.denominator
        rounded = [(2 * price * denominator + old) // (2 * old) for price in prices]
        while rounded and not rounded[-1]:
            rounded.pop()
        return tuple(rounded)

    groups = (
        PricedGroup(group.most, group.members, scaled(group.prices)) for group in certificate.groups
    )
    return Certificate(
        kind=certificate.kind,
        value=certificate.value,
        upper_bound=certificate.upper_bound,
        denominator=denominator,
        memory=scaled(certificate.memory),
        groups=tuple(group for group in groups if group.prices),
        states=_rounded_states(certificate.states, certificate.denominator, denominator),
    )


def _rounded_states(states: PricedStates | None, old: int, new: int) -> PricedStates | None:
    if states is None:
        return None
    table = tuple((2 * price * new + old) // (2 * old) for price in states.table)
    return PricedStates(states.knots, states.tokens, states.left, table, states.lookahead)


def _evaluate_tree(instance: Instance, certificate: Certificate) -> int:
    if not certificate.bare or certificate.memory or certificate.states is not None:
        raise CertificateError("tree: expected no prices but those of its leaves")
    try:
        return evaluate_tree(instance, certificate.tree, certificate.value)
    except TreeError as error:
        raise CertificateError(f"tree: {error}") from None


def _evaluate_sweep(instance: Instance, certificate: Certificate) -> int:
    if not certificate.bare or (certificate.memory and certificate.states is not None):
        raise CertificateError("sweep: expected prices on memory or on states, and nothing else")
    try:
        prove(
            instance,
            certificate.value,
            certificate.denominator,
            certificate.memory,
            certificate.states,
            certificate.multipliers,
        )
    except SweptError as error:
        raise CertificateError(f"sweep: {error}") from None
    return certificate.value


def sweep_certificate(
    value: int,
    prices: PriceTable | tuple[NDArray[np.int64], int],
    multipliers: Sequence[int] = (),
) -> dict[str, Any]:
    """Return the JSON object of the certificate of a sweep; see :class:`Certificate`.

    ``prices`` are those on states, or numerators of λ and their denominator.
    """
    own = tuple(int(each) for each in multipliers)
    if isinstance(prices, PriceTable):
        made = Certificate(
            "sweep",
            value,
            denominator=prices.denominator,
            states=_listed(prices, lookahead=True),
            multipliers=own,
        )
    else:
        made = Certificate(
            "sweep",
            value,
            denominator=prices[1],
            memory=tuple(prices[0].tolist()),
            multipliers=own,
        )
    return certificate_document(made)


def _check_group(instance: Instance, number: int, group: PricedGroup) -> None:
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


def _least_costs(instance: Instance, certificate: Certificate, latest: Sequence[int] | None) -> int:
    """Return denominator times the sum of the requests' least priced costs."""
    length = max(1, len(certificate.memory), *(len(each.prices) for each in certificate.groups))
    horizon = length + max(int(request.arrival) for request in instance.requests)
    peak = max(request.peak for request in instance.requests)
    paid = sum(sum(group.prices) for group in certificate.groups)
    # Windows and outputs end a peak after the last priced round at the latest.
    most = run_cost(
        certificate.denominator, horizon + 2 * peak, peak, sum(certificate.memory), paid
    )
    # Python's own integers where 64 bits might not do.
    kind: type = np.int64 if most < SAFE else object
    windows: list[list[tuple[int, int, int]]] = [[] for _ in instance.requests]
    for number, group in enumerate(certificate.groups):
        for position, before, after in group.members:
            windows[position].append((number, before, after))
    cost_of = _pricing(instance, certificate, windows, length, kind)
    likes = [
        (
            (int(r.arrival), r.prompt, r.output),
            latest[position] if latest else None,
            tuple(windows[position]),
        )
        for position, r in enumerate(instance.requests)
    ]
    found = {like: position for position, like in enumerate(likes)}
    lasts, steps = {}, 0
    for like, position in found.items():
        (arrival, _, output), limit, own = like
        last = max(arrival, length + max((b for _, b, _ in own if b > 0), default=0))
        last = last if limit is None else min(last, max(limit, arrival))
        # A start costs its latency at least: none later than this beats the first one.
        at_once = int(cost_of(position, np.array([arrival]))[0]) // certificate.denominator
        lasts[like] = min(last, arrival + max(at_once - output + 1, 0))
        steps += (lasts[like] - arrival + 1) * (1 + len(own))
    _refuse_long(steps * (1 if kind is np.int64 else int(most).bit_length()))
    least = {
        like: min(
            int(cost_of(found[like], np.arange(first, min(first + _STARTS, last + 1))).min())
            for first in range(like[0][0], last + 1, _STARTS)
        )
        for like, last in lasts.items()
    }
    return sum(least[like] for like in likes)


def _pricing(
    instance: Instance,
    certificate: Certificate,
    windows: Sequence[Sequence[tuple[int, int, int]]],
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
        return cost

    return cost_of


def _refuse_long(steps: int, held: int = 0) -> None:
    if steps > MOST_STEPS:
        raise CertificateError(f"the evaluation takes more than {MOST_STEPS} steps")
    if held > MOST_HELD:
        raise CertificateError(f"the evaluation holds more than {MOST_HELD} numbers")


def _running(values: Iterable[int], length: int, kind: type) -> NDArray[Any]:
    """Return the sums of the values before each time 0..length, shape (length + 1,)."""
    sums: NDArray[Any] = np.zeros(length + 1, dtype=kind)
    given: NDArray[Any] = np.array(list(values), dtype=kind)
    sums[1 : len(given) + 1] = np.cumsum(given)
    sums[len(given) + 1 :] = sums[len(given)]
    return sums


def _evaluate_states(
    instance: Instance, certificate: Certificate, states: PricedStates, latest: Sequence[int] | None
) -> int:
    """Return the bound of prices on states, without the compiled kernels that searched for them."""
    knots = states.knots
    for name, grid in (("knots", knots), ("tokens", states.tokens), ("left", states.left)):
        if len(grid) < 2 or any(low >= high for low, high in pairwise(grid)):
            raise CertificateError(f"states.{name}: expected two or more, increasing")
    shape = (len(knots), len(states.tokens), len(states.left))
    if len(states.table) != math.prod(shape) or knots[0] < 1:
        raise CertificateError("states: expected a price for each point, and times from 1 on")
    lasts, kind = _measured(instance, certificate, states, latest)
    seen = {
        (request.prompt + j, (request.output - j) * states.lookahead)
        for request in instance.requests
        for j in range(1, request.output + 1)
    }
    for name, grid, values in (
        ("tokens", states.tokens, [held for held, _ in seen]),
        ("left", states.left, [rounds for _, rounds in seen]),
    ):
        if min(values) < grid[0] or max(values) > grid[-1]:
            raise CertificateError(f"states.{name}: expected to hold all states")
    table = np.array(states.table, dtype=object).reshape(shape)
    order = sorted(seen, key=lambda state: -state[1])
    priced = {state: interpolated(table, states, *state) for state in order}
    known: dict[tuple[int, int, int, int], int] = {}
    total = 0
    for request, last in zip(instance.requests, lasts, strict=True):
        like = (int(request.arrival), request.prompt, request.output, last)
        if like not in known:
            known[like] = _least_state_cost(request, priced, certificate, states, last, kind)
        total += known[like]
    best = worths(order, priced, instance.memory, len(knots), kind)
    for (low, high), (here, there) in zip(pairwise(knots), pairwise(best), strict=True):
        total -= _interpolated_sum(high - low, here, there)
    return -(-(total - best[-1]) // certificate.denominator)


def _measured(
    instance: Instance, certificate: Certificate, states: PricedStates, latest: Sequence[int] | None
) -> tuple[list[int], type]:
    """Return the last start of each request to be looked at, and the kind of number that does.

    Refuses what would take too long.
    """
    knots = states.knots
    outputs = [request.output for request in instance.requests]
    lasts = _last_starts(instance, knots[-1], latest)
    most = instance.memory // (1 + min(request.prompt for request in instance.requests))
    # No number is larger: of patterns, of interpolations between knots, of a start's cost.
    highest = max(states.table) + 1
    far = max(knots[-1], *lasts) + max(outputs)
    payers = max(4 * (most + 1), max(b - a for a, b in pairwise(knots)) + max(outputs))
    largest = highest * payers + certificate.denominator * far
    kind: type = np.int64 if max(largest, knots[-1]) < SAFE else object
    weight = 1 if kind is np.int64 else largest.bit_length()
    _refuse_long_states(instance, states, lasts, weight)
    return lasts, kind


def _last_starts(instance: Instance, end: int, latest: Sequence[int] | None) -> list[int]:
    """Return the last start of each request to be looked at where no time past ``end`` is priced.

    A start at ``end`` or later holds its first token after it, so it costs its latency alone.
    """
    arrivals = [int(request.arrival) for request in instance.requests]
    ends = [end] * len(instance) if latest is None else [min(end, last) for last in latest]
    return [max(arrival, last) for arrival, last in zip(arrivals, ends, strict=True)]


def _refuse_long_states(
    instance: Instance, states: PricedStates, lasts: Sequence[int], weight: int
) -> None:
    """Refuse prices on states whose evaluation takes too many steps or too much memory.

    A step of numbers beyond 64 bits counts ``weight`` times.
    """
    knots = len(states.knots)
    starts = sum(
        request.output * (last - int(request.arrival) + 1)
        for request, last in zip(instance.requests, lasts, strict=True)
    )
    _refuse_long(starts * _STEPS_OF_A_TIME * weight)
    found = searchable_states(instance, MOST_STEPS // (knots * weight), lookahead=states.lookahead)
    if found is None:
        return _refuse_long(MOST_STEPS + 1)
    room = instance.memory - found.tokens - found.left
    times = np.where(found.left > 0, room // np.maximum(found.left, 1) + 1, found.most)
    calls = int(np.minimum(times, found.most).sum())
    entries = (found.most + 1) * (instance.memory + 1)
    blocks = -(-knots // times_at_once(entries))
    steps = (found.work * knots + starts * _STEPS_OF_A_TIME) * weight
    steps += calls * blocks * _STEPS_OF_A_CALL + len(found) * knots * _STEPS_OF_A_PRICE
    return _refuse_long(steps, entries * weight)


def _interpolated_sum(width: int, here: int, there: int) -> int:
    """Return Σ ⌈(here·(width − e) + there·e) / width⌉ over e = 0..width − 1, in closed form.

    Proof.  With n = there − here the terms are here + ⌈n·e / width⌉.  Without rounding up they sum
    to here·width + n·(width − 1)/2.  Rounding up adds (−n·e mod width) / width; with
    d = gcd(n, width) these residues are the multiples of d below width, each d times, which sum to
    d·d·(width/d)·(width/d − 1)/2 = width·(width − d)/2.  So it adds (width − d)/2 in all.
    """
    slope = there - here
    return here * width + (slope * (width - 1) + width - math.gcd(slope, width)) // 2


def _least_state_cost(
    request: Request,
    priced: dict[tuple[int, int], list[int]],
    certificate: Certificate,
    states: PricedStates,
    last: int,
    kind: type,
) -> int:
    """Return denominator times the least priced latency of a request, starts up to ``last``."""
    arrival, output = int(request.arrival), request.output
    knots: NDArray[Any] = np.array(states.knots, dtype=kind)
    prices: list[NDArray[Any]] = [
        np.array(priced[request.prompt + j, (output - j) * states.lookahead], dtype=kind)
        for j in range(1, output + 1)
    ]
    least = []
    for first in range(arrival, last + 1, _STARTS):
        stop = min(first + _STARTS, last + 1)
        times = np.arange(first + 1, stop + output)
        knot = np.clip(np.searchsorted(knots, times, side="right") - 1, 0, len(knots) - 2)
        inside = (knots[0] <= times) & (times <= knots[-1])
        width = knots[knot + 1] - knots[knot]
        # Weights of the knot before and of the one after; before the first and past the last none.
        ahead = np.where(inside, times - knots[knot], 0)
        back = np.where(inside, width - ahead, 0)
        starts: NDArray[Any] = np.arange(first, stop).astype(kind)
        cost = (starts + (output - arrival)) * certificate.denominator
        for j, price in enumerate(prices):
            at = slice(j, j + stop - first)
            paid = price[knot[at]] * back[at] + price[knot[at] + 1] * ahead[at]
            cost += paid // width[at]
        least.append(int(cost.min()))
    return min(least)
