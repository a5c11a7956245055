"""The page of one instance: what is known of it, since when and by whom, and all its runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from instances.time_unit import TimeUnit, unit_of
from reports.pages.lines import PageLines
from reports.pages.picture import Picture
from reports.references import CERTIFIED, Contradiction
from reports.rows import MARK_NOTE
from reports.spread import spread_note
from reports.table import KINDS, Cell, Column, Table, columns, written
from reports.tables.listed import run_columns
from schedules.evidence import CONSTRUCTION, STANDINGS

#: Runs on one page.
MOST_RUNS = 300
#: Columns of runs that are the same on all of the page.
_OF_THE_PAGE = ("instance", "batch_time")


@dataclass(frozen=True)
class InstancePage:
    """The page of one instance; ``files`` are a word and an address each."""

    slug: str
    name: str
    facts: tuple[tuple[str, Cell], ...]
    contradictions: tuple[str, ...]
    tables: tuple[Table, ...]
    pictures: tuple[Picture, ...]
    files: tuple[tuple[str, str], ...] = ()

    def drawings(self, folder: str) -> dict[str, str]:
        """Return the pictures by path, the page being in this folder."""
        return {f"{folder}{self.file(each)}": each.svg for each in self.pictures if each.svg}

    def file(self, picture: Picture) -> str:
        """Return the name of a picture's file, beside the page."""
        return f"{self.slug}{picture.mark}.svg"


def make_page(
    slug: str,
    identity: str,
    line: Mapping[str, Any],
    lines: PageLines,
    wrong: Sequence[Contradiction],
    told: Mapping[str, Any],
    pictures: Sequence[Picture],
) -> InstancePage:
    """Return the page of an instance, of which ``line`` is that of the references.

    ``told`` is its entry in the registry of best-known values, empty for none.
    """
    unit = unit_of(line["batch_time"])
    tables = (
        _losses(lines.losses.of(identity), unit),
        *_history(lines.history.of(identity), told, unit),
        _runs(lines.runs.of(identity), unit),
    )
    return InstancePage(
        slug=slug,
        name=str(line["instance"]),
        facts=_facts(line, unit),
        contradictions=tuple(str(each) for each in wrong),
        tables=tuple(each for each in tables if not each.frame.empty),
        pictures=tuple(pictures),
    )


def _facts(line: Mapping[str, Any], unit: TimeUnit) -> tuple[tuple[str, Cell], ...]:
    kind = KINDS[unit]
    values: list[tuple[str, Any, Any]] = [
        ("family", line["family"], "name"),
        ("requests n", line["n"], "count"),
        ("memory M, tokens", line["memory"], "count"),
        ("OPT", STANDINGS[line["standing"]], "text"),
        (
            "OPT rests on",
            "" if line["reason"] == STANDINGS[line["standing"]] else line["reason"],
            "name",
        ),
        ("not two proofs, since", line["shared"], "name"),
        (f"OPT, {unit.name}", line["opt"], kind),
        (f"best schedule UB, {unit.name}", line["upper"], kind),
        ("UB by", line["upper_by"], "name"),
        *_bounds(line, unit),
        ("batch time", line["batch_time"], "name"),
        ("SHA-256", line["instance_sha256"], "name"),
    ]
    empty = [value == "" if isinstance(value, str) else pd.isna(value) for _, value, _ in values]
    shown = [each for each, without in zip(values, empty, strict=True) if not without]
    return tuple((label, Cell(written(value, kind), kind)) for label, value, kind in shown)


def _bounds(line: Mapping[str, Any], unit: TimeUnit) -> list[tuple[str, Any, Any]]:
    """Return the best bound and what it rests on, and below it the best one that is certified."""
    kind, word = KINDS[unit], line["lower_kind"]
    shown = [(f"{CERTIFIED} LB, {unit.name}", line["certified"], kind)]
    shown.append((f"{CERTIFIED} LB by", line["certified_by"], "name"))
    if word in ("", CERTIFIED):
        return shown
    by = "" if word == CONSTRUCTION else line["lower_by"]
    return [(f"{word} LB, {unit.name}", line["lower"], kind), (f"{word} LB by", by, "name"), *shown]


def _losses(frame: pd.DataFrame, unit: TimeUnit) -> Table:
    """Return what each policy loses here against the best schedule, the least first."""
    kind = KINDS[unit]
    shown = (
        Column("label", "policy", "name"),
        Column("tel", "TEL", kind, spread="spread"),
        Column("over", "above UB", kind),
        Column("each", "above UB, a request", "number" if kind == "count" else kind),
        Column("gap", "gap to OPT", "share", sort="tel"),
    )
    note = (
        "TEL, mean over the seeds, and what it is above UB, the best known schedule (or OPT), in "
        "all and a request. Gap to OPT: an interval where OPT is open. "
        + MARK_NOTE
        + spread_note(frame["spread"])
    )
    return Table("losses", "What each policy loses", note, shown, frame)


def _history(frame: pd.DataFrame, told: Mapping[str, Any], unit: TimeUnit) -> list[Table]:
    """Return when the best values of the stored runs improved, and the registry's own history."""
    shown = (
        Column("finished_utc", "when (UTC)", "name"),
        *columns(KINDS[unit], best_upper="UB", best_lower="LB"),
        Column("label", "by", "name"),
        Column("seconds", "seconds", "seconds"),
    )
    note = "Runs that improved the best schedule or the best bound among the stored runs."
    recorded = pd.DataFrame(told.get("history") or [], columns=["date", "side", "value", "method"])
    recorded["side"] = recorded["side"].map({"upper": "UB", "lower": "LB"})
    of_registry = (
        Column("date", "day (UTC)", "name"),
        Column("side", "side"),
        Column("value", "value", "count"),
        Column("method", "by", "name"),
    )
    told_by = "What the registry of best-known values has recorded."
    return [
        Table("history", "History", note, shown, frame),
        Table("registry", "History in the registry", told_by, of_registry, recorded),
    ]


def _runs(runs: pd.DataFrame, unit: TimeUnit) -> Table:
    shown = runs.iloc[:MOST_RUNS]
    return Table(
        "runs",
        "Runs",
        "All stored runs of this instance, the best schedule first.",
        tuple(each for each in run_columns(unit) if each.key not in _OF_THE_PAGE),
        shown,
        left_out=len(runs) - len(shown),
    )
