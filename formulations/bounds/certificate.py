"""Certificates of lower bounds: what a file keeps of a bound, and its evaluation in integers.

Whoever found the numbers, evaluating a certificate proves the bound anew.  The evaluation shares
no code with the search for prices and runs in exact arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from formulations.bounds.volume import volume_bound
from formulations.groups import WindowGroup
from formulations.windows import start_windows
from instances import Instance

#: Integers below this leave room for one addition in 64 bits.
_SAFE = 1 << 61
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


@dataclass(frozen=True, config=_CONFIG)
class Certificate:
    """A lower bound on the TEL and what proves it.

    Attributes
    ----------
    kind
        ``volumes`` (nothing else is needed) or ``prices``.
    value
        The bound, rounds.
    upper_bound
        TEL of a feasible schedule that the starts were limited with (``formulations.windows``);
        None where every start from the arrival on is allowed.
    denominator, memory, groups
        Prices as fractions: ``memory[t]`` / denominator on a token at time t, and those of groups.
    """

    kind: Literal["volumes", "prices"]
    value: Count
    upper_bound: Count | None = None
    denominator: Annotated[int, Field(strict=True, ge=1)] = 1
    memory: Prices = ()
    groups: tuple[PricedGroup, ...] = ()

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
    """
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


def certificate_schema() -> dict[str, Any]:
    """Return the JSON Schema of a certificate."""
    return _ADAPTER.json_schema()


def evaluate(instance: Instance, certificate: Certificate) -> int:
    """Return the lower bound on the TEL (rounds) that a certificate proves, exactly.

    Proof.  For ``volumes`` see :func:`formulations.bounds.volume.volume_bound`.  For ``prices``
    take a feasible schedule with starts p_i.  At every time t the tokens held are at most M, and
    of the windows of a group at most ``most`` hold a round, which is checked here for every group
    by the conditions that ``formulations.groups`` proves sufficient.  With λ, μ ≥ 0,

        TEL ≥ Σ_i c_i(p_i) − M Σ_t λ_t − Σ_g most_g Σ_t μ_gt,

    where c_i(p) is the latency of a start at p plus the prices that its tokens and windows pay.
    c_i(p_i) is at least the minimum of c_i over all starts from the arrival on, and past the last
    priced round it only grows.  With ``upper_bound`` U, starts end at the latest of the windows
    that U proves; the caller must know that a schedule with TEL ≤ U exists.  The sum of fractions
    is rounded up, since the TEL is an integer.

    Raises
    ------
    CertificateError
        If a group is not one, or the arrivals are not rounds.
    """
    if instance.time_unit != "round":
        raise CertificateError("expected an instance with arrivals in rounds")
    if certificate.kind == "volumes":
        return volume_bound(instance)
    for number, group in enumerate(certificate.groups):
        _check_group(instance, number, group)
    latest = None
    if certificate.upper_bound is not None:
        latest = start_windows(instance, certificate.upper_bound).latest
    total = _least_costs(instance, certificate, latest)
    total -= instance.memory * sum(certificate.memory)
    total -= sum(group.most * sum(group.prices) for group in certificate.groups)
    return -(-total // certificate.denominator)


def shrink(instance: Instance, certificate: Certificate) -> Certificate:
    """Return a certificate of the same bound with a smaller denominator, so with shorter numbers.

    Prices that end in zeros are cut there.
    """
    if certificate.kind != "prices":
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
    )


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
    paid = (peak + horizon) * sum(certificate.memory)
    paid += sum(sum(group.prices) for group in certificate.groups)
    exact = 4 * (paid + certificate.denominator * (horizon + peak)) < _SAFE
    # Python's own integers where 64 bits might not do.
    kind: type = np.int64 if exact else object
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
            last = max(arrival, length + max((b for _, b, _ in windows[position]), default=0))
            last = last if limit is None else min(last, max(limit, arrival))
            starts = np.arange(arrival, last + 1)
            low = np.minimum(starts + 1, length)
            high = np.minimum(starts + request.output + 1, length)
            wide: NDArray[Any] = starts.astype(kind)
            cost = (wide + (request.output - arrival)) * certificate.denominator
            # The request holds prompt + t − start tokens at time t.
            cost += (request.prompt - wide) * (sums[high] - sums[low])
            cost += moments[high] - moments[low]
            for number, before, after in windows[position]:
                opens = np.clip(starts - before, 0, length)
                closes = np.clip(starts + after, 0, length)
                cost += opened[number][closes] - opened[number][opens]
            known[like] = int(cost.min())
        total += known[like]
    return total


def _running(values: Iterable[int], length: int, kind: type) -> NDArray[Any]:
    """Return the sums of the values before each time 0..length, shape (length + 1,)."""
    sums: NDArray[Any] = np.zeros(length + 1, dtype=kind)
    given: NDArray[Any] = np.array(list(values), dtype=kind)
    sums[1 : len(given) + 1] = np.cumsum(given)
    sums[len(given) + 1 :] = sums[len(given)]
    return sums
