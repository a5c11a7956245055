"""Methods that crash, eat, hang and lie: rows, not ends."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from kvopt.store.export import read_rows
from tests.kvopt.sweep_tools import Evaluate, write_small

BAD = Path(__file__).parent / "bad_methods"
EXPECTED = {
    "segfault": "crashed",
    "memory_eater": "memory_limit",
    "ignores_its_limit": "time_limit",
    "infeasible": "refused",
    "false_bound": "error",
}
LIMIT = 1.0


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> tuple[pd.DataFrame, str, int, list[str]]:
    """Rows, standard error, exit code and surviving processes of one sweep over all of them."""
    folder = tmp_path_factory.mktemp("bad")
    write_small(folder, 1)
    methods = ",".join(f"file:{BAD / name}.py" for name in EXPECTED)
    limits = ["--time-limit", LIMIT, "--memory-limit", 0.4, "--jobs", 2]
    store = folder / "runs.sqlite"
    command = Evaluate([folder, "--methods", f"{methods},svf", *limits, "--store", store])
    result = command.run()
    rows = read_rows(store)
    return rows, result.stderr, result.returncode, command.alive()


def _row(rows: pd.DataFrame, instance: str, method: str) -> pd.Series:
    found = rows[(rows["instance"] == instance) & rows["method"].str.contains(method)]
    assert len(found) == 1
    return found.iloc[0]


@pytest.mark.slow("waits")
@pytest.mark.parametrize(("method", "status"), EXPECTED.items())
def test_a_bad_method_is_a_row_with_its_status(
    sweep: tuple[pd.DataFrame, str, int, list[str]], method: str, status: str
) -> None:
    """Each of the five ways to be wrong has its own status."""
    assert _row(sweep[0], "small_0", method)["status"] == status


def test_the_rows_say_what_happened(sweep: tuple[pd.DataFrame, str, int, list[str]]) -> None:
    """The signal, the limit, the violated time and the contradicted bound are told."""
    rows = sweep[0]
    assert "SIGSEGV" in _row(rows, "small_0", "segfault")["detail"]
    eater = _row(rows, "small_0", "memory_eater")
    assert (eater["ending"], eater["peak_memory"] > 4e8) == ("memory_limit", True)
    assert "at time" in _row(rows, "small_0", "infeasible")["detail"]
    liar = _row(rows, "small_0", "false_bound")
    assert "lower bound 360 (claimed without a certificate) exceeds" in liar["detail"]
    # One after the other: 1 + (1+1) + (2+3) + (5+3) = 16.
    assert liar["tel"] == 16
    assert pd.isna(liar["lower_bound"])
    assert liar["bounds"] == []


def test_the_limit_holds(sweep: tuple[pd.DataFrame, str, int, list[str]]) -> None:
    """A method that does not stop is killed a tenth and two seconds after its limit."""
    row = _row(sweep[0], "small_0", "ignores_its_limit")
    assert row["ending"] == "time_limit"
    assert LIMIT <= row["seconds"] <= 1.1 * LIMIT + 2 + 1.5  # a loaded machine wakes up late


def test_the_sweep_goes_on(sweep: tuple[pd.DataFrame, str, int, list[str]]) -> None:
    """The good method beside them has its row, with a checked schedule."""
    row = _row(sweep[0], "small_0", "svf")
    # J1 Theorem 4.2's counterexample: no policy finds the optimum, 12.
    assert (row["status"], row["ending"]) == ("feasible", "finished")
    assert row["tel"] > 12
    assert len(sweep[0]) == len(EXPECTED) + 1


def test_refusals_and_contradictions_are_loud(
    sweep: tuple[pd.DataFrame, str, int, list[str]],
) -> None:
    """The command ends with 5 and names both methods, and no other."""
    _, err, code, _ = sweep
    lines = [line for line in err.splitlines() if "A METHOD IS WRONG" in line]
    assert code == 5
    assert len(lines) == 2
    assert any("infeasible.py] on small_0" in line for line in lines)
    assert any("false_bound.py] on small_0" in line for line in lines)


def test_nothing_is_left_running(sweep: tuple[pd.DataFrame, str, int, list[str]]) -> None:
    """Neither the killed method nor the helper that it started survives."""
    assert sweep[3] == []
