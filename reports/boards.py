"""Who is best: policies ranked where they were all run on the same instances.

A mean over other instances is another mean, so only policies that share all instances of a board
are ranked on it.  Methods that keep tokens over evictions solve an easier problem and stand on no
board with ranks.
"""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from kvopt.methods.knowledge import knowledge
from reports.per_instance import worst_instances
from reports.spread import spread

#: Most boards of one report; what is on none of them is in the tables by family.
MOST_BOARDS = 4


@dataclass(frozen=True)
class Board:
    """Policies that were all run on the same instances.

    Attributes
    ----------
    lines
        One line a policy, the best first: columns label, lengths, offline and knows (the two of
        :class:`kvopt.methods.knowledge.Knowledge`, and both in words), rank, gap_low, gap_high,
        spread (of gap_low over the seeds), optimal (shares, the last missing where no OPT is
        known), seconds, and of :func:`reports.per_instance.worst_instances` instances,
        unsolved, ratio_low, ratio_high, known, instance and id.
    ids
        The instances that they share.
    """

    lines: pd.DataFrame
    ids: frozenset[str]

    @property
    def instances(self) -> int:
        """How many instances they share."""
        return len(self.ids)


def boards(averaged: pd.DataFrame) -> list[Board]:
    """Return the boards of the policies within the problem, that over most policies first.

    The instances of a board are those on which more than half of the policies were run that are on
    none yet; on it is every policy that was run on all of them.

    Parameters
    ----------
    averaged
        That of a :class:`reports.units.Unit`: from :func:`reports.per_instance.per_instance`.
    """
    frame = inside(averaged)
    ran = pd.crosstab(frame["id"], frame["label"]).astype(bool)
    left = ran
    found: list[Board] = []
    while left.shape[1] and len(found) < MOST_BOARDS:
        shared = left.index[left.mean(axis=1).gt(0.5)]
        members = ran.columns[ran.loc[shared].all(axis=0)] if len(shared) else ran.columns[:0]
        if not len(members.intersection(left.columns)):
            break
        on_it = frame[frame["id"].isin(shared) & frame["label"].isin(members)]
        found.append(Board(_ranked(standings(on_it)), frozenset(shared)))
        left = left.drop(columns=members, errors="ignore")
    return found


def inside(averaged: pd.DataFrame) -> pd.DataFrame:
    """Return the lines of the policies within the problem."""
    return averaged[~averaged["engine"] & ~averaged["marked"]]


def outside(averaged: pd.DataFrame) -> pd.DataFrame:
    """Return the standings of the marked policies, each over its own instances, by name."""
    return standings(averaged[~averaged["engine"] & averaged["marked"]]).sort_values("label")


def standings(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the line of each method as in :class:`Board`, without rank, over a frame."""
    groups = frame.groupby("label", sort=True)
    kept = ["method", "told", "ratio_low", "ratio_high", "known", "instance", "id"]
    lines = worst_instances(frame, ["label"])[[*kept, "instances", "unsolved"]]
    high = groups["gap_high"]
    lines = lines.assign(
        gap_low=groups["gap_low"].mean(),
        spread=groups["by_seed"].agg(spread),
        gap_high=high.mean().where(high.count().eq(groups.size())),
        optimal=groups["optimal"].mean().where(groups["known"].any()),
        seconds=groups["seconds"].mean(),
    ).reset_index()
    # What shows no ratio names no instance.
    lines["instance"] = lines["instance"].where(lines["ratio_low"].notna(), "")
    found = [knowledge(*each) for each in zip(lines["method"], lines.pop("told"), strict=True)]
    return lines.assign(
        lengths=[each.lengths for each in found],
        offline=[each.offline for each in found],
        knows=[str(each) for each in found],
    )


def _ranked(lines: pd.DataFrame) -> pd.DataFrame:
    ranked = lines.sort_values(["gap_low", "gap_high", "label"], kind="stable", ignore_index=True)
    # Equal in both ends is equal in rank.
    ends = ranked[["gap_low", "gap_high"]].astype(float).round(9).fillna(-1.0)
    first = ends.ne(ends.shift()).any(axis=1)
    rank = pd.Series(range(1, len(ranked) + 1), index=ranked.index)
    return ranked.assign(rank=rank.where(first).ffill().astype(int))
