"""The ladder: each row draws its instance, by its name too, and a cache never answers for it."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

import instances.instance_names
import instances.ladder
from instances import Instance, InstanceFileError, read_instance
from instances.generate import main as generate_main
from instances.instance_names import find_instance, find_instances, library_files
from instances.ladder import SIZES, draw_rungs, main, read_ladder, write_rung_file

LARGEST_HERE = 60


@pytest.fixture
def caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of the user's caches, an empty one."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def test_small_rows_are_what_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every column; the slow test has all sizes."""
    monkeypatch.setattr(instances.ladder, "SIZES", [n for n in SIZES if n <= LARGEST_HERE])
    drawn = list(draw_rungs())
    assert drawn == [rung for rung in read_ladder().values() if rung.n <= LARGEST_HERE]
    assert len(drawn) > 200


@pytest.mark.slow("repeats")
def test_all_rows_are_what_is_drawn() -> None:
    """The committed file stands byte for byte, sizes up to 10,000."""
    assert main(["--check"]) == 0
    assert {rung.n for rung in read_ladder().values()} == set(SIZES)


def test_names_are_of_one_instance_each() -> None:
    """Also over ladder and library together, and so are the hashes of the ladder."""
    assert not read_ladder().keys() & library_files().keys()
    assert len({rung.sha256 for rung in read_ladder().values()}) == len(read_ladder())


@pytest.mark.parametrize("name", ["am2_n8_seed1", "uniform_n5_seed2_rate0.08"])
def test_the_command_of_a_row_draws_its_instance(name: str, tmp_path: Path) -> None:
    """As a user would type it."""
    rung, file = read_ladder()[name], tmp_path / "mine.json"
    parameters = [f"--set={each}" for each in rung.set.split()]
    command = [rung.family, "--seed", str(rung.seed), *parameters, "--out", str(file)]
    assert generate_main(command) == 0
    drawn = read_instance(file)
    assert (drawn.name, drawn.sha256) == (name, rung.sha256)


def test_a_size_holds_the_requests_of_the_one_before() -> None:
    """What docs/formats.md says of families that arrive at 0, but for mix80-20."""
    drawn: dict[str, list[Instance]] = {}
    for rung in read_ladder().values():
        stated = rung.last_arrival == 0 and not rung.family.startswith("mix80-20")
        if stated and rung.seed == 0 and rung.n <= 500:
            drawn.setdefault(rung.family, []).append(rung.draw())
    assert min(map(len, drawn.values())) > 1
    for sizes in drawn.values():
        for smaller, larger in pairwise(sizes):
            assert larger.requests[: len(smaller)] == smaller.requests


@pytest.mark.parametrize("name", ["am1_n5_seed0", "ladder/am1_n5_seed0", "am1_n5_seed0.json"])
def test_an_instance_is_drawn_by_its_name(name: str, caches: Path) -> None:
    """Into the user's caches, whose file is taken the next time."""
    file = find_instance(name)
    assert file.is_relative_to(caches)
    assert read_instance(file) == read_ladder()["am1_n5_seed0"].draw()
    before = file.stat().st_mtime_ns
    assert find_instances(name) == [file]
    assert file.stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("found", "written"),
    [
        ("{", ""),
        ('"am1_n5_seed0"', '"mine"'),
        ('"memory": 43', '"memory": 44'),
        ('"memory": 43', '"memory": 2'),  # in which no request fits
        # What the sha256 does not hold.
        ('"family": "am1"', '"family": "am2"'),
        ('"memory": 43', '"known_optimum": 9, "known_optimum_reason": "so", "memory": 43'),
        ('"memory": 43', '"time_unit": "second", "memory": 43'),
    ],
)
def test_a_damaged_file_of_the_caches_is_made_again(found: str, written: str, caches: Path) -> None:
    """Also where it is an instance all the same, but another one."""
    file = write_rung_file("am1_n5_seed0")
    whole = file.read_text()
    assert found in whole
    file.write_text(whole.replace(found, written))
    assert write_rung_file("am1_n5_seed0").read_text() == whole
    assert file.is_relative_to(caches)


def test_a_link_in_the_caches_is_not_followed(caches: Path) -> None:
    """Neither read, as from a device without an end, nor written through."""
    file, other = write_rung_file("am1_n5_seed0"), caches / "other"
    whole = file.read_text()
    for target in (Path("/dev/zero"), other):
        file.unlink()
        file.symlink_to(target)
        assert write_rung_file("am1_n5_seed0").read_text() == whole
        assert not file.is_symlink()
    assert not other.exists()


def test_what_is_drawn_otherwise_is_refused(caches: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line, and nothing stays in the caches."""
    rung = replace(read_ladder()["am1_n5_seed0"], sha256="0" * 64)
    monkeypatch.setattr(instances.ladder, "read_ladder", lambda: {rung.name: rung})
    with pytest.raises(InstanceFileError, match="am1_n5_seed0: expected sha256 000000000000, drew"):
        write_rung_file(rung.name)
    assert not list(caches.rglob("*.json"))
    monkeypatch.undo()
    # A file stands where the folder shall be.
    monkeypatch.setenv("XDG_CACHE_HOME", str(caches / "file"))
    (caches / "file").write_text("")
    with pytest.raises(InstanceFileError, match=r"am1_n5_seed0: .*file"):
        find_instance("am1_n5_seed0")


def test_the_ladder_is_a_folder_to_a_command(caches: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its name, and by a glob below it; one instance takes neither."""
    assert [file.stem for file in find_instances("ladder/am1_n5_*")] == [
        f"am1_n5_seed{seed}" for seed in range(3)
    ]
    assert find_instances("ladder/nothing*") == find_instances("*_n5_seed0") == []
    monkeypatch.setattr(instances.instance_names, "write_rung_file", Path)
    whole = [Path(name) for name in read_ladder()]
    assert find_instances("ladder") == find_instances("ladder/**") == whole
    for name in ("ladder", "ladder/am1_n5_*"):
        with pytest.raises(InstanceFileError, match="found neither"):
            find_instance(name)
    assert len(list(caches.rglob("*.json"))) == 3
