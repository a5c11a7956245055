"""Ranks: one board a class of knowledge, policies ranked on the instances that all share.

A policy that lacks one of these instances has no rank, and families weigh alike.
"""

from dataclasses import dataclass

import pandas as pd

from kvopt.methods.knowledge import CLASSES, knowledge
from reports.per_instance import family_mean, spreads, worst_instances
from support.message_text import plural


@dataclass(frozen=True)
class Board:
    """The policies of one class of :data:`kvopt.methods.knowledge.CLASSES`, the best first.

    ``lines`` has the columns of :func:`standings` and rank. ``elsewhere`` counts the instances of
    the policies without a rank. All boards are ``over`` the same instances.
    """

    knows: str
    lines: pd.DataFrame
    elsewhere: dict[str, int]
    over: str


def firsts(lines: pd.DataFrame) -> pd.DataFrame:
    """Return the first policies of a board: of all, of online ones, and of unmarked online ones."""
    online = lines[~lines["offline"]]
    kinds = (lines, online, online[~online["marked"]])
    found = pd.concat([each[each["rank"].eq(each["rank"].min())] for each in kinds])
    return found.drop_duplicates("label")


def boards(policies: pd.DataFrame, lines: pd.DataFrame) -> list[Board]:
    """Return a board for each class with a policy that was run on all of the shared instances.

    More than half of all policies were run on each of these. ``lines`` are :func:`standings`.
    """
    ran = pd.crosstab(policies["id"], policies["label"]).astype(bool)
    shared = policies[policies["id"].isin(ran.index[ran.mean(axis=1).gt(0.5)])]
    instances = shared["id"].nunique()
    if not instances:
        return []
    counts = lines[["label", "class", "instances"]]
    lines = lines if len(shared) == len(policies) else standings(shared)
    whole = lines["instances"].eq(instances)
    counts = counts[~counts["label"].isin(lines.loc[whole, "label"])]
    over = mean_over(instances, shared["family"].nunique())
    found = []
    for each in dict.fromkeys(CLASSES.values()):
        own = lines[whole & lines["class"].eq(each)]
        others = counts[counts["class"].eq(each)].set_index("label")["instances"]
        if len(own):
            found.append(Board(each, ranked(own), {str(k): n for k, n in others.items()}, over))
    return found


def standings(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the line of each method over a frame of :func:`reports.per_instance.average_seeds`.

    Columns label, class, offline, knows (:class:`kvopt.methods.knowledge.Knowledge`), gap_low,
    gap_high, seconds (means by :func:`reports.per_instance.family_mean`), tel (:func:`shared_tel`),
    optimal (the mean over the families with a known OPT), spread, spread_over, and from
    :func:`reports.per_instance.worst_instances` instances, unsolved, ratios, known, instance, id.
    """
    kept = ["method", "told", "marked", "ratio_low", "ratio_high", "known", "instance", "id"]
    lines = worst_instances(frame, ["label"])[[*kept, "instances", "unsolved"]]
    shares = frame.groupby(["label", "family"])["optimal"].mean()
    lines = lines.assign(
        **{each: family_mean(frame, each) for each in ("gap_low", "gap_high", "seconds")},
        tel=shared_tel(frame),
        optimal=shares.groupby("label").mean().where(frame.groupby("label")["known"].any()),
        **spreads(frame, "label"),
    ).reset_index()
    # A line without a ratio names no instance.
    lines["instance"] = lines["instance"].where(lines["ratio_low"].notna(), "")
    found = [knowledge(*each) for each in zip(lines["method"], lines.pop("told"), strict=True)]
    lines["class"] = [CLASSES[each.lengths] for each in found]
    return lines.assign(
        offline=pd.Series([each.offline for each in found], lines.index, dtype=bool),
        knows=[str(each) for each in found],
    )


def mean_over(instances: int, families: int) -> str:
    """Return the base of a mean in which families weigh alike."""
    over = f"mean over {plural(instances, 'instance')}"
    return over if families == 1 else f"{over} in {families:,} families of equal weight"


def shared_tel(frame: pd.DataFrame) -> pd.Series:
    """Return the TEL of each label on the one instance of a frame, 0 on several."""
    tels = frame.groupby("label")["tel"].first()
    return tels if frame["id"].nunique() == 1 else tels.mul(0).fillna(0)


def ranked(lines: pd.DataFrame) -> pd.DataFrame:
    """Return lines in the order of gaps, on one instance of TEL, with the column rank."""
    order = ["gap_low", "tel", "gap_high", "label"]
    made = lines.sort_values(order, kind="stable", ignore_index=True)
    ends = made[order[:3]].astype("Float64").astype(float).round(9).fillna(-1.0)
    first = ends.ne(ends.shift()).any(axis=1)
    rank = pd.Series(range(1, len(made) + 1), index=made.index)
    return made.assign(rank=rank.where(first).ffill().astype(int))
