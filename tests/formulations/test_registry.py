"""The registry of formulations imports their files, and no solver with them."""

from __future__ import annotations

import subprocess
import sys

from formulations.registry import formulations
from kvopt.methods.witness import model_code


def test_all_formulations_are_listed() -> None:
    """The formulations that the papers and the suite name are there, with a line to print."""
    expected = {"ilp", "ilp-sparse", "ilp-xy", "lp-bucketed", "cpsat", "cpsat-time"}
    assert expected <= set(formulations())
    assert all(each.summary for each in formulations().values())
    relaxed = {name: each for name, each in formulations().items() if each.relaxation}
    assert {name for name, each in relaxed.items() if each.kind != "bound"} == {"lp-bucketed"}


def test_what_is_built_depends_on_the_options() -> None:
    """A plain program is its own file's; only one that is strengthened reaches the cuts."""
    for name in ("ilp", "ilp-sparse"):
        formulation = formulations()[name]
        plain, strong = formulation.modules
        assert formulation.built({}).module == formulation.built({"relaxed": True}).module == plain
        assert formulation.built({"groups": True}).module == strong
        assert model_code(plain) < model_code(strong)


def test_listing_imports_no_solver() -> None:
    """Neither the registry nor solve.py's own modules load an engine, Pyomo or what is slow."""
    code = (
        "import sys, kvopt.commands.solve; from formulations.registry import formulations; "
        "formulations(); print([m for m in ('ortools', 'highspy', 'pyomo', 'numba', 'scipy') "
        "if m in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"
