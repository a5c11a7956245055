"""Verifies the registry from its files alone: schedules, certificates, optima, history."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType

from formulations.lagrangian.budget import CertificateError
from formulations.lagrangian.certificate import evaluate
from formulations.lagrangian.certificate_file import Certificate
from instances import Instance, InstanceFileError
from instances.named import FOLDER
from kvopt.best_known.entry import (
    NO_METHODS,
    Construction,
    Entry,
    Proof,
    Registry,
    SolverReported,
    Step,
    today,
)
from kvopt.best_known.files import (
    REGISTRY_FILE,
    RegistryError,
    certificate_path,
    format_certificate,
    format_registry,
    format_schedule,
    format_schemas,
    left_over,
    proof_file,
    read_certificate_file,
    schedule_path,
)
from kvopt.best_known.library import LibraryInstance
from kvopt.best_known.merge import (
    ContradictionError,
    Known,
    decide,
    is_stale,
    refuse_contradictions,
)
from kvopt.best_known.side_by_side import side_by_side
from kvopt.methods.grammar import MethodError
from kvopt.methods.witness import engine_witness, recorded_method, word_counts
from schedules import Schedule, check_schedule
from schedules.evidence import CONSTRUCTION
from schedules.files import read_schedule
from support.jsonfile import FileError, holds
from support.progress import telling


class DamagedError(ValueError):
    """A file of the registry does not hold what its entry says; the message is one line."""


def faults(
    registry: Registry,
    known: Mapping[str, LibraryInstance],
    folder: Path = FOLDER,
    proved: Mapping[str, Known] = MappingProxyType({}),
) -> Iterator[str]:
    """Yield one line for everything that is wrong; nothing if every value is proved again.

    Each schedule passes the checker with the TEL of its entry, each certificate is evaluated in
    integers and proves its bound, each standing holds by :func:`kvopt.best_known.merge.decide`, the
    history ends with the present values and only improves, no instance of the library and no file
    is missing or left over, and every file is to the byte what its command writes.  Certificates of
    what this process has ``proved`` before are not evaluated again.
    """
    texts = format_schemas() | {REGISTRY_FILE: format_registry(registry.instances)}
    for file, text in texts.items():
        if not holds(folder / file, text):
            yield f"{file}: stale or missing"
    for entry, read in read_each(registry.instances, known, folder, "entries verified", proved):
        if isinstance(read, str):
            yield read
        else:
            yield from _entry_faults(read, known[entry.sha256], folder)
    yield from _order_faults(registry, list(known))
    for file in left_over(folder, (entry.instance for entry in registry.instances)):
        yield f"{file}: no entry refers to it"


def missing(registry: Registry, known: Mapping[str, LibraryInstance]) -> list[str]:
    """Return one line for each instance of the library that the registry lacks."""
    there = {entry.sha256 for entry in registry.instances}
    return [
        f"{found.instance.name}: the registry lacks this instance of the library"
        for sha, found in known.items()
        if sha not in there
    ]


def stale_proofs(registry: Registry) -> list[tuple[Entry, Proof]]:
    """Return the proofs whose run rests on other sources or solvers than today's."""
    return [
        (entry, proof) for entry in registry.instances for proof in entry.proofs if is_stale(proof)
    ]


def _order_faults(registry: Registry, order: Sequence[str]) -> Iterator[str]:
    listed = [entry.sha256 for entry in registry.instances if entry.sha256 in order]
    if listed != [sha for sha in order if sha in listed]:
        yield "expected each instance once, in the library's order"


def read_each(
    entries: Sequence[Entry],
    known: Mapping[str, LibraryInstance],
    folder: Path,
    told: str,
    proved: Mapping[str, Known] = MappingProxyType({}),
) -> Iterator[tuple[Entry, Known | str]]:
    """Yield each entry with what :func:`read_known` makes of it, or the line of what is wrong.

    Progress says that they are ``told``; what is ``proved`` is as in :func:`faults`.
    """
    found = {entry.sha256: _found(entry, known) for entry in entries}
    anew = [
        (entry, instance, folder, None)
        for entry in entries
        if entry.sha256 not in proved and not isinstance(instance := found[entry.sha256], str)
    ]
    results = side_by_side(_read, anew)
    for entry in telling(entries, told):
        instance = found[entry.sha256]
        if isinstance(instance, str):
            yield entry, instance
        elif entry.sha256 in proved:
            yield entry, _read((entry, instance, folder, proved[entry.sha256]))
        else:
            yield entry, next(results)


