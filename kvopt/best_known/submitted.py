"""Schedules from outside: each judged by the checker and the registry, the better ones merged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from kvopt.best_known.claims import Claims
from kvopt.best_known.entry import SUBMITTED, Upper, today
from kvopt.best_known.files import read_entries, read_registry, schedule_of
from kvopt.best_known.library import InstancesOf, LibraryInstance
from kvopt.best_known.merge import ContradictionError, Known, merge
from kvopt.best_known.verify import DamagedError, read_known
from kvopt.registered import registered
from kvopt.solution_file import schedule_of_solution
from schedules import Schedule, check_schedule
from schedules.files import read_schedule
from schedules.model import KEEPS_TOKENS_NOTE
from schedules.verdict import EXIT_CODES
from support.jsonfile import FileError

EXIT_BETTER, EXIT_NONE_BETTER, EXIT_CONTRADICTION = 0, 1, 5
#: What solvers call their solution files, and ``--write-model`` its models.
SOLUTIONS, MODELS = (".sol", ".txt"), (".mps", ".lp")


@dataclass(frozen=True)
class Judged:
    """What is said of a file: one line, an exit code, and its schedule where that is better."""

    line: str
    code: int
    schedule: Schedule | None = None


def judge(
    paths: Iterable[Path], known: Mapping[str, LibraryInstance], folder: Path
) -> Iterator[Judged]:
    """Judge files, each against the registry of a folder and the files before it.

    A solution file is of the model of its name beside it, as ``a.sol`` of ``a.mps``.

    Raises
    ------
    RegistryError
        If the registry is damaged.
    """
    read_registry(folder)
    best: dict[str, tuple[int, Path]] = {}
    for path in paths:
        try:
            schedule = _read(path, known)
        except FileError as error:
            yield Judged(_about(path, error), EXIT_CODES["malformed"])
            continue
        found = known.get(schedule.instance_sha256)
        if found is None:
            why = "the library has no instance of its hash"
            if schedule.clock is not None:
                why = "a schedule in seconds, and the registry has instances in rounds only"
            told = f"{path}: {schedule.instance!r}: {why}"
            yield Judged(told, EXIT_CODES["malformed"])
            continue
        told = f"{path}: {found.instance.name}: "
        fault = _fault(found, schedule)
        if fault is not None:
            yield replace(fault, line=told + fault.line)
            continue
        tel = schedule.tel
        before = best.get(schedule.instance_sha256)
        if before is not None and before[0] <= tel:
            yield Judged(f"{told}TEL {tel}, no better than {before[1]}", EXIT_NONE_BETTER)
            continue
        value = registered(found.instance, folder)
        told += f"TEL {tel}, best known {'none' if value is None else value}"
        if value is not None:
            told += f": gap {value.compared(tel, None)}"
        if value is not None and value.upper <= tel:
            yield Judged(told, EXIT_NONE_BETTER)
            continue
        best[schedule.instance_sha256] = (tel, path)
        yield Judged(told, EXIT_BETTER, schedule)


def take(
    schedules: Iterable[Schedule], known: Mapping[str, LibraryInstance], folder: Path
) -> Iterator[tuple[Known | None, str]]:
    """Merge schedules that are better; yield what is known then, or None, and a line on each.

    Everything else that the registry has of the instance is proved anew first.

    Raises
    ------
    RegistryError
        If the registry is damaged.
    """
    entries = read_entries(folder)
    for schedule in schedules:
        found = known[schedule.instance_sha256]
        entry = entries.get(schedule.instance_sha256)
        try:
            old = None if entry is None else read_known(entry, found, folder)
            claims = Claims((_upper(schedule), schedule), (), (), (), ())
            now = merge(found.instance, found.file, old, claims, found.planted)
        except (ContradictionError, DamagedError) as error:
            yield None, f"not taken: {error}"
            continue
        assert now is not None
        yield now, f"taken: {found.instance.name}: {now.entry.reason}"


def _read(path: Path, known: Mapping[str, LibraryInstance]) -> Schedule:
    """Return the schedule of a file, by the model beside it where it is a solution file.

    Raises
    ------
    FileError
        If there is none.
    """
    if path.suffix.lower() not in SOLUTIONS:
        return read_schedule(path)
    models = [path.with_suffix(suffix) for suffix in MODELS]
    model = next((each for each in models if each.is_file()), None)
    if model is None:
        raise FileError(f"{path}: expected its model beside it, found no {models[0].name}")
    return schedule_of_solution(model, path, InstancesOf(known))


def _fault(found: LibraryInstance, schedule: Schedule) -> Judged | None:
    """Return what the checker has against a schedule, also as one of its starts alone."""
    verdict = check_schedule(found.instance, schedule)
    if not verdict.valid:
        return Judged(str(verdict), verdict.exit_code)
    alone = schedule_of(found.instance, schedule.starts, _upper(schedule))
    verdict = check_schedule(found.instance, alone)
    if not verdict.valid:
        return Judged(f"{KEEPS_TOKENS_NOTE}; without that {verdict}", verdict.exit_code)
    return None


def _upper(schedule: Schedule) -> Upper:
    return Upper(
        value=schedule.tel, method=SUBMITTED, found_by=schedule.method, date=today(), seconds=0.0
    )


def _about(path: Path, error: FileError) -> str:
    told = str(error)
    return told if told.startswith(str(path)) else f"{path}: {told}"
