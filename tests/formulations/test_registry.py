"""The registry of formulations imports their files and no solver; two witnesses share no code."""

from __future__ import annotations

import subprocess
import sys

import pytest

from formulations.registry import formulations
from kvopt.methods.sources import import_closure
from kvopt.methods.witness import model_code


def test_all_formulations_are_listed() -> None:
    """The formulations that the papers and the suite name are there, with a line to print."""
    expected = {"ilp", "ilp-sparse", "ilp-xy", "cpsat", "cpsat-strong"}
    assert expected <= set(formulations())
    assert all(each.summary for each in formulations().values())


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


@pytest.mark.parametrize("mip", ["ilp", "ilp-sparse"])
def test_witnesses_share_no_model_code(mip: str) -> None:
    """By the import statements a CP model and an integer program have no file in common.

    The agreement of such a pair makes a best-known value ``opt``.
    """
    modules = [formulations()[name].module for name in ("cpsat", mip)]
    codes = [model_code(module) for module in modules]
    assert all(module in code for module, code in zip(modules, codes, strict=True))
    assert codes[0] & codes[1] == set()


def test_what_is_shared_is_found() -> None:
    """Of models that do share code the common files are named: the check above can fail."""
    strong = model_code("formulations.cp.cpsat_strong")
    assert {"formulations.valid.windows", "formulations.valid.volumes"} <= strong
    assert "formulations.valid.windows" in strong & model_code("formulations.mip.ilp")
    # Imports inside a function count as well.
    assert "formulations.search._kernels" in model_code("formulations.search.layers")


def test_the_engine_of_the_cp_models_brings_no_model_code() -> None:
    """What runs a CP model in CP-SAT adds nothing of the formulations to its closure."""
    reached = import_closure("kvopt.engines.cpsat")
    assert "kvopt.engines.job" in reached
    assert not {name for name in reached if name.startswith("formulations")}
