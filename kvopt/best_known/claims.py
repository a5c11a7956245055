"""Claims of stored runs about an instance, without those that must not be taken."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from formulations.certificates.certificate_evaluation import (
    evaluate_certificate,
    shrink_certificate,
)
from formulations.certificates.certificate_file import Certificate, read_certificate
from formulations.certificates.reader_budget import CertificateError
from formulations.valid.volume_bounds import volume_bound
from instances import Instance
from kvopt.best_known.registry_entry import (
    CertifiedBound,
    EntryValue,
    OptimumProof,
    ReportedBound,
    UpperValue,
)
from kvopt.best_known.registry_files import schedule_of
from kvopt.methods.fingerprint import fingerprint, versions
from kvopt.methods.grammar import MethodError, read_method
from kvopt.methods.witness import made_by, recorded_method, search_witness, trusts_solver
from kvopt.runs.row_columns import Record, row_columns
from kvopt.runs.task import FinishedRun, Task
from kvopt.store import Store, StoreError
from schedules import Schedule, check_schedule, make_schedule
from schedules.evidence import CONSTRUCTION, VOLUMES, is_bound_believed, names_proof
from schedules.schedule import reason_easier
from support.json_files import describe_first_fault
from support.message_text import one_line

V = TypeVar("V", bound=EntryValue)

_RECORD = TypeAdapter(Record)
#: The columns of a row that the registry needs.
_COLUMNS = [each.name for each in row_columns() if each.kind in (str, int, float) and each.needed]


@dataclass(frozen=True)
class Claims:
    """Claims of a store about one instance: the best checked schedule, bounds, proofs, notes."""

    upper: tuple[UpperValue, Schedule] | None = None
    certified: Sequence[tuple[CertifiedBound, Certificate]] = ()
    reported: Sequence[ReportedBound] = ()
    proofs: Sequence[OptimumProof] = ()
    notes: Sequence[str] = ()


def runs_by_instance(store: Store) -> dict[str, list[Record]]:
    """Return the stored runs in rounds by the hash of their instance, oldest first."""
    found: dict[str, list[Record]] = defaultdict(list)
    for batch_time, *row in store.select("batch_time", *_COLUMNS):
        if batch_time:
            continue
        try:
            run = _RECORD.validate_python(dict(zip(_COLUMNS, row, strict=True)))
        except ValidationError as error:
            what = f"{store.name}: run {str(row[0])[:12]} is damaged"
            raise StoreError(f"{what}: {describe_first_fault(error)}") from None
        found[run.instance_sha256].append(run)
    for runs in found.values():
        runs.sort(key=lambda run: (run.finished_utc, run.key))
    return found


def collect(
    instance: Instance, runs: Sequence[Record], store: Store, proved: int | None = None
) -> Claims:
    """Return the claims of runs; sweeps are evaluated only for more than ``proved`` (rounds)."""
    notes: list[str] = []
    named = [each for run in runs if (each := _canonical_run(run, notes)) is not None]
    upper = _best_schedule(instance, named, store, notes)
    certified: list[tuple[CertifiedBound, Certificate]] = []
    reported: list[ReportedBound] = []
    proofs: list[OptimumProof] = []
    for run in named:
        if run.lower_bound is None:
            continue
        bound = _certified_bound(instance, run, store, upper and upper[0].value, proved, notes)
        if bound is not None:
            certified.append(bound)
            proved = max(proved or 0, bound[0].value)
        source, word = run.bound_source, trusts_solver(run.method)
        if names_proof(source) or not is_bound_believed(run.status, run.detail, source, word=word):
            continue
        document = store.schedule(run.key)
        reported.append(_value_of(ReportedBound, run, run.lower_bound, document, source=source))
        if search_witness(run.method, run.status, run.tel, run.lower_bound, source):
            digest = made_by(run.method) if _is_of_today(instance, run) else ""
            proofs.append(_value_of(OptimumProof, run, run.lower_bound, document, made_by=digest))
    return Claims(upper, certified, reported, proofs, [f"{instance.name}: {x}" for x in notes])


def proof_of(finished: FinishedRun) -> OptimumProof | None:
    """Return the proof of a run that has just ended here, or None."""
    run = finished.record
    value, source = run.lower_bound, run.bound_source
    if value is None or not search_witness(run.method, run.status, run.tel, value, source):
        return None
    document = {"provenance": finished.schedule and finished.schedule.provenance}
    return _value_of(OptimumProof, run, value, document, made_by=made_by(run.method))


def volume_claim(instance: Instance, date: str) -> tuple[CertifiedBound, Certificate]:
    """Return the bound that needs no run."""
    value = volume_bound(instance)
    bound = CertifiedBound(
        value=value, method=VOLUMES, certificate="volumes", date=date, seconds=0.0
    )
    return bound, Certificate("volumes", value)


def planted_claim(
    instance: Instance, starts: Sequence[int], date: str
) -> tuple[UpperValue, Schedule]:
    """Return the schedule that the construction of an instance implies, checked."""
    schedule = make_schedule(instance, starts, CONSTRUCTION)
    verdict = check_schedule(instance, schedule)
    if not verdict.valid:
        raise ValueError(f"{instance.name}: the planted schedule: {verdict.reason}")
    by: dict[str, Any] = {"method": CONSTRUCTION, "found_by": CONSTRUCTION, "date": date}
    return UpperValue(value=schedule.tel, seconds=0.0, **by), schedule


def _canonical_run(run: Record, notes: list[str]) -> Record | None:
    """Return a run with the canonical text of its method; None for an unknown one."""
    try:
        return replace(run, method=recorded_method(run.method).text)
    except MethodError as error:
        notes.append(f"run {run.key[:12]}: {error}")
        return None


def _is_of_today(instance: Instance, run: Record) -> bool:
    """Return whether today's sources made a run, by its key."""
    method = read_method(run.method, planned=True)
    names = ("seed", "time_limit", "memory_limit", "threads")
    fields: dict[str, Any] = {name: getattr(run, name) for name in names}
    fields |= {"code": fingerprint(method), "versions": versions(method)}
    return Task(instance, run.instance, method, **fields).key == run.key


