"""The record of one instance: its entry, schedule and certificate, read, proved, merged, judged."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from pathlib import Path

from formulations.certificates.certificate_evaluation import evaluate_certificate
from formulations.certificates.certificate_file import Certificate
from formulations.certificates.reader_budget import CertificateError
from instances import Instance
from instances.instance_names import FOLDER
from kvopt.best_known.claims import Claims, planted_claim, volume_claim
from kvopt.best_known.library_and_ladder import LibraryInstance
from kvopt.best_known.registry_entry import (
    NO_METHODS,
    CertifiedBound,
    ConstructedOptimum,
    EntryValue,
    History,
    HistoryStep,
    Lower,
    OptimumProof,
    RegistryEntry,
    ReportedBound,
    SolverReportedBound,
    UpperValue,
    today,
)
from kvopt.best_known.registry_files import (
    RegistryError,
    certificate_path,
    format_certificate,
    proof_file,
    read_certificate_file,
    schedule_of,
    schedule_path,
)
from kvopt.methods.grammar import MethodError
from kvopt.methods.witness import (
    certificate_witness,
    engine_witness,
    made_by,
    recorded_method,
    trusts_solver,
)
from schedules import Schedule, check_schedule
from schedules.evidence import (
    CONSTRUCTION,
    BoundStatement,
    OptimumVerdict,
    Witness,
    contradictions,
    judge,
)
from schedules.schedule_files import SCHEMA, parse_schedule, schedule_document
from support.input_files import LARGEST_PROOF
from support.json_files import FileError, file_holds, read_object
from support.message_text import one_line

#: Characters of a value in a message.
_LONGEST = 150


class ContradictionError(Exception):
    """A bound exceeds a checked schedule; the line names both."""


class DamagedError(ValueError):
    """A file of the registry does not hold what its entry says; the message is one line."""


@dataclass(frozen=True)
class ProvedEntry:
    """An entry with the schedule and the certificate that its files hold."""

    entry: RegistryEntry
    schedule: Schedule
    certificate: Certificate

    @property
    def kept_up_to(self) -> int:
        """Bound (rounds) up to which no other bare certificate replaces this one."""
        return self.entry.certified.value - (not self.certificate.bare)

    @property
    def proved(self) -> tuple[Certificate, CertifiedBound, int]:
        """Return the inputs of an evaluation of the certificate."""
        return self.certificate, self.entry.certified, self.entry.upper.value

    def texts(self, instance: Instance) -> dict[str, str]:
        """Return the texts of both files, by their paths below ``best_known/``."""
        schedule = schedule_of(instance, self.schedule.starts, self.entry.upper)
        return {
            schedule_path(instance.name): json.dumps(schedule_document(schedule)) + "\n",
            certificate_path(instance.name): format_certificate(instance, self.certificate),
        }

    def faults(self, found: LibraryInstance, folder: Path) -> Iterator[str]:
        """Yield one line for everything that is wrong with the entry and its files."""
        about = self.entry.instance
        for path, text in self.texts(found.instance).items():
            file = proof_file(folder, path)
            if not file_holds(file, text):
                yield f"{about}: {file}: not what is written of its entry"
        for line in (*self._merge_faults(found), *_name_faults(self.entry)):
            yield f"{about}: {line}"

    def _merge_faults(self, found: LibraryInstance) -> Iterator[str]:
        """Yield each field that a merge of the entry with nothing else would change."""
        entry, upper = self.entry, self.entry.upper
        try:
            merged = merge(found.instance, found.file, self, Claims(), found.planted)
        except (ContradictionError, MethodError, KeyError) as error:
            yield str(error).removeprefix(f"{entry.instance}: ")
            return
        assert merged is not None
        for field in fields(entry):
            found_value, expected = getattr(entry, field.name), getattr(merged.entry, field.name)
            if found_value != expected:
                texts = [one_line(each, _LONGEST) for each in (expected, found_value)]
                yield f"{field.name}: expected {texts[0]}, found {texts[1]}"
        if isinstance(entry.lower, SolverReportedBound) and not trusts_solver(entry.lower.method):
            yield f"{entry.lower.method} is no solver of the project: it reports no bound"
        planted = CONSTRUCTION in (upper.method, upper.found_by)
        if planted and found.planted != tuple(self.schedule.starts):
            yield "the schedule is not that of the construction"
        if entry.history.upper[-1:] != (HistoryStep(upper.value, upper.method, upper.date),):
            yield f"the upper history does not end with {upper.value}, as the entry has it"
        for side, sign in (("upper", -1), ("lower", 1)):
            for before, after in pairwise(getattr(entry.history, side)):
                if sign * (after.value - before.value) <= 0 or after.date < before.date:
                    yield f"the {side} history does not improve at every step"


def _name_faults(entry: RegistryEntry) -> Iterator[str]:
    """Yield unknown methods, other spellings of methods, and days of the future."""
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


def read_known(
    entry: RegistryEntry,
    found: LibraryInstance,
    folder: Path = FOLDER,
    before: ProvedEntry | None = None,
) -> ProvedEntry:
    """Prove an entry's values from its files, unless ``before`` has, or raise a DamagedError."""
    instance = found.instance
    try:
        path = proof_file(folder, schedule_path(instance.name))
        schedule = parse_schedule(read_object(path, SCHEMA, LARGEST_PROOF))
        verdict, tel = check_schedule(instance, schedule), schedule.tel
        more = schedule.attempts or schedule.kept or schedule.engine_accounting
        if not verdict.valid or more or tel != entry.upper.value:
            fault = f"expected starts alone and TEL {entry.upper.value}, found TEL {tel}"
            raise DamagedError(f"{entry.instance}: {path}: {fault if verdict.valid else verdict}")
        path = proof_file(folder, certificate_path(instance.name))
        known = ProvedEntry(entry, schedule, read_certificate_file(path, instance))
        if (before and before.proved) != known.proved:
            _evaluate(instance, known)
    except RegistryError as error:
        raise DamagedError(f"{entry.instance}: {error}") from None
    except (CertificateError, FileError) as error:
        raise DamagedError(f"{entry.instance}: {path}: {error}") from None
    return known


