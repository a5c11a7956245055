"""All instances of the library with their best known values, the open ones first."""

import pandas as pd

from instances import Instance
from kvopt.best_known.library_and_ladder import LibraryWithLadder, library_by_hash
from kvopt.best_known.registry_entry import CertifiedBound, Registry, RegistryEntry
from kvopt.best_known.registry_files import RegistryError, certificate_path, schedule_path
from reports.table import Column, Table, columns
from schedules.gap import gaps

#: Longest run of a proof of each class, seconds.
EASY, MEDIUM = 10.0, 60.0
CLASSES = ("easy", "medium", "hard", "open")
_NOTE = (
    "The registry of best known values, of the library and of the ladder as far as it was run. "
    "Values are total latencies in rounds."
)
_CLASS = (
    f"by the seconds of the quickest proof of LB = UB: easy, at most {EASY:g}; medium, at most "
    f"{MEDIUM:g}; hard, more, or proved by its construction alone; open, no proof yet."
)
#: Characters of a full bar, and parts of one.
_WIDTH, _PARTS = 10, " ▏▎▍▌▋▊▉█"
COLUMNS = (
    *columns("name", instance="instance", family="family"),
    *columns("count", n="n", memory="M"),
    Column("upper", "UB", "count", note="the best checked schedule."),
    Column("certified", "certified LB", "count", note="a file proves it, evaluated in integers."),
    Column("lower", "LB", "count", note="the best bound."),
    Column("kind", "LB is", "name"),
    Column("gap", "gap", "share", note="(UB − LB) / UB."),
    Column("bar", "bar", sort="gap"),
    Column("class", "class", note=_CLASS),
    *columns("name", upper_by="UB by", lower_by="LB by", reason="OPT rests on"),
)


def library_table(registry: Registry) -> Table:
    """Return the library as a table, one line an instance with its files.

    Columns file, schedule and certificate are paths below ``instances/``; the certificate is that
    of the bound in the column ``certified``.  ``sha`` is the instance's hash.
    """
    library = LibraryWithLadder(library_by_hash())
    unknown = [each.instance for each in registry.instances if each.sha256 not in library]
    if unknown:
        raise RegistryError(f"{unknown[0]}: the library has no instance of this hash")
    lines = [_line(each, library[each.sha256].instance) for each in registry.instances]
    frame = pd.DataFrame(lines)
    frame["gap"] = gaps(frame["upper"], frame["lower"]).astype(float)
    frame["class"] = list(map(difficulty, frame["gap"], frame["lower_seconds"], frame["kind"]))
    frame["bar"] = [bar(share) for share in frame["gap"]]
    order = ["gap", "n", "instance"]
    frame = frame.sort_values(order, ascending=[False, True, True], ignore_index=True)
    return Table("library", "The library", _NOTE, COLUMNS, frame)


def family_table(table: Table) -> Table:
    """Return one line a family of the library's table."""
    lines = table.frame.groupby("family", sort=True).agg(
        instances=("n", "size"), least=("n", "min"), most=("n", "max"), gap=("gap", "max")
    )
    counts = pd.crosstab(table.frame["family"], table.frame["class"])
    frame = lines.join(counts.reindex(columns=list(CLASSES), fill_value=0)).reset_index()
    shown = (
        Column("family", "family", "name"),
        *columns("count", instances="instances", least="least n", most="largest n"),
        *columns("count", **dict(zip(CLASSES, CLASSES, strict=True))),
        Column("gap", "largest gap", "share"),
    )
    return Table("families", "Families", "Instances by class, and the largest gap.", shown, frame)


def difficulty(gap: float, seconds: float, kind: str) -> str:
    """Return the class of an instance by the quickest proof of its LB, of a kind, in seconds."""
    if gap > 0:
        return "open"
    if kind == "construction" or seconds > MEDIUM:
        return "hard"
    return "easy" if seconds <= EASY else "medium"


def bar(share: float) -> str:
    """Return a share as a bar of ten characters at most; any share but 0 has a sliver."""
    full, part = divmod(max(round(8 * _WIDTH * share), int(share > 0)), 8)
    return _PARTS[8] * full + _PARTS[part].strip()


def _line(entry: RegistryEntry, instance: Instance) -> dict[str, object]:
    upper, lower = entry.upper, entry.lower
    return {
        **{name: getattr(entry, name) for name in ("n", "memory", "instance", "reason", "file")},
        "sha": entry.sha256,
        "family": instance.family or "",
        "schedule": schedule_path(entry.instance),
        "certificate": certificate_path(entry.instance),
        "kind": f"certified ({lower.certificate})"
        if isinstance(lower, CertifiedBound)
        else lower.kind,
        "certified": entry.certified.value,
        "upper": upper.value,
        "upper_by": upper.by,
        "lower": lower.value,
        "lower_by": lower.method,
        "lower_seconds": min([lower.seconds, *(each.seconds for each in entry.proofs)]),
    }
