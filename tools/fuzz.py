"""Every reader on damaged files: a documented exit code and one line, never a traceback.

``python -m pytest tools/fuzz.py -rP`` takes 2,500 files for each reader, for about half an hour,
and shows the exit codes and the longest time of a file; ``FILES=20`` before it takes so many.
"""

import contextlib
import io
import json
import os
import shutil
import sqlite3
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import pandas as pd
import pytest

import reports.build
from formulations.certificates.certificate_file import certificate_document
from instances import Instance, read_instance
from instances.instance_names import FOLDER
from kvopt.best_known import __main__ as best_known
from kvopt.best_known.library_and_ladder import LibraryInstance
from kvopt.best_known.registry_entry import ENTRIES
from kvopt.best_known.registry_files import format_registry, format_schemas, read_certificate_file
from kvopt.runs.task import FinishedRun
from kvopt.store import Store, StoreError
from kvopt.store.row_files import ExportError, export_rows, read_rows
from kvopt.suites import SuiteError, suites
from kvopt.sweeps.sweep_inputs import InputError, Wishes, read_inputs
from reports.stored_results import Results
from schedules import check_command, read_schedule
from support.usage_errors import complain
from tests.reports.synthetic import record
from tools.mutations import VALUES, damaged_bytes, damaged_document, damaged_json, draws

