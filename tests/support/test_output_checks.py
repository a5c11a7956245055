"""Checks of outputs before a run: they can be written and replace no input nor each other."""

import os
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from support.current_command import set_command
from support.json_files import write_bytes, write_text
from support.output_checks import OutputError, check_folder, check_outputs

ROOT = Path(__file__).parents[2]


#: Names of a file in a folder ``here``: with dots, by links, from the current folder.
SPELLINGS = {
    "itself": "instance.json",
    "dots": "sub/../instance.json",
    "relative": "./instance.json",
    "parent": "../here/instance.json",
    "symbolic link": "link.json",
    "hard link": "hard.json",
    "linked folder": "folder-link/instance.json",
}


@pytest.mark.parametrize("kind", SPELLINGS)
def test_an_output_is_no_input(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By whatever name it is called, a file that is read is not written."""
    source = tmp_path / "here" / "instance.json"
    (source.parent / "sub").mkdir(parents=True)
    monkeypatch.chdir(source.parent)
    source.write_text("{}")
    Path("link.json").symlink_to(source)
    os.link(source, "hard.json")
    Path("folder-link").symlink_to(source.parent)
    with pytest.raises(OutputError, match=r"--out .* is the input .*instance\.json"):
        check_outputs({"--out": SPELLINGS[kind]}, [source])
    check_outputs({"--out": "other.json", "--plot": "/dev/null"}, [source, "/dev/null"])
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
    with set_command(["kvopt", *given.split()]):
        check_outputs({"--out": tmp_path / "out.json", "--plot": tmp_path / "x.svg"})
        check_outputs({f"--out={tmp_path}/out.json": tmp_path / "other.json"})
        for name in ("own.py", "m.csv", "tok.json", "a=b.json"):
            with pytest.raises(OutputError, match="is the input"):
                check_outputs({"--out": tmp_path / name})
        with pytest.raises(OutputError, match="is the input"):
            check_outputs({"--export": tmp_path / "out.json"})


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
    """Impossible names, folders, and places where nobody writes are found before the run."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OutputError, match=f"--out .*{reason}"):
        check_outputs({"--out": path})
    if path not in (".", "nowhere/out.json"):
        with pytest.raises(OutputError, match=f"--report .*{reason}"):
            check_folder("--report", path, ())


@pytest.mark.parametrize(
    ("made", "inputs", "reason"),
    [
        ("", [], "File exists"),
        ("README.md/", [], "expected a file at"),
        ("tables", [], "expected a folder at"),
        (None, ["README.md"], "is an input"),
        (None, ["tables/deep/a.json"], "is an input"),
        (None, ["a.json"], None),
    ],
)
def test_folders_for_outputs(
    made: str | None, inputs: list[str], reason: str | None, tmp_path: Path
) -> None:
    """A folder is made; a file in its way, and inputs among what it will hold, are refused."""
    root = tmp_path / "report"
    for name in [*inputs, *([] if made is None else [made])]:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).mkdir() if name.endswith("/") else (root / name).touch()
    allowed = nullcontext()
    refused = pytest.raises(OutputError, match=f"--report .*{reason}")
    with allowed if reason is None else refused:
        check_folder("--report", root, ("README.md", "tables/"), [root / each for each in inputs])
    assert root.is_dir() == (made != "")


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
def test_writing_keeps_links_and_permissions(mode: int, tmp_path: Path) -> None:
    """A file that only its owner may read stays one; a new file follows the umask."""
    path, link, usual = tmp_path / "a.json", tmp_path / "latest.json", tmp_path / "usual"
    usual.touch()
    link.symlink_to(path)
    write_text(link, "old")
    assert path.stat().st_mode == usual.stat().st_mode
    path.chmod(mode)
    write_text(link, "new")
    assert link.is_symlink()
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == mode
