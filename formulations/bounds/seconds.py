"""Total latency in seconds: work and memory priced over time, requests that share rounds (ours)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from formulations.bounds.kind import ComputedBound
from formulations.valid.loads import alone_bound, not_covered, work_bound
from instances import Instance
from instances.batch_time import DEFAULT, BatchTime, read_batch_time

if TYPE_CHECKING:
    from formulations.bounds.outcome import Bound, Reporter
    from formulations.lagrangian.rates import RateCertificate


class SecondsBound(NamedTuple):
    """A lower bound on the total latency in real time.

    Attributes
    ----------
    value
        The best bound (nanoseconds).
    certificate
        What proves it: the JSON object of a ``formulations.lagrangian.rates.RateCertificate``.
    sources
        The bound of every source (nanoseconds): ``alone``, ``work`` and, where found, ``rates``.
    not_covered
        One line on the schedules that it does not hold for under this batch time, or nothing.
    """

    value: int
    certificate: dict[str, Any]
    sources: dict[str, int]
    not_covered: str


def bound_in_seconds(
    instance: Instance,
    batch_time: BatchTime,
    deadline: float,
    report: Reporter | None = None,
) -> SecondsBound:
    """Return the best certified bound by the deadline; report every improvement on the way.

    Proofs: :func:`formulations.valid.loads.alone_bound` and
    :func:`~formulations.valid.loads.work_bound` (which take no deadline: n log n steps), and
    :mod:`formulations.lagrangian.rates` for prices.  The value is what
    :func:`formulations.lagrangian.rates.evaluate_rates` makes of the certificate.

    Parameters
    ----------
    deadline
        On the clock of ``time.monotonic``, seconds.

    Raises
    ------
    ValueError
        If the arrivals of the instance are in rounds.
    """
    from formulations.bounds.rates import best_rates  # loads NumPy
    from formulations.lagrangian.rates import RateCertificate, rate_certificate_document

    if instance.time_unit != "second":
        raise ValueError(
            f"bound-seconds: expected arrivals in seconds, found rounds in {instance.name!r}"
        )
    sources: dict[str, int] = {}
    best = RateCertificate("alone", 0, batch_time.name)

    def take(certificate: RateCertificate) -> None:
        nonlocal best
        sources[certificate.kind] = max(certificate.value, sources.get(certificate.kind, 0))
        if certificate.value > best.value:
            best = certificate
            if report is not None:
                report.bound(value=certificate.value, source=certificate.kind)

    take(RateCertificate("alone", alone_bound(instance, batch_time), batch_time.name))
    take(RateCertificate("work", work_bound(instance, batch_time), batch_time.name))
    for certificate in best_rates(instance, batch_time, deadline):
        take(certificate)
    return SecondsBound(
        best.value,
        rate_certificate_document(best),
        sources,
        not_covered(instance, batch_time),
    )


def compute_bound(
    instance: Instance,
    *,
    deadline: float,
    report: Reporter,
    batch_time: BatchTime | None = None,
    **options: Any,
) -> Bound:
    """Return :func:`bound_in_seconds`, of the default batch time where none is given."""
    from formulations.bounds.outcome import Bound  # loads NumPy

    del options
    model = read_batch_time(DEFAULT) if batch_time is None else batch_time
    found = bound_in_seconds(instance, model, deadline, report)
    return Bound(
        found.value, prices=None, expected_starts=None, objective=None, rates=found.certificate
    )


FORMULATION = ComputedBound(name="bound-seconds", compute=compute_bound, time_unit="second")
