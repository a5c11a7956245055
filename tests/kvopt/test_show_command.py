"""``kvopt show``: a policy with its pseudocode, a formulation, and names that there are not."""

from __future__ import annotations

import pytest

from formulations.registry import formulations
from heuristics.reference import references
from heuristics.registry import policies
from kvopt.commands.main import main
from kvopt.commands.show import show


@pytest.mark.parametrize("name", [*policies(), *formulations()])
def test_everything_can_be_shown(name: str) -> None:
    """The first line names a file, its docstring follows, and a policy's pseudocode after it."""
    text = show(name)
    first = text.splitlines()[0]
    assert first.endswith(".py")
    assert first.startswith("# heuristics/policies/" if name in policies() else "# formulations/")
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
    # What it is built on is named.
    assert "\n# with heuristics/reference/memory.py\n" in f"\n{reference}"


def test_side_by_side() -> None:
    """Each line holds a line of both files; nothing of either is lost."""
    rows = show("a-min", beside=True).splitlines()
    assert rows[0] == f"{'# heuristics/policies/a_min.py':<100} | # heuristics/reference/a_min.py"
    left = [row[:100].rstrip() for row in rows]
    right = [row[103:] for row in rows]
    assert "\n".join(left).rstrip() + "\n\n" + "\n".join(right).rstrip() == show("a-min")


def test_a_policy_without_pseudocode_says_so() -> None:
    """Local search stands in no paper."""
    assert show("local-search").endswith("\n# no pseudocode: see the docstring")


def test_an_unknown_name_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2, and the names that are near."""
    assert main(["show", "mc-sff"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert said.err.startswith(
        "kvopt show: unknown policy or formulation 'mc-sff'; did you mean mc-sf"
    )
    assert main(["show"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
