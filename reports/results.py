"""Stored runs, and everything that sentences, tables, figures and pages need of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pandas as pd

from reports.measured import measured
from reports.references import Case, Contradiction, cases, contradictions, references
from reports.rows import prepare
from reports.units import Unit, units

BestKnown = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, eq=False)
class Results:
    """Rows of runs; each property is computed once, when it is first read.

    Attributes
    ----------
    frame
        The columns of ``kvopt.runs.record.Record``, as ``Store.rows`` and
        :func:`kvopt.store.belief.judged` return them; missing ones count as empty.
    best_known
        The registry's entries by hash of the instance (:func:`kvopt.best_known.known_values`).
    beside
        Rows of other runs on the same instances, of which the bounds alone are taken.
    """

    frame: pd.DataFrame
    best_known: BestKnown = field(default_factory=dict)
    beside: pd.DataFrame | None = None

    @cached_property
    def rows(self) -> pd.DataFrame:
        """All runs (:func:`reports.rows.prepare`)."""
        return prepare(self.frame)

    @cached_property
    def current(self) -> pd.DataFrame:
        """The runs that no later run replaces."""
        return self.rows[~self.rows["superseded"]]

    @cached_property
    def cases(self) -> dict[str, Case]:
        """What rows and registry say of each instance."""
        others = None if self.beside is None else prepare(self.beside)
        return cases(self.rows, self.best_known, others)

    @cached_property
    def reference(self) -> pd.DataFrame:
        """One line an instance (:func:`reports.references.references`)."""
        return references(self.rows, self.cases)

    @cached_property
    def contradictions(self) -> tuple[Contradiction, ...]:
        """What cannot be true; callers must fail on it."""
        return contradictions(self.rows, self.cases)

    @cached_property
    def runs(self) -> pd.DataFrame:
        """The runs that count, with their gaps and ratios (:func:`reports.measured.measured`)."""
        return measured(self.rows, self.reference)

    @cached_property
    def units(self) -> list[Unit]:
        """The same by unit of time."""
        return units(self.rows, self.runs)
