"""``vllm-v1`` against recorded steps of vLLM's own scheduler."""

import json
from pathlib import Path

import pytest

from tools.engine.compare_ledgers import difference, ledgers, main

LEDGERS = sorted(Path(__file__).with_name("engine").glob("*.json"))


@pytest.mark.parametrize("path", LEDGERS, ids=lambda path: path.stem)
def test_every_step_is_that_of_the_engine(path: Path) -> None:
    """Requests and tokens of each step, its begin, and every request's times and preemptions."""
    for _, ledger in ledgers(path):
        assert difference(ledger) == ""


def test_each_ledger_is_of_a_kind() -> None:
    """The ledgers are of both ways to plan, have preemptions, chunks and times in seconds."""
    found = [ledger for path in LEDGERS for _, ledger in ledgers(path)]
    assert {each["asynchronous"] for each in found} == {False, True}
    assert {isinstance(each["batch_time_picoseconds"], str) for each in found} == {False, True}
    assert sum(any(row[-1] for row in each["requests"]) for each in found) > 8


def test_a_difference_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A token more in a step, a preemption less, another limit; the last line has the share."""
    right = LEDGERS[0].read_text(encoding="utf-8")
    ledger = json.loads(right)
    ledger["scheduled"][1][1][1] += 1
    assert difference(ledger).startswith("step 1: the engine has")
    ledger = json.loads(right)
    ledger["requests"][-1][-1] += 1
    assert difference(ledger).startswith("request: the engine has")
    ledger = json.loads(right)
    ledger["engine"]["num_blocks"] -= 2
    assert difference(ledger)
    lines = tmp_path / "some.jsonl"
    lines.write_text(json.dumps(ledger) + "\n" + json.dumps(json.loads(right)) + "\n")
    assert main([str(lines)]) == 1
    assert main([str(LEDGERS[0])]) == 0
    assert "identical: 1 of 2" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": "other"}'])
def test_what_is_no_ledger_is_refused(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A damaged file is bad usage, in one line."""
    path = tmp_path / "bad.json"
    path.write_text(text)
    assert main([str(path)]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
