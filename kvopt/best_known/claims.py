"""What stored runs claim of an instance, as far as it can be taken at all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from formulations.lagrangian.certificate import evaluate, shrink
from formulations.lagrangian.certificate_file import Certificate, CertificateError, read_certificate
from formulations.valid.volumes import volume_bound
from instances import Instance
from kvopt.best_known.entry import Value
from kvopt.best_known.files import certificate_path, schedule_path
from kvopt.methods.witness import is_own, search_witness
from kvopt.store import Store, StoreError
from schedules import Schedule, check_schedule, make_schedule
from schedules.evidence import CONSTRUCTION, VOLUMES, believed
from schedules.model import any_kept


@dataclass(frozen=True)
class StoredRun:
    """What the registry needs of a stored run; see ``kvopt.running.record.Record``."""

    key: str
    instance_sha256: str
    method: str
    seed: int
    status: str
    detail: str
    tel: int | None
    lower_bound: int | None
    found_by: str
    bound_source: str
    seconds: float
    solver: str
    git_commit: str
    finished_utc: Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}")]


_STORED_RUN = TypeAdapter(StoredRun)
_COLUMNS = tuple(each.name for each in fields(StoredRun))


@dataclass(frozen=True)
class Claims:
    """What a store has to offer for one instance.

    Attributes
    ----------
    upper
        The best schedule that the checker has accepted here, with its value; None without one.
    lower
        Bounds, each with its certificate or None.
    proofs
        Runs whose engine's own search met the schedule of the same run.
    notes
        One line for everything that could not be taken.
    """

    upper: tuple[Value, Schedule] | None
    lower: tuple[tuple[Value, Certificate | None], ...]
    proofs: tuple[Value, ...]
    notes: tuple[str, ...]


def runs_by_instance(store: Store) -> dict[str, list[StoredRun]]:
    """Return the stored runs in rounds by the hash of their instance, oldest first.

    Those in seconds are left out: the hash does not tell them apart, and their TEL is of another
    problem for every batch time.
    """
    found: dict[str, list[StoredRun]] = defaultdict(list)
    for batch_time, *row in store.select("batch_time", *_COLUMNS):
        if batch_time:
            continue
        try:
            run = _STORED_RUN.validate_python(dict(zip(_COLUMNS, row, strict=True)))
        except ValidationError as error:
            raise _damaged(f"{store.name}: run {str(row[0])[:12]}", error) from None
        found[run.instance_sha256].append(run)
    for runs in found.values():
        runs.sort(key=lambda run: (run.finished_utc, run.key))
    return found


def collect(
    instance: Instance, runs: Sequence[StoredRun], store: Store, proved: int = -1
) -> Claims:
    """Return what runs claim of an instance.

    Sweeps for no more than ``proved`` (rounds), or than another one here, are not evaluated: that
    takes seconds each, and nothing better comes of it.

    Schedules are checked once more.  Of policies that keep tokens over an eviction, whose TEL is no
    bound on the optimum (``docs/problem.md``), only schedules that are possible without it are
    taken; cancelled attempts are dropped, since without them a schedule is possible all the more.

    Certificates are taken from anyone, since they are evaluated here; of the other bounds those
    that are believed (:func:`schedules.evidence.believed`).
    """
    notes: list[str] = []
    upper = _best_schedule(instance, runs, store, notes)
    lower: list[tuple[Value, Certificate | None]] = []
    proofs: list[Value] = []
    for run in runs:
        if run.lower_bound is None:
            continue
        certified = _certified(instance, run, store, upper and upper[0].value, proved, notes)
        lower += certified
        proved = max([proved, *(value.value for value, _ in certified)])
        source = run.bound_source
        # The bound from volumes needs no run, one of a method of one's own has its certificate.
        if source == VOLUMES or is_own(run.method):
            continue
        if not believed(run.status, run.detail, source, own=False):
            continue
        bound = _value(run, run.lower_bound, source, store.schedule(run.key))
        lower.append((bound, None))
        if search_witness(run.method, run.status, run.tel, run.lower_bound, source):
            proofs.append(bound)
    return Claims(upper, tuple(lower), tuple(proofs), tuple(notes))


def own_claims(instance: Instance, date: str) -> Iterator[tuple[Value, Certificate | None]]:
    """Yield what needs no run: the volume bound, and the optimum by construction."""
    value = volume_bound(instance)
    path = certificate_path(instance)
    yield (
        Value(value, VOLUMES, VOLUMES, date, 0.0, certificate=path),
        Certificate("volumes", value),
    )
    if instance.known_optimum is not None:
        reason = instance.known_optimum_reason or ""
        yield Value(instance.known_optimum, CONSTRUCTION, reason, date, 0.0), None


def planted_claim(instance: Instance, starts: Sequence[int], date: str) -> tuple[Value, Schedule]:
    """Return the schedule that the construction of an instance implies.

    Raises
    ------
    ValueError
        If the checker refuses it.
    """
    schedule = make_schedule(instance, starts, CONSTRUCTION, provenance={"date": date})
    verdict = check_schedule(instance, schedule)
    if not verdict.valid:
        raise ValueError(f"{instance.name}: the planted schedule: {verdict.reason}")
    reason = instance.known_optimum_reason or ""
    path = schedule_path(instance)
    return Value(schedule.tel, CONSTRUCTION, reason, date, 0.0, certificate=path), schedule


def _best_schedule(
    instance: Instance, runs: Sequence[StoredRun], store: Store, notes: list[str]
) -> tuple[Value, Schedule] | None:
    found = [run for run in runs if run.tel is not None]
    for run in sorted(found, key=lambda run: run.tel or 0):
        document = store.schedule(run.key)
        if document is None:
            notes.append(f"{instance.name}: {run.method} is stored without its schedule")
            continue
        value = replace(
            _value(run, run.tel or 0, run.found_by, document), certificate=schedule_path(instance)
        )
        try:
            schedule = _plain_schedule(instance, document, value)
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
            notes.append(f"{instance.name}: {run.method}: {' '.join(str(error).split())[:200]}")
            continue
        verdict = check_schedule(instance, schedule)
        if verdict.valid and schedule.tel == run.tel:
            return value, schedule
        if not any_kept(document.get("kept")):
            notes.append(f"{instance.name}: {run.method}: {verdict.reason}")
    return None


def _plain_schedule(instance: Instance, document: dict[str, Any], value: Value) -> Schedule:
    """Return the starts alone; of the provenance only what is the same on every machine."""
    return make_schedule(
        instance,
        document["starts"],
        value.method,
        provenance={
            "found_by": value.source,
            "solver": value.solver,
            "kvopt": value.kvopt,
            "git_commit": value.git_commit,
            "date": value.date,
        },
    )


def _certified(
    instance: Instance,
    run: StoredRun,
    store: Store,
    upper: int | None,
    proved: int,
    notes: list[str],
) -> list[tuple[Value, Certificate | None]]:
    """Return the bound that the run's certificate proves, evaluated here, if it has one."""
    document = store.certificate(run.key)
    if document is None:
        return []
    try:
        certificate = read_certificate(document)
        if certificate.kind == "sweep" and certificate.value <= proved:
            return []
        if certificate.upper_bound is not None and (
            upper is None or certificate.upper_bound < upper
        ):
            raise CertificateError("it assumes a schedule better than any that is known")
        # Prices may prove less than nothing; no TEL is below 0.
        evaluated = replace(certificate, value=max(0, evaluate(instance, certificate)))
        short = shrink(instance, evaluated)
    except CertificateError as error:
        notes.append(f"{instance.name}: certificate of {run.method}: {error}")
        return []
    if evaluated.value < certificate.value:
        notes.append(
            f"{instance.name}: certificate of {run.method} proves {evaluated.value}, "
            f"not {certificate.value}"
        )
    value = _value(run, evaluated.value, certificate.kind, store.schedule(run.key))
    value = replace(value, certificate=certificate_path(instance))
    return [(value, short)]


def _value(run: StoredRun, value: int, source: str, schedule: dict[str, Any] | None) -> Value:
    # The version of the sources stands in the schedule of the same run only.
    told = (schedule or {}).get("provenance")
    provenance = told if isinstance(told, dict) else {}
    try:
        return Value(
            value=value,
            method=run.method,
            source=source,
            date=run.finished_utc[:10],
            seconds=round(run.seconds, 2),
            seed=run.seed,
            solver=run.solver,
            kvopt=str(provenance.get("kvopt") or ""),
            git_commit=run.git_commit,
        )
    except ValidationError as error:
        raise _damaged(f"run {run.key[:12]}", error) from None


def _damaged(what: str, error: ValidationError) -> StoreError:
    first = error.errors()[0]
    place = ".".join(map(str, first["loc"]))
    return StoreError(f"{what} is damaged: {place}: {first['msg']}")
