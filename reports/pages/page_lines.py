"""The lines of the tables of all pages, made at once: a page takes its lines by ``id``."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import pandas as pd

from reports.per_instance import OVER_SEEDS
from reports.table import write_column, write_share
from schedules.gap import gaps

#: Columns of rows that a page needs; each column costs in every selection.
_COLUMNS = ["id", "label", "seed", "status", "tel", "lower_bound", "seconds", "peak_memory"]
_COLUMNS += ["nodes", "engine", "superseded", "unbounded", "preempts", "believed", "in_seconds"]
_COLUMNS += ["finished_utc", "key", "incumbents", "bounds", "custom"]


class Lines:
    """Lines by the ``id`` of their instance."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self._groups = dict(list(frame.groupby("id", sort=False)))
        self._none = frame.iloc[:0]

    def of(self, identity: str) -> pd.DataFrame:
        """Return the lines of an instance, in the order in which they were."""
        return self._groups.get(identity, self._none)


@dataclass(frozen=True, eq=False)
class PageLines:
    """The lines of some instances, of prepared rows and of their references."""

    rows: pd.DataFrame
    reference: pd.DataFrame

    @cached_property
    def _shown(self) -> pd.DataFrame:
        shown = self.rows[_COLUMNS].join(self.reference[["opt", "upper", "lower", "n"]], on="id")
        return shown.assign(gap_opt=gaps(shown["tel"], shown["opt"].where(~shown["unbounded"])))

    @cached_property
    def _policies(self) -> pd.DataFrame:
        return self._shown[~self._shown["engine"] & ~self._shown["superseded"]]

    @cached_property
    def runs(self) -> Lines:
        """All runs, the best schedule first."""
        order = ["tel", "lower_bound", "label", "seed", "key"]
        return Lines(self._shown.sort_values(order, ascending=[True, False, True, True, True]))

    @cached_property
    def history(self) -> Lines:
        """The runs that improved a bound, with best_upper and best_lower after each."""
        ordered = self._shown.sort_values(["finished_utc", "key"], kind="stable")
        identity = ordered["id"]
        upper = ordered["tel"].where(~ordered["preempts"]).groupby(identity).cummin()
        lower = ordered["lower_bound"].where(ordered["believed"]).groupby(identity).cummax()
        best = pd.DataFrame({"best_upper": upper, "best_lower": lower}).groupby(identity).ffill()
        changed = best.notna() & best.ne(best.groupby(identity).shift()).fillna(True)
        return Lines(ordered.join(best)[changed.any(axis=1).astype(bool)])

    @cached_property
    def losing(self) -> Lines:
        """The worst of the seeds of each policy that UB betters: custom ones, one of other TELs."""
        own = self._policies
        own = own.assign(seeds=own.groupby(["id", "label"])["tel"].transform("count"))
        own = own[own["tel"].gt(own["upper"]).fillna(False)].assign(published=~own["custom"])
        own = own.sort_values(["tel", "published", "label", "key"])
        own = own.drop_duplicates(["id", "label"], keep="last")
        own = own[["id", "label", "key", "tel", "upper", "seed", "seeds", "custom"]]
        return Lines(own[own["custom"] | ~own.duplicated(["id", "tel"])])

    @cached_property
    def losses(self) -> Lines:
        """One line a policy, the least TEL first: label, tel, spread, spread_over, over, each, gap.

        tel is the mean over the seeds; over and each are above UB, in all and a request.
        """
        own = self._policies[self._policies["tel"].notna()]
        groups = own.groupby(["id", "label"], sort=True)
        lines = groups[["opt", "upper", "lower", "n"]].first()
        # By integers without a limit, not by floats: no digit of a row is lost.
        found = [list(map(int, each)) for _, each in groups["tel"]]
        means = [round(Fraction(sum(each), len(each))) for each in found]
        tel = pd.Series(means, lines.index, dtype=object)
        upper, lower = (lines["opt"].fillna(lines[side]) for side in ("upper", "lower"))
        low, high = gaps(tel, upper), gaps(tel, lower)
        unbounded = groups["unbounded"].any()
        low, high = low.where(~unbounded, low.clip(lower=0)), high.where(~unbounded)
        over = [
            None if pd.isna(most) else mean - int(most)
            for mean, most in zip(means, upper, strict=True)
        ]
        # Rows of another program may lack n.
        requests = lines["n"].where(lines["n"].gt(0).fillna(False))
        made = pd.DataFrame(
            {
                "tel": tel,
                "spread": own["tel"].astype(float).groupby([own["id"], own["label"]]).std(),
                "spread_over": groups.size().map(OVER_SEEDS),
                "over": pd.Series(over, lines.index, dtype=object),
                "each": (tel.astype("Float64") - upper) / requests,
                "gap": write_column(write_share, low, high),
            }
        )
        return Lines(made.reset_index().sort_values(["tel", "label"]))
