"""Merges what stored runs claim into what is known; a worse value never replaces a better one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from formulations.lagrangian.certificate_file import Certificate
from instances import Instance
from kvopt.best_known.claims import Claims, own_claims, planted_claim
from kvopt.best_known.entry import Entry, History, Step, Value
from kvopt.best_known.rule import decide
from schedules import Schedule
from schedules.evidence import Statement, contradictions

Bound = tuple[Value, Certificate | None]


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
        return (self.entry.certified or self.entry.lower).value - (not self.certificate.bare)


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
    upper = _upper(old, claims)
    if upper is None:
        return None
    bounds = [*claims.lower, *own_claims(instance, _first_day(old, upper[0]))]
    if planted is not None:
        claim = planted_claim(instance, planted, upper[0].date)
        upper = min(upper, claim, key=lambda each: each[0].value)
    refuse_contradictions(
        instance,
        upper[0],
        [
            *(value for value, _ in bounds),
            *claims.proofs,
            *([old.entry.lower, *old.entry.proofs] if old else []),
        ],
    )
    certified = _certified(old, bounds)
    lower = _lower(old, bounds, certified[0])
    proofs = _proofs(old, claims.proofs, upper[0].value)
    proved = certified[1].kind, certified[0].value
    verdict = decide(instance, upper[0].value, lower.value, proofs, proved)
    before = old.entry.history if old else History((), ())
    entry = Entry(
        instance=instance.name,
        file=file,
        sha256=instance.sha256,
        n=len(instance),
        memory=instance.memory,
        opt=verdict.opt,
        reason=verdict.reason,
        upper=upper[0],
        lower=lower,
        certified=None if lower == certified[0] else certified[0],
        proofs=proofs,
        history=History(_grown(before.upper, upper[0]), _grown(before.lower, lower)),
    )
    return Known(entry, upper[1], certified[1])


def refuse_contradictions(instance: Instance, upper: Value, lowers: Iterable[Value]) -> None:
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
        Statement(
            each.value, f"lower bound {each.value} ({each.method}, {each.source}, {each.date})"
        )
        for each in lowers
    ]
    if (known := instance.known_optimum) is not None:
        uppers.append(Statement(known, f"the optimum by construction, {known}"))
        bounds.append(uppers[-1])
    for lower, least in contradictions(uppers, bounds)[:1]:
        raise ContradictionError(f"{instance.name}: {lower.by} exceeds {least.by}")


def _upper(old: Known | None, claims: Claims) -> tuple[Value, Schedule] | None:
    if old is None:
        return claims.upper
    if claims.upper is not None and claims.upper[0].value < old.entry.upper.value:
        return claims.upper
    return old.entry.upper, old.schedule


def _certified(old: Known | None, bounds: Sequence[Bound]) -> tuple[Value, Certificate]:
    """Return the best bound with a certificate; the volume bound always is one."""
    offered = [(value, proof) for value, proof in bounds if proof is not None]
    if old is not None:
        offered.insert(0, (old.entry.certified or old.entry.lower, old.certificate))
    # `max` keeps the first of equals, so that the old one stays.
    return max(offered, key=lambda bound: (bound[0].value, bound[1].bare))


def _lower(old: Known | None, bounds: Sequence[Bound], certified: Value) -> Value:
    claimed = [value for value, proof in bounds if proof is None]
    if old is not None and old.entry.lower.certificate is None:
        claimed.insert(0, old.entry.lower)
    return max([certified, *claimed], key=lambda value: value.value)


def _proofs(old: Known | None, new: Sequence[Value], upper: int) -> tuple[Value, ...]:
    """Return one proof of the present upper bound for each method, the oldest ones first."""
    kept = {proof.method: proof for proof in (old.entry.proofs if old else ())}
    for proof in new:
        if proof.value == upper:
            kept.setdefault(proof.method, proof)
    return tuple(kept.values())


def _grown(steps: tuple[Step, ...], value: Value) -> tuple[Step, ...]:
    if steps and steps[-1].value == value.value:
        return steps
    return (*steps, Step(value.value, value.method, value.date))


def _first_day(old: Known | None, upper: Value) -> str:
    """Return the day under which bounds that need no run are entered, the same in every rebuild."""
    return old.entry.history.upper[0].date if old else upper.date
