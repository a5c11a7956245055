"""References of each instance by the rule of evidence (:mod:`schedules.evidence`)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

import pandas as pd

from kvopt.methods.method_names import shown_source
from kvopt.methods.witness import search_witness
from kvopt.runs.row_columns import PROVED
from schedules import evidence
from schedules.evidence import CONSTRUCTION, BoundStatement, Witness, judge, names_proof
from schedules.gap import gaps


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
class InstanceStatements:
    """Statements of rows and registry about one instance.

    ``lower`` is the best of ``lowers``, the believed bounds of the rows, and ``certified`` the best
    one that integers prove. ``registered`` is the registry's entry.
    """

    registered: Mapping[str, Any] = field(default_factory=dict)
    upper: BoundStatement | None = None
    upper_key: str = ""
    lower: BoundStatement | None = None
    certified: BoundStatement | None = None
    lowers: list[BoundStatement] = field(default_factory=list)
    witnesses: list[Witness] = field(default_factory=list)

    def of_registry(self, side: str) -> BoundStatement | None:
        """Return the registry's bound on a side: ``upper``, ``lower`` or ``certified``."""
        value, by = self.registered.get(f"{side}_bound"), self.registered.get(f"{side}_by")
        by = f"{by} (registry)" if by else "the registry"
        return None if value is None else BoundStatement(value, by)


#: The kinds of bounds: proved in integers, by the instance's construction, or a solver's report.
CERTIFIED, REPORTED = "certified", "solver-reported"


def find_references(rows: pd.DataFrame, found: Mapping[str, InstanceStatements]) -> pd.DataFrame:
    """Return one line an instance, indexed by ``id``, of what :func:`collect_statements` found.

    ``found_key`` is of the rows' best schedule, ``standing`` a key of ``STANDINGS``, ``shared`` the
    common ground of proofs that do not count as two, ``gap`` and ``certified_gap`` are of UB to
    both LB. Values are rounds, of instances in seconds nanoseconds.
    """
    made = [_line(case) for case in found.values()]
    # Without a case, too, there are columns; integers of whatever size stay integers.
    lines = pd.DataFrame(made, list(found), columns=list(_line(InstanceStatements())), dtype=object)
    lines = lines.astype(dict.fromkeys(("upper", "lower", "certified", "opt"), "Int64"))
    for name, side in (("gap", "lower"), ("certified_gap", "certified")):
        lines[name] = gaps(lines["upper"], lines[side])
    about = ["id", "sha", "instance", "family", "n", "memory", "batch_time", "instance_sha256"]
    instances = rows.drop_duplicates("id")[about]
    return instances.join(lines, on="sha").set_index("id")


def _line(case: InstanceStatements) -> dict[str, Any]:
    # The rows' reference comes first among equals.
    upper, lower, certified = (
        take(filter(None, (own, case.of_registry(side))), key=attrgetter("value"), default=None)
        for side, own, take in (
            ("upper", case.upper, min),
            ("lower", case.lower, max),
            ("certified", case.certified, max),
        )
    )
    construction = case.registered.get(CONSTRUCTION)
    verdict = judge(
        upper.value if upper else None,
        lower.value if lower else None,
        [*case.registered.get("witnesses", ()), *case.witnesses],
        construction=construction,
    )
    opt = construction
    if construction is not None:
        lower = BoundStatement(construction, CONSTRUCTION)
    if upper and lower and upper.value == lower.value:
        opt = upper.value
    wrong = verdict.standing == "contradiction"
    by = kind = ""
    if lower is not None:
        by, kind = lower.by, CONSTRUCTION if lower.by == CONSTRUCTION else REPORTED
        if certified is not None and certified.value >= lower.value:
            by, kind = certified.by, CERTIFIED
    return {
        "upper": upper.value if upper else None,
        "upper_by": upper.by if upper else "",
        "upper_key": case.upper_key if upper is case.upper else "",
        "found_key": case.upper_key,
        "lower": lower.value if lower and not wrong else None,
        "lower_by": by,
        "lower_kind": "" if wrong else kind,
        "certified": certified.value if certified and not wrong else None,
        "certified_by": certified.by if certified else "",
        "opt": None if wrong else opt,
        "standing": verdict.standing,
        "reason": verdict.reason,
        "shared": verdict.shared,
    }


