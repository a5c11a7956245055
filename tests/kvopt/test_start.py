"""How a command begins."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

import kvopt.commands.main
import kvopt.commands.start
from kvopt.commands.watchdog import Watchdog


@pytest.mark.parametrize(
    ("arguments", "ahead"),
    [
        (["solve", "tiny_two_bursts"], True),
        (["solve", "--help"], False),
        (["solve", "--list"], False),
        (["evaluate", "tiny_two_bursts"], False),
    ],
)
def test_what_solves_begins_a_run_ahead(
    arguments: list[str], ahead: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process of its run begins before the command is imported, unless there will be none."""
    order: list[str] = []

    def unwatched(run: Callable[[Watchdog], int], started: float) -> int:
        return run(Watchdog(started=started))

    def main(given: list[str], program: str, caller: object) -> int:
        order.append(f"{program} {given[0]}")
        assert isinstance(caller, Watchdog) or given[0] == "evaluate"
        return 7

    monkeypatch.setattr(sys, "argv", ["kvopt", *arguments])
    monkeypatch.setattr(kvopt.commands.start, "under_watch", unwatched)
    monkeypatch.setattr(kvopt.commands.start, "interrupt_once", lambda: None)
    monkeypatch.setattr(kvopt.commands.start, "begin_ahead", lambda: order.append("ahead"))
    monkeypatch.setattr(kvopt.commands.main, "main", main)
    assert kvopt.commands.start.kvopt() == 7
    assert order == ["ahead"] * ahead + [f"kvopt {arguments[0]}"]