def _evaluate(instance: Instance, known: ProvedEntry) -> None:
    """Evaluate a certificate, whose kind and value the entry must state."""
    certificate, claimed, tel = known.proved
    if certificate.upper_bound is not None and certificate.upper_bound < tel:
        raise CertificateError(
            f"it assumes a TEL of {certificate.upper_bound}, no schedule below {tel} is known"
        )
    if certificate.kind != claimed.certificate:
        raise CertificateError(
            f"it is of the kind {certificate.kind}, the entry says {claimed.certificate}"
        )
    value = evaluate_certificate(instance, certificate)
    if value < claimed.value or certificate.value != claimed.value:
        raise CertificateError(
            f"it proves {value} and states {certificate.value}, the entry says {claimed.value}"
        )


def merge(
    instance: Instance,
    file: str,
    old: ProvedEntry | None,
    claims: Claims,
    planted: Sequence[int] | None = None,
) -> ProvedEntry | None:
    """Return the new record of an instance; None while no run has a schedule of it.

    A better value replaces a value; an equal bound with a certificate, or a barer one, replaces a
    bound.  ``planted`` are the starts (rounds) that the construction implies.  Raises a
    ContradictionError if any bound, old or new, exceeds the best schedule, old or new.
    """
    before = old.entry if old else None
    uppers = [(old.entry.upper, old.schedule)] if old else []
    uppers += [claims.upper] if claims.upper else []
    if not uppers:
        return None
    if planted is not None:
        day = min(uppers, key=lambda each: each[0].value)[0].date
        uppers.append(planted_claim(instance, planted, day))
    upper, schedule = min(uppers, key=lambda each: each[0].value)
    history = before.history if before else History((), ())
    upper_steps = _extended_history(history.upper, upper)
    first_day = upper_steps[0].date
    bounds = [*([(old.entry.certified, old.certificate)] if old else []), *claims.certified]
    bounds.append(volume_claim(instance, first_day))
    reported: list[ReportedBound] = [*claims.reported]
    if before and isinstance(before.lower, SolverReportedBound):
        reported.insert(0, before.lower)
    proofs = before.proofs if before else ()
    lowers: list[EntryValue] = [*(value for value, _ in bounds), *reported, *proofs, *claims.proofs]
    if wrong := contradiction(instance, upper, lowers):
        raise ContradictionError(f"{instance.name}: {wrong}")
    certified, certificate = max(bounds, key=lambda bound: (bound[0].value, bound[1].bare))
    lower = _best_bound(instance, certified, reported, first_day)
    witness = certificate_witness(certificate.kind, certified.value)
    kept = _merged_proofs(proofs, claims.proofs, upper.value, witness)
    verdict = decide(instance, upper.value, lower.value, kept, (certificate.kind, certified.value))
    entry = RegistryEntry(
        instance=instance.name,
        file=file,
        sha256=instance.sha256,
        n=len(instance),
        memory=instance.memory,
        standing=verdict.standing,
        reason=verdict.reason,
        upper=upper,
        lower=lower,
        history=History(upper_steps, _extended_history(history.lower, lower)),
        proofs=kept,
    )
    return ProvedEntry(entry, schedule, certificate)


