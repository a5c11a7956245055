"""The record of one instance: its entry, schedule and certificate, read, proved, merged, judged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from formulations.certificates.budget import CertificateError
from formulations.certificates.certificate import evaluate
from formulations.certificates.certificate_file import Certificate
from instances import Instance
from instances.named import FOLDER
from kvopt.best_known.claims import Claims, planted_claim, volume_claim
from kvopt.best_known.entry import (
    NO_METHODS,
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
    today,
)
from kvopt.best_known.files import (
    RegistryError,
    certificate_path,
    format_certificate,
    format_schedule,
    proof_file,
    read_certificate_file,
    schedule_path,
)
from kvopt.best_known.library import LibraryInstance
from kvopt.methods.grammar import MethodError
from kvopt.methods.witness import (
    certificate_witness,
    engine_witness,
    made_by,
    recorded_method,
    word_counts,
)
from schedules import Schedule, check_schedule
from schedules.evidence import CONSTRUCTION, Statement, Verdict, Witness, contradictions, judge
from schedules.files import read_schedule
from support.jsonfile import FileError, holds


class ContradictionError(Exception):
    """A bound exceeds a checked schedule; the line names both."""


class DamagedError(ValueError):
    """A file of the registry does not hold what its entry says; the message is one line."""


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

    @property
    def proved(self) -> tuple[Certificate, Certified, int]:
        """Return the inputs of an evaluation of the certificate."""
        return self.certificate, self.entry.certified, self.entry.upper.value

    def texts(self, instance: Instance) -> dict[str, str]:
        """Return the texts of both files, by their paths below ``best_known/``."""
        starts, upper = self.schedule.starts, self.entry.upper
        return {
            schedule_path(instance.name): format_schedule(instance, starts, upper),
            certificate_path(instance.name): format_certificate(instance, self.certificate),
        }

    def faults(self, found: LibraryInstance, folder: Path) -> Iterator[str]:
        """Yield one line for everything that is wrong with the entry; both files are proved."""
        instance, about = found.instance, self.entry.instance
        for path, text in self.texts(instance).items():
            file = proof_file(folder, path)
            # So what a schedule's file tells of its run is what the entry tells of it.
            if not holds(file, text):
                yield f"{about}: {file}: not what is written of its entry"
        gone = list(_proof_faults(self.entry))
        for line in (
            *self._fact_faults(found),
            *_name_faults(self.entry),
            # Without its model a proof cannot be judged by the rule.
            *(gone or self._rule_faults(instance)),
            *_history_faults(self.entry),
        ):
            yield f"{about}: {line}"

    def _fact_faults(self, found: LibraryInstance) -> Iterator[str]:
        """Yield what excludes the instance, its construction, or the entry's other bound."""
        entry, instance = self.entry, found.instance
        lower, optimum = entry.lower, instance.known_optimum
        facts = (instance.name, found.file, len(instance), instance.memory)
        told = (entry.instance, entry.file, entry.n, entry.memory)
        if facts != told:
            yield f"the entry says {told}, the library {facts}"
        if wrong := contradiction(instance, entry.upper, [lower]):
            yield wrong
        if isinstance(lower, SolverReported) and not word_counts(lower.method):
            yield f"{lower.method} is no solver of the project: it reports no bound"
        if isinstance(lower, Construction) and lower.value != optimum:
            yield f"{lower.value} by construction, the instance says {optimum}"
        if optimum is not None and lower.value < optimum:
            yield f"the bound is below the optimum by construction, {optimum}"
        planted = CONSTRUCTION in (entry.upper.method, entry.upper.found_by)
        if planted and found.planted != tuple(self.schedule.starts):
            yield "the schedule is not that of the construction"

    def _rule_faults(self, instance: Instance) -> Iterator[str]:
        """Yield one line if the optimum is claimed otherwise than the rule says."""
        entry, proved = self.entry, (self.certificate.kind, self.certificate.value)
        rule = decide(instance, entry.upper.value, entry.lower.value, entry.proofs, proved)
        if (entry.standing, entry.reason) != (rule.standing, rule.reason):
            told = f"{entry.standing} ({entry.reason})"
            yield f"{told}, the rule says {rule.standing} ({rule.reason})"


