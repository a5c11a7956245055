"""Every command that writes: outputs never replace inputs, and faults come first."""

from collections.abc import Callable
from pathlib import Path

import pytest

import kvopt.best_known.__main__
import kvopt.commands.evaluate
import kvopt.commands.solve
import reports.build
import serving.commands.rates_command
import serving.traces.convert
from kvopt.store import Store
from kvopt.store.location import LocationError, store_files
from support.click_command import Command
from tests.kvopt.conftest import Refused
from tests.kvopt.sweep_tools import Capture, Patch, summary_of, write_small
from tests.serving.traces.cases import BY_NAME


@pytest.fixture
def small(tmp_path: Path, monkeypatch: Patch) -> Path:
    """One small instance in the current folder."""
    monkeypatch.chdir(tmp_path)
    return write_small(tmp_path, 1)[0]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--store", "rows.csv", "--export", "rows.csv"], "--export rows.csv: is the input"),
        (["--store", "rows", "--export", "wal.csv"], "--export wal.csv: is the input"),
        (["--store", "small_0.json"], "--store small_0.json: is the input"),
        (["--report", "small_0.json"], "is the input"),
        (["--report", "small_0.json/report"], "--report small_0.json/report: Not a directory"),
        (["--report", "rows.csv", "--export", "rows.csv"], "is the input"),
        (["--report", "r", "--store", "r/instances/runs.sqlite"], "is an input"),
        (["--report", "."], "expected an empty folder or that of an earlier report"),
        (["--export", "x" * 300 + ".csv"], "File name too long"),
    ],
)
def test_evaluate_keeps_what_it_reads(
    options: list[str], told: str, small: Path, refused: Refused
) -> None:
    """Store, its log and instances are not written over; places are looked at first."""
    Path("wal.csv").symlink_to("rows-wal")
    Path("r/instances").mkdir(parents=True)
    before = small.read_bytes()
    if "--store" not in options:
        options = [*options, "--store", "runs.sqlite"]
    assert told in refused(kvopt.commands.evaluate.main, small, "--methods", "svf", *options)
    assert small.read_bytes() == before
    assert not Path("runs.sqlite").exists()


@pytest.mark.parametrize("path", ["x" * 300 + ".py", "~nobody-of-that-name/own.py", "a\0b.py"])
def test_methods_in_impossible_places(path: str, small: Path, refused: Refused) -> None:
    """A custom file that cannot exist is one line, before anything runs."""
    assert "file:" in refused(kvopt.commands.evaluate.main, small, "--methods", f"file:{path}")


@pytest.mark.parametrize("option", ["--report", "--export", "--out"])
@pytest.mark.parametrize(
    "url", ["postgresql://u:hunter2@h/db.csv", "x/postgresql://u:hunter2@h/b.csv"]
)
def test_outputs_are_no_servers(option: str, url: str, small: Path, refused: Refused) -> None:
    """A URL would become folders that bear its password in their names."""
    if option == "--out":
        Store("runs.sqlite").close()
        if url.startswith("postgresql"):
            told = refused(reports.build.main, "--store", "runs.sqlite", option, url)
            assert "hunter2" not in told
        told = refused(kvopt.commands.solve.main, small, "--policy", "svf", option, url)
    else:
        store = ["--store", "runs.sqlite", "--methods", "svf"]
        told = refused(kvopt.commands.evaluate.main, small, *store, option, url)
    assert "hunter2" not in told
    assert not Path("postgresql:").exists()
    assert not Path("x").exists()


def test_a_suite_is_an_input(small: Path, refused: Refused) -> None:
    """The suite that the command line names is not written over."""
    del small
    Path("mine.toml").write_text(
        'summary = "one"\n[[section]]\nname = "one"\nmethods = ["svf"]\ninstances = ["./*.json"]\n'
    )
    Path("a.csv").symlink_to("mine.toml")
    store = ["--store", "s.sqlite", "--export", "a.csv"]
    assert "is the input" in refused(kvopt.commands.evaluate.main, "mine.toml", *store)


def test_reports_and_the_registry_keep_the_store(small: Path, refused: Refused) -> None:
    """The folder of a report or a registry is neither the store nor the place where it lies."""
    del small
    stores = ("runs.sqlite", "report/instances/runs.sqlite", "best_known.json", "best_known/r.db")
    for name in stores:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Store(name).close()
    build, registry = reports.build.main, kvopt.best_known.__main__.main
    assert "is the input" in refused(build, "--store", stores[0], "--out", stores[0])
    assert "is an input" in refused(build, "--store", stores[1], "--out", "report")
    for name in stores[2:]:
        assert "is an input" in refused(registry, "--store", name, "--folder", ".")


def test_the_files_of_a_store() -> None:
    """SQLite keeps up to four files."""
    names = [f"runs.sqlite{end}" for end in ("", "-wal", "-shm", "-journal")]
    assert [path.name for path in store_files("a/runs.sqlite")] == names
    with pytest.raises(LocationError):
        store_files("nonsense://[")


#: Arguments of each command, and its outputs; tests/support has the other names of inputs.
_COMMANDS: list[tuple[Command, str, str]] = [
    (kvopt.commands.solve.main, "--policy svf --memory 3000 --rate 2", "--out --plot --requests"),
    (
        kvopt.commands.evaluate.main,
        "--methods svf --memory 3000 --rate 2 --store runs.sqlite",
        "--export --store --report",
    ),
    (
        serving.commands.rates_command.main,
        "--memory 3000 --rates 1 --methods svf --store runs.sqlite",
        "--export --plot --store",
    ),
    (serving.traces.convert.main, "--memory 3000", "--out"),
]
_ENDS = {"--plot": ".svg", "--export": ".csv", "--requests": ".csv"}


@pytest.mark.parametrize(
    ("main", "fixed", "option"),
    [(main, fixed, each) for main, fixed, outputs in _COMMANDS for each in outputs.split()],
)
def test_no_output_replaces_the_input(
    main: Command, fixed: str, option: str, tmp_path: Path, monkeypatch: Patch, refused: Refused
) -> None:
    """Every output of a command, by a link to its input."""
    monkeypatch.chdir(tmp_path)
    talk, link = Path("talk.json"), Path(f"link{_ENDS.get(option, '')}")
    before = BY_NAME["sharegpt.json"].path.read_bytes()
    talk.write_bytes(before)
    link.symlink_to(talk)
    told = refused(main, talk, *fixed.split(), "--quiet", option, link)
    assert "is the input" in told
    assert talk.read_bytes() == before
    assert not Path("runs.sqlite").exists()


@pytest.mark.parametrize(
    ("main", "options", "told"),
    [
        (kvopt.commands.solve.main, ["--policy", "svf", "--out", "/dev/full"], "--out /dev/full"),
        pytest.param(
            serving.commands.rates_command.main,
            ["--rates", "1", "--methods", "svf", "--export", "full.csv", "--store", "r.sqlite"],
            "--export full.csv",
            marks=pytest.mark.slow("walks"),
        ),
    ],
)
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has a full device")
def test_a_full_disk_is_told_with_the_file(
    main: Callable[[list[str]], int], options: list[str], told: str, small: Path, capfd: Capture
) -> None:
    """Which of several outputs could not be written, and by which option it was asked for."""
    Path("full.csv").symlink_to("/dev/full")
    assert main([str(small), *options]) == 2
    shown = capfd.readouterr()
    assert f"{told}: could not be written: No space left on device" in shown.err
    # A summary is printed all the same.
    assert (summary_of(shown.out).get("checker") == "valid") == (main is kvopt.commands.solve.main)
