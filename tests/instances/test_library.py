"""The committed library: fresh byte for byte, valid, and of the sizes that others rely on."""

import json
from pathlib import Path

import jsonschema
import pytest

from instances import library as library_module
from instances import read_instance
from instances.instance_files import SCHEMA_FILE
from instances.instance_names import FOLDER
from instances.library import library
from schedules.schema import main as schedule_schema_main
from support.generated_files import regenerate
from tests.oracles.brute_force import brute_force_optimum

LIBRARY = dict(library())
TINY = {path: instance for path, instance in LIBRARY.items() if path.startswith("tiny/")}


@pytest.mark.parametrize("command", [library_module.main, schedule_schema_main])
def test_the_check_commands_agree(command: object, capsys: pytest.CaptureFixture[str]) -> None:
    """Every generated file stands byte for byte as committed, and no other with them."""
    assert callable(command)
    assert command(["--check"]) == 0
    assert "none of them differed" in capsys.readouterr().out


def test_check_names_what_is_stale_missing_or_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """--check ends with 1 and writes nothing; without it the files are made, and extras kept."""
    monkeypatch.chdir(tmp_path)
    wanted = {tmp_path / "a.json": "a\n", tmp_path / "b" / "b.json": "b\n"}
    (tmp_path / "a.json").write_bytes(b"a\r\n")
    (tmp_path / "mine.json").write_text("{}")
    present = [tmp_path / "a.json", tmp_path / "mine.json"]
    assert regenerate("command", wanted, present, check=True) == 1
    shown = capsys.readouterr().out.splitlines()
    assert shown[:3] == ["stale: a.json", "missing: b/b.json", "extra: mine.json"]
    assert not (tmp_path / "b").exists()
    assert regenerate("command", wanted, present, check=False) == 0
    assert [path.read_text() for path in wanted] == ["a\n", "b\n"]
    assert (tmp_path / "mine.json").exists()
    capsys.readouterr()
    assert regenerate("command", wanted, wanted, check=True) == 0
    # A file stands where a folder is needed.
    below = {tmp_path / "a.json" / "c.json": "c"}
    assert regenerate("command", below, [], check=False) == 1
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("path", sorted(LIBRARY))
def test_each_file_reads_as_its_instance(path: str) -> None:
    """The reader and the committed JSON Schema accept the file, and it is below 1 MB."""
    file = FOLDER / path
    assert read_instance(file) == LIBRARY[path]
    assert file.stat().st_size < 1_000_000
    document = json.loads(file.read_text(encoding="utf-8"))
    if len(document["requests"]) > 300:
        # The validator is slow; the ends of a long list stand for the rest, which has one shape.
        document["requests"] = document["requests"][:50] + document["requests"][-50:]
    jsonschema.validate(document, json.loads(SCHEMA_FILE.read_text(encoding="utf-8")))


def test_sizes_of_the_published_families() -> None:
    """100 requests and M = 100 (mixed 200); ten am1 and am2 of seeds 0..9; 3m for 3-Partition."""
    for name in ("uniform_100", "normal_100", "binomial_100", "exponential_100", "mixed_200"):
        instance = LIBRARY[f"{name}.json"]
        assert (len(instance), instance.memory) == (int(name[-3:]), 100)
    for family in ("am1", "am2"):
        seeds = [LIBRARY[f"{family}/{family}_{seed:02}.json"].seed for seed in range(10)]
        assert seeds == list(range(10))
    for m in (4, 20, 200):
        for answer, more in (("yes", 0), ("no", 1)):
            instance = LIBRARY[f"three_partition/{answer}_m{m}.json"]
            assert (len(instance), instance.known_optimum) == (3 * m, 3 * m * (m + 1) // 2 + more)


def test_tiny_instances_are_tiny() -> None:
    """About forty, each with at most 6 requests, 20 tokens of memory and a horizon of 30."""
    assert len(TINY) >= 40
    for path, instance in TINY.items():
        work = int(instance.outputs.sum())
        assert len(instance) <= 6, path
        assert instance.memory <= 20, path
        assert work <= 25, path
        assert work + int(instance.arrivals.max()) <= 30, path


@pytest.mark.parametrize(
    ("name", "optimum"),
    [
        # One argument each: the only request, alone, for its o rounds.
        ("one_token", 1),
        ("one_request_late", 5),
        # All start at once: the sum of the outputs, 1 + 3 + 4 + 2 and 3 + 3 + 3.
        ("all_fit_at_once", 10),
        ("all_fit_exactly", 9),
        # The last of the three must wait a round for a token: 9 + 1.
        ("one_token_too_many", 10),
        # As said in the description of each instance, or in the paper that it comes from.
        ("shortest_first_not_optimal", 12),
        ("horizon", 17),
        ("prediction_example_1", 5),
        ("long_prompt_short_output", 11),
        ("equal_five_staggered", 38),
        ("worth_waiting", 20),
        ("three_partition_yes", 9),
        ("three_partition_no", 10),
    ],
)
def test_tiny_instances_show_what_they_say(name: str, optimum: int) -> None:
    """The optimum named in a description is the one that trying all starts finds."""
    assert brute_force_optimum(TINY[f"tiny/{name}.json"]) == optimum
