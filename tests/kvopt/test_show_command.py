"""``kvopt show``: a policy, a formulation, a solver's constants, and names that there are not."""

import re

import pytest

from formulations.formulation_registry import formulations
from heuristics.policy_registry import policies
from heuristics.reference import references
from kvopt.commands.main import main
from kvopt.commands.show_code import show, show_constants
from kvopt.methods.engine_table import named_engines
from tests.kvopt.conftest import Refused


@pytest.mark.parametrize("name", [*policies(), *formulations()])
def test_everything_can_be_shown(name: str) -> None:
    """The first line names a file, its docstring follows, and a policy's pseudocode after it."""
    text = show(name)
    first = text.splitlines()[0]
    assert first.endswith(".py")
    homes = ("# formulations/", "# serving/bounds/")
    assert first.startswith("# heuristics/policies/" if name in policies() else homes)
    function = f"\ndef {name.replace('-', '_')}("
    assert (function in text.partition("# heuristics/reference/")[2]) == (name in references())


def test_a_policy_is_followed_by_its_pseudocode(capsys: pytest.CaptureFixture[str]) -> None:
    """First the policy with its docstring, then the paper's lines; case and ``_`` do not count."""
    assert main(["show", "MC_SF"]) == 0
    shown = capsys.readouterr().out
    policy, _, reference = shown.partition("# heuristics/reference/mc_sf.py\n")
    assert policy.startswith("# heuristics/policies/mc_sf.py\n")
    assert "POLICY = ListPolicy" in policy
    assert "# 1: for each round t = 1 to T do" in reference
    assert show("local-search").endswith("\n# no pseudocode: see the docstring")


def test_the_constants_of_a_solver(capsys: pytest.CaptureFixture[str]) -> None:
    """Each under its file, with the comment above it; a name of another file is not there."""
    assert main(["show", "search:layers"]) == 0
    shown = capsys.readouterr().out
    own = shown.partition("# formulations/dp/backward_sweep.py\n")[2].partition("\n\n")[0]
    assert "at most and at least.\nCHUNK, LEAST_CHUNK = (4000, 64)\n" in own
    assert "_FAR" not in shown
    assert "formulations/cp" not in shown
    assert main(["show", "bound:bound-patterns"]) == 0
    assert "\nFAR = 1 << BITS\n" in capsys.readouterr().out
    assert main(["show", "cpsat:cpsat"]) == 0
    assert "# formulations/cp/cpsat_model.py\n" in capsys.readouterr().out


@pytest.mark.parametrize("name", named_engines())
def test_every_solver_has_constants(name: str) -> None:
    """All that its rows' digest covers, so at least one file of the engines or formulations."""
    assert re.search(
        r"^# (formulations|heuristics|kvopt/engines)/\S+\n", show_constants(name), re.M
    )


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("mc-sff", "unknown policy, formulation or solver 'mc-sff'; did you mean mc-sf"),
        ("search:nosuch", "unknown formulation 'nosuch'"),
        ("svf:layers", "unknown policy, formulation or solver 'svf:layers'"),
        ("file:mine.py", "unknown policy, formulation or solver 'file:mine.py'"),
        (":", "unknown policy, formulation or solver ':'"),
    ],
)
def test_an_unknown_name_is_one_line(name: str, told: str, refused: Refused) -> None:
    """With the names that are near; before a colon is a solver, and a file of one's own is none."""
    assert refused(main, "show", name).startswith(f"kvopt show: {told}")
    assert "Missing argument 'NAME'" in refused(main, "show")
