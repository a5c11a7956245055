"""The registry of formulations imports their files and no solver; two witnesses share no code."""

import subprocess
import sys
from functools import cache
from itertools import combinations

import grimp
import pytest

from formulations.formulation_registry import formulations
from kvopt.methods.witness import _CODE, model_code


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
        "import sys, kvopt.commands.solve\n"
        "from formulations.formulation_registry import formulations\n"
        "formulations(); print([m for m in ('ortools', 'highspy', 'pyomo', 'numba', 'scipy') "
        "if m in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"


#: The module of each kind of certificate.
CERTIFICATES = {
    "volumes": "formulations.valid.volume_bounds",
    "prices": "formulations.certificates.certificate_evaluation",
    "parts": "formulations.certificates.certificate_evaluation",
    "sweep": "formulations.certificates.sweep_evaluation",
}


@cache
def _closure(name: str) -> set[str]:
    module = CERTIFICATES.get(name, name)
    graph = grimp.build_graph(
        *("formulations", "instances", "schedules", "support"), exclude_type_checking_imports=True
    )
    reached = {module, *graph.find_upstream_modules(module)}
    return {each for each in reached if each.startswith("formulations.") and each.count(".") > 1}


@pytest.mark.parametrize(("one", "other"), [*combinations(_CODE, 2)])
def test_witnesses_share_code_where_the_table_says_so(one: str, other: str) -> None:
    """By all imports, also inside functions; contracts of pyproject.toml say so of each room."""
    assert bool(model_code(one) & model_code(other)) == bool(_closure(one) & _closure(other))


def test_all_models_are_in_the_table() -> None:
    """A model that is not shares code with all others."""
    models = [each for each in formulations().values() if each.kind != "bound"]
    modules = {module for each in models for module in each.modules}
    assert modules | CERTIFICATES.keys() == _CODE.keys()
    assert all(each.summary for each in formulations().values())
    assert all(model_code("formulations.mip.mine") & model_code(each) for each in _CODE)