#: Longer than other tests may take, seconds.
pytestmark = pytest.mark.timeout(7200)
#: Damaged files of each reader, and reports, which take seconds each.
FILES = int(os.environ.get("FILES", 2500))
REPORTS = max(1, FILES // 25)
#: Small instances of the library whose certificates are volumes and prices.
NAMES = {"tiny_handover": "tiny/handover.json", "tiny_equal_four": "tiny/equal_four.json"}
#: A larger instance of the library, whose certificate is of volumes.
LARGER = {"planted_online_100": "planted/planted_online_100.json"}

Run = Callable[[], int]
#: Damages a file by the draws that it is given.
Damage = Callable[[Random], None]


def _fuzz(damage: Damage, run: Run, documented: set[int], number: int = FILES) -> Counter[int]:
    """Damage the file and run the command on it, so many times; return how often it gave a code."""
    codes: Counter[int] = Counter()
    longest = 0.0
    for position, draw in enumerate(draws(number)):
        damage(draw)
        shown, complaint = io.StringIO(), io.StringIO()
        started = time.monotonic()
        with (
            contextlib.redirect_stdout(shown),
            contextlib.redirect_stderr(complaint),
            warnings.catch_warnings(),
        ):
            # A library's warning would be one more line on standard error.
            warnings.simplefilter("error")
            try:
                code = run()
            except Exception as error:
                raise AssertionError(f"file {position}: {error!r}") from error
        longest = max(longest, time.monotonic() - started)
        codes[code] += 1
        lines = complaint.getvalue().splitlines()
        assert code in documented, (position, code)
        assert all(line.isprintable() and len(line) < 1000 for line in lines), position
        # The checker's verdict goes to standard output.
        assert code == 0 or lines or shown.getvalue().strip(), position
    found = ", ".join(f"{count} of {code}" for code, count in sorted(codes.items()))
    print(f"exit codes: {found}; longest {longest:.2f} s")
    return codes


def _library(names: dict[str, str]) -> dict[str, LibraryInstance]:
    made = [LibraryInstance(file, read_instance(FOLDER / file)) for file in names.values()]
    return {each.instance.sha256: each for each in made}


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The registry of two instances of the library, which verifies."""
    return _make_registry(NAMES, tmp_path, monkeypatch)


def _make_registry(names: dict[str, str], place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder, library = place / "registry", _library(names)
    monkeypatch.setattr(best_known, "library_by_hash", lambda: dict(library))
    for kind in ("schedules", "bounds"):
        (folder / "best_known" / kind).mkdir(parents=True)
        for file in (f"best_known/{kind}/{name}.json" for name in names):
            shutil.copy(FOLDER / file, folder / file)
    for schema in format_schemas():
        shutil.copy(FOLDER / schema, folder)
    document = json.loads((FOLDER / "best_known.json").read_text())
    entries = {entry["instance"]: entry for entry in document["instances"]}
    _write_registry(folder, document | {"instances": [entries[name] for name in names]})
    return folder


def _write_registry(folder: Path, document: object) -> None:
    """Write a registry, as its command would where it is one."""
    text = json.dumps(document)
    if isinstance(document, dict):
        with contextlib.suppress(ValueError, KeyError):
            text = format_registry(ENTRIES.validate_python(document["instances"]))
    (folder / "best_known.json").write_text(text)


def _verify(folder: Path) -> Run:
    return lambda: best_known.main(["--check", "--folder", str(folder)])


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """An instance and a schedule of it, both valid."""
    instance, schedule = tmp_path / "instance.json", tmp_path / "schedule.json"
    shutil.copy(FOLDER / "tiny/some_predictions.json", instance)
    shutil.copy(FOLDER / "best_known/schedules/tiny_some_predictions.json", schedule)
    return instance, schedule


@pytest.mark.parametrize("damaged", [0, 1])
def test_the_checker(damaged: int, pair: tuple[Path, Path]) -> None:
    """Instances and schedules of any kind are judged: valid, malformed or infeasible."""
    path = pair[damaged]
    document = json.loads(path.read_text())
    # Policies that evict and keep add these, so that they are damaged, too.
    extra = {"attempts": [[[0, 1]], *[[]] * 5], "kept": [[0, 1], *[[0]] * 5]}

    def damage(draw: Random) -> None:
        more = extra if damaged and draw.random() < 0.5 else {}
        path.write_bytes(damaged_json(document | more, draw))

    assert check_command.main([*map(str, pair)]) == 0
    assert _fuzz(damage, lambda: check_command.main([*map(str, pair)]), {0, 10, 21})[10] > 0


def test_suites(tmp_path: Path) -> None:
    """Suites are read, or refused in one line, with all that they draw counted before."""
    path = tmp_path / "mine.toml"
    texts = [file.read_bytes() for file in suites().values()]

    def run() -> int:
        try:
            read_inputs([str(path)], Wishes())
        except (SuiteError, InputError) as error:
            complain("evaluate.py", error)
            return 2
        return 0

    def damage(draw: Random) -> None:
        path.write_bytes(damaged_bytes(draw.choice(texts), draw))

    _fuzz(damage, run, {0, 2})


def test_the_registry(registry: Path) -> None:
    """A registry is verified or every fault of it named, also with a digest that fits."""
    run = _verify(registry)
    assert run() == 0
    document = json.loads((registry / "best_known.json").read_text())

    def damage(draw: Random) -> None:
        if draw.random() < 0.5:
            _write_registry(registry, damaged_document(document, draw))
        else:
            (registry / "best_known.json").write_bytes(damaged_json(document, draw))

    _fuzz(damage, run, {0, 1, 2, 3})


@pytest.mark.parametrize(
    ("kind", "names"), [("bounds", NAMES), ("schedules", NAMES), ("bounds", LARGER)]
)
def test_the_registrys_proofs(
    kind: str, names: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Certificates and schedules of the registry prove their values or are named."""
    registry = _make_registry(names, tmp_path, monkeypatch)
    files = {path: path.read_bytes() for path in (registry / "best_known" / kind).iterdir()}

    def damage(draw: Random) -> None:
        for path, good in files.items():
            path.write_bytes(good)
        path = draw.choice(sorted(files))
        path.write_bytes(damaged_json(json.loads(files[path]), draw))

    _fuzz(damage, _verify(registry), {0, 1, 2, 3})


def _runs() -> list[FinishedRun]:
    """Return runs of instances of the library with their schedules and certificates."""
    names = NAMES | LARGER
    methods = ("cpsat", "highs:ilp-sparse", "svf")
    instances = [each.instance for each in _library(names).values()]
    return [_finished(*each) for each in zip(names, instances, methods, strict=True)]


def _finished(name: str, instance: Instance, method: str) -> FinishedRun:
    schedule = read_schedule(FOLDER / f"best_known/schedules/{name}.json")
    certificate = read_certificate_file(FOLDER / f"best_known/bounds/{name}.json", instance)
    row = record(
        instance=name,
        instance_sha256=instance.sha256,
        n=len(instance),
        memory=instance.memory,
        method=method,
        status="feasible",
        tel=schedule.tel,
        lower_bound=certificate.value,
        bound_source=certificate.kind,
        incumbents=[(0.5, schedule.tel + 1), (1.0, schedule.tel)],
        bounds=[(0.25, 1), (1.0, certificate.value)],
        versions={"python": "3.11"},
        command=["evaluate.py"],
    )
    return FinishedRun(row, schedule, certificate_document(certificate), instance)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store of three runs, all in one file."""
    path = tmp_path / "runs.sqlite"
    with contextlib.closing(Store(path)) as opened:
        opened.put(*_runs())
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")
    return path


def _rows_of(path: Path) -> Run:
    """Read rows and compute the beginning of every report."""

    def run() -> int:
        try:
            results = Results(read_rows(path))
        except (ExportError, StoreError) as error:
            complain("reports.build", error)
            return 2
        _ = results.reference, results.contradictions
        return 0

    return run


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_exported_rows(suffix: str, store: Path, tmp_path: Path) -> None:
    """Exported rows are read with all their columns, or refused in one line."""
    path = tmp_path / f"rows{suffix}"
    export_rows(read_rows(store), path)
    good = path.read_bytes()
    flat = pd.read_csv(path, dtype=str, keep_default_na=False) if suffix == ".csv" else None

    def damage(draw: Random) -> None:
        if flat is None or draw.random() < 0.5:
            path.write_bytes(damaged_bytes(good, draw))
            return
        changed = flat.copy()
        for _ in range(draw.randint(1, 3)):
            value = draw.choice(VALUES)
            with contextlib.suppress(ValueError):
                text = value if isinstance(value, str) else json.dumps(value)
                place = draw.randrange(len(changed)), draw.randrange(len(changed.columns))
                changed.iat[place] = text.encode("utf-8", "replace").decode()
        changed.to_csv(path, index=False)

    _fuzz(damage, _rows_of(path), {0, 2})


def _merge(store: Path, registry: Path) -> Run:
    return lambda: best_known.main(["--store", str(store), "--check", "--folder", str(registry)])


def test_stores_damaged_by_bytes(store: Path, registry: Path) -> None:
    """Of a file that was a store, what can be read is; else one line says that it is damaged."""
    run = _merge(store, registry)
    good = store.read_bytes()
    assert run() in (0, 1, 3)

    def damage(draw: Random) -> None:
        for log in store.parent.glob(f"{store.name}-*"):
            log.unlink()
        cut = draw.randrange(len(good)) if draw.random() < 0.2 else len(good)
        store.write_bytes(damaged_bytes(good, draw)[:cut])

    _fuzz(damage, run, {0, 1, 2, 3, 5})


def test_stores_damaged_by_values(store: Path, registry: Path) -> None:
    """Wrong values in columns, and proofs that are none, are named by their run."""
    good = store.read_bytes()

    def damage(draw: Random) -> None:
        store.write_bytes(good)
        with contextlib.closing(sqlite3.connect(store)) as connection:
            table = draw.choice(["runs", "runs", "proofs", "instances"])
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            column = draw.choice(columns)
            (old,) = connection.execute(f"SELECT {column} FROM {table} LIMIT 1").fetchone()
            new: object = draw.choice(VALUES)
            if isinstance(old, bytes):
                new = damaged_bytes(old, draw)
            elif not isinstance(new, str | float) and not (
                isinstance(new, int) and abs(new) < 2**62
            ):
                new = json.dumps(new)
            with contextlib.suppress(sqlite3.Error, UnicodeEncodeError):
                connection.execute(f"UPDATE OR IGNORE {table} SET {column} = ?", (new,))
                connection.commit()

    merge, rows = _merge(store, registry), _rows_of(store)
    _fuzz(damage, lambda: merge() or rows(), {0, 1, 2, 3, 5})


def test_whole_reports_of_damaged_rows(store: Path, tmp_path: Path) -> None:
    """A report is built of whatever the rows hold: few of them, since each takes seconds."""
    path, out = tmp_path / "rows.csv", tmp_path / "report"
    export_rows(read_rows(store), path)
    flat = pd.read_csv(path, dtype=str, keep_default_na=False)

    def damage(draw: Random) -> None:
        changed = flat.copy()
        for _ in range(3):
            place = draw.randrange(len(changed)), draw.randrange(len(changed.columns))
            changed.iat[place] = draw.choice(["", "0", "-1", "1e9", "nan", "[]", "{}", "99999999"])
        changed.to_csv(path, index=False)

    arguments = ["--store", str(path), "--out", str(out)]
    _fuzz(damage, lambda: reports.build.main(arguments), {0, 2, 5}, REPORTS)