def _name_faults(entry: Entry) -> Iterator[str]:
    """Yield methods that there are not, or are written otherwise, and days that are yet to come."""
    steps = (*entry.history.upper, *entry.history.lower)
    values = (entry.upper, entry.lower, entry.certified, *entry.proofs, *steps)
    for text in sorted({each.method for each in values}.difference(NO_METHODS)):
        try:
            if (read := recorded_method(text)).text != text:
                yield f"{text}: expected the method as {read.text}"
        except MethodError as error:
            yield f"{text}: {error}"
    for day in sorted({each.date for each in values if each.date > today()}):
        yield f"{day}: expected a past day, today is {today()} (UTC)"


def _proof_faults(entry: Entry) -> Iterator[str]:
    """Yield what is wrong with the runs that are said to have proved the optimum."""
    methods = [proof.method for proof in entry.proofs]
    if len(set(methods)) < len(methods):
        yield f"expected one proof a method, found {', '.join(methods)}"
    for proof in entry.proofs:
        try:
            engine_witness(proof.method, proof.value)
        except (MethodError, KeyError) as error:
            yield f"proof: {error}"
            return
        if proof.value != entry.upper.value:
            yield f"proof of {proof.method}: {proof.value}, expected {entry.upper.value}"


def _history_faults(entry: Entry) -> Iterator[str]:
    upper, lower, history = entry.upper, entry.lower, entry.history
    if history.upper[-1:] != (Step(upper.value, upper.method, upper.date),):
        yield f"the upper history does not end with {upper.value}, as the entry has it"
    if not history.lower or history.lower[-1].value != lower.value:
        yield f"the lower history does not end with {lower.value}"
    # A certificate takes the place of an equal bound, and its day is that of the value.
    elif history.lower[-1].date > lower.date:
        yield f"the lower history ends after {lower.date}"
    for side, steps, sign in (("upper", history.upper, -1), ("lower", history.lower, 1)):
        for before, after in pairwise(steps):
            if sign * (after.value - before.value) <= 0 or after.date < before.date:
                yield f"the {side} history does not improve at every step"


def read_known(
    entry: Entry, found: LibraryInstance, folder: Path = FOLDER, before: Known | None = None
) -> Known:
    """Read the schedule and the certificate of an entry and prove both values anew.

    The same bound by the same certificate as ``before`` is not evaluated again.

    Raises
    ------
    DamagedError
        If a file is missing or damaged, or does not prove its value.
    """
    instance, path = found.instance, folder
    try:
        path = proof_file(folder, schedule_path(instance.name))
        schedule = read_schedule(path)
        if fault := _schedule_fault(entry, instance, schedule):
            raise DamagedError(f"{entry.instance}: {path}: {fault}")
        path = proof_file(folder, certificate_path(instance.name))
        known = Known(entry, schedule, read_certificate_file(path, instance))
        if (before and before.proved) != known.proved:
            _evaluate(instance, known)
    except (FileError, RegistryError) as error:
        raise DamagedError(f"{entry.instance}: {error}") from None
    except CertificateError as error:
        raise DamagedError(f"{entry.instance}: {path}: {error}") from None
    return known


def _schedule_fault(entry: Entry, instance: Instance, schedule: Schedule) -> str:
    verdict = check_schedule(instance, schedule)
    if not verdict.valid:
        return str(verdict)
    if schedule.attempts or schedule.kept or schedule.engine_accounting:
        return "expected starts alone, found attempts"
    same = schedule.tel == entry.upper.value
    return "" if same else f"TEL {schedule.tel}, the entry says {entry.upper.value}"


def _evaluate(instance: Instance, known: Known) -> None:
    """Evaluate a certificate, which must be of the kind and of the value that the entry states."""
    certificate, claimed, tel = known.proved
    if certificate.upper_bound is not None and certificate.upper_bound < tel:
        raise CertificateError(
            f"it assumes a TEL of {certificate.upper_bound}, no schedule below {tel} is known"
        )
    if certificate.kind != claimed.certificate:
        raise CertificateError(
            f"it is of the kind {certificate.kind}, the entry says {claimed.certificate}"
        )
    value = evaluate(instance, certificate)
    if value < claimed.value or certificate.value != claimed.value:
        raise CertificateError(
            f"it proves {value} and states {certificate.value}, the entry says {claimed.value}"
        )


