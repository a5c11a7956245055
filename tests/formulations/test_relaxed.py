"""Integer programs with ``relaxed=yes``: their LP relaxation, whichever solver solves it."""

from pathlib import Path

import pytest

from formulations.formulation_registry import formulations
from instances import Instance, Request, write_instance
from kvopt.commands.solve import main
from kvopt.methods.grammar import read_method
from kvopt.runs.execute import execute
from kvopt.runs.task import Task
from tests.tiers import a_few

#: Its optimum is 12 (J1 Theorem 4.2's counterexample).
FOUR = Instance("four", 5, tuple(Request(i, 0, 1, o) for i, o in enumerate((1, 1, 3, 3))))


@pytest.mark.parametrize(
    "method",
    a_few(
        (
            "highs:ilp(relaxed=yes)",
            "appsi_highs:ilp(relaxed=yes)",
            "highs:ilp-xy(relaxed=yes)",
            "highs:ilp-sparse(relaxed=yes)",
        ),
        2,
    ),
)
def test_a_relaxed_program_is_a_bound(method: str) -> None:
    """A value at most the optimum, which the search of an integer program would have reached."""
    row = execute(Task(FOUR, "four", read_method(method), time_limit=40)).record
    assert (row.method, row.detail) == (method, "")
    assert row.relaxation is not None
    # 12 is what the programs give; their relaxations 10.5, that of ilp-xy 9.5.
    assert 9 < row.relaxation < 11.9
    assert row.lower_bound is not None
    assert row.lower_bound <= 12
    assert row.status == "feasible"


def test_every_integer_program_takes_it() -> None:
    """And nothing else does: a relaxation is one already, the others have none."""
    for name, formulation in formulations().items():
        takes = "relaxed" in {option.name for option in formulation.options}
        assert takes == (formulation.kind == "mip"), name


@pytest.mark.parametrize(("option", "binary"), [("", True), ("(relaxed=yes)", False)])
def test_a_relaxed_model_is_written(option: str, binary: bool, tmp_path: Path) -> None:
    """The file for other solvers has no binary variables then."""
    write_instance(FOUR, tmp_path / "four.json")
    file = tmp_path / "model.lp"
    arguments = ["--solver", "highs", "--formulation", f"ilp{option}", "--write-model", str(file)]
    assert main([str(tmp_path / "four.json"), *arguments]) == 0
    assert ("binary" in file.read_text(encoding="utf-8")) == binary
