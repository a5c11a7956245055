"""Users read the field's terms: none of the project's own words stands for one of these."""

from __future__ import annotations

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
    r"repairs (the|parts|a)": "large neighbourhood search",
    r"whatever kills": "plain words",
}
#: Words that stay, and why: the glossary leads from the code's name to the field's.
ALLOWED = {"docs/glossary.md": {"window group"}}
_TEXTS = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "kvopt").rglob("*.md"),
    *(ROOT / "reports" / "templates").iterdir(),
    ROOT / "reports" / "METHOD.md",
]
#: What was written once and is not rewritten.
_PAST = {"CHANGELOG.md"}


def _wrong(text: str, allowed: frozenset[str] | set[str] = frozenset()) -> list[str]:
    """Return the words of a text that the field has others for."""
    flat = " ".join(text.split())
    return [
        f"{found.group()}: {instead}"
        for pattern, instead in INSTEAD.items()
        for found in re.finditer(rf"\b{pattern}\b", flat, re.IGNORECASE)
        if found.group().lower() not in allowed
    ]


@pytest.mark.parametrize("path", _TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_pages_use_the_fields_terms(path: Path) -> None:
    """README, docs, METHOD and the templates of the pages."""
    name = str(path.relative_to(ROOT))
    if name not in _PAST:
        assert _wrong(path.read_text(encoding="utf-8"), ALLOWED.get(name, set())) == []


@pytest.mark.parametrize("name", COMMANDS.list_commands(None))  # type: ignore[arg-type]
def test_help_uses_the_fields_terms(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The help of every command."""
    assert subcommand(name)(["--help"]) == 0
    assert _wrong(capsys.readouterr().out) == []


def test_the_listing_uses_the_fields_terms() -> None:
    """Solvers, formulations, policies and their options."""
    assert _wrong(listing()) == []


def test_other_words_are_found() -> None:
    """Across lines and in any case; a part of a word is none."""
    assert _wrong("The Window\ngroups are told.") == [
        "Window groups: clique and cover inequalities",
        "told: clairvoyant, with predictions, non-clairvoyant; knows, shows",
    ]
    assert _wrong("planes, untold") == []
    assert all(name in {str(path.relative_to(ROOT)) for path in _TEXTS} for name in ALLOWED)
