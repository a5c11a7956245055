"""Methods on the instances of one policy: a short ranking, and on one instance the answer.

The policy ran in production, or knows least (``serving.answer.is_base``). Over several instances
the mean gaps stand alone: a sum of latencies would be another number.
"""

from dataclasses import dataclass
from functools import partial

import pandas as pd

from heuristics.policy_registry import policies
from instances.time_unit import TimeUnit, unit_of
from kvopt.methods.knowledge import CLASSES, Knowledge, knowledge
from kvopt.methods.witness import is_own
from reports.per_instance import family_mean, spread_note, spreads
from reports.policy_boards import mean_over, ranked, shared_tel
from reports.table import Column, Kind, Table, time_column, write_column, write_share
from serving.answer import Answer, MethodTotal, is_base, make_answer, percent, relative
from serving.waiting_requests import few_at_a_time, no_request_waits
from support.message_text import plural

#: Lines of a ranking, besides custom methods; the others are counted.
MOST_RANKED = 10
_RANKED = "Rank: within the class. Gap: share of a method's own TEL, {over}; no schedule: 100 %."


@dataclass(frozen=True)
class MethodRanking:
    """Methods on the same instances; answer and bound are None on several.

    ``lines`` has a line a method that was run on all of them, the least gap first: label, class,
    rank (within the class), tel (mean over the seeds, of one instance), gap_low, gap_high, spread,
    spread_over, seconds. ``elsewhere`` counts the other methods.
    """

    answer: Answer | None
    lines: pd.DataFrame
    bound: int | None
    over: str
    elsewhere: int
    unit: TimeUnit

    def table(self) -> Table:
        """Return the ranking, with the bound as its last line."""
        base = None if self.answer is None else self.answer.base
        first = self.lines["rank"].eq(1) | (self.lines.index < MOST_RANKED)
        first |= self.lines["method"].map(is_own) & ~self.lines["engine"]
        if base is not None:
            first |= self.lines["label"].eq(base.label)
        best = self.lines[first]
        frame = best.assign(gap=write_column(write_share, best["gap_low"], best["gap_high"]))
        totals: list[Column] = []
        if "tel" in best:
            frame["tel"] = best["tel"].round()
            totals.append(time_column("tel", "TEL", self.unit))
        if base is not None:
            frame["change"] = [
                "" if pd.isna(tel) else percent(relative(tel, base.total)) for tel in best["tel"]
            ]
            totals.append(Column("change", f"to {base.label}", "share"))
        if self.bound is not None:
            last = pd.DataFrame({"class": [""], "label": ["lower bound"], "tel": [self.bound]})
            frame = pd.concat([frame, last.assign(gap="", change="")], ignore_index=True)
        note = _RANKED.format(over=self.over) + spread_note(frame)
        if more := len(self.lines) - len(best):
            note += f" {plural(more, 'method')} more."
        if self.elsewhere:
            note += f" {plural(self.elsewhere, 'method')} not run on all of them."
        shown = (
            Column("class", "class"),
            Column("rank", "rank", "count"),
            Column("label", "method", "name"),
            *totals,
            Column("gap", "gap", "share", sort="gap_low", spread="spread"),
            Column("seconds", "seconds", "seconds"),
        )
        return Table("ranking", "Ranking", note, shown, frame)


def answer_table(answer: Answer) -> Table:
    """Return the rows of an answer as a table; its note is empty."""
    keys = ["information", "label", *["mean", "p99"][: len(answer.headers) - 3], "saving"]
    kinds: list[Kind] = ["name" if key == "label" else "text" for key in keys]
    shown = tuple(map(Column, keys, answer.headers, kinds))
    return Table("answer", "Answer", "", shown, pd.DataFrame(answer.rows(), columns=keys))


