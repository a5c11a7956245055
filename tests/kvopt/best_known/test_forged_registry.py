"""Forgers of the registry: whatever field of a good entry is changed, the check says so."""

import copy
import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from instances import Instance, Request
from kvopt.best_known.library_and_ladder import LibraryInstance
from kvopt.best_known.registry_entry import ENTRIES
from kvopt.best_known.registry_files import format_registry, format_schemas
from tests.kvopt.best_known.registry import (
    FOUR,
    LIBRARY,
    OPTIMAL,
    PAIR,
    SWEEP,
    WORSE,
    Sweep,
    have_library,
)
from tests.kvopt.sweep_tools import Patch
from tests.tiers import a_few, spread

#: The bound from volumes is 10; the construction says 12, its schedule is the planted one.
_LATER = tuple(Request(request.id, 1, 1, request.output) for request in FOUR.requests)
BUILT = Instance("built", 5, _LATER, known_optimum=12, known_optimum_reason="a round later")
PLANTED = tuple(start + 1 for start in OPTIMAL)

#: What may be changed unnoticed, and why it harms nothing: it is said of a run, nothing is
#: concluded from it, and no file tells it a second time.
HARMLESS = {
    r"upper/(seconds|seed)": "how long the run took that found a schedule which is checked",
    r"lower/(certified/)?(method|seconds|seed|solver|kvopt|git_commit)": (
        "who made a certificate that is evaluated, or reported a bound that is named"
    ),
    r"lower/source": "what a bound that is named rests on, in the solver's words",
    r"lower/(certified/)?date": "a day, not before that of its value in the history",
    r"proofs/\d/(seconds|seed|solver|kvopt|git_commit|date)": "of a run that can be run again",
    r"history/(upper|lower)": "what was known before, which no file tells; its end is compared",
    r"history/lower/\d(/(method|date))?": "who had the same bound before, on a day in order",
}


@pytest.fixture(autouse=True)
def _small_library(monkeypatch: Patch) -> None:
    built = LibraryInstance("built.json", BUILT, PLANTED)
    have_library(monkeypatch, *LIBRARY.values(), built)


@pytest.fixture(params=["certified", "reported"])
def good(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Sweep, int]:
    """A registry that verifies, with what it ends with: ``four`` certified or reported."""
    sweep = Sweep(tmp_path)
    sweep.run(PAIR, "svf", [0, 1], 3, "volumes")
    sweep.run(BUILT, "svf", list(PLANTED), None, day=2)
    if request.param != "certified":
        sweep.run(FOUR, "cpsat:cpsat", WORSE, 11, "CP-SAT", day=2)
    else:
        sweep.run(FOUR, "svf", WORSE, None)
        sweep.run(FOUR, "auto", OPTIMAL, 12, "search", certificate=SWEEP, day=2)
        for day, (method, source) in enumerate([("cpsat:cpsat", "CP-SAT"), ("highs:ilp", "HiGHS")]):
            sweep.run(FOUR, method, OPTIMAL, 12, source, day=3 + day)
    assert sweep.merge() == 0
    code = sweep.check()
    assert code == (3 if request.param == "reported" else 0)
    return sweep, code


