"""Schedule files: what is written is read again, and what is wrong is said in one line."""

import copy
import json
import re
import tracemalloc
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from instances import Instance, Request
from kvopt.runs.events import ScheduleFound
from kvopt.runs.state import RunState
from schedules import Schedule, ScheduleFileError, make_schedule, read_schedule, write_schedule
from schedules.check import check_schedule
from schedules.schedule_files import parse_schedule, schedule_document, schedule_schema
from tests.instances.test_files import IN_TMP, line

PAIR = Instance(name="pair", memory=8, requests=(Request(0, 0, 2, 3), Request(1, 0, 1, 2)))
_TRIED: dict[str, Any] = {"lower_bound": 6, "attempts": [[], [(0, 1), (3, 1)]]}
_MADE = {"seed": 0, "nested": {"list": [1, 2.5, None]}}
FULL = make_schedule(PAIR, [0, 5], "test", provenance=_MADE, **_TRIED)

SHORT = st.text(max_size=5)
rounds = st.integers(0, 10**15)
attempts_of_one = st.lists(st.tuples(rounds, st.integers(1, 10**9)), max_size=3).map(tuple)
schedules = st.builds(
    Schedule,
    instance=line,
    instance_sha256=st.text("0123456789abcdef", min_size=64, max_size=64),
    method=line,
    starts=st.lists(rounds, min_size=1, max_size=5).map(tuple),
    tel=rounds,
    lower_bound=st.none() | rounds,
    status=st.sampled_from(["optimal", "feasible", "time_limit"]),
    attempts=st.none() | st.lists(attempts_of_one, max_size=5).map(tuple),
    provenance=st.dictionaries(line, st.none() | st.booleans() | st.integers() | line, max_size=3),
)


@IN_TMP
@given(schedule=schedules)
def test_what_is_written_is_read_again(tmp_path: Path, schedule: Schedule) -> None:
    """Reading what was written gives the same schedule, and its JSON Schema accepts the file."""
    path = tmp_path / "schedule.json"
    write_schedule(schedule, path)
    assert ("attempts" in schedule_document(schedule)) == (schedule.attempts is not None)
    assert read_schedule(path) == schedule
    jsonschema.validate(json.loads(path.read_text(encoding="utf-8")), schedule_schema())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"schema": "kvopt.schedule/2"}, '"kvopt.schedule/1"'),
        ({"starts": None}, "starts"),
        ({"starts": []}, "starts"),
        ({"starts": [0, -1]}, "starts.1"),
        ({"starts": [0, 1.0]}, "starts.1"),
        ({"starts": [0, True]}, "starts.1"),
        ({"starts": [0, "1"]}, "starts.1"),
        ({"tel": 6.5}, "tel"),
        ({"tel": True}, "tel"),
        ({"tel": -1}, "tel"),
        ({"lower_bound": "6"}, "lower_bound"),
        ({"status": "best"}, "status"),
        ({"instance_sha256": "abc"}, "instance_sha256"),
        ({"method": "two\nlines"}, "method"),
        ({"attempts": [[[0]], []]}, "attempts"),
        ({"attempts": [[[0, 0]], []]}, "attempts"),
        ({"attempts": [[[0, 1, 2]], []]}, "attempts"),
        ({"provenance": []}, "provenance"),
        ({"unknown": 1}, "unknown"),
        # A key that is left out.
        *((key, key) for key in ("schema", "instance", "starts", "tel", "lower_bound", "status")),
    ],
)
def test_a_bad_field_is_named_in_one_line(
    tmp_path: Path, changes: dict[str, Any] | str, words: str
) -> None:
    """Wrong types, ranges, keys and versions, and keys left out, are named with file and field."""
    path = tmp_path / "bad.json"
    document = schedule_document(FULL) | ({} if isinstance(changes, str) else changes)
    if isinstance(changes, str):
        del document[changes]
    path.write_text(json.dumps(document))
    with pytest.raises(ScheduleFileError, match=rf"\A{path}: .*{re.escape(words)}.*\Z"):
        read_schedule(path)


anything: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.integers(10**40), st.floats(), SHORT),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(SHORT, inner),
    max_leaves=5,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """List the paths to everything inside a JSON value."""
    found = []
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        found.append((*path, key))
        if isinstance(inner, dict | list):
            found += places(inner, (*path, key))
    return found


@settings(IN_TMP, max_examples=100)
@given(data=st.data())
def test_any_mutation_is_read_and_judged_or_refused_in_one_line(
    tmp_path: Path, data: st.DataObject
) -> None:
    """A file with anything replaced, removed or cut off never ends in another exception."""
    document = json.loads(json.dumps(schedule_document(FULL)))
    mutated = copy.deepcopy(document)
    *way, last = data.draw(st.sampled_from(places(document)))
    inner = mutated
    for key in way:
        inner = inner[key]
    if data.draw(st.booleans()):
        inner[last] = data.draw(anything)
    else:
        del inner[last]
    text = json.dumps(mutated)
    if data.draw(st.integers(0, 4)) == 0:
        text = text[: data.draw(st.integers(0, len(text)))]
    path = tmp_path / "mutated.json"
    path.write_text(text)
    try:
        outcome = str(check_schedule(PAIR, read_schedule(path)))
    except ScheduleFileError as error:
        outcome = str(error)
    assert "\n" not in outcome


@pytest.mark.parametrize(
    ("starts", "stated"),
    [
        ([0], "expected 2 starts, found 1"),
        ([0, 1, 2], "expected 2 starts, found 3"),
        ([], "expected 2 starts, found 0"),
        ([0, -1], "request 1: expected a start of at least 0, found -1"),
    ],
)
def test_wrong_starts_are_one_plain_sentence(starts: list[int], stated: str) -> None:
    """Of a method or file of one's own, whichever part of the project takes them."""
    with pytest.raises(ValueError, match=f"^{stated}$"):
        make_schedule(PAIR, starts, "mine")
    state = RunState(PAIR, "mine")
    assert not state.take(ScheduleFound(starts=starts, found_by="mine"))
    assert state.refused == [f"mine: {stated}"]


@pytest.mark.parametrize("field", ["starts", "attempts", "kept"])
def test_a_list_is_read_up_to_its_first_fault(field: str) -> None:
    """Of 100,000 wrong elements one is named, and no others are noted on the way."""
    document = schedule_document(FULL) | {field: ["x"] * 100_000}
    tracemalloc.start()
    try:
        with pytest.raises(ScheduleFileError, match=f'field {field}.0: Input .* found "x"'):
            parse_schedule(document)
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()
