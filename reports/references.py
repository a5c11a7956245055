"""References of each instance by the rule of evidence (:mod:`schedules.evidence`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

import pandas as pd

from kvopt.methods.knowledge import shown_source
from kvopt.methods.witness import search_witness
from schedules import evidence
from schedules.evidence import CONSTRUCTION, Statement, Witness, judge, names_proof


@dataclass(frozen=True)
class Contradiction:
    """Two statements on one instance that cannot both be true: ``lower`` > ``upper`` (rounds)."""

    instance: str
    sha: str
    lower: int
    lower_by: str
    upper: int
    upper_by: str

    def __str__(self) -> str:
        return (
            f"{self.instance}: the bound {self.lower} of {self.lower_by} exceeds "
            f"the schedule {self.upper} of {self.upper_by}"
        )


@dataclass
class Case:
    """Statements of rows and registry about one instance.

    ``lower`` is the best of ``lowers``, the bounds of the rows that are believed, and ``certified``
    the best that integers prove. ``stated`` are the optima of the files (rounds), the least first;
    ``told`` is the registry's entry.
    """

    upper: Statement | None = None
    upper_key: str = ""
    lower: Statement | None = None
    certified: Statement | None = None
    lowers: list[Statement] = field(default_factory=list)
    stated: list[int] = field(default_factory=list)
    witnesses: list[Witness] = field(default_factory=list)
    told: Mapping[str, Any] = field(default_factory=dict)

    def of_registry(self, side: str) -> Statement | None:
        """Return the registry's bound on a side: ``upper``, ``lower`` or ``certified``."""
        value, by = self.told.get(f"{side}_bound"), self.told.get(f"{side}_by")
        return None if value is None else Statement(value, f"{by} (registry)" if by else _REGISTRY)


_REGISTRY = "the registry"
#: What a bound rests on: a proof in integers, the instance's construction, or a solver's report.
CERTIFIED, REPORTED = "certified", "solver-reported"
LOWER_KINDS = (CERTIFIED, CONSTRUCTION, REPORTED)


def references(rows: pd.DataFrame, told: Mapping[str, Case]) -> pd.DataFrame:
    """Return one line an instance, indexed by ``id``; ``told`` is from :func:`cases`.

    Columns sha, instance, family, n, memory, batch_time, instance_sha256, upper, upper_by,
    upper_key, found_key (of the rows' best schedule), lower, lower_by, lower_kind (of
    :data:`LOWER_KINDS`), certified, certified_by, known (what the file states), opt (missing where
    open), standing (a key of ``STANDINGS``), reason, and shared (what proofs share that do not
    count as two). Values are rounds, of instances in seconds nanoseconds.
    """
    made = [_line(case) for case in told.values()]
    # Of no case, too, there are columns; integers of whatever size stay integers.
    lines = pd.DataFrame(made, list(told), columns=list(_line(Case())), dtype=object)
    lines = lines.astype(dict.fromkeys(("upper", "lower", "certified", "known", "opt"), "Int64"))
    about = ["id", "sha", "instance", "family", "n", "memory", "batch_time", "instance_sha256"]
    instances = rows.drop_duplicates("id")[about]
    return instances.join(lines, on="sha").set_index("id")


def _line(case: Case) -> dict[str, Any]:
    # Of equals that of the rows.
    upper, lower, certified = (
        take(filter(None, (own, case.of_registry(side))), key=attrgetter("value"), default=None)
        for side, own, take in (
            ("upper", case.upper, min),
            ("lower", case.lower, max),
            ("certified", case.certified, max),
        )
    )
    construction = case.told.get(CONSTRUCTION)
    stated = case.stated[0] if case.stated else None
    verdict = judge(
        upper.value if upper else None,
        lower.value if lower else None,
        [*case.told.get("witnesses", ()), *case.witnesses],
        construction=construction,
        stated=stated,
    )
    if construction is not None:
        lower = Statement(construction, CONSTRUCTION)
    opt = stated if construction is None else construction
    if upper and lower and upper.value == lower.value:
        opt = upper.value
    wrong = verdict.standing == "contradiction"
    lower_by, lower_kind = _resting(lower, certified)
    return {
        "upper": upper.value if upper else None,
        "upper_by": upper.by if upper else "",
        "upper_key": case.upper_key if upper is case.upper else "",
        "found_key": case.upper_key,
        "lower": lower.value if lower and not wrong else None,
        "lower_by": lower_by,
        "lower_kind": "" if wrong else lower_kind,
        "certified": certified.value if certified and not wrong else None,
        "certified_by": certified.by if certified else "",
        "known": stated,
        "opt": None if wrong else opt,
        "standing": verdict.standing,
        "reason": verdict.reason,
        "shared": verdict.shared,
    }


