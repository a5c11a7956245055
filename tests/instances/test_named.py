"""Instances by name: every instance of the library is found, and a typo finds the nearest."""

import os
import re
from pathlib import Path

import pytest

from instances import InstanceFileError, read_instance
from instances.instance_names import (
    FOLDER,
    describe_hidden,
    find_instance,
    find_instances,
    library_files,
)
from instances.library import library
from tests.kvopt.sweep_tools import Patch


def test_every_instance_of_the_library_has_its_name() -> None:
    """Names by file are the names in the files, each of one instance."""
    names = [instance.name for _, instance in library()]
    assert len(set(names)) == len(names)
    found = {name: read_instance(file).name for name, file in library_files().items()}
    assert found == {name: name for name in names}


@pytest.mark.parametrize(
    "name",
    [
        *("am1_00", "am1/am1_00", "am1/am1_00.json", "instances/am1/am1_00.json"),
        FOLDER / "am1" / "am1_00.json",
    ],
)
def test_an_instance_is_found_from_any_folder(
    name: str | Path, tmp_path: Path, monkeypatch: Patch
) -> None:
    """By name, by its file below the library, as rows show it, and by a path."""
    monkeypatch.chdir(tmp_path)
    assert find_instance(name) == FOLDER / "am1" / "am1_00.json"
    for other in ("tiny_two_bursts", "tiny/two_bursts", "two_bursts", "two_bursts.json"):
        assert find_instances(other) == [FOLDER / "tiny" / "two_bursts.json"]


def test_what_a_file_of_ones_own_hides_is_told(tmp_path: Path, monkeypatch: Patch) -> None:
    """One line where a name is both; nothing of other files, of paths, or of the library itself."""
    monkeypatch.chdir(tmp_path)
    for name in ("uniform_100", "two_bursts.json", "mine.json", "one/uniform_100"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text("{}")
    assert find_instance("uniform_100") == Path("uniform_100")
    assert describe_hidden("uniform_100") == (
        "uniform_100: the file here, not uniform_100 of the library "
        "(instances/uniform_100.json names that)"
    )
    hidden = describe_hidden("two_bursts.json")
    assert "not tiny_two_bursts of the library (instances/tiny/two_b" in hidden
    for name in ("mine.json", "one/uniform_100", "./one/uniform_100", "am1_00", "nothing"):
        assert describe_hidden(name) == ""
    monkeypatch.chdir(FOLDER)
    assert describe_hidden("uniform_100.json") == ""


@pytest.mark.parametrize(
    ("typo", "expected"),
    [
        ("unifrom_100", "did you mean uniform_100, "),
        ("Uniform-100", "did you mean uniform_100, "),
        ("instances/am1/am1_000.json", "did you mean am1_00, "),
        # Names that begin with what was typed come first, all of them.
        ("am1_0", "did you mean " + ", ".join(f"am1_0{k}" for k in range(10)) + "?"),
        ("AM1-0.json", "did you mean " + ", ".join(f"am1_0{k}" for k in range(10)) + "?"),
        ("tiny", "did you mean tiny_all_fit_at_once, "),
        ("tiny", f", {len(list((FOLDER / 'tiny').glob('*.json'))) - 10} more?"),
        ("planted_1", "did you mean planted_100, planted_1000, planted_12?"),
        ("am1_n10_sed0", "am1_n10_seed0"),  # of the ladder
        ("no/such/file.json", "found neither"),
        ("a\nb", "a\\x0ab: expected"),
        ("\0", "\\x00: expected"),
    ],
)
def test_an_unknown_name_is_told_with_the_nearest(
    typo: str, expected: str, tmp_path: Path, monkeypatch: Patch
) -> None:
    """One line that says what was expected, and the names that are alike if there are any."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InstanceFileError, match=rf"\A.*{re.escape(expected)}.*\Z"):
        find_instance(typo)


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("instances", len(library_files())),
        ("am1", 10),
        ("instances/am1/", 10),
        ("tiny/one_*.json", len(list((FOLDER / "tiny").glob("one_*.json")))),
        ("instances/**/am1_0?.json", 10),
        ("am1_00", 1),
        # A glob of one's own that matches nothing must not run the library.
        ("*.json", 0),
        ("./**/*.json", 0),
        ("instances/../*.json", 0),
        ("instances/best_known*", 0),
        ("nothing", 0),
        ("best_known", 0),
    ],
)
def test_folders_and_globs_of_the_library_are_found_from_any_folder(
    name: str, count: int, tmp_path: Path, monkeypatch: Patch
) -> None:
    """What the README names runs in any folder; schemas and best-known values are no instances."""
    monkeypatch.chdir(tmp_path)
    found = find_instances(name)
    assert (len(found), found) == (count, sorted(found))
    assert set(found) <= set(library_files().values())


def test_a_folder_is_no_instance(tmp_path: Path, monkeypatch: Patch) -> None:
    """One that is called like an instance does not hide it; nor is a pipe in it an instance."""
    monkeypatch.chdir(tmp_path)
    for name in ("uniform_100", "mine"):
        (tmp_path / name).mkdir()
    assert find_instance("uniform_100").name == "uniform_100.json"
    with pytest.raises(InstanceFileError, match="expected an instance file, found a folder"):
        find_instance("mine")
    os.mkfifo(tmp_path / "mine" / "pipe.json")
    assert find_instances("mine") == []
    with pytest.raises(InstanceFileError, match="too long"):
        read_instance(find_instance("x" * 5000))
    with pytest.raises(InstanceFileError, match="expected a name or a path, found"):
        find_instance(3)  # type: ignore[arg-type]
