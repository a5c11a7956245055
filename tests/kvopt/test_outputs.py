"""Every command that writes: outputs never replace inputs, and what is wrong is told at first."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

import kvopt.best_known.__main__
import kvopt.commands.evaluate
import kvopt.commands.solve
import reports.build
import serving.commands.rates
import serving.traces.convert
from kvopt.store import Store
from kvopt.store.location import LocationError, store_files
from tests.kvopt.conftest import Refused
from tests.kvopt.sweep_tools import summary_of, write_small
from tests.serving.traces.cases import BY_NAME


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
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
    """A file of one's own that cannot be there is one line, before anything runs."""
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


def test_reports_keep_the_store(small: Path, refused: Refused) -> None:
    """The folder of a report or a night is neither the store nor the place where it lies."""
    del small
    Path("report/instances").mkdir(parents=True)
    for location in ("runs.sqlite", "report/instances/runs.sqlite"):
        Store(location).close()
    build = reports.build.main
    assert "is the input" in refused(build, "--store", "runs.sqlite", "--out", "runs.sqlite")
    told = refused(build, "--store", "report/instances/runs.sqlite", "--out", "report")
    assert "is an input" in told


def test_the_registry_keeps_the_store(small: Path, refused: Refused) -> None:
    """``kvopt.best_known`` writes its files not over the store that it takes values from."""
    del small
    Path("best_known").mkdir()
    for location in ("best_known.json", "best_known/runs.sqlite"):
        Store(location).close()
        told = refused(kvopt.best_known.__main__.main, "--store", location, "--folder", ".")
        assert "is an input" in told


def test_the_files_of_a_store() -> None:
    """SQLite keeps up to four files."""
    assert [path.name for path in store_files("a/runs.sqlite")] == [
        "runs.sqlite",
        "runs.sqlite-wal",
        "runs.sqlite-shm",
        "runs.sqlite-journal",
    ]
    with pytest.raises(LocationError):
        store_files("nonsense://[")


#: What each command may be given to read and to write, by option; "" is its first argument.
_COMMANDS: dict[str, tuple[list[str], dict[str, str], list[str]]] = {
    "solve": (
        ["--policy", "svf", "--memory", "3000", "--rate", "2"],
        {"": "talk.json", "--tokenizer": "tok.json", "--batch-time": "fitted({})"},
        ["--out", "--plot", "--requests"],
    ),
    "solve file:": (
        ["--memory", "3000"],
        {"": "talk.json", "--method": "file:{}", "--tokenizer": "tok.json"},
        ["--out", "--plot"],
    ),
    "evaluate": (
        ["--memory", "3000", "--rate", "2", "--store", "runs.sqlite"],
        {"": "talk.json", "--tokenizer": "tok.json", "--batch-time": "fitted({})",
         "--methods": "file:{}"},
        ["--export", "--store", "--report"],
    ),
    "rates": (
        ["--memory", "3000", "--rates", "1", "--methods", "svf", "--store", "runs.sqlite"],
        {"": "talk.json", "--tokenizer": "tok.json", "--batch-time": "fitted({})"},
        ["--export", "--plot", "--store"],
    ),
    "convert": (["--memory", "3000"], {"": "talk.json", "--tokenizer": "tok.json"}, ["--out"]),
}  # fmt: skip
_MAINS = {
    "solve": kvopt.commands.solve.main,
    "evaluate": kvopt.commands.evaluate.main,
    "rates": serving.commands.rates.main,
    "convert": serving.traces.convert.main,
}
_ENDS = {"--plot": ".svg", "--export": ".csv", "--requests": ".csv"}
_PAIRS = [
    (command, read, written)
    for command, (_, inputs, outputs) in _COMMANDS.items()
    for read in inputs
    for written in outputs
]


@pytest.mark.parametrize(("command", "read", "written"), _PAIRS)
def test_no_output_replaces_any_input(
    command: str,
    read: str,
    written: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    refused: Refused,
) -> None:
    """Every file that a command reads against every one that it writes, by a link of its name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "tokenizers", _tokenizers())
    talk = Path("talk.json")
    talk.write_bytes(BY_NAME["sharegpt.json"].path.read_bytes())
    Path("tok.json").write_text("{}")
    Path("own.py").write_text("def solve(instance):\n    return []\n")
    rows = [f"{k},{k % 3},{100 + k},0.0{k + 10}" for k in range(20)]
    Path("m.csv").write_text("\n".join(["prefill,decode,kv,seconds", *rows]))
    fixed, inputs, _ = _COMMANDS[command]
    files = {"": talk, "--tokenizer": Path("tok.json"), "--batch-time": Path("m.csv")}
    target = files.get(read, Path("own.py"))
    link = Path(f"link{_ENDS.get(written, '')}")
    link.symlink_to(target)
    given = [*fixed, "--quiet", written, str(link)]
    for option, text in inputs.items():
        given += [option] * bool(option) + [text.format(files.get(option, Path("own.py")))]
    before = target.read_bytes()
    told = refused(_MAINS[command.split()[0]], *given)
    assert "is the input" in told
    assert target.read_bytes() == before
    assert not Path("runs.sqlite").exists()


def _tokenizers() -> ModuleType:
    """Return what stands in for the package, an extra."""
    count = SimpleNamespace(encode=lambda text, **_: SimpleNamespace(ids=text.split()))
    module = ModuleType("tokenizers")
    module.Tokenizer = SimpleNamespace(from_buffer=lambda _: count)  # type: ignore[attr-defined]
    return module


@pytest.mark.parametrize(
    ("main", "options", "told"),
    [
        (kvopt.commands.solve.main, ["--policy", "svf", "--out", "/dev/full"], "--out /dev/full"),
        pytest.param(
            serving.commands.rates.main,
            ["--rates", "1", "--methods", "svf", "--export", "full.csv", "--store", "r.sqlite"],
            "--export full.csv",
            marks=pytest.mark.slow("walks"),
        ),
    ],
)
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has a full device")
def test_a_full_disk_is_told_with_the_file(
    main: Callable[[list[str]], int],
    options: list[str],
    told: str,
    small: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Which of several outputs could not be written, and by which option it was asked for."""
    Path("full.csv").symlink_to("/dev/full")
    assert main([str(small), *options]) == 2
    shown = capfd.readouterr()
    assert f"{told}: could not be written: No space left on device" in shown.err
    # A summary is printed all the same.
    assert (summary_of(shown.out).get("checker") == "valid") == (main is kvopt.commands.solve.main)
