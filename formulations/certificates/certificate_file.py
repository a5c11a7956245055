"""The file format of lower bounds: reading a certificate, and writing one of each kind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from numpy import int64
from numpy.typing import NDArray
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from formulations.certificates.reader_budget import (
    CertificateError,
    Count,
    Counts,
    Integer,
    Positive,
)
from formulations.certificates.sweep_tables import PricedStates
from formulations.lagrangian.state_prices import StatePrices
from formulations.valid.window_groups import WindowGroup

if TYPE_CHECKING:
    from formulations.lagrangian.priced_rows import PricedRow

_CONFIG = ConfigDict(extra="forbid")

#: Most keys of an object, more than any format has.
_MOST_KEYS = 30

#: Position of the request in the instance, rounds of its window before its start and after.
Member = tuple[Count, Integer, Integer]


@dataclass(frozen=True, config=_CONFIG)
class PricedWindowGroup:
    """A window group (``valid.window_groups``): at most ``most`` windows hold one round.

    ``prices`` are numerators of μ_t for t = 0, 1, ...
    """

    most: Positive
    members: Annotated[tuple[Member, ...], Field(fail_fast=True)]
    prices: Counts


@dataclass(frozen=True, config=_CONFIG)
class PricedLookAhead:
    """A look-ahead row (``formulations.valid.lookahead_row``) and its price on an M-th of a token.

    ``prices`` are numerators at the increasing ``times``, in between linear and rounded down,
    before and after 0; ``share`` is c, ``rounds`` is ℓ, and ``core`` lists positions of requests.
    """

    share: Count
    rounds: Count
    core: Counts
    times: Annotated[Counts, Field(min_length=1)]
    prices: Counts


@dataclass(frozen=True, config=_CONFIG)
class PartBound:
    """A bound on what some requests add to the TEL (``formulations.valid.idle_gaps``).

    ``requests`` are positions in the instance.  ``certificate`` bounds them as an instance whose
    first arrival is at 0, without parts.  ``starts`` is a schedule of it, if it assumes one.
    """

    requests: Annotated[Counts, Field(min_length=1)]
    certificate: dict[str, Any]
    starts: Counts = ()


@dataclass(frozen=True, config=_CONFIG)
class Certificate:
    """A lower bound on the TEL, ``value`` (rounds), and what proves it; see docs/certificates.md.

    Attributes
    ----------
    upper_bound
        TEL of a feasible schedule that the starts were limited with
        (``formulations.valid.windows``); None where every start from the arrival on is allowed.
    denominator, memory, groups, lookahead
        Prices as fractions: ``memory[t]`` / denominator on a token at time t, and those of rows.
    states
        Of the kind ``sweep``, where it has no ``memory``: prices on states.
    multipliers
        Of the kind ``sweep``: of each different request; empty where the sweep alone does.
    strict
        Of the kind ``sweep``, where dominated bases are dropped: the different requests, by their
        places in the order of ``multipliers``, that must not run twice at a time.
    parts
        Of the kind ``parts``: bounds of requests of which none is in two, to be added up.
    """

    kind: Literal["volumes", "prices", "sweep", "parts"]
    value: Count
    upper_bound: Count | None = None
    denominator: Positive = 1
    memory: Counts = ()
    groups: Annotated[tuple[PricedWindowGroup, ...], Field(fail_fast=True)] = ()
    lookahead: Annotated[tuple[PricedLookAhead, ...], Field(fail_fast=True)] = ()
    states: PricedStates | None = None
    multipliers: Annotated[tuple[Integer, ...], Field(fail_fast=True)] = ()
    strict: Counts | None = None
    parts: Annotated[tuple[PartBound, ...], Field(fail_fast=True)] = ()

    @property
    def bare(self) -> bool:
        """Return whether the certificate rests on the memory limit alone."""
        return self.upper_bound is None and not self.groups and not self.lookahead


_ADAPTER = TypeAdapter(Certificate)


def read_certificate(document: object) -> Certificate:
    """Return the certificate of a JSON object; raise CertificateError if it is not of this form."""
    refuse_wide(document)
    try:
        return _ADAPTER.validate_python(document)
    except ValidationError as error:
        raise CertificateError(first_complaint(error)) from None


def refuse_wide(document: object) -> None:
    """Raise CertificateError for an object of many keys: a validation would list all of them."""
    open_ = [document]
    while open_:
        each = open_.pop()
        if isinstance(each, dict):
            if len(each) > _MOST_KEYS:
                raise CertificateError(f"expected at most {_MOST_KEYS} keys in one object")
            open_ += each.values()
        elif isinstance(each, list) and each and not isinstance(each[0], int):
            open_ += each


def first_complaint(error: ValidationError) -> str:
    """Return one line on the first fault, and its place."""
    first = error.errors(include_url=False, include_context=False)[0]
    where = ".".join(str(step) for step in first["loc"])
    return f"{where}: {first['msg']}" if where else first["msg"]


def certificate_document(certificate: Certificate) -> dict[str, Any]:
    """Return the JSON object of a certificate, without defaults."""
    document: dict[str, Any] = _ADAPTER.dump_python(certificate, mode="json", exclude_defaults=True)
    return document


def price_certificate(
    value: int,
    denominator: int,
    memory: NDArray[int64],
    *,
    upper_bound: int | None = None,
    groups: Sequence[WindowGroup] = (),
    group_prices: NDArray[int64] | None = None,
    lookahead: Sequence[PricedRow] = (),
) -> dict[str, Any]:
    """Return the JSON object of the certificate of a bound from prices.

    ``memory`` are numerators of λ, ``group_prices`` of μ, shape (groups, T + 1); ``lookahead`` are
    rows with numerators; ``upper_bound`` is the TEL that limited the starts.  A value of 0 or less
    needs no prices, since no TEL is below 0.
    """
    if value <= 0:
        return certificate_document(Certificate("prices", 0))
    rows = [] if group_prices is None else group_prices.tolist()
    members = (tuple((m.request, m.before, m.after) for m in each.members) for each in groups)
    priced = [
        PricedWindowGroup(group.most, own, tuple(row))
        for group, own, row in zip(groups, members, rows, strict=True)
    ]
    ahead = []
    for each in lookahead:
        own = each.row.share, each.row.rounds, each.row.core
        ahead.append(PricedLookAhead(*own, tuple(each.times), tuple(each.prices)))
    of_prices = tuple(memory.tolist()), tuple(priced), tuple(ahead)
    return certificate_document(Certificate("prices", value, upper_bound, denominator, *of_prices))


def sweep_certificate(
    value: int,
    prices: StatePrices | tuple[NDArray[int64], int],
    multipliers: Sequence[int] = (),
    strict: Sequence[int] | None = None,
) -> dict[str, Any]:
    """Return the JSON object of the certificate of a sweep.

    ``prices`` are on states, or numerators of λ and their denominator; ``strict`` is None where the
    sweep kept dominated bases.
    """
    if isinstance(prices, StatePrices):
        grids = (prices.knots, prices.tokens, prices.left, prices.numerators.ravel())
        states, memory = PricedStates(*(tuple(each.tolist()) for each in grids)), ()
        denominator = prices.denominator
    else:
        states, memory, denominator = None, tuple(prices[0].tolist()), prices[1]
    own: dict[str, Any] = {"denominator": denominator, "memory": memory, "states": states}
    own["strict"] = None if strict is None else tuple(map(int, strict))
    own["multipliers"] = tuple(map(int, multipliers))
    return certificate_document(Certificate("sweep", value, **own))


def parts_certificate(
    parts: Iterable[tuple[Sequence[int], dict[str, Any], Sequence[int]]],
) -> dict[str, Any]:
    """Return the JSON object of the certificate of a sum.

    Each part has the positions of its requests, the certificate of their instance, and a feasible
    schedule, which stays where the certificate assumes one.
    """
    bounds = tuple(
        PartBound(tuple(positions), own, () if own.get("upper_bound") is None else tuple(starts))
        for positions, own, starts in parts
    )
    value = sum(int(each.certificate["value"]) for each in bounds)
    return certificate_document(Certificate("parts", value, parts=bounds))
