"""A row a statement, a file a paper; the errata are about these rows."""

from __future__ import annotations

import tomllib
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, model_validator

Verdict = Literal[
    "confirmed", "refuted", "not reproduced", "not comparable", "not run", "open", "nothing to test"
]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
FOLDER = Path(__file__).parent
#: Letters of the papers, which name their files.
LETTERS = ("J1", "J2", "W", "C", "K", "A", "F")


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)


class Statement(_Row):
    """What a paper states and assumes, in our words, and what is known of it.

    A refuted statement has a ``counterexample``: a smallest instance, or numbers. ``check`` is the
    function of ``papers.ledger.checks`` that computes it again within seconds, ``page`` that of the
    experiment, for what took a campaign; ``tests`` are named where no check computes it.
    """

    id: str = Field(min_length=1)
    states: str = Field(min_length=1)
    assumes: str = ""
    verdict: Verdict
    counterexample: str = ""
    evidence: str = ""
    check: str = Field("", pattern=r"^[a-z0-9_]*$")
    page: str = ""
    tests: tuple[str, ...] = ()
    errata: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _says_how_it_is_known(self) -> Self:
        if self.verdict == "nothing to test":
            return self
        if not self.evidence:
            raise ValueError(f"{self.id}: expected evidence")
        if self.verdict in ("confirmed", "refuted") and not self.command:
            raise ValueError(f"{self.id}: {self.verdict}, expected a check, a page or tests")
        if self.verdict == "refuted" and not (self.counterexample and self.errata):
            raise ValueError(f"{self.id}: refuted, expected a counterexample and an erratum")
        return self

    @property
    def command(self) -> bool:
        """Whether a command shows it again."""
        return bool(self.check or self.page or self.tests)


class Paper(_Row):
    """A paper, by the letter that it is cited by, and its statements in the paper's order."""

    letter: Literal["J1", "J2", "W", "C", "K", "A", "F"]
    key: str
    arxiv: str = Field(pattern=r"^\d{4}\.\d{5}$")
    version: str
    statement: tuple[Statement, ...]

    @model_validator(mode="after")
    def _names_each_once(self) -> Self:
        twice = [name for name, n in Counter(each.id for each in self.statement).items() if n > 1]
        if twice:
            raise ValueError(f"{self.letter}: more than one {twice[0]}")
        return self

    def counts(self) -> Counter[Verdict]:
        """Return the number of its statements by verdict."""
        return Counter(each.verdict for each in self.statement)


class Erratum(_Row):
    """An item of the errata page; verdicts and counterexamples are those of the rows."""

    number: str = Field(pattern=r"^[EN]\d+$")
    title: str
    text: str
    tests: tuple[str, ...] = Field(min_length=1)


class Errata(_Row):
    """All items, in the order of the page."""

    item: tuple[Erratum, ...]


@cache
def papers() -> dict[str, Paper]:
    """Return the papers by letter; pydantic's ValueError names the field of a damaged file."""
    return {name: Paper.model_validate(_table(f"{name.lower()}.toml")) for name in LETTERS}


@cache
def errata() -> dict[str, Erratum]:
    """Return the items of the errata by number."""
    return {item.number: item for item in Errata.model_validate(_table("errata.toml")).item}


def statements() -> dict[str, Statement]:
    """Return all statements by the name they are cited by, such as ``J1 Theorem 5.3``."""
    return {
        f"{paper.letter} {each.id}": each for paper in papers().values() for each in paper.statement
    }


def _table(name: str) -> dict[str, Any]:
    return tomllib.loads((FOLDER / name).read_text(encoding="utf-8"))