def _best_schedule(
    instance: Instance, runs: Sequence[Record], store: Store, notes: list[str]
) -> tuple[UpperValue, Schedule] | None:
    found = [(run.tel, run) for run in runs if run.tel is not None]
    for tel, run in sorted(found, key=lambda each: each[0]):
        document = store.schedule(run.key)
        if document is None:
            notes.append(f"{run.method} is stored without its schedule")
            continue
        value = _value_of(UpperValue, run, tel, document, found_by=run.found_by)
        try:
            schedule = schedule_of(instance, document["starts"], value)
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
            notes.append(f"{run.method}: {one_line(error, 200)}")
            continue
        verdict = check_schedule(instance, schedule)
        if verdict.valid and schedule.tel == tel:
            return value, schedule
        if not reason_easier(document):
            notes.append(f"{run.method}: {verdict.reason}")
    return None


def _certified_bound(
    instance: Instance,
    run: Record,
    store: Store,
    upper: int | None,
    proved: int | None,
    notes: list[str],
) -> tuple[CertifiedBound, Certificate] | None:
    """Return the bound that a run's certificate proves, evaluated here; None without one."""
    found = store.certificate(run.key)
    if found is None:
        return None
    try:
        certificate = read_certificate(found)
        costly = certificate.kind in ("sweep", "parts")
        if costly and proved is not None and certificate.value <= proved:
            return None
        assumed = certificate.upper_bound
        if assumed is not None and (upper is None or assumed < upper):
            raise CertificateError("it assumes a schedule better than any that is known")
        # Prices may prove a negative bound.
        evaluated = replace(certificate, value=max(0, evaluate_certificate(instance, certificate)))
        short = shrink_certificate(instance, evaluated)
    except CertificateError as error:
        notes.append(f"certificate of {run.method}: {error}")
        return None
    if short.value < certificate.value:
        notes.append(f"certificate of {run.method} proves {short.value}, not {certificate.value}")
    document = store.schedule(run.key)
    return _value_of(CertifiedBound, run, short.value, document, certificate=short.kind), short


def _value_of(
    kind: type[V], run: Record, value: int, schedule: dict[str, Any] | None, **more: str
) -> V:
    # Only the schedule of a run has the version of its sources.
    provenance = (schedule or {}).get("provenance")
    version = provenance.get("kvopt") if isinstance(provenance, dict) else None
    # A team's run names only one of its engines.
    read = recorded_method(run.method)
    of_team = kind in (CertifiedBound, ReportedBound) and (read.kind == "auto" or read.joined)
    try:
        return kind(
            value=value,
            method=run.method,
            date=run.finished_utc[:10],
            seconds=round(run.seconds, 2),
            seed=run.seed,
            solver="" if of_team else run.solver,
            kvopt=str(version or ""),
            git_commit=run.git_commit,
            **more,
        )
    except ValidationError as error:
        raise StoreError(f"run {run.key[:12]} is damaged: {describe_first_fault(error)}") from None