def _leaves(document: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield path, container and key of every value of a document, and of every container."""
    items = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in list(items):
        here = f"{path}/{key}".lstrip("/")
        yield here, document, key
        if isinstance(value, dict | list):
            yield from _leaves(value, here)


def _lies(value: Any) -> list[Any]:
    """Return other values: of the same type, and of others."""
    others: list[Any] = [None, [], True]
    if value is None:
        return [1, "x", {}]
    if isinstance(value, bool):
        return [not value, 1]
    if isinstance(value, int | float):
        return [value + 1, value - 1, -1, 10**30, str(value), *others]
    if isinstance(value, str):
        words = ["x", "", "highs", "search:layers", "construction", "volumes", "certified", "opt"]
        days = ["2026-10-01", "2026-12-01", "2026-13-01"]
        others = [None, True, 7]
        return [each for each in (*words, *days, "0" * 64, "0" * 16) if each != value] + others
    if isinstance(value, list):
        doubled = [*value, *value[-1:]]
        return [value[1:], value[:-1], doubled, value[::-1], None, {}, "x"]
    return [{}, None, [], value | {"more": 1}]


def _forged(entries: list[dict[str, Any]], position: int) -> Iterator[tuple[str, Any, Any]]:
    """Yield every lie about one entry: a field changed, left out, or taken from another entry."""
    for path, _, _ in list(_leaves(entries[position])):
        foreign = []
        for entry in entries[:position] + entries[position + 1 :]:
            with suppress(KeyError, IndexError):
                foreign.append(_at(entry, path))
        for lie in [*_lies(_at(entries[position], path)), *foreign, ...]:
            forged = copy.deepcopy(entries)
            *places, last = path.split("/")
            holder = _at(forged[position], "/".join(places))
            key: Any = int(last) if isinstance(holder, list) else last
            if lie is ...:
                del holder[key]
            elif holder[key] == lie and type(holder[key]) is type(lie):
                continue
            else:
                holder[key] = copy.deepcopy(lie)
            yield path, lie, forged


def _at(document: Any, path: str) -> Any:
    for key in filter(None, path.split("/")):
        document = document[int(key) if isinstance(document, list) else key]
    return document


def _write(sweep: Sweep, entries: list[dict[str, Any]]) -> None:
    """Write a registry as its command would, with a digest that fits, where it is one at all."""
    try:
        text = format_registry(ENTRIES.validate_python(entries))
    except ValidationError:
        text = json.dumps({"schema": "kvopt.best_known/2", "digest": "0" * 64} | {"x": entries})
    sweep.path.write_text(text)


@pytest.mark.parametrize(
    ("good", "position"),
    a_few((("certified", 0), ("certified", 1), ("certified", 2), ("reported", 0)), 0),
    indirect=["good"],
)
def test_every_lie_about_an_entry_is_told(good: tuple[Sweep, int], position: int) -> None:
    """A changed field ends with 1, is named as reported or stale, or is harmless for a reason."""
    sweep, code = good
    entries, tried, text = sweep.entries(), 0, sweep.path.read_text()
    for path, lie, forged in _forged(entries, position):
        _write(sweep, forged)
        if sweep.path.read_text() == text:
            # Left out, where what it was is what is not said.
            continue
        found = sweep.check()
        tried += 1
        harmless = any(re.fullmatch(pattern, path) for pattern in HARMLESS)
        told = f"{path}: {lie!r}\n{sweep.err}"
        assert found in ((1, code, 3) if harmless else (1, 3)), told
        if code == 3 and position == _place(entries) and not harmless:
            # What was named before is named still, or refused; it is not enough that another is.
            assert found == 1 or "NOT CERTIFIED" in told, told
    assert tried > 200


def _place(entries: list[dict[str, Any]]) -> int:
    return [entry["instance"] for entry in entries].index("four")


def test_a_certified_value_beside_another_bound_is_no_entry(good: tuple[Sweep, int]) -> None:
    """An entry cannot call another value certified than the evaluated one."""
    sweep, _ = good
    entries = sweep.entries()
    four = entries[_place(entries)]
    lower = four["lower"]
    inner = lower.get("certified", lower)
    both = inner | {"value": four["upper"]["value"], "certified": inner}
    for kind in ("certified", "solver-reported", "construction"):
        four["lower"] = both | {"kind": kind}
        with pytest.raises(ValidationError):
            ENTRIES.validate_python(entries)
    four["lower"] = inner | {"value": four["upper"]["value"] + 1}
    _write(sweep, entries)
    assert sweep.check() == 1


@pytest.mark.parametrize("forge", a_few(["drop", "swap", "twice", "reverse"], 2))
def test_entries_missing_twice_or_out_of_order(good: tuple[Sweep, int], forge: str) -> None:
    """The registry has each instance of the library once, in the library's order."""
    sweep, _ = good
    entries = sweep.entries()
    forged = {"drop": entries[1:], "twice": [*entries, entries[-1]], "reverse": entries[::-1]}
    _write(sweep, (forged | {"swap": [entries[1], entries[0], *entries[2:]]})[forge])
    assert sweep.check() == 1


@pytest.mark.slow("repeats")
@pytest.mark.parametrize("good", ["certified"], indirect=True)
def test_every_lie_in_a_proof_is_told(good: tuple[Sweep, int]) -> None:
    """Any edit of a schedule, foreign files and other layouts; a certificate is evaluated again."""
    sweep, _ = good
    folder = sweep.folder / "best_known"
    files = sorted(folder.rglob("*.json"))
    texts = {path: path.read_text() for path in files}
    for path, text in texts.items():
        document = json.loads(text)
        lies = [json.dumps(document, indent=1), text + " ", ""]
        for place, holder, key in list(_leaves(document)):
            kept = holder[key]
            for lie in _lies(kept):
                # Other multipliers may prove the same.
                if place.startswith("multipliers/") and type(lie) is int:
                    continue
                # Equal requests may swap their starts.
                if place == "starts" and isinstance(lie, list) and sorted(lie) == sorted(kept):
                    continue
                if lie != kept or type(lie) is not type(kept):
                    holder[key] = lie
                    lies.append(json.dumps(document) + "\n")
            holder[key] = kept
        others = [other for name, other in texts.items() if name != path]
        for lie in (*lies, *others):
            path.write_text(lie)
            assert sweep.check() == 1, (path.name, lie[:300])
        path.write_text(text)


@pytest.mark.parametrize("good", ["reported"], indirect=True)
def test_one_method_by_two_names_is_one(good: tuple[Sweep, int]) -> None:
    """Rows in capitals are merged as the method that they name; one that nobody has is not."""
    sweep, _ = good
    for number, method in enumerate(("highs:ilp", "HIGHS:ILP", "Highs : ilp")):
        sweep.run(FOUR, method, OPTIMAL, 12, "HiGHS", day=5 + number)
    sweep.run(FOUR, "nobody:ilp", OPTIMAL, 12, "HiGHS", day=2)
    entry = sweep.merged()
    assert [each["method"] for each in entry["proofs"]] == ["highs:ilp"]
    assert (entry["upper"]["method"], entry["standing"]) == ("highs:ilp", "one witness")


def _to_itself(path: Path) -> None:
    path.symlink_to(path.name)


@pytest.mark.parametrize(
    "make", a_few((Path.touch, _to_itself, Path.mkdir, os.mkfifo, lambda p: p.symlink_to("..")), 2)
)
@pytest.mark.parametrize(
    "place",
    spread(["best_known/x.json", "best_known/bounds/x", "best_known.old.json", "best_known/.x"], 2),
)
@pytest.mark.parametrize("good", ["certified"], indirect=True)
def test_what_no_entry_refers_to_is_told(
    good: tuple[Sweep, int], make: Callable[[Path], object], place: str
) -> None:
    """Whatever it is, below the registry's folder or beside its file under such a name."""
    sweep, _ = good
    make(sweep.folder / place)
    assert sweep.check() == 1
    assert f"{place}: no entry refers to it" in sweep.err


@pytest.mark.parametrize("make", a_few((os.mkfifo, _to_itself, Path.mkdir), 1))
@pytest.mark.parametrize(
    "place", spread(["best_known.json", *format_schemas(), "best_known/bounds/four.json"], 2)
)
@pytest.mark.parametrize("good", ["certified"], indirect=True)
def test_no_file_in_the_place_of_one_is_told(
    good: tuple[Sweep, int], make: Callable[[Path], object], place: str
) -> None:
    """In one line, by the check and by merging; nobody waits for a pipe, nor follows a loop."""
    sweep, _ = good
    (sweep.folder / place).unlink()
    make(sweep.folder / place)
    assert sweep.check() == 1
    told = sweep.err
    assert Path(place).name in told
    assert "Traceback" not in told
    if place not in format_schemas():
        assert sweep.merge() in (0, 1, 2)


@pytest.mark.parametrize("good", ["certified"], indirect=True)
def test_a_relaxation_in_a_store_is_no_proof(good: tuple[Sweep, int]) -> None:
    """Its bound may meet the schedule; the row says optimal, and no entry has it as a witness."""
    sweep, _ = good
    before = sweep.entry()["proofs"]
    for method in ("highs:ilp(relaxed=yes)", "HIGHS:ILP(Relaxed=yes)", "bound:bound-lp"):
        sweep.run(FOUR, method, OPTIMAL, 12, "HiGHS", day=5)
    assert sweep.merged()["proofs"] == before