def merge(
    instance: Instance,
    file: str,
    old: Known | None,
    claims: Claims,
    planted: Sequence[int] | None = None,
) -> Known | None:
    """Return what is known of an instance now; None while no run has a schedule of it.

    A value is replaced by a better one, a bound also by an equal one with a certificate, or with a
    barer one.  ``planted`` are the starts (rounds) that the construction implies.

    Raises
    ------
    ContradictionError
        If any bound, old or new, exceeds the best schedule, old or new.
    """
    before = old.entry if old else None
    # Of equals the first is kept.
    uppers = [*([(old.entry.upper, old.schedule)] if old else []), *filter(None, [claims.upper])]
    if not uppers:
        return None
    first_day = before.history.upper[0].date if before else uppers[0][0].date
    if planted is not None:
        day = min(uppers, key=lambda each: each[0].value)[0].date
        uppers.append(planted_claim(instance, planted, day))
    upper, schedule = min(uppers, key=lambda each: each[0].value)
    bounds = [*([(old.entry.certified, old.certificate)] if old else []), *claims.certified]
    bounds.append(volume_claim(instance, first_day))
    reported: list[Reported] = [*claims.reported]
    if before and isinstance(before.lower, SolverReported):
        reported.insert(0, before.lower)
    proofs = [*(before.proofs if before else ()), *claims.proofs]
    lowers: list[Value] = [*(value for value, _ in bounds), *reported, *proofs]
    if wrong := contradiction(instance, upper, lowers):
        raise ContradictionError(f"{instance.name}: {wrong}")
    certified, certificate = max(bounds, key=lambda bound: (bound[0].value, bound[1].bare))
    lower = _lower(instance, certified, reported, first_day)
    kept = _proofs(proofs, upper.value, certificate_witness(certificate.kind, certified.value))
    verdict = decide(instance, upper.value, lower.value, kept, (certificate.kind, certified.value))
    history = before.history if before else History((), ())
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
        history=History(_grown(history.upper, upper), _grown(history.lower, lower)),
        proofs=kept,
    )
    return Known(entry, schedule, certificate)


def decide(
    instance: Instance, upper: int, lower: int, proofs: Iterable[Proof], certified: tuple[str, int]
) -> Verdict:
    """Decide what is known of the optimum, by the rule of evidence (:mod:`schedules.evidence`).

    It has the best TEL and bound (rounds), the runs of engines that proved ``upper`` optimal, and
    kind and value of the best certificate.
    """
    engines = [engine_witness(each.method, each.value) for each in proofs]
    found = [*engines, certificate_witness(*certified)]
    return judge(upper, lower, found, construction=instance.known_optimum)


def contradiction(instance: Instance, upper: Upper, lowers: Iterable[Value | Construction]) -> str:
    """Return one line on the greatest bound above the schedule or the optimum by construction."""
    by = f"the checked TEL {upper.value} ({upper.method}, {upper.date})"
    uppers = [Statement(upper.value, by)]
    bounds = [
        Statement(each.value, f"lower bound {each.value} ({each.method}, {each.date})")
        for each in lowers
    ]
    if (known := instance.known_optimum) is not None:
        uppers.append(Statement(known, f"the optimum by construction, {known}"))
        bounds.append(uppers[-1])
    wrong = contradictions(uppers, bounds)
    return f"{wrong[0].lower.by} exceeds {wrong[0].upper.by}" if wrong else ""


def is_stale(proof: Proof) -> bool:
    """Tell whether what a proof rests on has changed since, or is not known."""
    return proof.made_by != made_by(proof.method)


def _lower(
    instance: Instance, certified: Certified, reported: Iterable[Reported], day: str
) -> Lower:
    """Return the best bound: certified, else by construction, else what a solver reports."""
    known = instance.known_optimum
    best = max(reported, key=lambda each: each.value, default=None)
    if known is not None and known > certified.value:
        return Construction(value=known, certified=certified, date=day)
    if best is None or best.value <= certified.value:
        return certified
    told = {name: getattr(best, name) for name in Reported.__dataclass_fields__}
    return SolverReported(**told, certified=certified)


def _proofs(proofs: Iterable[Proof], upper: int, certificate: Witness) -> tuple[Proof, ...]:
    """Return one proof of the upper bound for each method, in the place of a stale one.

    What a certificate proves by the same argument needs no run.
    """
    kept: dict[str, Proof] = {}
    for proof in proofs:
        same = engine_witness(proof.method, proof.value).argument == certificate.argument
        if same and certificate.value == upper:
            continue
        if proof.value == upper and (proof.method not in kept or is_stale(kept[proof.method])):
            kept[proof.method] = proof
    return tuple(kept.values())


def _grown(steps: tuple[Step, ...], value: Upper | Lower) -> tuple[Step, ...]:
    """Return the best values by day; what a value of the same or an older day exceeds is none."""
    before = tuple(each for each in steps if each.date <= value.date)
    if before and before[-1].value == value.value:
        return before
    return (*before, Step(value.value, value.method, value.date))
