"""The page of one instance: its best known values, their history, and all its runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from instances.time_unit import TimeUnit, unit_of
from reports.best_references import CERTIFIED, Contradiction
from reports.pages.instance_pictures import Picture
from reports.pages.page_lines import PageLines
from reports.per_instance import spread_note
from reports.prepared_rows import MARK_NOTE
from reports.table import KINDS, Column, Table, columns, written
from reports.tables.instance_lines import run_columns
from schedules.evidence import CONSTRUCTION, STANDINGS

#: Runs on one page.
MOST_RUNS = 300
#: Columns of runs with one value on all of the page.
_OF_THE_PAGE = ("instance", "batch_time")


@dataclass(frozen=True)
class InstancePage:
    """The page of one instance; ``facts`` are label and text, ``files`` a word and an address."""

    slug: str
    name: str
    facts: tuple[tuple[str, str], ...]
    contradictions: tuple[str, ...]
    tables: tuple[Table, ...]
    pictures: tuple[Picture, ...]
    files: tuple[tuple[str, str], ...] = ()

    def drawings(self, folder: str) -> dict[str, str]:
        """Return the pictures by path, the page being in this folder."""
        return {f"{folder}{self.file(each)}": each.svg for each in self.pictures if each.svg}

    def file(self, picture: Picture) -> str:
        """Return the name of a picture's file, next to the page."""
        return f"{self.slug}{picture.mark}.svg"


def make_page(
    slug: str,
    identity: str,
    line: Mapping[str, Any],
    lines: PageLines,
    wrong: Sequence[Contradiction],
    registered: Mapping[str, Any],
    pictures: Sequence[Picture],
) -> InstancePage:
    """Return the page of an instance; ``line`` is its line of the references.

    ``registered`` is its entry in the registry of best-known values, empty for none.
    """
    unit = unit_of(line["batch_time"])
    tables = (
        _losses(lines.losses.of(identity), unit),
        *_history(lines.history.of(identity), registered, unit),
        _runs(lines.runs.of(identity), unit),
    )
    about = slug, str(line["instance"]), facts(line), tuple(map(str, wrong))
    shown = tuple(each for each in tables if not each.frame.empty)
    return InstancePage(*about, shown, tuple(pictures))


def facts(line: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return the known facts of an instance, label and text, of its line of the references."""
    unit = unit_of(line["batch_time"])
    kind, standing, word = KINDS[unit], STANDINGS[line["standing"]], line["lower_kind"]
    bounds: list[tuple[str, Any, Any]] = [
        (f"{CERTIFIED} LB, {unit.name}", line["certified"], kind),
        (f"gap to the {CERTIFIED} LB", line["certified_gap"], "share"),
        (f"{CERTIFIED} LB by", line["certified_by"], "name"),
    ]
    if word not in ("", CERTIFIED):
        by = "" if word == CONSTRUCTION else line["lower_by"]
        bounds = [
            (f"{word} LB, {unit.name}", line["lower"], kind),
            (f"gap to the {word} LB", line["gap"], "share"),
            (f"{word} LB by", by, "name"),
            *bounds,
        ]
    values: list[tuple[str, Any, Any]] = [
        ("family", line["family"], "name"),
        ("requests n", line["n"], "count"),
        ("memory M, tokens", line["memory"], "count"),
        ("OPT", standing, "text"),
        ("OPT rests on", "" if line["reason"] == standing else line["reason"], "name"),
        ("not two proofs, since", line["shared"], "name"),
        (f"OPT, {unit.name}", line["opt"], kind),
        (f"best schedule UB, {unit.name}", line["upper"], kind),
        ("UB by", line["upper_by"], "name"),
        *bounds,
        ("batch time", line["batch_time"], "name"),
        ("SHA-256", line["instance_sha256"], "name"),
    ]
    known = [each for each in values if pd.notna(each[1]) and each[1] != ""]
    return tuple((label, written(value, kind)) for label, value, kind in known)


def _losses(frame: pd.DataFrame, unit: TimeUnit) -> Table:
    """Return the loss of each policy here against the best schedule, the least first."""
    kind = KINDS[unit]
    shown = (
        Column("label", "policy", "name", note=MARK_NOTE),
        Column("tel", "TEL", kind, spread="spread"),
        Column("over", "above UB", kind, note="the best known schedule, or OPT."),
        Column("each", "above UB, a request", "number" if kind == "count" else kind),
        Column("gap", "gap to OPT", "share", sort="tel", note="of this TEL; [a, b]: OPT is open."),
    )
    note = "Means over the seeds." + spread_note(frame)
    return Table("losses", "What each policy loses", note, shown, frame)


def _history(frame: pd.DataFrame, registered: Mapping[str, Any], unit: TimeUnit) -> list[Table]:
    """Return the improvements by stored runs, and the registry's history."""
    shown = (
        Column("finished_utc", "when (UTC)", "name"),
        *columns(KINDS[unit], best_upper="UB", best_lower="LB"),
        Column("label", "by", "name"),
        Column("seconds", "seconds", "seconds"),
    )
    history = registered.get("history") or []
    recorded = pd.DataFrame(history, columns=["date", "side", "value", "method"])
    recorded["side"] = recorded["side"].map({"upper": "UB", "lower": "LB"})
    of_registry = (
        Column("date", "day (UTC)", "name"),
        Column("side", "side"),
        Column("value", "value", "count"),
        Column("method", "by", "name"),
    )
    note = "Runs that improved the best schedule or the best bound among the stored runs."
    record = "The record in the registry of best-known values."
    return [
        Table("history", "History", note, shown, frame),
        Table("registry", "History in the registry", record, of_registry, recorded),
    ]


def _runs(runs: pd.DataFrame, unit: TimeUnit) -> Table:
    note = "All stored runs of this instance, the best schedule first."
    shown = tuple(each for each in run_columns(unit) if each.key not in _OF_THE_PAGE)
    left_out = max(len(runs) - MOST_RUNS, 0)
    return Table("runs", "Runs", note, shown, runs.iloc[:MOST_RUNS], left_out=left_out)
