"""Unknown names are refused before anything starts, and the name that was meant is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvopt.methods.grammar import MethodError, read_method
from tests.kvopt.conftest import Command

TYPOS = [
    ("sfv", "svf"),
    ("mcsf", "mc-sf"),
    ("aut", "auto"),
    ("gurobbi", "gurobi"),
    ("vllm", "vllm-v1"),
    ("A-MNI", "a-min"),
    ("highs:ilp-sprase", "ilp-sparse"),
    ("highs:ilp(gruops=yes)", "groups"),
    ("cpsat:cpsat(separation=yse)", "yes"),
    ("alpha-beta(aplha=0.1)", "alpha"),
    ("a-min(ties=frehs)", "fresh"),
    ("a-min with intervall", "interval"),
    ("a-min with noise(sgima=1)", "sigma"),
]


@pytest.mark.parametrize(("typo", "meant"), TYPOS)
def test_a_typo_is_told_what_was_meant(typo: str, meant: str) -> None:
    """Swapped, lost and doubled letters, of methods and of every part of one."""
    with pytest.raises(MethodError) as error:
        read_method(typo)
    told = str(error.value).partition("did you mean ")[2].rstrip("?").split(", ")
    assert meant in told
    assert len(told) <= 3


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--policy", "svvf"], "unknown policy 'svvf'; did you mean svf"),
        (["--policy", "highs"], "unknown policy 'highs', it is a solver"),
        (["--solver", "svf"], "unknown solver 'svf', it is a policy"),
        (["--solver", "true"], "unknown solver 'true', expected auto, bound, cpsat"),
        (["--solver", "highs:ilp"], "--solver highs:ilp: expected a solver's name"),
        (["--predict", "exact"], "--predict goes with --policy"),
        (["--method", "highs", "--formulation", "ilp"], "--method says all"),
        (["--method", "svf", "--policy", "svf"], "not allowed with --method"),
    ],
)
def test_solve_refuses_in_one_line(
    arguments: list[str], told: str, small: Path, solve: Command
) -> None:
    """Exit 2, one line on standard error, and nothing has been run."""
    result = solve(small, *arguments)
    assert (result.returncode, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith("solve.py: ")
    assert told in line