def decide(
    instance: Instance,
    upper: int,
    lower: int,
    proofs: Iterable[OptimumProof],
    certified: tuple[str, int],
) -> OptimumVerdict:
    """Judge the optimum by the rule of evidence; ``proved`` is a certificate's kind and value."""
    engines = [engine_witness(each.method, each.value) for each in proofs]
    found = [*engines, certificate_witness(*certified)]
    return judge(upper, lower, found, construction=instance.known_optimum)


def contradiction(instance: Instance, upper: UpperValue, lowers: Iterable[EntryValue]) -> str:
    """Return a line on the greatest bound above the schedule or the optimum by construction."""
    by = f"the checked TEL {upper.value} ({upper.method}, {upper.date})"
    uppers = [BoundStatement(upper.value, by)]
    bounds = [
        BoundStatement(each.value, f"lower bound {each.value} ({each.method}, {each.date})")
        for each in lowers
    ]
    if (known := instance.known_optimum) is not None:
        uppers.append(BoundStatement(known, f"the optimum by construction, {known}"))
        bounds.append(uppers[-1])
    wrong = contradictions(uppers, bounds)
    return f"{wrong[0].lower.by} exceeds {wrong[0].upper.by}" if wrong else ""


def is_stale(proof: OptimumProof) -> bool:
    """Return whether the support of a proof has changed since, or is unknown."""
    return proof.made_by != made_by(proof.method)


def _best_bound(
    instance: Instance, certified: CertifiedBound, reported: Iterable[ReportedBound], day: str
) -> Lower:
    """Return the best bound: certified, else by construction, else what a solver reports."""
    known = instance.known_optimum
    best = max(reported, key=lambda each: each.value, default=None)
    if known is not None and known > certified.value:
        return ConstructedOptimum(value=known, certified=certified, date=day)
    if best is None or best.value <= certified.value:
        return certified
    given = {field.name: getattr(best, field.name) for field in fields(ReportedBound)}
    return SolverReportedBound(**given, certified=certified)


def _merged_proofs(
    old: Iterable[OptimumProof], new: Iterable[OptimumProof], upper: int, certificate: Witness
) -> tuple[OptimumProof, ...]:
    """Return one proof of the upper bound for each method; it replaces a stale one.

    A new proof by the argument of a certificate of the same value is left out.
    """
    kept: dict[str, OptimumProof] = {}
    for proof in (*old, *new):
        same = engine_witness(proof.method, proof.value).argument == certificate.argument
        if same and certificate.value == upper and proof not in old:
            continue
        if proof.value == upper and (proof.method not in kept or is_stale(kept[proof.method])):
            kept[proof.method] = proof
    return tuple(kept.values())


def _extended_history(
    steps: tuple[HistoryStep, ...], value: UpperValue | Lower
) -> tuple[HistoryStep, ...]:
    """Return the history with a value that it lacks; later steps go."""
    before = tuple(each for each in steps if each.date <= value.date)
    if before and before[-1].value == value.value:
        return before
    return (*before, HistoryStep(value.value, value.method, value.date))