def compared(judged: pd.DataFrame, runs: pd.DataFrame, batch_time: str) -> MethodRanking | None:
    """Return the methods of a unit of time on the same instances; None if none."""
    engines = str(Knowledge("outputs", offline=True))
    declared = zip(judged["method"], judged["told"].where(~judged["engine"], engines), strict=True)
    known = [Knowledge.of_words(told) if told else knowledge(method) for method, told in declared]
    averaged = judged.assign(knows=pd.Series(known, judged.index, dtype=object))
    base = _find_base(averaged)
    if base is None:
        return None
    ids = averaged.loc[averaged["label"].eq(base), "id"]
    shared = averaged[averaged["id"].isin(ids)]
    shared = shared[shared.groupby("label")["id"].transform("size").eq(len(ids))]
    lines = shared.groupby("label")[["method", "knows", "engine"]].first()
    lines = lines.assign(
        **{each: family_mean(shared, each) for each in ("gap_low", "gap_high", "seconds")},
        tel=shared_tel(shared),
        **spreads(shared, "label"),
    )
    alone = len(ids) == 1
    lines["class"] = [
        "solver" if engine else CLASSES[knows.lengths]
        for knows, engine in zip(lines["knows"], lines["engine"], strict=True)
    ]
    classes = lines.reset_index().groupby("class")
    lines = pd.concat([ranked(each) for _, each in classes], ignore_index=True)
    lines = lines.sort_values(["gap_low", "tel", "gap_high", "label"], ignore_index=True)
    if not alone:
        lines = lines.drop(columns="tel")
    own = runs[runs["id"].eq(ids.iloc[0])]
    lower = own["opt"].fillna(own["lower"]).iloc[0]
    bound = int(lower) if alone and pd.notna(lower) else None
    unit = unit_of(batch_time)
    return MethodRanking(
        _answer(unit, own, lines, bound) if alone else None,
        lines,
        bound,
        mean_over(len(ids), shared["family"].nunique()),
        averaged["label"].nunique() - len(lines),
        unit,
    )


def _find_base(averaged: pd.DataFrame) -> str | None:
    """Return the label whose instances are compared."""
    labels = averaged.groupby("label", sort=True).agg(
        method=("method", "first"),
        knows=("knows", "first"),
        found=("tel", "count"),
        gap=("gap_low", "mean"),
    )
    labels = labels[labels["found"].gt(0)].sort_values(["found", "gap"], ascending=[False, True])
    keys = [is_base(*each) for each in zip(labels["method"], labels["knows"], strict=True)]
    return None if labels.empty else str(labels.index[min(range(len(keys)), key=keys.__getitem__)])


def _answer(
    unit: TimeUnit, runs: pd.DataFrame, lines: pd.DataFrame, bound: int | None
) -> Answer | None:
    shown = ["p99_e2el_ms", "peak_waiting", "mean_waiting", "mean_running"]
    metrics = runs.groupby("label")[shown].agg(partial(pd.Series.mean, skipna=False)).astype(float)
    outcomes = lines.dropna(subset="tel")[["label", "method", "knows", "tel"]]
    known, best = runs.iloc[0], None
    if pd.notna(known["upper"]):
        policy = known["upper_by"].partition(", ")[0].removeprefix("policy ")
        knows = knowledge(policy) if policy in policies() else Knowledge("outputs", offline=True)
        label = f"best known: {known['upper_by']}"
        best = MethodTotal(label, policy, knows, int(known["upper"]))
    totals = []
    for label, method, knows, total in outcomes.itertuples(index=False):
        p99, *waiting = metrics.loc[label]
        tail = None if pd.isna(p99) else p99
        totals.append(MethodTotal(label, method, knows, total, tail, no_request_waits(*waiting)))
    return make_answer(
        totals,
        bound=bound,
        covers_kept=not runs["unbounded"].any(),
        requests=int(known["n"]),
        unit=unit,
        optimal=bool(pd.notna(known["opt"])),
        best=best,
        few=few_at_a_time(runs["detail"]),
    )
