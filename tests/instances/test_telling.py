"""Words of messages: a number and its word agree."""

from __future__ import annotations

import pytest

from instances.telling import counted


@pytest.mark.parametrize(
    ("number", "what", "expected"),
    [
        (0, "run", "0 runs"),
        (1, "instance", "1 instance"),
        (1_200, "instance", "1,200 instances"),
        (1, "online policy", "1 online policy"),
        (2, "online policy", "2 online policies"),
    ],
)
def test_one_and_many(number: int, what: str, expected: str) -> None:
    """Words in y become ies, all others end in s."""
    assert counted(number, what) == expected
