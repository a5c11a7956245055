"""Runs by unit of time: rounds, and seconds under each batch time, are in no mean together.

A table or figure with means reads one :class:`Unit`, which computes each frame once.
"""

import re
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from instances.time_unit import ROUNDS, SECONDS, unit_of
from reports.compared_methods import MethodRanking, compared
from reports.gaps_over_time import engine_runs
from reports.parameter_curves import Panel, panels
from reports.per_instance import average_seeds, whole_mean
from reports.policy_boards import Board, boards, standings
from reports.profiles import LEAST_SECONDS, SharedCosts, common_costs
from reports.table import Table
from reports.tables.solvers import solver_table

#: Batch times that stand in a title; rows may hold any text.
_PLAIN = re.compile(r"[A-Za-z0-9 .,=()+-]{1,80}")
#: The end of slugs and titles of tables, by the unit of their times.
MARKS = {ROUNDS: ("", ""), SECONDS: ("-seconds", " (arrivals in seconds)")}
#: Families made against policies, such as traps and late bursts, and their worst cases.
_ADVERSARIAL = re.compile(r".*trap.*|late-burst|worst-.*|example-3-1", re.IGNORECASE)


def is_adversarial(family: str) -> bool:
    """Return whether the family was made or chosen to show a policy's weakness."""
    return _ADVERSARIAL.fullmatch(family) is not None


@dataclass(frozen=True)
class Unit:
    """Rows and runs in rounds, or in seconds under one batch time, whose text is empty for rounds.

    Slugs and titles of its tables end in ``mark`` and ``words``.
    """

    batch_time: str
    mark: str
    words: str
    rows: pd.DataFrame
    runs: pd.DataFrame

    @cached_property
    def scheduled(self) -> pd.DataFrame:
        """The runs of methods that make schedules; a method of bounds takes a policy's."""
        return self.runs[~self.runs["bound_only"]]

    @cached_property
    def averaged(self) -> pd.DataFrame:
        """The same by instance, seeds averaged."""
        return average_seeds(self.scheduled)

    @cached_property
    def judged(self) -> pd.DataFrame:
        """The averaged lines for ranks: no adversarial ones if there are others."""
        apart = self.averaged["family"].map(is_adversarial).astype(bool)
        return self.averaged if apart.all() else self.averaged[~apart]

    @cached_property
    def adversarial(self) -> pd.DataFrame:
        """The averaged lines without a rank."""
        return self.averaged.drop(self.judged.index)

    @cached_property
    def policies(self) -> pd.DataFrame:
        """The averaged lines of ranked policies."""
        return self.judged[~self.judged["engine"]]

    @cached_property
    def standings(self) -> pd.DataFrame:
        """One line a policy, each over all instances of its runs."""
        return standings(self.policies)

    @cached_property
    def boards(self) -> list[Board]:
        """The ranks of each class of policies."""
        return boards(self.policies, self.standings)

    @cached_property
    def compared(self) -> MethodRanking | None:
        """All methods on the instances of one policy."""
        return compared(self.judged, self.runs, self.batch_time)

    @cached_property
    def solvers(self) -> Table:
        """One line a solver."""
        return solver_table(engine_runs(self.scheduled))

    @cached_property
    def panels(self) -> list[Panel]:
        """The gaps over each parameter."""
        return panels(self.scheduled)

    @cached_property
    def tel(self) -> SharedCosts:
        """The TEL of policies on their shared instances, seeds averaged.

        Engines begin with the policies' schedules: with them no policy would be seen.
        """
        return common_costs(self.policies, "tel")

    @cached_property
    def seconds(self) -> SharedCosts:
        """The seconds of solvers on their shared instances; an unsolved seed is failure."""
        engines = self.scheduled[self.scheduled["engine"]]
        seconds = engines["seconds"].clip(lower=LEAST_SECONDS).where(engines["solved"])
        groups = engines.assign(cost=seconds).groupby(["id", "label"], sort=True)["cost"]
        return common_costs(whole_mean(groups).reset_index(), "cost")


def units(rows: pd.DataFrame, runs: pd.DataFrame) -> list[Unit]:
    """Return the units of time of the rows and runs of results, rounds first; one at least."""
    batch_times = sorted(rows["batch_time"].unique()) or [""]
    in_seconds = [each for each in batch_times if each]
    found = []
    for text in batch_times:
        place = in_seconds.index(text) + 1 if text else 0
        mark, words = MARKS[unit_of(text)]
        mark += f"-{place}" if place > 1 else ""
        if len(in_seconds) > 1 and place:
            name = text if _PLAIN.fullmatch(text) else f"batch time {place}"
            words = words.replace(")", f", {name})")
        own = (frame[frame["batch_time"].eq(text)] for frame in (rows, runs))
        found.append(Unit(text, mark, words, *own))
    return found
