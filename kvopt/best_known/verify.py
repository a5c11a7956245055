"""Verifies the registry from its files alone: schedules, certificates, optima, history."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from formulations.lagrangian.certificate import evaluate
from formulations.lagrangian.certificate_file import Certificate, CertificateError
from instances import Instance
from instances.jsonfile import FileError
from instances.library import library, planted_schedules
from instances.named import FOLDER
from kvopt.best_known.entry import Entry, Registry
from kvopt.best_known.files import (
    PROOFS,
    SCHEMA_FILE,
    RegistryError,
    certificate_path,
    format_schema,
    proof_file,
    proof_files,
    read_certificate_file,
    schedule_path,
)
from kvopt.best_known.merge import ContradictionError, Known, refuse_contradictions
from kvopt.best_known.rule import decide
from kvopt.methods.engines import proofs
from kvopt.methods.grammar import MethodError
from kvopt.methods.witness import engine_witness
from schedules import Schedule, check_schedule
from schedules.evidence import CONSTRUCTION
from schedules.files import read_schedule


class DamagedError(ValueError):
    """A file of the registry does not hold what its entry says; the message is one line."""


@dataclass(frozen=True)
class LibraryInstance:
    """An instance of the library and its file below ``instances/``.

    ``planted`` are the starts (rounds) of the schedule that its construction implies, if it does.
    """

    file: str
    instance: Instance
    planted: tuple[int, ...] | None = None


def library_by_hash() -> dict[str, LibraryInstance]:
    """Return the library's instances by hash, in its order; of equal ones the first."""
    found: dict[str, LibraryInstance] = {}
    planted = planted_schedules()
    for file, instance in library():
        starts = planted.get(instance.name)
        found.setdefault(instance.sha256, LibraryInstance(file, instance, starts))
    return found


def faults(
    registry: Registry, known: Mapping[str, LibraryInstance], folder: Path = FOLDER
) -> Iterator[str]:
    """Yield one line for everything that is wrong; nothing if every value is proved again.

    Each schedule passes the checker with the TEL of its entry, each certificate is evaluated in
    integers and reaches its bound, each optimum holds by :func:`kvopt.best_known.rule.decide`, the
    history ends with the present values and only improves, and no file is missing or left over.
    """
    schema = folder / SCHEMA_FILE
    if not schema.is_file() or schema.read_bytes() != format_schema().encode():
        yield f"{SCHEMA_FILE}: stale or missing"
    order = {sha: position for position, sha in enumerate(known)}
    used: set[str] = set()
    places = []
    for entry in registry.instances:
        used |= {schedule_path_of(entry), certificate_path_of(entry)}
        if entry.sha256 not in known:
            yield f"{entry.instance}: the library has no instance of this hash"
            continue
        places.append(order[entry.sha256])
        try:
            proved = read_known(entry, known[entry.sha256], folder)
        except DamagedError as error:
            yield str(error)
            continue
        yield from _entry_faults(proved, known[entry.sha256])
    if places != sorted(set(places)):
        yield "expected each instance once, in the library's order"
    for file in sorted(proof_files(folder) - used):
        yield f"{PROOFS}/{file}: no entry refers to it"


def read_known(entry: Entry, found: LibraryInstance, folder: Path = FOLDER) -> Known:
    """Read the schedule and the certificate of an entry and prove both values anew.

    Raises
    ------
    DamagedError
        If a file is missing or damaged, or does not prove its value.
    """
    instance = found.instance
    try:
        path = proof_file(folder, schedule_path_of(entry))
        schedule = read_schedule(path)
    except (FileError, RegistryError) as error:
        raise DamagedError(f"{entry.instance}: {error}") from None
    _check(entry, instance, schedule, path)
    try:
        path = proof_file(folder, certificate_path_of(entry))
        certificate = read_certificate_file(path, instance)
        _evaluate(entry, instance, certificate)
    except RegistryError as error:
        raise DamagedError(f"{entry.instance}: {error}") from None
    except CertificateError as error:
        raise DamagedError(f"{entry.instance}: {path}: {error}") from None
    return Known(entry, schedule, certificate)


