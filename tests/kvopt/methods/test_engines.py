"""The table of engines is read from their files, and everything that names engines from it."""

import re

from formulations.formulation_registry import formulations
from heuristics.policy_registry import policies
from kvopt.commands import evaluate, solve
from kvopt.commands.listing import listing
from kvopt.methods.engine_table import default_engine, engine_of, engines, named_engines, proofs
from kvopt.methods.grammar import read_method
from kvopt.methods.knowledge import knowledge_words
from tests.commands import run_command
from tests.kvopt.sweep_tools import ROOT


def test_the_table() -> None:
    """Every kind of formulation has one engine by default; the names are those of users."""
    for formulation in formulations().values():
        engine = default_engine(formulation.kind)
        assert read_method(f"{engine.name}:{formulation.name}").solver == engine.name
    assert set(named_engines()) == {*("auto", "bound", "cpsat", "highs", "improve", "search")}
    assert {name for name in engines() if name not in named_engines()} == {"export", "pyomo-solver"}
    assert proofs() == {"cpsat": "CP-SAT", "highs": "HiGHS", "search": "search"}
    assert engine_of("gurobi").module == "kvopt.engines.pyomo_solver"
    # One name, one method.
    assert not set(engines()) & (set(policies()) | set(formulations()) - {"cpsat"})


def test_the_listing_says_what_a_policy_may_know() -> None:
    """Online or offline, clairvoyant or not, by draws or not, and what it guarantees."""
    lines = listing().splitlines()
    for policy in policies().values():
        (at,) = (i for i, line in enumerate(lines) if line.startswith(f"  {policy.name} "))
        assert lines[at].endswith(policy.summary)
        assert lines[at + 1].strip() == f"class: {knowledge_words(policy)}"
        assert lines[at + 2].strip() == f"guarantee: {policy.guarantee or 'none'}"
    assert knowledge_words(policies()["a-min"]) == "online, with predictions, randomised"
    assert knowledge_words(policies()["sorted-lp"]) == (
        "offline, clairvoyant, a solved LP relaxation"
    )
    for engine in named_engines().values():
        assert any(engine.name in line and engine.summary in line for line in lines)


def test_both_commands_list_the_same() -> None:
    """A name that one of them takes, the other takes too."""
    shown = [run_command(each.main, "--list").stdout for each in (solve, evaluate)]
    assert shown[0] == shown[1] == listing() + "\n"


def test_docs_name_every_engine_and_policy_and_no_other() -> None:
    """The table of solvers is that of the files, with summaries; so are the names of policies."""
    page = (ROOT / "docs" / "solving.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z-]+)` \| ([a-z-]+|–) \| (.*) \|$", page, re.MULTILINE)
    expected = [(each.name, each.solves or "–", each.summary) for each in named_engines().values()]
    assert rows == expected
    page = (ROOT / "docs" / "policies.md").read_text(encoding="utf-8")
    table = page.split("| kind | policies |\n", 1)[1].split("\n\n", 1)[0]
    assert sorted(re.findall(r"`([^`]+)`", table)) == sorted(policies())
