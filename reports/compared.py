"""Methods on the instances that one policy was run on: the answer, and a short ranking.

One was run in production, or knows least (:func:`kvopt.answer.is_base`): it is what the others are
compared with.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import pandas as pd

from instances.time_unit import TimeUnit, unit_of
from kvopt.answer import Answer, MethodTotal, answer, is_base, percent, relative
from kvopt.methods.knowledge import Knowledge, knowledge
from kvopt.waiting import no_request_waits
from reports.interval import at_most, shares
from reports.spread import spread, spread_note
from reports.table import Column, Table, time_column
from reports.units import Unit
from schedules.evidence import bounds_hold
from support.text import counted

#: Lines of a ranking; of more methods the number is told.
MOST_RANKED = 10
_RANKED = "Gaps are shares of a method's own TEL, mean over {instances}; without a schedule, 100 %."


@dataclass(frozen=True)
class Compared:
    """What the methods have come to on the same instances.

    Attributes
    ----------
    answer
        None without a policy that the others could be compared with.
    lines
        One line a method that was run on all of the instances, the least mean gap first: label,
        total (of the instances that the answer is about; missing where one has no schedule), mean,
        gap_low, gap_high, spread (of gap_low over the seeds) and seconds.
    bound
        The mean of the lower bounds; None where an instance has none.
    instances
        How many they share.
    elsewhere
        How many methods were not run on all of them.
    """

    answer: Answer | None
    lines: pd.DataFrame
    bound: float | None
    instances: int
    elsewhere: int
    unit: TimeUnit

    def table(self) -> Table:
        """Return the ranking, with the bound as its last line."""
        best, note = self.lines.iloc[:MOST_RANKED], _RANKED
        base = None if self.answer is None else self.answer.base
        frame = pd.DataFrame(
            {
                "label": best["label"],
                "mean": best["mean"].round(),
                "change": [_change(total, base) for total in best["total"]],
                "low": list(map(shares, best["gap_low"], best["gap_low"])),
                "high": list(map(at_most, best["gap_low"], best["gap_high"])),
                "seconds": best["seconds"],
                "spread": best["spread"],
            }
        )
        if self.bound is not None:
            frame.loc[len(frame)] = ["lower bound", self.bound // 1, "", "", "", None, None]
        columns = [
            Column("label", "method", "name"),
            time_column("mean", "mean TEL" if self.instances > 1 else "TEL", self.unit),
            Column("low", "gap to best", "share", spread="spread"),
            Column("high", "gap to bound", "share"),
            Column("seconds", "seconds", "seconds"),
        ]
        if base is not None:
            columns.insert(2, Column("change", f"to {base.label}", "share"))
        note = note.format(instances=counted(self.instances, "instance"))
        note += spread_note(frame["spread"])
        for count, what in (
            (len(self.lines) - len(best), "more"),
            (self.elsewhere, "not run on all of them"),
        ):
            note += f" {counted(count, 'method')} {what}." if count else ""
        return Table("ranking", "Ranking", note, tuple(columns), frame)


def compared(unit: Unit) -> Compared | None:
    """Return the methods of a unit of time on the same instances; None where there is none."""
    averaged = unit.judged.assign(knows=_knowledge(unit.judged))
    first = _first(averaged)
    if first is None:
        return None
    ids = averaged.loc[averaged["label"].eq(first), "id"]
    shared = averaged[averaged["id"].isin(ids)]
    shared = shared[shared.groupby("label")["id"].transform("size").eq(len(ids))]
    groups = shared.groupby("label", sort=True)
    solved = shared.loc[shared["label"].eq(first) & shared["tel"].notna(), "id"]
    about = shared[shared["id"].isin(solved)].groupby("label", sort=True)
    whole = partial(pd.Series.sum, min_count=len(solved) or 1)
    lines = groups.agg(method=("method", "first"), knows=("knows", "first")).assign(
        total=about["tel"].agg(whole),
        mean=groups["tel"].agg(partial(pd.Series.sum, min_count=len(ids))) / len(ids),
        gap_low=groups["gap_low"].mean(),
        gap_high=groups["gap_high"].agg(lambda each: each.mean(skipna=False)),
        spread=groups["by_seed"].agg(spread),
        seconds=groups["seconds"].mean(),
    )
    lines = lines.reset_index().sort_values(["gap_low", "mean", "label"], ignore_index=True)
    bounds = _lower(unit.runs, ids)
    return Compared(
        _answer(unit, lines, solved),
        lines,
        bounds.mean() if bounds.notna().all() else None,
        len(ids),
        averaged["label"].nunique() - len(lines),
        unit_of(unit.batch_time),
    )


def _knowledge(averaged: pd.DataFrame) -> pd.Series:
    """Return what each knows; a solver knows all."""
    lines = averaged[["method", "told", "engine"]].itertuples(index=False)
    known = [
        Knowledge("outputs", offline=True) if engine else knowledge(method, told)
        for method, told, engine in lines
    ]
    return pd.Series(known, averaged.index, dtype=object)


def _first(averaged: pd.DataFrame) -> str | None:
    """Return the label that says which instances are compared."""
    labels = averaged.groupby("label", sort=True).agg(
        method=("method", "first"),
        knows=("knows", "first"),
        found=("tel", "count"),
        gap=("gap_low", "mean"),
    )
    labels = labels[labels["found"].gt(0)].sort_values(["found", "gap"], ascending=[False, True])
    keys = [is_base(*each) for each in labels[["method", "knows"]].itertuples(index=False)]
    return None if labels.empty else str(labels.index[min(range(len(keys)), key=keys.__getitem__)])


def _lower(runs: pd.DataFrame, ids: pd.Series) -> pd.Series:
    """Return OPT or the best lower bound of each of some instances."""
    of_instance = runs[runs["id"].isin(ids)].groupby("id").first()
    return of_instance["opt"].fillna(of_instance["lower"])


def _answer(unit: Unit, lines: pd.DataFrame, ids: pd.Series) -> Answer | None:
    runs = unit.runs[unit.runs["id"].isin(ids)]
    bounds, known = _lower(runs, ids), runs.groupby("id").first()
    # In seconds the detail of a run says so; in rounds rows of before may not.
    kept = runs["kept" if unit.batch_time else "preempts"]
    outcomes = lines.dropna(subset="total")
    metrics = runs.groupby("label")[["peak_waiting", "mean_waiting", "mean_running"]]
    waiting = metrics.agg(partial(pd.Series.mean, skipna=False)).astype(float)
    return answer(
        [
            MethodTotal(label, method, knows, total, no_request_waits(*waiting.loc[label]))
            for label, method, knows, total in outcomes[
                ["label", "method", "knows", "total"]
            ].itertuples(index=False)
        ],
        bound=int(bounds.sum()) if bounds.notna().all() else None,
        covers_kept=all(map(bounds_hold, runs["detail"], kept)),
        requests=int(known["n"].sum()),
        instances=len(ids),
        unit=unit_of(unit.batch_time),
        optimal=bool(known["opt"].notna().all()),
        best=_best_known(known),
    )


def _best_known(known: pd.DataFrame) -> tuple[str, MethodTotal] | None:
    """Return the best known schedules of instances, one a line; None where one has none."""
    if known["upper"].isna().any():
        return None
    names = sorted(set(known["upper_by"]))
    words = f"the best known {'schedule' if len(known) == 1 else 'schedules'}"
    words += f" of {len(names)} methods" if len(names) > 1 else ""
    label = names[0] if len(names) == 1 else ""
    knows = Knowledge("outputs", offline=True)
    return words, MethodTotal(label, "", knows, int(known["upper"].sum()))


def _change(total: float, base: MethodTotal | None) -> str:
    return "" if base is None or pd.isna(total) else percent(relative(total, base.total))
