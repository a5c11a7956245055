"""Evaluation of certificates of lower bounds in integers; ``certificate_file`` has the format.

    volumes   the area bound or the parallel-machine bound                    (P3, valid.volumes)
    prices    Σ_i least priced cost of a start − the worth of all priced rows (P1 and P14, prices)
    sweep     no path through the levels of states stays below the value      (P4 and P5, sweep)
    parts     the sum of what is proved of disjoint sets of requests          (P8, here)

P1 to P14 are pages of docs/proofs; that of sums is docs/proofs/parts.md (P8).

The evaluation proves the bound anew, in exact arithmetic.  With the search for prices it shares
``formulations.valid``, which holds for any prices, and the proof of where 64 bits are exact.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from formulations.certificates.certificate_file import Certificate, PartBound, read_certificate
from formulations.certificates.price_evaluation import (
    check_group,
    check_row,
    least_costs,
    measured,
    worth_of,
)
from formulations.certificates.reader_budget import CertificateError, ReaderBudget, TooLongError
from formulations.certificates.sweep_evaluation import prove_sweep
from formulations.certificates.sweep_size import SearchedSweep, take_sweep
from formulations.certificates.sweep_tables import BackwardError
from formulations.valid.idle_gaps import part_of
from formulations.valid.volume_bounds import volume_bound
from formulations.valid.windows import start_windows
from instances import Instance
from schedules import check_schedule, make_schedule


def evaluate_certificate(
    instance: Instance, certificate: Certificate, budget: ReaderBudget | None = None
) -> int:
    """Return the lower bound on the TEL (rounds) that a certificate proves, exactly.

    An ``upper_bound`` U limits starts to the windows of U; the caller must know a schedule with a
    TEL of at most U.  The parts of one certificate share a ``budget``.  Raises CertificateError
    where it proves nothing, TooLongError where it takes more steps or numbers than its length pays
    for.
    """
    budget = budget or ReaderBudget(len(instance), certificate)
    if instance.time_unit != "round":
        raise CertificateError("expected an instance with arrivals in rounds")
    if (certificate.kind == "parts") != bool(certificate.parts):
        raise CertificateError("parts: expected with the kind parts, and only there")
    if certificate.kind == "parts":
        return _evaluate_parts(instance, certificate, budget)
    if certificate.strict is not None and certificate.kind != "sweep":
        raise CertificateError("strict: expected with the kind sweep only")
    if certificate.kind == "volumes":
        return volume_bound(instance)
    if certificate.kind == "sweep":
        return _evaluate_sweep(instance, certificate, budget)
    return _evaluate_prices(instance, certificate, budget)


def _evaluate_prices(instance: Instance, certificate: Certificate, budget: ReaderBudget) -> int:
    if certificate.multipliers:
        raise CertificateError("multipliers: expected with the kind sweep only")
    if certificate.states is not None:
        raise CertificateError("states: expected with the kind sweep only")
    for number, group in enumerate(certificate.groups):
        check_group(instance, number, group)
    for number, row in enumerate(certificate.lookahead):
        check_row(instance, number, row)
    latest = _latest(instance, certificate)
    total = least_costs(instance, certificate, latest, budget) - worth_of(instance, certificate)
    return -(-total // certificate.denominator)


def _latest(instance: Instance, certificate: Certificate) -> Sequence[int] | None:
    """Return the last start of each request; None where every start is allowed."""
    upper_bound = certificate.upper_bound
    return None if upper_bound is None else start_windows(instance, upper_bound).latest


def _evaluate_sweep(instance: Instance, certificate: Certificate, budget: ReaderBudget) -> int:
    if not certificate.bare or (certificate.memory and certificate.states is not None):
        raise CertificateError("sweep: expected prices on memory or on states, and nothing else")
    own = certificate
    prices = own.value, own.denominator, own.memory, own.states
    try:
        prove_sweep(instance, *prices, own.multipliers, own.strict, budget)
    except BackwardError as error:
        raise CertificateError(f"sweep: {error}") from None
    return certificate.value


def _evaluate_parts(instance: Instance, certificate: Certificate, budget: ReaderBudget) -> int:
    positions = [i for each in certificate.parts for i in each.requests]
    if len(set(positions)) < len(positions) or max(positions) >= len(instance):
        raise CertificateError("parts: expected different requests of the instance")
    if not certificate.bare or certificate.memory or certificate.states or certificate.multipliers:
        raise CertificateError("parts: expected no prices but those of the parts")
    return sum(
        _evaluate_part(instance, number, each, budget)
        for number, each in enumerate(certificate.parts)
    )


def _evaluate_part(instance: Instance, number: int, bound: PartBound, budget: ReaderBudget) -> int:
    """Return the bound of a part; a schedule that it assumes must be there."""
    part = part_of(instance, bound.requests).instance
    try:
        own = read_certificate(bound.certificate)
        if own.kind == "parts":
            raise CertificateError("expected no parts of a part")
        if own.upper_bound is not None:
            schedule = make_schedule(part, list(bound.starts), "assumed")
            if not check_schedule(part, schedule).valid or schedule.tel > own.upper_bound:
                raise CertificateError(f"expected starts of a TEL of {own.upper_bound} or less")
        return max(0, evaluate_certificate(part, own, budget))
    except TooLongError as error:
        raise TooLongError(f"part {number}: {error}") from None
    except ValueError as error:
        raise CertificateError(f"part {number}: {' '.join(str(error).split())}") from None


def refusal_of_length(
    instance: Instance, document: Mapping[str, Any], swept: SearchedSweep | None = None
) -> str | None:
    """Return why :func:`evaluate_certificate` refuses prices or a sweep for their size; else None.

    ``swept`` has a search's knowledge of its sweep; without it prices alone prove the value.  A
    search has compiled kernels, and may take more steps than a reader.
    """
    certificate, budget = read_certificate(document), ReaderBudget(len(instance), document)
    try:
        if certificate.kind == "sweep":
            take_sweep(instance, certificate, swept, budget)
        else:
            measured(instance, certificate, _latest(instance, certificate), budget)
    except TooLongError as error:
        return str(error)
    return None


def shrink_certificate(instance: Instance, certificate: Certificate) -> Certificate:
    """Return a certificate of the same bound with a smaller denominator, so with shorter numbers.

    It drops the zeros at the end of prices.  Sweeps and parts stay.
    """
    if certificate.kind != "prices":
        return certificate
    bits = certificate.denominator.bit_length()
    for exponent in range(2, bits, 2):
        smaller = _rounded(certificate, 1 << exponent)
        if evaluate_certificate(instance, smaller) >= certificate.value:
            return smaller
    return _rounded(certificate, certificate.denominator)


def _rounded(certificate: Certificate, denominator: int) -> Certificate:
    old = certificate.denominator

    def scaled(prices: Sequence[int], cut: bool = True) -> tuple[int, ...]:
        rounded = [(2 * price * denominator + old) // (2 * old) for price in prices]
        while cut and rounded and not rounded[-1]:
            rounded.pop()
        return tuple(rounded)

    groups = (replace(group, prices=scaled(group.prices)) for group in certificate.groups)
    return replace(
        certificate,
        denominator=denominator,
        memory=scaled(certificate.memory),
        groups=tuple(group for group in groups if group.prices),
        lookahead=tuple(
            replace(row, prices=scaled(row.prices, cut=False)) for row in certificate.lookahead
        ),
    )
