"""Large instances: requests built by columns, and the hash in batches."""

import json
import pickle
import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from instances import Instance, Request
from instances.bulk_requests import build_requests, instance_columns, restore_instance
from tests.instances.test_files import canonical_hash


@pytest.mark.parametrize(
    "predicted", [lambda _: False, lambda _: True, lambda i: i % 3 == 0, lambda i: i > 2500]
)
def test_a_large_instance_comes_back(predicted: Callable[[int], bool]) -> None:
    """With and without predictions it travels by columns, with the hash of its canonical text."""
    draw = random.Random(0)
    requests = tuple(  # five batches of the hash
        Request(i, 0, draw.randint(0, 50), 7, *((1, 50) if predicted(i) else ()))
        for i in range(4500)
    )
    instance = Instance("many", 100, requests)
    again = restore_instance(json.loads(json.dumps(instance_columns(instance))))
    assert again == instance
    assert again.sha256 == instance.sha256 == canonical_hash(instance)


def test_requests_built_in_bulk_are_requests() -> None:
    """They compare, hash, copy and travel between processes as those that were validated."""
    (built,) = build_requests([0], [2], [3])
    expected = Request(0, 0, 2, 3)
    assert (built, hash(built), repr(built)) == (expected, hash(expected), repr(expected))
    assert pickle.loads(pickle.dumps(built)) == expected
    assert replace(built, output=4) == replace(expected, output=4)
    with pytest.raises(AttributeError):
        built.output = 4  # type: ignore[misc]
