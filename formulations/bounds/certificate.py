"""Certificates of lower bounds: what a file keeps of a bound, and its evaluation in integers.

Whoever found the numbers, evaluating a certificate proves the bound anew.  The evaluation shares
no code with the search for prices and runs in exact arithmetic.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from formulations.bounds.exact import SAFE, run_cost
from formulations.bounds.tree import TreeError, TreeNode, evaluate_tree
from formulations.bounds.volume import volume_bound
from formulations.groups import WindowGroup
from formulations.patterns import PriceTable
from formulations.windows import start_windows
from instances import Instance, Request

_CONFIG = ConfigDict(extra="forbid")

Count = Annotated[int, Field(strict=True, ge=0)]
Prices = tuple[Count, ...]
#: Position of the request in the instance, rounds of its window before its start and after.
Member = tuple[Count, Annotated[int, Field(strict=True)], Annotated[int, Field(strict=True)]]


class CertificateError(ValueError):
    """A certificate proves nothing; the message is one line."""


@dataclass(frozen=True, config=_CONFIG)
class PricedGroup:
    """A window group (``formulations.groups``): at most ``most`` of its windows hold one round.

    ``prices`` are numerators of μ_t for t = 0, 1, ...
    """

    most: Annotated[int, Field(strict=True, ge=1)]
    members: tuple[Member, ...]
    prices: Prices


Grid = tuple[Count, ...]


@dataclass(frozen=True, config=_CONFIG)
class PricedStates:
    """Prices on states of running requests: a ``formulations.patterns.PriceTable``.

    ``table`` lists the numerators by knot, then by tokens held, then by rounds left.
    """

    knots: Grid
    tokens: Grid
    left: Grid
    table: Prices
    lookahead: bool = True


@dataclass(frozen=True, config=_CONFIG)
class Certificate:
    """A lower bound on the TEL and what proves it.

    Attributes
    ----------
    kind
        ``volumes`` (nothing else is needed), ``prices``, ``patterns`` or ``tree``.
    value
        The bound, rounds.
    upper_bound
        TEL of a feasible schedule that the starts were limited with (``formulations.windows``);
        None where every start from the arrival on is allowed.
    denominator, memory, groups
        Prices as fractions: ``memory[t]`` / denominator on a token at time t, and those of groups.
    states
        Of the kind ``patterns``: prices on states, in units of 1 / denominator.
    tree
        Of the kind ``tree``: branches and leaves in preorder (``formulations.bounds.tree``).
    """

    kind: Literal["volumes", "prices", "patterns", "tree"]
    value: Count
    upper_bound: Count | None = None
    denominator: Annotated[int, Field(strict=True, ge=1)] = 1
    memory: Prices = ()
    groups: tuple[PricedGroup, ...] = ()
    states: PricedStates | None = None
    tree: tuple[TreeNode, ...] = ()

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

    Parameters
    ----------
    memory
        Numerators of λ, shape (T + 1,).
    upper_bound
        TEL that limited the starts; None where nothing did.
    group_prices
        Numerators of μ, shape (groups, T + 1); without ``groups`` None.

    A value of 0 or less needs no prices, since no TEL is below 0.
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
    states = PricedStates(
        tuple(table.knots.tolist()),
        tuple(table.tokens.tolist()),
        tuple(table.left.tolist()),
        tuple(table.numerators.ravel().tolist()),
        lookahead,
    )
    return certificate_document(
        Certificate("patterns", value, upper_bound, table.denominator, states=states)
    )


def certificate_schema() -> dict[str, Any]:
    """Return the JSON Schema of a certificate."""
    return _ADAPTER.json_schema()


def evaluate(instance: Instance, certificate: Certificate) -> int:
    """Return the lower bound on the TEL (rounds) that a certificate proves, exactly.

    Proof.  For ``volumes`` see :func:`formulations.bounds.volume.volume_bound`.  For ``prices``
    take a feasible schedule with starts p_i.  At every time t the tokens held are at most M, and
    of the windows of a group at most ``most`` hold a round, which is checked here for every group
    by the conditions that ``formulations.groups`` proves sufficient.  For ``patterns`` see
    :func:`formulations.bounds.patterns.compute_bound`, for ``tree``
    :func:`formulations.bounds.tree.evaluate_tree`.  With λ, μ ≥ 0,

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
        If a group is not one, a grid does not hold all states, a tree is none of this instance, or
        the arrivals are not rounds.
    """
    if instance.time_unit != "round":
        raise CertificateError("expected an instance with arrivals in rounds")
    if certificate.kind == "volumes":
        return volume_bound(instance)
    if (certificate.kind == "tree") != bool(certificate.tree):
        raise CertificateError("tree: expected with the kind tree, and only there")
    if certificate.tree:
        return _evaluate_tree(instance, certificate)
    if (certificate.kind == "patterns") != (certificate.states is not None):
        raise CertificateError("states: expected with the kind patterns, and only there")
    for number, group in enumerate(certificate.groups):
        _check_group(instance, number, group)
    latest = None
    if certificate.upper_bound is not None:
        latest = start_windows(instance, certificate.upper_bound).latest
    if certificate.states is not None:
        return _evaluate_states(instance, certificate, certificate.states, latest)
    total = _least_costs(instance, certificate, latest)
    total -= instance.memory * sum(certificate.memory)
    total -= sum(group.most * sum(group.prices) for group in certificate.groups)
    return -(-total // certificate.denominator)


def shrink(instance: Instance, certificate: Certificate) -> Certificate:
    """Return a certificate of the same bound with a smaller denominator, so with shorter numbers.

    Prices that end in zeros are cut there.  Trees are made with short numbers.
    """
    if certificate.kind in ("volumes", "tree"):
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


def _check_group(instance: Instance, number: int, group: PricedGroup) -> None:
    """Refuse members for which the proof in ``formulations.groups`` does not hold."""
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
    sums = _running(certificate.memory, length, kind)
    moments = _running((t * price for t, price in enumerate(certificate.memory)), length, kind)
    opened = [_running(group.prices, length, kind) for group in certificate.groups]
    windows: list[list[tuple[int, int, int]]] = [[] for _ in instance.requests]
    for number, group in enumerate(certificate.groups):
        for position, before, after in group.members:
            windows[position].append((number, before, after))
    known: dict[tuple[object, ...], int] = {}
    total = 0
    for position, request in enumerate(instance.requests):
        arrival, limit = int(request.arrival), latest[position] if latest else None
        like = (arrival, request.prompt, request.output, limit, tuple(windows[position]))
        if like not in known:

            def cost_of(
                starts: NDArray[np.int64], request: Request = request, position: int = position
            ) -> NDArray[Any]:
                low = np.minimum(starts + 1, length)
                high = np.minimum(starts + request.output + 1, length)
                wide: NDArray[Any] = starts.astype(kind)
                cost = (wide + (request.output - int(request.arrival))) * certificate.denominator
                # The request holds prompt + t − start tokens at time t.
                cost += (request.prompt - wide) * (sums[high] - sums[low])
                cost += moments[high] - moments[low]
                for number, before, after in windows[position]:
                    opens = np.clip(starts - before, 0, length)
                    closes = np.clip(starts + after, 0, length)
                    cost += opened[number][closes] - opened[number][opens]
                return cost

            last = max(
                arrival, length + max((b for _, b, _ in windows[position] if b > 0), default=0)
            )
            last = last if limit is None else min(last, max(limit, arrival))
            # A start costs its latency at least: none later than this beats the first one.
            at_once = int(cost_of(np.array([arrival]))[0]) // certificate.denominator
            last = min(last, arrival + max(at_once - request.output + 1, 0))
            known[like] = int(cost_of(np.arange(arrival, last + 1)).min())
        total += known[like]
    return total


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
    priced = {state: _interpolated(table, states, *state) for state in order}
    total = sum(
        _least_state_cost(request, priced, certificate, states, None if latest is None else last)
        for request, last in zip(instance.requests, latest or [0] * len(instance), strict=True)
    )
    worths = _worths(order, priced, instance.memory, len(knots))
    for (low, high), (here, there) in zip(pairwise(knots), pairwise(worths), strict=True):
        width = high - low
        total -= sum(-(-(here * (width - e) + there * e) // width) for e in range(width))
    return -(-(total - worths[-1]) // certificate.denominator)


def _interpolated(table: NDArray[Any], states: PricedStates, held: int, rounds: int) -> list[int]:
    """Return the price of a state at every knot, rounded down."""
    a = min(bisect_right(states.tokens, held), len(states.tokens) - 1)
    c = min(bisect_right(states.left, rounds), len(states.left) - 1)
    w0, w1 = states.tokens[a] - held, held - states.tokens[a - 1]
    r0, r1 = states.left[c] - rounds, rounds - states.left[c - 1]
    sums = w0 * (r0 * table[:, a - 1, c - 1] + r1 * table[:, a - 1, c])
    sums += w1 * (r0 * table[:, a, c - 1] + r1 * table[:, a, c])
    return [int(price) // ((w0 + w1) * (r0 + r1)) for price in sums]


def _least_state_cost(
    request: Request,
    priced: dict[tuple[int, int], list[int]],
    certificate: Certificate,
    states: PricedStates,
    latest: int | None,
) -> int:
    """Return denominator times the least priced latency of a request, starts up to ``latest``."""
    knots, arrival = states.knots, int(request.arrival)
    end = max(arrival, knots[-1])
    end = end if latest is None else max(min(end, latest), arrival)
    starts = np.arange(arrival, end + 1)
    cost = (starts + (request.output - arrival)).astype(object) * certificate.denominator
    for j in range(1, request.output + 1):
        prices = priced[request.prompt + j, (request.output - j) * states.lookahead]
        at = np.zeros(knots[-1] + request.output + arrival + 2, dtype=object)
        for (low, high), (here, there) in zip(pairwise(knots), pairwise(prices), strict=True):
            e = np.arange(high - low).astype(object)
            at[low:high] = (here * (high - low - e) + there * e) // (high - low)
        at[knots[-1]] = prices[-1]
        cost += at[np.minimum(starts + j, len(at) - 1)]
    return int(cost.min())


def _worths(
    order: Sequence[tuple[int, int]],
    priced: dict[tuple[int, int], list[int]],
    memory: int,
    knots: int,
) -> list[int]:
    """Return the most that requests which can run together pay at each knot.

    Every request is added to longer ones, so at its completion all of them hold memory.
    """
    most = memory // min(held for held, _ in order)
    highest = max(max(prices) for prices in priced.values())
    # Far below 0 stands for what cannot be; 64 bits only where they do.
    never = -(most + 1) * (highest + 1)
    kind: type = np.int64 if -4 * never < SAFE else object
    best: NDArray[Any] = np.full((most + 1, memory + 1, knots), never, dtype=kind)
    best[0, 0] = 0
    for held, rounds in order:
        prices: NDArray[Any] = np.array(priced[held, rounds], dtype=kind)
        for count in range(most):
            room = memory - held - (count + 1) * rounds
            if room < 0:
                break
            longer = best[count, : room + 1] + prices
            best[count + 1, held : held + room + 1] = np.maximum(
                best[count + 1, held : held + room + 1], longer
            )
    return [int(worth) for worth in best.max(axis=(0, 1))]
