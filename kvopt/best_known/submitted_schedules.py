"""Schedules from outside: each judged by the checker and the registry, the better ones merged."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from kvopt.best_known.claims import Claims
from kvopt.best_known.library_and_ladder import LibraryInstance
from kvopt.best_known.proved_entry import (
    ContradictionError,
    DamagedError,
    ProvedEntry,
    merge,
    read_known,
)
from kvopt.best_known.registry_entry import SUBMITTED, UpperValue, today
from kvopt.best_known.registry_files import read_entries, read_registry, schedule_of
from kvopt.registry_lookup import find_registered
from kvopt.solution_file import schedule_of_solution
from schedules import Schedule, check_schedule
from schedules.schedule import OUTSIDE
from schedules.schedule_files import read_schedule
from schedules.verdict import EXIT_CODES
from support.json_files import FileError

EXIT_BETTER, EXIT_NONE_BETTER, EXIT_CONTRADICTION = 0, 1, 5
#: Suffixes of solution files, and of models by ``--write-model``.
SOLUTIONS, MODELS = (".sol", ".txt"), (".mps", ".lp")
Library = Mapping[str, LibraryInstance]


@dataclass(frozen=True)
class JudgedFile:
    """Judgement of a file: one line, an exit code, and its schedule if that is better."""

    line: str
    code: int
    schedule: Schedule | None = None


def judge_files(paths: Iterable[Path], known: Library, folder: Path) -> Iterator[JudgedFile]:
    """Judge files, each against the registry of a folder and the files before it."""
    read_registry(folder)
    best: dict[str, tuple[int, Path]] = {}
    for path in paths:
        judged = _judge(path, known, folder, best)
        if judged.schedule is not None:
            best[judged.schedule.instance_sha256] = judged.schedule.tel, path
        yield judged


def merge_schedules(
    schedules: Iterable[Schedule], known: Library, folder: Path
) -> Iterator[tuple[ProvedEntry | None, str]]:
    """Merge better schedules; yield the new record, or None, and a line on each."""
    entries = read_entries(folder)
    for schedule in schedules:
        found, entry = known[schedule.instance_sha256], entries.get(schedule.instance_sha256)
        claims = Claims((_upper(schedule), schedule))
        try:
            old = None if entry is None else read_known(entry, found, folder)
            now = merge(found.instance, found.file, old, claims, found.planted)
        except (ContradictionError, DamagedError) as error:
            yield None, f"not taken: {error}"
            continue
        assert now is not None
        yield now, f"taken: {found.instance.name}: {now.entry.reason}"


def _judge(
    path: Path, known: Library, folder: Path, best: Mapping[str, tuple[int, Path]]
) -> JudgedFile:
    try:
        schedule = _read(path, known)
    except FileError as error:
        line = str(error) if str(error).startswith(str(path)) else f"{path}: {error}"
        return JudgedFile(line, EXIT_CODES["malformed"])
    found, tel = known.get(schedule.instance_sha256), schedule.tel
    if found is None:
        why = "the library has no instance of its hash"
        if schedule.clock is not None:
            why = "a schedule in seconds, and the registry has instances in rounds only"
        return JudgedFile(f"{path}: {schedule.instance!r}: {why}", EXIT_CODES["malformed"])
    line = f"{path}: {found.instance.name}: "
    if (verdict := check_schedule(found.instance, schedule)).valid:
        alone = schedule_of(found.instance, schedule.starts, _upper(schedule))
        verdict = check_schedule(found.instance, alone)
        line += "" if verdict.valid else f"{schedule.easier}{OUTSIDE}; without that "
    if not verdict.valid:
        return JudgedFile(f"{line}{verdict}", verdict.exit_code)
    before, of_it = best.get(schedule.instance_sha256, (tel + 1, path))
    if before <= tel:
        return JudgedFile(f"{line}TEL {tel}, no better than {of_it}", EXIT_NONE_BETTER)
    value = find_registered(found.instance, folder)
    line += f"TEL {tel}, {f'best known {value}' if value else 'not run yet: the first value'}"
    if value is not None:
        line += f": gap {value.compared(tel, None)}"
        if value.upper <= tel:
            return JudgedFile(line, EXIT_NONE_BETTER)
        if tel < value.lower:
            return JudgedFile(f"{line}; below the registry's bound", EXIT_CONTRADICTION)
    return JudgedFile(line, EXIT_BETTER, schedule)


def _read(path: Path, known: Library) -> Schedule:
    """Return the schedule of a file, or of a solution file and its model."""
    if path.suffix.lower() not in SOLUTIONS:
        return read_schedule(path)
    models = [path.with_suffix(suffix) for suffix in MODELS]
    model = next((each for each in models if each.is_file()), None)
    if model is None:
        raise FileError(f"{path}: expected its model in the same folder, found no {models[0].name}")
    return schedule_of_solution(model, path, lambda sha: known[sha].instance)


def _upper(schedule: Schedule) -> UpperValue:
    return UpperValue(
        value=schedule.tel, method=SUBMITTED, found_by=schedule.method, date=today(), seconds=0.0
    )
