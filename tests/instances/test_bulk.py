"""Large instances: the fast way reads what the precise way reads, in the same words."""

from __future__ import annotations

import gc
import hashlib
import json
import pickle
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from instances import Instance, Request, bulk, read_instance
from instances import files as instance_files
from instances.files import instance_document
from instances.model import InfeasibleInstanceError
from tests.instances.test_files import IN_TMP, any_instance

#: Values that stand where an integer is expected, or beside one.
ODD: list[Any] = [
    True,
    None,
    -1,
    0,
    1,
    1.0,
    2.5,
    10**9,
    10**9 + 1,
    10**12,
    10**12 + 1,
    10**30,
    "1",
    "",
    [],
]
KEYS = ["id", "arrival", "prompt", "output", "output_lower", "output_upper", "other", "name"]


def _outcome(read: Callable[[], Instance]) -> Instance | str:
    try:
        return read()
    except (ValueError, InfeasibleInstanceError) as error:
        return f"{type(error).__name__}: {error}"


def _both(path: Path) -> tuple[Instance | str, Instance | str]:
    """Return what the fast way and the precise way make of a file."""
    fast = _outcome(lambda: read_instance(path))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(instance_files, "plain_document", lambda _: None)
        patch.setattr(instance_files, "plain_requests", lambda _: None)
        precise = _outcome(lambda: read_instance(path))
    return fast, precise


@IN_TMP
@given(instance=any_instance(), data=st.data())
def test_both_ways_read_the_same(tmp_path: Path, instance: Instance, data: st.DataObject) -> None:
    """Of instances with a value or key changed both ways give the same instance or message."""
    document = instance_document(instance)
    for _ in range(data.draw(st.integers(0, 2))):
        inner = data.draw(st.sampled_from([document, *document["requests"]]))
        key = data.draw(st.sampled_from([*inner, *KEYS]))
        if data.draw(st.booleans()):
            inner[key] = data.draw(st.sampled_from(ODD))
        else:
            inner.pop(key, None)
        if not isinstance(document.get("requests"), list):
            break
    text = json.dumps(document, ensure_ascii=False)
    if data.draw(st.booleans()):
        # A key that occurs twice, the second time with the same value or another.
        old = data.draw(st.sampled_from(['"id": ', '"name": ', '"prompt": ', '"memory": ']))
        text = text.replace(old, f"{old}{data.draw(st.integers(0, 2))}, {old}", 1)
    path = tmp_path / "instance.json"
    path.write_text(text, encoding="utf-8")
    fast, precise = _both(path)
    assert fast == precise


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"id": 5', '"id": 5, "id": 5'),
        ('"id": 5', '"id": 6'),  # of the next one: twice
        ('"id": 5', '"\\u0069d": 5'),
        ('"id": 5', '"id": 5, "prompt\\"": 5'),
        ('"memory": 9', '"memory": 9, "memory": 9'),
        ('"memory": 9', '"memory": 9, "name": "x", "family": "y"'),
        ('"memory": 9', '"memory": 9, "x": {"a": "b"}'),
        ('"memory": 9', '"memory": NaN'),
        ('"schema": "kvopt.instance/1"', '"schema": "kvopt.instance/2"'),
        ('"schema": "kvopt.instance/1", ', ""),
        ('"output": 3', '"output": 30'),
        ('"id": 5', '"id": 5e0'),
        ('"id": 5', '"id": ' + "5" * 5000),
        ('{"id": 5', '[{"id": 5'),
    ],
)
def test_both_ways_refuse_the_same(tmp_path: Path, old: str, new: str) -> None:
    """What only the text shows (a key twice, an escape, NaN) is told by the precise way."""
    requests = tuple(Request(identity, 0, 2, 3) for identity in range(10))
    text = json.dumps(instance_document(Instance("ten", 9, requests)))
    assert old in text
    path = tmp_path / "instance.json"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    fast, precise = _both(path)
    assert fast == precise
    # Only the escaped name of a key is a way to write the same instance.
    assert isinstance(fast, str) == ("u0069" not in new)


def _many(n: int, predicted: Callable[[int], bool]) -> Instance:
    draw = random.Random(n)
    requests = []
    for identity in range(n):
        output = draw.randint(1, 50)
        interval = (1, 50) if predicted(identity) else (None, None)
        requests.append(
            Request(identity, draw.randint(0, 9), draw.randint(0, 50), output, *interval)
        )
    return Instance("many", 100, tuple(requests))


@pytest.mark.parametrize(
    "predicted", [lambda _: False, lambda _: True, lambda i: i % 3 == 0, lambda i: i > 2500]
)
def test_a_large_file_is_read_fast_and_right(
    tmp_path: Path, predicted: Callable[[int], bool]
) -> None:
    """Several batches, with and without predictions, come back equal, with the same hash."""
    # 4,500 requests are three batches of the reader and five of the hash.
    instance = _many(4500, predicted)
    path = tmp_path / "many.json"
    path.write_text(json.dumps(instance_document(instance)), encoding="utf-8")
    fast, precise = _both(path)
    assert fast == precise == instance
    assert isinstance(fast, Instance)
    assert fast.sha256 == _canonical_hash(instance)


def test_a_plain_file_takes_the_fast_way() -> None:
    """The files that kvopt writes are plain, the requests of their objects are built in bulk."""
    instance = _many(5, lambda _: False)
    document = bulk.plain_document(instance_files.format_instance(instance))
    assert document is not None
    assert document["requests"] == instance.requests
    assert bulk.plain_requests(instance_document(instance)["requests"]) == instance.requests


def test_requests_built_in_bulk_are_requests() -> None:
    """They compare, hash, copy and travel between processes as those that were validated."""
    (built,) = bulk.plain_requests([{"output": 3, "prompt": 2, "id": 7, "arrival": 0}]) or ()
    expected = Request(7, 0, 2, 3)
    assert built == expected
    assert hash(built) == hash(expected)
    assert repr(built) == repr(expected)
    assert pickle.loads(pickle.dumps(built)) == expected
    assert replace(built, output=4) == replace(expected, output=4)
    with pytest.raises(AttributeError):
        built.output = 4  # type: ignore[misc]


def test_the_collector_goes_on_afterwards() -> None:
    """Python's collector of garbage runs again after a file was read, refused or not."""
    for text in ("", "{}", '{"requests": [{}]}'):
        bulk.plain_document(text)
        assert gc.isenabled()


@given(instance=any_instance())
def test_the_hash_is_that_of_the_canonical_text(instance: Instance) -> None:
    """The text that is hashed equals, byte for byte, JSON with sorted keys and no spaces."""
    assert instance.sha256 == _canonical_hash(instance)


def _canonical_hash(instance: Instance) -> str:
    document: dict[str, Any] = instance.memory_and_requests()
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