def contradictions(
    rows: pd.DataFrame, found: Mapping[str, InstanceStatements]
) -> tuple[Contradiction, ...]:
    """Return every believed bound that exceeds the best checked schedule of its instance."""
    names = rows.drop_duplicates("sha").set_index("sha")["instance"]
    made = [
        Contradiction(names[sha], sha, *lower, *upper)
        for sha, case in found.items()
        for lower, upper in _contradictions(case)
    ]
    order = sorted(made, key=lambda each: (each.instance, each.sha, each.lower, each.lower_by))
    return tuple(order)


def _contradictions(case: InstanceStatements) -> Iterator[evidence.BoundContradiction]:
    built = case.registered.get(CONSTRUCTION)
    known = [] if built is None else [BoundStatement(built, CONSTRUCTION)]
    uppers = [case.upper, case.of_registry("upper"), *known]
    lowers = [*case.lowers, case.of_registry("lower"), *known]
    # The first by name of equals, so that the order of the rows does not matter.
    above, below = ({each for each in side if each} for side in (uppers, lowers))
    yield from evidence.contradictions(sorted(above), below)


def collect_statements(
    rows: pd.DataFrame,
    best_known: Mapping[str, Any] | None = None,
    further: pd.DataFrame | None = None,
) -> dict[str, InstanceStatements]:
    """Return the statements of prepared rows, further rows and the registry, by ``sha``."""
    registry = best_known or {}
    found = {sha: InstanceStatements(registry.get(sha, {})) for sha in rows["sha"].unique()}
    checked = rows[rows["tel"].notna() & ~rows["preempts"]]
    # The quickest of equals is named, a policy before the method of bounds that began with it.
    best = checked.sort_values(["sha", "tel", "bound_only", *_QUICKEST]).drop_duplicates("sha")
    # A policy's schedule that an engine began with.
    begun = best["found_by"].ne("") & best["bound_only"]
    begun |= best["engine"] & best["found_by"].str.startswith("policy ")
    finders = best["label"].where(~begun, best["found_by"] + ", " + best["label"])
    for sha, tel, key, finder in _values(best.assign(by=finders), "sha", "tel", "key", "by"):
        found[sha].upper, found[sha].upper_key = BoundStatement(int(tel), finder), key
    claimed = rows if further is None else pd.concat([rows, further], ignore_index=True)
    claimed = claimed[claimed["lower_bound"].gt(0).fillna(False) & claimed["believed"]]
    order = ["sha", "lower_bound", *_QUICKEST]
    claimed = claimed.sort_values(order, ascending=[True, False, *[True] * len(_QUICKEST)])
    each = claimed.drop_duplicates(known := ["sha", "lower_bound", "label", "bound_source", PROVED])
    for sha, bound, label, source, proved in _values(each, *known):
        case = found[sha]
        case.lowers.append(BoundStatement(int(bound), label))
        named = BoundStatement(int(bound), f"{shown_source(source)}, {label}" if source else label)
        case.lower = case.lower or named
        proof = bound if names_proof(source) else 0 if pd.isna(proved) else proved
        if proof > (case.certified.value if case.certified else 0):
            case.certified = BoundStatement(int(proof), named.by)
    proofs = claimed[claimed["solved"]]
    columns = ("sha", "method", "status", "tel", "lower_bound", "bound_source")
    # The oldest first, as the registry has them.
    proofs = proofs.sort_values(["finished_utc", "key"]).drop_duplicates(list(columns))
    for sha, method, status, tel, bound, source in _values(proofs, *columns):
        if witness := search_witness(method, status, int(tel), int(bound), source):
            found[sha].witnesses.append(witness)
    return found


_QUICKEST = ["seconds", "label", "seed", "key"]


def _values(rows: pd.DataFrame, *columns: str) -> Iterator[tuple[Any, ...]]:
    return rows[list(columns)].itertuples(index=False, name=None)
