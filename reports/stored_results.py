"""Stored runs, and all frames that sentences, tables, figures and pages need."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pandas as pd

from kvopt.runs.row_columns import row_columns
from reports.best_references import (
    Contradiction,
    InstanceStatements,
    collect_statements,
    contradictions,
    find_references,
)
from reports.formulas import ratio_interval
from reports.prepared_rows import prepare_rows
from reports.time_units import Unit, units
from schedules.gap import gaps

BestKnown = Mapping[str, Mapping[str, Any]]
#: Tables name the machines by the rows themselves (``reports.tables.run_statuses.machines``).
_LEFT_OUT = ["known_optimum", *(column.name for column in row_columns() if column.part == "origin")]


@dataclass(frozen=True, eq=False)
class Results:
    """Rows of runs; each property is computed once, when it is first read.

    ``frame`` has the columns of ``kvopt.runs.row_columns.Record``; missing ones count as empty.
    ``best_known`` is :func:`kvopt.best_known.known_values`. The ``further`` rows give bounds alone.
    """

    frame: pd.DataFrame
    best_known: BestKnown = field(default_factory=dict)
    further: pd.DataFrame | None = None

    @cached_property
    def rows(self) -> pd.DataFrame:
        """All runs (:func:`reports.prepared_rows.prepare_rows`)."""
        return prepare_rows(self.frame)

    @cached_property
    def current(self) -> pd.DataFrame:
        """The runs that no later run replaces."""
        return self.rows[~self.rows["superseded"]]

    @cached_property
    def cases(self) -> dict[str, InstanceStatements]:
        """Return the statements of rows and registry about each instance."""
        others = None if self.further is None else prepare_rows(self.further)
        return collect_statements(self.rows, self.best_known, others)

    @cached_property
    def reference(self) -> pd.DataFrame:
        """One line an instance (:func:`reports.best_references.find_references`)."""
        return find_references(self.rows, self.cases)

    @cached_property
    def contradictions(self) -> tuple[Contradiction, ...]:
        """Return contradictions; callers must fail on them."""
        return contradictions(self.rows, self.cases)

    @cached_property
    def runs(self) -> pd.DataFrame:
        """The runs that count, with their instance's references, gaps and ratios.

        Superseded runs are left out, and runs on an unread instance. Added are ``known`` (OPT is),
        gap_opt, gap_upper, gap_lower, gap_low and gap_high (they hold the gap to OPT, 1 without a
        schedule), ratio_low, ratio_high and ``failed``. A run that keeps tokens is compared with
        the best schedule of its easier problem. Without a bound for that problem the upper ends are
        missing and ``known`` is False.
        """
        runs = self.current[self.current["instance_sha256"].ne("")]
        # Every selection of rows copies all columns; these are not needed again.
        runs = runs.drop(columns=_LEFT_OUT).join(
            self.reference[["upper", "upper_by", "lower", "lower_by", "opt", "standing"]], on="id"
        )
        # A bound above a checked schedule, also the registry's, proves nothing.
        true = ~runs["lower_bound"].gt(runs["upper"]).fillna(False)
        bounded = ~runs["unbounded"]
        upper = runs["opt"].fillna(runs["upper"])
        upper = upper.where(~runs["preempts"] | upper.le(runs["tel"]).fillna(False), runs["tel"])
        lower = runs["opt"].fillna(runs["lower"]).where(bounded)
        opt = runs["opt"].where(bounded)
        interval = ratio_interval(runs["tel"], lower, upper)
        to_upper, to_lower = gaps(runs["tel"], upper), gaps(runs["tel"], lower)
        return runs.assign(
            **{name: runs[name] & true for name in ("believed", "solved")},
            **interval.add_prefix("ratio_"),
            known=opt.notna(),
            failed=runs["tel"].isna(),
            gap_opt=gaps(runs["tel"], opt),
            gap_upper=to_upper,
            gap_lower=to_lower,
            gap_low=to_upper.where(runs["tel"].notna(), 1.0),
            gap_high=to_lower.where(runs["tel"].notna(), 1.0),
        ).reset_index(drop=True)

    @cached_property
    def units(self) -> list[Unit]:
        """The same by unit of time."""
        return units(self.rows, self.runs)
