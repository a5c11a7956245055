"""The file format of lower bounds: reading a certificate, and writing one of each kind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from numpy import int64
from numpy.typing import NDArray
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from formulations.certificates.budget import CertificateError, Count, Counts, Integer, Positive
from formulations.certificates.sweep_tables import PricedStates
from formulations.lagrangian.states import PriceTable
from formulations.valid.groups import WindowGroup

if TYPE_CHECKING:
    from formulations.lagrangian.rows import PricedRow

_CONFIG = ConfigDict(extra="forbid")

#: Keys that an object has at most, as many as there are and some more.
_MOST_KEYS = 30

#: Position of the request in the instance, rounds of its window before its start and after.
Member = tuple[Count, Integer, Integer]


@dataclass(frozen=True, config=_CONFIG)
class PricedGroup:
    """A window group (``formulations.valid.groups``): at most ``most`` windows hold one round.

    ``prices`` are numerators of μ_t for t = 0, 1, ...
    """

    most: Positive
    members: Annotated[tuple[Member, ...], Field(fail_fast=True)]
    prices: Counts


@dataclass(frozen=True, config=_CONFIG)
class PricedLookAhead:
    """A look-ahead row (``formulations.valid.lookahead``) and its price on an M-th of a token.

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
    """A bound on what some requests add to the TEL (``formulations.valid.parts``).

    ``requests`` are their positions in the instance, ``certificate`` that of the instance that they
    are, with its first arrival at 0, and not of parts again; ``starts`` a schedule of that
    instance, where the certificate assumes one.
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
    groups: Annotated[tuple[PricedGroup, ...], Field(fail_fast=True)] = ()
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
    """Raise CertificateError for an object of many keys: a validation would note each of them."""
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
    """Return one line on the first thing that is wrong, and where."""
    first = error.errors(include_url=False, include_context=False)[0]
    where = ".".join(str(step) for step in first["loc"])
    return f"{where}: {first['msg']}" if where else first["msg"]


def certificate_document(certificate: Certificate) -> dict[str, Any]:
    """Return the JSON object of a certificate, with what is not set left out."""
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

    ``memory`` are numerators of λ, ``group_prices`` those of μ, shape (groups, T + 1), and
    ``lookahead`` rows with numerators of their prices; ``upper_bound`` is the TEL that limited the
    starts.  A value of 0 or less needs no prices, since no TEL is below 0.
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
    ahead = tuple(
        PricedLookAhead(
            *(each.row.share, each.row.rounds, each.row.core, tuple(each.times), tuple(each.prices))
        )
        for each in lookahead
    )
    own = tuple(memory.tolist())
    return certificate_document(
        Certificate("prices", value, upper_bound, denominator, own, priced, ahead)
    )


def sweep_certificate(
    value: int,
    prices: PriceTable | tuple[NDArray[int64], int],
    multipliers: Sequence[int] = (),
    strict: Sequence[int] | None = None,
) -> dict[str, Any]:
    """Return the JSON object of the certificate of a sweep.

    ``prices`` are those on states, or numerators of λ and their denominator; ``strict`` is None
    where no dominated bases were dropped.
    """
    if isinstance(prices, PriceTable):
        grids = (prices.knots, prices.tokens, prices.left, prices.numerators.ravel())
        states, memory = PricedStates(*(tuple(each.tolist()) for each in grids)), ()
        denominator = prices.denominator
    else:
        states, memory, denominator = None, tuple(prices[0].tolist()), prices[1]
    return certificate_document(
        Certificate(
            "sweep",
            value,
            denominator=denominator,
            memory=memory,
            states=states,
            multipliers=tuple(int(each) for each in multipliers),
            strict=None if strict is None else tuple(int(each) for each in strict),
        )
    )


def parts_certificate(
    parts: Iterable[tuple[Sequence[int], dict[str, Any], Sequence[int]]],
) -> dict[str, Any]:
    """Return the JSON object of the certificate of a sum.

    Of each part the positions of its requests, the certificate of the instance that they are, and a
    feasible schedule of it, which is kept where the certificate assumes one.
    """
    bounds = tuple(
        PartBound(
            tuple(positions),
            certificate,
            () if certificate.get("upper_bound") is None else tuple(starts),
        )
        for positions, certificate, starts in parts
    )
    value = sum(int(each.certificate["value"]) for each in bounds)
    return certificate_document(Certificate("parts", value, parts=bounds))
