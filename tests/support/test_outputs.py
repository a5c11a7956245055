"""Outputs are looked at before a run: they can be written and replace no input nor each other."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.called import called
from support.jsonfile import write_bytes, write_text
from support.outputs import OutputError, check_folder, check_outputs

ROOT = Path(__file__).parents[2]


def _spellings(path: Path) -> dict[str, Path]:
    """Return other names of a file: with dots, by links, from the current folder."""
    folder = path.parent
    (folder / "sub").mkdir()
    (folder / "link.json").symlink_to(path)
    os.link(path, folder / "hard.json")
    (folder / "folder-link").symlink_to(folder)
    return {
        "itself": path,
        "dots": folder / "sub" / ".." / path.name,
        "relative": Path(f"./{path.name}"),
        "parent": Path(f"../{folder.name}/{path.name}"),
        "symbolic link": folder / "link.json",
        "hard link": folder / "hard.json",
        "linked folder": folder / "folder-link" / path.name,
    }


@pytest.mark.parametrize(
    "kind", ["itself", "dots", "relative", "parent", "symbolic link", "hard link", "linked folder"]
)
def test_an_output_is_no_input(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By whatever name it is called, a file that is read is not written."""
    monkeypatch.chdir(tmp_path)
    source = tmp_path / "instance.json"
    source.write_text("{}")
    output = _spellings(source)[kind]
    with pytest.raises(OutputError, match=r"--out .* is the input .*instance\.json"):
        check_outputs({"--out": output}, [source])
    check_outputs({"--out": tmp_path / "other.json"}, [source])
    assert source.read_text() == "{}"


def test_two_outputs_are_two_files(tmp_path: Path) -> None:
    """Two options do not name one file, also where it is not there yet."""
    (tmp_path / "later.svg").symlink_to(tmp_path / "a.svg")
    for one, other in (("a.svg", "a.svg"), ("a.svg", "later.svg")):
        with pytest.raises(OutputError, match=r"--plot .* is the same file as --out"):
            check_outputs({"--out": tmp_path / one, "--plot": tmp_path / other})
    check_outputs({"--out": tmp_path / "a.json", "--plot": tmp_path / "a.svg", "--model": None})


def test_files_that_a_command_line_names(tmp_path: Path) -> None:
    """Wherever they stand in it, but for the values of the options that are looked at."""
    for name in ("own.py", "m.csv", "tok.json", "a=b.json", "out.json"):
        (tmp_path / name).touch()
    given = f"--methods=svf,file:{tmp_path}/own.py --batch-time fitted({tmp_path}/m.csv) -t"
    given += f" {tmp_path}/tok.json {tmp_path}/a=b.json --out {tmp_path}/out.json --plot=x.svg"
    with called(["kvopt", *given.split()]):
        check_outputs({"--out": tmp_path / "out.json", "--plot": tmp_path / "x.svg"})
        check_outputs({f"--out={tmp_path}/out.json": tmp_path / "other.json"})
        for name in ("own.py", "m.csv", "tok.json", "a=b.json"):
            with pytest.raises(OutputError, match="is the input"):
                check_outputs({"--out": tmp_path / name})
        with pytest.raises(OutputError, match="is the input"):
            check_outputs({"--export": tmp_path / "out.json"})


def test_devices_are_no_files_to_replace() -> None:
    """Two outputs to /dev/null, and an input of /dev/null, replace nothing."""
    check_outputs({"--out": "/dev/null", "--plot": "/dev/null"}, ["/dev/null"])


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("x" * 300, "File name too long"),
        ("x/" * 3000, "File name too long"),
        ("a\0b", "embedded null "),  # byte, or character in path
        (".", "found a directory"),
        ("nowhere/out.json", "there is no such folder"),
        ("/proc/out.json", ""),
    ],
)
def test_places_that_cannot_be_written(
    path: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Impossible names, folders, and places where nobody writes are told before the run."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OutputError, match=f"--out .*{reason}"):
        check_outputs({"--out": path})


def _nothing(root: Path) -> None:
    del root


@pytest.mark.parametrize(
    ("prepare", "inputs", "reason"),
    [
        (lambda root: root.write_text(""), [], "File exists"),
        (lambda root: (root / "README.md").mkdir(parents=True), [], "expected a file at"),
        (lambda root: (root.mkdir(), (root / "tables").touch()), [], "expected a folder at"),
        (_nothing, ["README.md"], "is an input"),
        (_nothing, ["tables/deep/a.json"], "is an input"),
        (_nothing, ["a.json"], None),
    ],
)
def test_folders_for_outputs(
    prepare: Callable[[Path], object], inputs: list[str], reason: str | None, tmp_path: Path
) -> None:
    """A folder is made; a file in its way, and inputs among what it will hold, are refused."""
    root = tmp_path / "report"
    prepare(root)
    for name in inputs:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("mine")
    owned = ("README.md", "tables/")
    if reason is None:
        check_folder("--report", root, owned, [root / name for name in inputs])
        assert root.is_dir()
        return
    with pytest.raises(OutputError, match=f"--report .*{reason}"):
        check_folder("--report", root, owned, [root / name for name in inputs])


@pytest.mark.parametrize("place", ["/proc/report", "/dev/null/report", "x" * 300])
def test_folders_where_nobody_writes(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever runs the command: nothing can be made there, and one line says so."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OutputError, match="--report"):
        check_folder("--report", place, ())


def test_writing_follows_links(tmp_path: Path) -> None:
    """A link stays a link, and what it points to is what was written."""
    (tmp_path / "latest.json").symlink_to(tmp_path / "one.json")
    write_text(tmp_path / "latest.json", "new")
    assert (tmp_path / "latest.json").is_symlink()
    assert (tmp_path / "one.json").read_text() == "new"


def test_standard_output_into_a_file_is_written_to(tmp_path: Path) -> None:
    """``--out /dev/stdout > FILE`` writes into FILE; the link in /dev is not replaced."""
    before = os.readlink("/dev/stdout")
    target = tmp_path / "out.json"
    command = [sys.executable, "-m", "instances.generate", "example-3-1", "--out", "/dev/stdout"]
    with target.open("wb") as stream:
        subprocess.run(command, cwd=ROOT, stdout=stream, check=True)
    assert os.readlink("/dev/stdout") == before
    assert target.read_text().startswith("{")
    write_bytes("/dev/null", b"gone")


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o755])
def test_writing_keeps_permissions(mode: int, tmp_path: Path) -> None:
    """A file that only its owner may read is no more public after it was written again."""
    path = tmp_path / "a.json"
    path.write_text("old")
    path.chmod(mode)
    write_text(path, "new")
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == mode


def test_new_files_follow_the_umask(tmp_path: Path) -> None:
    """Where there was no file, permissions are those of any other new file."""
    (tmp_path / "usual").touch()
    write_text(tmp_path / "new", "")
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "usual").stat().st_mode