def _resting(lower: Statement | None, certified: Statement | None) -> tuple[str, str]:
    """Return what a bound is by, and its kind: a certificate, where one proves as much."""
    if lower is None:
        return "", ""
    if certified is not None and certified.value >= lower.value:
        return certified.by, CERTIFIED
    return lower.by, CONSTRUCTION if lower.by == CONSTRUCTION else REPORTED


def contradictions(rows: pd.DataFrame, told: Mapping[str, Case]) -> tuple[Contradiction, ...]:
    """Return every believed bound that exceeds the best checked schedule of its instance.

    Stated optima and the registry's values are statements like any other.
    """
    names = rows.drop_duplicates("sha").set_index("sha")["instance"]
    found = [
        Contradiction(names[sha], sha, *lower, *upper)
        for sha, case in told.items()
        for lower, upper in _contradictions(case)
    ]
    order = sorted(found, key=lambda each: (each.instance, each.sha, each.lower, each.lower_by))
    return tuple(order)


def _contradictions(case: Case) -> Iterator[evidence.Contradiction]:
    known = [Statement(value, "the known optimum") for value in case.stated]
    if (built := case.told.get(CONSTRUCTION)) is not None and built not in case.stated:
        known.append(Statement(built, CONSTRUCTION))
    uppers = [case.upper, case.of_registry("upper"), *known]
    lowers = [*case.lowers, case.of_registry("lower"), *known]
    # Of equals the first by name, so that the order of the rows does not matter.
    above, below = ({each for each in side if each} for side in (uppers, lowers))
    yield from evidence.contradictions(sorted(above), below)


def cases(
    rows: pd.DataFrame,
    best_known: Mapping[str, Any] | None = None,
    beside: pd.DataFrame | None = None,
) -> dict[str, Case]:
    """Return what prepared rows, those ``beside`` them and the registry say, by ``sha``."""
    told = {} if best_known is None else best_known
    found_of = {sha: Case(told=told.get(sha, {})) for sha in rows["sha"].unique()}
    found = rows[rows["tel"].notna() & ~rows["preempts"]]
    # Of equals the quickest is named: an engine begins with what a policy has found, and a method
    # that makes bounds only has no other.
    best = found.sort_values(["sha", "tel", "bound_only", *_QUICKEST]).drop_duplicates("sha")
    for sha, tel, key, *by in _values(best, "sha", "tel", "key", "label", "bound_only", "found_by"):
        label, bound_only, found_by = by
        finder = f"{found_by}, {label}" if bound_only and found_by else label
        found_of[sha].upper, found_of[sha].upper_key = Statement(int(tel), finder), key
    claimed = rows if beside is None else pd.concat([rows, beside], ignore_index=True)
    claimed = claimed[claimed["lower_bound"].gt(0).fillna(False) & claimed["believed"]]
    order = ["sha", "lower_bound", *_QUICKEST]
    claimed = claimed.sort_values(order, ascending=[True, False, *[True] * len(_QUICKEST)])
    each = claimed.drop_duplicates(["sha", "lower_bound", "label", "bound_source"])
    for sha, bound, label, source in _values(each, "sha", "lower_bound", "label", "bound_source"):
        case = found_of[sha]
        case.lowers.append(Statement(int(bound), label))
        by_source = Statement(int(bound), f"{shown_source(source)}, {label}" if source else label)
        case.lower = case.lower or by_source
        if names_proof(source):
            case.certified = case.certified or by_source
    stated = rows.dropna(subset="known_optimum").drop_duplicates(["sha", "known_optimum"])
    for sha, value in _values(stated.sort_values("known_optimum"), "sha", "known_optimum"):
        found_of[sha].stated.append(int(value))
    proofs = claimed[claimed["solved"]]
    columns = ("method", "status", "tel", "lower_bound", "bound_source")
    # The oldest first, as the registry has them.
    proofs = proofs.sort_values(["finished_utc", "key"]).drop_duplicates(["sha", *columns])
    for sha, method, status, tel, bound, source in _values(proofs, "sha", *columns):
        if witness := search_witness(method, status, int(tel), int(bound), source):
            found_of[sha].witnesses.append(witness)
    return found_of


_QUICKEST = ["seconds", "label", "seed", "key"]


def _values(rows: pd.DataFrame, *columns: str) -> Iterator[tuple[Any, ...]]:
    return rows[list(columns)].itertuples(index=False, name=None)
