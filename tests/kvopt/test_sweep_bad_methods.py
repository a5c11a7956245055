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


def _row(rows: pd.DataFrame, method: str) -> pd.Series:
    (found,) = rows.index[rows["method"].str.contains(method)]
    row: pd.Series = rows.loc[found]
    return row


def test_the_rows_say_what_happened(sweep: tuple[pd.DataFrame, str, int, list[str]]) -> None:
    """The status, the signal, the limit, the violated time and the contradicted bound."""
    rows = sweep[0]
    statuses = {name: _row(rows, name)["status"] for name in EXPECTED}
    assert statuses == EXPECTED
    assert "SIGSEGV" in _row(rows, "segfault")["detail"]
    eater = _row(rows, "memory_eater")
    assert (eater["ending"], eater["peak_memory"] > 4e8) == ("memory_limit", True)
    late = _row(rows, "ignores_its_limit")
    assert late["ending"] == "time_limit"
    # Killed a tenth and two seconds after its limit; a loaded machine wakes up late.
    assert LIMIT <= late["seconds"] <= 1.1 * LIMIT + 2 + 1.5
    assert "at time" in _row(rows, "infeasible")["detail"]
    liar = _row(rows, "false_bound")
    assert "lower bound 360 (claimed without a certificate) exceeds" in liar["detail"]
    # One after the other: 1 + (1+1) + (2+3) + (5+3) = 16.
    assert liar["tel"] == 16
    assert pd.isna(liar["lower_bound"])
    assert liar["bounds"] == []
    # The good method beside them: J1 Theorem 4.2's counterexample, OPT is 12.
    good = _row(rows, "svf")
    assert (good["status"], good["ending"], good["tel"] > 12) == ("feasible", "finished", True)
    assert len(rows) == len(EXPECTED) + 1


def test_refusals_and_contradictions_are_loud(
    sweep: tuple[pd.DataFrame, str, int, list[str]],
) -> None:
    """The command ends with 5, names both methods and no other, and leaves no process behind."""
    _, err, code, alive = sweep
    lines = [line for line in err.splitlines() if "A METHOD IS WRONG" in line]
    assert (code, len(lines), alive) == (5, 2, [])
    assert any("infeasible.py] on small_0" in line for line in lines)
    assert any("false_bound.py] on small_0" in line for line in lines)
