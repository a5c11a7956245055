"""Data of the ledger: statements by paper, and the errata about them."""

import tomllib
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, model_validator

StatementVerdict = Literal[
    "confirmed", "refuted", "not reproduced", "not comparable", "not run", "open", "nothing to test"
]
VERDICTS: tuple[StatementVerdict, ...] = get_args(StatementVerdict)
FOLDER = Path(__file__).parent
#: Letters of the papers, which name their files.
LETTERS = ("J1", "J2", "W", "C", "K", "A", "NSZ", "F")


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)


class PaperStatement(_Row):
    """A statement of a paper, its assumptions, verdict and evidence.

    A refuted statement has a ``counterexample``: a smallest instance, or numbers.  ``check`` names
    a function of ``papers.ledger.checks``, ``page`` an experiment; ``tests`` stand for a missing
    check.
    """

    id: str = Field(min_length=1)
    states: str = Field(min_length=1)
    assumes: str = ""
    verdict: StatementVerdict
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
        """True if a check, a page or a test shows it again."""
        return bool(self.check or self.page or self.tests)


class Paper(_Row):
    """A paper by its cited letter, with statements in the paper's order."""

    letter: Literal["J1", "J2", "W", "C", "K", "A", "NSZ", "F"]
    key: str
    arxiv: str = Field(pattern=r"^\d{4}\.\d{5}$")
    version: str
    statement: tuple[PaperStatement, ...]

    @model_validator(mode="after")
    def _names_each_once(self) -> Self:
        twice = [name for name, n in Counter(each.id for each in self.statement).items() if n > 1]
        if twice:
            raise ValueError(f"{self.letter}: more than one {twice[0]}")
        return self

    def counts(self) -> Counter[StatementVerdict]:
        """Return the number of its statements by verdict."""
        return Counter(each.verdict for each in self.statement)


class Erratum(_Row):
    """An item of the errata; statements hold its verdict and counterexample."""

    number: str = Field(pattern=r"^[EN]\d+$")
    title: str
    text: str
    tests: tuple[str, ...] = Field(min_length=1)


class Errata(_Row):
    """All items, in the order of the page."""

    item: tuple[Erratum, ...]


@cache
def papers() -> dict[str, Paper]:
    """Return the papers by letter; pydantic's ValueError names a damaged field."""
    return {name: Paper.model_validate(_table(f"{name.lower()}.toml")) for name in LETTERS}


@cache
def errata() -> dict[str, Erratum]:
    """Return the items of the errata by number."""
    return {item.number: item for item in Errata.model_validate(_table("errata.toml")).item}


def statements() -> dict[str, PaperStatement]:
    """Return all statements by their cited names, such as ``J1 Theorem 5.3``."""
    return {
        f"{paper.letter} {each.id}": each for paper in papers().values() for each in paper.statement
    }


def _table(name: str) -> dict[str, Any]:
    return tomllib.loads((FOLDER / name).read_text(encoding="utf-8"))
