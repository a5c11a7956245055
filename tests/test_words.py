"""Pages, messages and docstrings use the field's terms."""

import ast
import re
from pathlib import Path

import pytest

from kvopt.commands.listing import listing
from kvopt.commands.main import COMMANDS, subcommand

ROOT = Path(__file__).resolve().parents[1]
#: What not to write, and the field's term.
INSTEAD = {
    r"start-time (integer )?(program|formulation|LP|ILP|MIP)": "time-indexed formulation",
    r"pairwise separations?": "disjunctive pairs",
    r"window groups?": "clique and cover inequalities",
    r"lanes?": "parallel-machine bound",
    r"store(y|ys|ies)": "layers",
    r"told": "clairvoyant, with predictions, non-clairvoyant; knows, shows",
    r"on (its|their|a) word": "solver-reported",
    r"witness(es)?": "proof, independent proof",
    r"(backward|reverse) sweeps?": "backward dynamic programming",
    r"who(m?)ever|of whom|whatever": "plain words: every, any, the method that",
    r"(no|any|every)body": "no request, no policy, any",
    r"cannot be told": "undecided",
}
#: What prose does not say, though names of options, files and certificates do.
IN_PROSE = INSTEAD | {r"priced?s?": "Lagrangian multiplier", r"patterns?": "configuration"}
#: Words that stay, and why: the glossary leads from the code's name to the field's; instances are
#: frozen, with their sources; the registry stores the standing "one witness".
ALLOWED = {
    "schedules/evidence.py": {"witness"},
    "kvopt/best_known/__main__.py": {"witness"},
    "reports/tables/gaps.py": {"witness"},
    "docs/formats.md": {"witness"},
    "docs/glossary.md": {"price"},
    "instances/hand_made.py": {"nobody"},
}
_PAGES = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "kvopt").rglob("*.md"),
    *(ROOT / "reports").rglob("*.md"),
    *(ROOT / "reports" / "templates").iterdir(),
]
_SOURCES = [
    path
    for folder in ("instances", "schedules", "formulations", "heuristics", "kvopt", "reports")
    for path in sorted((ROOT / folder).rglob("*.py"))
]
#: What names a file, an option or a command, not prose.
_CODE = re.compile(r"```.*?```|`[^`]*`|\[\w+\.py\]\([^)]*\)|\]\([^)]*\)", re.DOTALL)


def wrong_words(text: str, name: str = "", instead: dict[str, str] = INSTEAD) -> list[str]:
    """Return the words of a text that the field has others for."""
    flat = " ".join(text.split())
    return [
        f"{found.group()}: {term}"
        for pattern, term in instead.items()
        for found in re.finditer(rf"(?<![\w-])({pattern})\b", flat, re.IGNORECASE)
        if found.group().lower() not in ALLOWED.get(name, ())
    ]


def _texts(source: str) -> list[str]:
    """Return the texts of a source that a user may read: literals of several words."""
    nodes = list(ast.walk(ast.parse(source)))
    apart = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    return [
        node.value
        for node in nodes
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and " " in node.value.strip()
        and id(node) not in apart
    ]


@pytest.mark.parametrize("path", _PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_pages_use_the_fields_terms(path: Path) -> None:
    """README, CHANGELOG, docs, METHOD, committed pages and the templates of pages."""
    text = path.read_text(encoding="utf-8")
    name = str(path.relative_to(ROOT))
    assert wrong_words(text, name) == []
    if path.suffix == ".md":
        assert wrong_words(_CODE.sub(" ", text), name, IN_PROSE) == []


def test_printed_texts_use_the_fields_terms() -> None:
    """Tables, notes, sentences, errors: the literals of the sources."""
    found = {}
    for path in _SOURCES:
        name = str(path.relative_to(ROOT))
        texts = " | ".join(_texts(path.read_text(encoding="utf-8")))
        if wrong := wrong_words(texts, name):
            found[name] = wrong
    assert found == {}


#: A docstring begins with the field's noun or a verb.
_QUESTION = re.compile(r"(?:What|How|Where|Whether|Which|Who)\b")


def test_docstrings_begin_with_a_noun_or_a_verb() -> None:
    """At most twenty begin as a question does."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    found = [
        text
        for path in _SOURCES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, kinds) and (text := ast.get_docstring(node))
    ]
    assert len(found) > 2000
    assert len([text for text in found if _QUESTION.match(text)]) <= 20


def test_the_glossary_has_the_fields_terms() -> None:
    """What texts are asked to say instead is explained."""
    glossary = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").lower()
    terms = """time-indexed formulation, disjunctive pair, clique inequality, cover inequality,
        area bound, parallel-machine bound, configuration lp, lagrangian multiplier, backward
        dynamic programming, state-space relaxation, successive sublimation, dominance, simulated
        annealing, clairvoyant, with predictions, non-clairvoyant, certified, solver-reported,
        independent proofs"""
    for term in " ".join(terms.split()).split(", "):
        assert f"| {term}" in glossary, term


def test_help_and_listing_use_the_fields_terms(capsys: pytest.CaptureFixture[str]) -> None:
    """The help of every command; solvers, formulations, policies and their options."""
    for name in COMMANDS.list_commands(None):  # type: ignore[arg-type]
        assert subcommand(name)(["--help"]) == 0
    assert wrong_words(capsys.readouterr().out + listing()) == []


def test_other_words_are_found() -> None:
    """Across lines and in any case; a part of a word, a name in code and a docstring are none."""
    assert wrong_words("The Window\ngroups are told.") == [
        "Window groups: clique and cover inequalities",
        "told: clairvoyant, with predictions, non-clairvoyant; knows, shows",
    ]
    assert wrong_words("planes, untold, bound-patterns", instead=IN_PROSE) == []
    assert wrong_words("prices of a pattern", instead=IN_PROSE) == [
        "prices: Lagrangian multiplier",
        "pattern: configuration",
    ]
    assert _CODE.sub(" ", "of `prices` and [it](prices.py)").split() == ["of", "and", "[it"]
    assert _texts('"""Told."""\nNOTE = f"is told {1}"\nKEY = "told"\n') == ["is told "]
    assert all((ROOT / name).exists() for name in ALLOWED)