def _found(entry: Entry, known: Mapping[str, LibraryInstance]) -> LibraryInstance | str:
    if entry.sha256 not in known:
        return f"{entry.instance}: the library has no instance of this hash"
    try:
        return known[entry.sha256]
    except InstanceFileError as error:
        return str(error)


def _read(task: tuple[Entry, LibraryInstance, Path, Known | None]) -> Known | str:
    try:
        return read_known(*task)
    except DamagedError as error:
        return str(error)


def read_known(
    entry: Entry, found: LibraryInstance, folder: Path = FOLDER, proved: Known | None = None
) -> Known:
    """Read the schedule and the certificate of an entry and prove both values anew.

    What this process has ``proved`` before, the same bound by the same certificate, is not
    evaluated again.

    Raises
    ------
    DamagedError
        If a file is missing or damaged, or does not prove its value.
    """
    instance = found.instance
    try:
        path = proof_file(folder, schedule_path(instance.name))
        schedule = read_schedule(path)
    except (FileError, RegistryError) as error:
        raise DamagedError(f"{entry.instance}: {error}") from None
    _check(entry, instance, schedule, path)
    try:
        path = proof_file(folder, certificate_path(instance.name))
        certificate = read_certificate_file(path, instance)
        if proved is None or _claim(entry, certificate) != _claim(proved.entry, proved.certificate):
            _evaluate(entry, instance, certificate)
    except RegistryError as error:
        raise DamagedError(f"{entry.instance}: {error}") from None
    except CertificateError as error:
        raise DamagedError(f"{entry.instance}: {path}: {error}") from None
    return Known(entry, schedule, certificate)


def _check(entry: Entry, instance: Instance, schedule: Schedule, path: Path) -> None:
    verdict = check_schedule(instance, schedule)
    if not verdict.valid:
        raise DamagedError(f"{entry.instance}: {path}: {verdict}")
    if schedule.attempts or schedule.kept:
        raise DamagedError(f"{entry.instance}: {path}: expected starts alone, found attempts")
    if schedule.tel != entry.upper.value:
        raise DamagedError(
            f"{entry.instance}: {path}: TEL {schedule.tel}, the entry says {entry.upper.value}"
        )


def _claim(entry: Entry, certificate: Certificate) -> tuple[object, ...]:
    return certificate, entry.certified, entry.upper.value


