"""Merges what stored runs claim into what is known; a worse value never replaces a better one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from formulations.lagrangian.certificate_file import Certificate
from instances import Instance
from kvopt.best_known.claims import Claims, planted_claim, volume_claim
from kvopt.best_known.entry import (
    Certified,
    Construction,
    Entry,
    History,
    Lower,
    Proof,
    Reported,
    SolverReported,
    Step,
    Upper,
    Value,
)
from kvopt.methods.witness import certificate_witness, engine_witness, made_by
from schedules import Schedule
from schedules.evidence import Statement, Verdict, Witness, contradictions, judge


class ContradictionError(Exception):
    """A bound exceeds a checked schedule; the line names both."""


@dataclass(frozen=True)
class Known:
    """An entry with the schedule and the certificate that its files hold."""

    entry: Entry
    schedule: Schedule
    certificate: Certificate

    @property
    def kept_up_to(self) -> int:
        """The bound (rounds) up to which no other bare certificate takes the place of this one."""
        return self.entry.certified.value - (not self.certificate.bare)


def merge(
    instance: Instance,
    file: str,
    old: Known | None,
    claims: Claims,
    planted: Sequence[int] | None = None,
) -> Known | None:
    """Return what is known of an instance now; None while no run has a schedule of it.

    A value is replaced only by a strictly better one, except that a certified bound takes the
    place of an equal one without a certificate, and a bare certificate that of an equal one that
    rests on windows or groups.  ``planted`` are the starts (rounds) that the construction implies.

    Raises
    ------
    ContradictionError
        If any bound, old or new, exceeds the best schedule, old or new.
    """
    found = _upper(old, claims)
    if found is None:
        return None
    first_day = old.entry.history.upper[0].date if old else found[0].date
    if planted is not None:
        claim = planted_claim(instance, planted, found[0].date)
        found = min(found, claim, key=lambda each: each[0].value)
    upper, schedule = found
    bounds = [*claims.certified, volume_claim(instance, first_day)]
    if old is not None:
        # The first of equals is kept.
        bounds.insert(0, (old.entry.certified, old.certificate))
    reported = [*claims.reported]
    if old is not None and isinstance(old.entry.lower, SolverReported):
        reported.insert(0, old.entry.lower)
    proofs = [*(old.entry.proofs if old else ()), *claims.proofs]
    lowers: list[Value] = [*(value for value, _ in bounds), *reported, *proofs]
    refuse_contradictions(instance, upper, lowers)
    certified, certificate = max(bounds, key=lambda bound: (bound[0].value, bound[1].bare))
    lower = lower_of(instance, certified, reported, first_day)
    kept = _proofs(proofs, upper.value, certificate_witness(certificate.kind, certified.value))
    verdict = decide(instance, upper.value, lower.value, kept, (certificate.kind, certified.value))
    before = old.entry.history if old else History((), ())
    entry = Entry(
        instance=instance.name,
        file=file,
        sha256=instance.sha256,
        n=len(instance),
        memory=instance.memory,
        standing=verdict.standing,
        reason=verdict.reason,
        upper=upper,
        lower=lower,
        history=History(_grown(before.upper, upper), _grown(before.lower, lower)),
        proofs=kept,
    )
    return Known(entry, schedule, certificate)


def decide(
    instance: Instance,
    upper: int,
    lower: int,
    proofs: Iterable[Proof],
    certified: tuple[str, int],
) -> Verdict:
    """Decide what is known of the optimum, by the rule of evidence (:mod:`schedules.evidence`).

    The known optimum of an instance of the library follows from its construction.  The reason says
    what an optimum rests on: a certificate that is evaluated here, or what solvers report.

    Parameters
    ----------
    upper, lower
        TEL of the best checked schedule and the best bound, rounds.
    proofs
        Runs of engines that proved ``upper`` optimal.
    certified
        Kind of the best certificate, and what it was evaluated to (rounds).
    """
    engines = [engine_witness(each.method, each.value) for each in proofs]
    found = [*engines, certificate_witness(*certified)]
    return judge(upper, lower, found, construction=instance.known_optimum)


def lower_of(
    instance: Instance, certified: Certified, reported: Iterable[Reported], day: str
) -> Lower:
    """Return the best bound: certified where that reaches the others, else what exceeds it.

    Of equal bounds the construction stands before what solvers report.
    """
    known = instance.known_optimum
    best = max(reported, key=lambda each: each.value, default=None)
    if known is not None and known > certified.value:
        return Construction(value=known, certified=certified, date=day)
    if best is None or best.value <= certified.value:
        return certified
    told = {name: getattr(best, name) for name in Reported.__dataclass_fields__}
    return SolverReported(**told, certified=certified)


def refuse_contradictions(
    instance: Instance, upper: Upper, lowers: Iterable[Value | Construction]
) -> None:
    """Refuse a bound above the best schedule, and either beside the optimum by construction.

    Raises
    ------
    ContradictionError
        If there is one; the greatest bound is named.
    """
    uppers = [
        Statement(upper.value, f"the checked TEL {upper.value} ({upper.method}, {upper.date})")
    ]
    bounds = [
        Statement(each.value, f"lower bound {each.value} ({each.method}, {each.date})")
        for each in lowers
    ]
    if (known := instance.known_optimum) is not None:
        uppers.append(Statement(known, f"the optimum by construction, {known}"))
        bounds.append(uppers[-1])
    for lower, least in contradictions(uppers, bounds)[:1]:
        raise ContradictionError(f"{instance.name}: {lower.by} exceeds {least.by}")


def _upper(old: Known | None, claims: Claims) -> tuple[Upper, Schedule] | None:
    if old is None:
        return claims.upper
    if claims.upper is not None and claims.upper[0].value < old.entry.upper.value:
        return claims.upper
    return old.entry.upper, old.schedule


def _proofs(proofs: Iterable[Proof], upper: int, certificate: Witness) -> tuple[Proof, ...]:
    """Return one proof of the present upper bound for each method, the oldest ones first.

    A proof that the sources of today have made takes the place of a stale one.  What a certificate
    proves by the same argument, evaluated in integers, needs no run.
    """
    kept: dict[str, Proof] = {}
    for proof in proofs:
        same = engine_witness(proof.method, proof.value).argument == certificate.argument
        if same and certificate.value == upper:
            continue
        if proof.value == upper and (proof.method not in kept or is_stale(kept[proof.method])):
            kept[proof.method] = proof
    return tuple(kept.values())


def is_stale(proof: Proof) -> bool:
    """Tell whether what a proof rests on has changed since, or is not known."""
    return proof.made_by != made_by(proof.method)


def _grown(steps: tuple[Step, ...], value: Upper | Lower) -> tuple[Step, ...]:
    """Return the best values by day; what a value of the same or an older day exceeds is none."""
    step = Step(value.value, value.method, value.date)
    before = tuple(each for each in steps if each.date <= step.date)
    if before and before[-1].value == step.value:
        return before
    return (*before, step)
