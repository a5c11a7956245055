"""The speed page is of its rows; results that contradict each other stop the measurement."""

import json
from pathlib import Path
from typing import Any

import pytest

from instances import Instance, Request
from support.click_command import CommandOptions
from tests.benchmarks import speed

#: At time 3 the first holds 3 tokens, so the second starts at 1 or later, and OPT = 3 + 4.
TWO = Instance("two", 5, (Request(0, 0, 0, 3), Request(1, 0, 0, 3)))
_FOUND = {"case": "c", "n": 8, "seconds": 2.0, "value": 9, "bound": 9, "proved": True}
OURS = {"part": "proof", "tool": "kvopt", "version": "v", "commit": "abcdef0123"} | _FOUND


def test_the_page_is_of_its_rows() -> None:
    """The committed page has the tables of the committed rows."""
    text, rows = speed.PAGE.read_text(encoding="utf-8"), speed.read_rows(speed.ROWS)
    assert (speed.page(text, rows) if rows else text) == text


def test_ratios_are_of_the_same_draws() -> None:
    """8 s are four times 2 s, and more than that where the limit ended the run."""
    machine = OURS | {"part": "machine", "case": "60 s", "tool": "Python"}
    other = OURS | {"tool": "SCIP", "seconds": 8.0}
    for proved, cell in ((True, " 4 "), (False, " > 4 ")):
        made = dict(speed.texts([machine, OURS, other | {"proved": proved}]))
        assert cell in made["proofs"].splitlines()[-1]


@pytest.mark.parametrize(
    ("change", "count"),
    [({}, 0), ({"bound": 10}, 1), ({"bound": 8}, 1), ({"value": 10, "bound": 10}, 1)],
)
def test_a_wrong_result_is_seen(change: dict[str, Any], count: int) -> None:
    """A bound above the other's TEL, a proof with a gap, another optimum."""
    assert len(list(speed.disagreements([OURS, OURS | {"tool": "SCIP"} | change]))) == count


def test_the_schedule_of_another_program_is_checked(tmp_path: Path) -> None:
    """A bound of a float is rounded up within its tolerance; a wrong schedule is refused."""
    program = tmp_path / "python"
    for starts, tel in (([0, 1], 7), ([0, 0], None)):
        answer = json.dumps({"seconds": 1, "bound": 6.9999999, "proved": True, "starts": starts})
        program.write_text(f"#!/bin/sh\ncat > /dev/null\necho '{answer}'\n", encoding="utf-8")
        program.chmod(0o755)
        if tel is None:
            with pytest.raises(speed.DisagreementError, match="infeasible"):
                speed.solve_outside(str(program), "pyjobshop", 1.0, TWO)
        else:
            found = speed.solve_outside(str(program), "pyjobshop", 1.0, TWO)
            assert (found["value"], found["bound"]) == (tel, 7)


@pytest.mark.slow("walks")
def test_a_second_run_measures_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two draws, one instance, a trace and two sweeps: seven rows, written once."""
    small = {"ROWS": tmp_path / "rows.csv", "HERE": {"kvopt": "auto"}, "SIZES": (4,)}
    for name, value in (small | {"PAPERS": ("tiny_handover",), "TRACES": ((20, 10),)}).items():
        monkeypatch.setattr(speed, name, value)
    options = CommandOptions(limit=5.0, solvers=None, vidur=None)
    speed.measure(options)
    rows = speed.read_rows(speed.ROWS)
    assert [row["part"] for row in rows] == [
        *("machine", "proof", "proof", "gap", "simulator", "sweep", "sweep")
    ]
    monkeypatch.setattr(speed, "solve_here", pytest.fail)
    monkeypatch.setattr(speed, "sweep", pytest.fail)
    speed.measure(options)
    assert speed.read_rows(speed.ROWS) == rows