def _evaluate(entry: Entry, instance: Instance, certificate: Certificate) -> None:
    """Evaluate a certificate, which must be of the kind and of the value that the entry states."""
    claimed = entry.certified
    if certificate.upper_bound is not None and certificate.upper_bound < entry.upper.value:
        raise CertificateError(
            f"it assumes a TEL of {certificate.upper_bound}, no schedule below "
            f"{entry.upper.value} is known"
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


def _entry_faults(known: Known, found: LibraryInstance, folder: Path) -> Iterator[str]:
    entry, instance = known.entry, found.instance
    name = entry.instance
    facts = (instance.name, found.file, len(instance), instance.memory)
    told = (entry.instance, entry.file, entry.n, entry.memory)
    if facts != told:
        yield f"{name}: the entry says {told}, the library {facts}"
    yield from _text_faults(known, instance, folder)
    try:
        refuse_contradictions(instance, entry.upper, [entry.lower])
    except ContradictionError as error:
        yield str(error)
    if isinstance(entry.lower, SolverReported) and not word_counts(entry.lower.method):
        yield f"{name}: {entry.lower.method} is no solver of the project: it reports no bound"
    yield from _construction_faults(known, found)
    yield from _name_faults(entry)
    gone = list(_proof_faults(entry))
    # Without its model a proof cannot be judged by the rule.
    yield from gone or _rule_faults(known, instance)
    yield from _history_faults(entry)


def _text_faults(known: Known, instance: Instance, folder: Path) -> Iterator[str]:
    """Yield a line for each proof that is not, byte for byte, what is written of its entry.

    So what a schedule's file tells of its run is what the entry tells of it.
    """
    texts = {
        schedule_path: format_schedule(instance, known.schedule.starts, known.entry.upper),
        certificate_path: format_certificate(instance, known.certificate),
    }
    for path_of, text in texts.items():
        path = proof_file(folder, path_of(instance.name))
        if not holds(path, text):
            yield f"{instance.name}: {path}: not what is written of its entry"


def _construction_faults(known: Known, found: LibraryInstance) -> Iterator[str]:
    """Yield what is wrong with a value that the instance's construction is said to give."""
    entry, optimum = known.entry, found.instance.known_optimum
    if isinstance(entry.lower, Construction) and entry.lower.value != optimum:
        yield f"{entry.instance}: {entry.lower.value} by construction, the instance says {optimum}"
    if optimum is not None and entry.lower.value < optimum:
        yield f"{entry.instance}: the bound is below the optimum by construction, {optimum}"
    planted = entry.upper.method == CONSTRUCTION or entry.upper.found_by == CONSTRUCTION
    if planted and found.planted != tuple(known.schedule.starts):
        yield f"{entry.instance}: the schedule is not that of the construction"


def _name_faults(entry: Entry) -> Iterator[str]:
    """Yield methods that there are not, or are written otherwise, and days that are yet to come."""
    steps = (*entry.history.upper, *entry.history.lower)
    values = (entry.upper, entry.lower, entry.certified, *entry.proofs, *steps)
    for text in sorted({each.method for each in values}.difference(NO_METHODS)):
        try:
            read = recorded_method(text)
        except MethodError as error:
            yield f"{entry.instance}: {text}: {error}"
            continue
        if read.text != text:
            yield f"{entry.instance}: {text}: expected the method as {read.text}"
    for day in sorted({each.date for each in values if each.date > today()}):
        yield f"{entry.instance}: {day}: expected a past day, today is {today()} (UTC)"


def _proof_faults(entry: Entry) -> Iterator[str]:
    """Yield what is wrong with the runs that are said to have proved the optimum."""
    methods = [proof.method for proof in entry.proofs]
    if len(set(methods)) < len(methods):
        yield f"{entry.instance}: expected one proof a method, found {', '.join(methods)}"
    for proof in entry.proofs:
        try:
            engine_witness(proof.method, proof.value)
        except (MethodError, KeyError) as error:
            yield f"{entry.instance}: proof: {error}"
            return
        if proof.value != entry.upper.value:
            yield (
                f"{entry.instance}: proof of {proof.method}: {proof.value}, expected "
                f"{entry.upper.value}"
            )


def _history_faults(entry: Entry) -> Iterator[str]:
    upper, lower = entry.upper, entry.lower
    name, history = entry.instance, entry.history
    if history.upper[-1:] != (Step(upper.value, upper.method, upper.date),):
        yield f"{name}: the upper history does not end with {upper.value}, as the entry has it"
    if not history.lower or history.lower[-1].value != lower.value:
        yield f"{name}: the lower history does not end with {lower.value}"
    # A certificate takes the place of an equal bound, and its day is that of the value.
    elif history.lower[-1].date > lower.date:
        yield f"{name}: the lower history ends after {lower.date}"
    for side, sign in (("upper", -1), ("lower", 1)):
        for before, after in pairwise(getattr(history, side)):
            if sign * (after.value - before.value) <= 0 or after.date < before.date:
                yield f"{name}: the {side} history does not improve at every step"


def _rule_faults(known: Known, instance: Instance) -> Iterator[str]:
    """Yield one line if the optimum is claimed otherwise than the rule says."""
    entry = known.entry
    proved = known.certificate.kind, known.certificate.value
    verdict = decide(instance, entry.upper.value, entry.lower.value, entry.proofs, proved)
    if (entry.standing, entry.reason) != (verdict.standing, verdict.reason):
        yield (
            f"{entry.instance}: {entry.standing} ({entry.reason}), the rule says "
            f"{verdict.standing} ({verdict.reason})"
        )