def schedule_path_of(entry: Entry) -> str:
    """Return where the entry says that its schedule is, below ``best_known/``."""
    return entry.upper.certificate or ""


def certificate_path_of(entry: Entry) -> str:
    """Return where the entry says that its certificate is, below ``best_known/``."""
    return (entry.certified or entry.lower).certificate or ""


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


def _evaluate(entry: Entry, instance: Instance, certificate: Certificate) -> None:
    claimed = (entry.certified or entry.lower).value
    if certificate.upper_bound is not None and certificate.upper_bound < entry.upper.value:
        raise CertificateError(
            f"it assumes a TEL of {certificate.upper_bound}, no schedule below "
            f"{entry.upper.value} is known"
        )
    value = evaluate(instance, certificate)
    if value < claimed or certificate.value != claimed:
        raise CertificateError(
            f"it proves {value} and states {certificate.value}, the entry says {claimed}"
        )


def _entry_faults(known: Known, found: LibraryInstance) -> Iterator[str]:
    entry, instance = known.entry, found.instance
    name = entry.instance
    facts = (instance.name, found.file, len(instance), instance.memory)
    told = (entry.instance, entry.file, entry.n, entry.memory)
    if facts != told:
        yield f"{name}: the entry says {told}, the library {facts}"
    paths = (schedule_path_of(entry), certificate_path_of(entry))
    if paths != (schedule_path(instance), certificate_path(instance)):
        yield f"{name}: expected the proofs under the instance's name, found {', '.join(paths)}"
    try:
        refuse_contradictions(instance, entry.upper, [entry.lower])
    except ContradictionError as error:
        yield str(error)
    if entry.certified is not None and entry.certified.value > entry.lower.value:
        yield f"{name}: the certified bound {entry.certified.value} is more than the bound"
    if entry.lower.certificate is None:
        yield from _claim_faults(entry, instance)
    gone = list(_proof_faults(entry))
    # Without its model a proof cannot be judged by the rule.
    yield from gone or _rule_faults(known, instance)
    yield from _history_faults(entry)


def _claim_faults(entry: Entry, instance: Instance) -> Iterator[str]:
    """Yield what is wrong with a bound that only words or an engine's search stand behind."""
    if entry.lower.method == CONSTRUCTION and entry.lower.value != instance.known_optimum:
        yield (
            f"{entry.instance}: {entry.lower.value} by construction, the instance says "
            f"{instance.known_optimum}"
        )


def _proof_faults(entry: Entry) -> Iterator[str]:
    for proof in entry.proofs:
        try:
            solver = engine_witness(proof.method, proof.value).solver
        except (MethodError, KeyError) as error:
            yield f"{entry.instance}: proof: {error}"
            return
        if proof.value != entry.upper.value or proof.source != proofs().get(solver):
            yield (
                f"{entry.instance}: proof of {proof.method}: {proof.value} by "
                f"{proof.source}, expected {entry.upper.value} by the engine's own search"
            )


def _history_faults(entry: Entry) -> Iterator[str]:
    for side, value, sign in (("upper", entry.upper, -1), ("lower", entry.lower, 1)):
        steps = getattr(entry.history, side)
        if not steps or steps[-1].value != value.value:
            yield f"{entry.instance}: the {side} history does not end with {value.value}"
        if any(sign * (after.value - before.value) <= 0 for before, after in pairwise(steps)):
            yield f"{entry.instance}: the {side} history does not improve at every step"


def _rule_faults(known: Known, instance: Instance) -> Iterator[str]:
    """Yield one line if the optimum is claimed otherwise than the rule says."""
    entry = known.entry
    proved = known.certificate.kind, known.certificate.value
    verdict = decide(instance, entry.upper.value, entry.lower.value, entry.proofs, proved)
    if (entry.opt, entry.reason) != (verdict.opt, verdict.reason):
        yield (
            f"{entry.instance}: opt {entry.opt} ({entry.reason}), the rule says "
            f"{verdict.opt} ({verdict.reason})"
        )
