"""What cannot be true of stored runs: a schedule that was refused, a bound above a schedule."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cache

from heuristics.policy import RoundPolicy
from heuristics.registry import policies
from kvopt.running.state import CONTRADICTED
from kvopt.store import Store
from schedules.model import KEEPS_TOKENS_NOTE, any_kept

_COLUMNS = ("key", "instance", "instance_sha256", "method", "seed", "status", "detail", "tel")


@dataclass(frozen=True)
class Showing:
    """What a stored run shows, without its traces."""

    key: str
    instance: str
    instance_sha256: str
    method: str
    seed: int
    status: str
    detail: str
    tel: int | None
    lower_bound: int | None
    keeps_tokens: bool = False

    @property
    def run(self) -> str:
        """Instance, method and seed in words."""
        return f"{self.method} on {self.instance}, seed {self.seed}"

    @property
    def alarming(self) -> bool:
        """Whether the run itself proves its method wrong."""
        detail = self.detail.removeprefix(f"{KEEPS_TOKENS_NOTE}; ")
        return self.status == "refused" or detail.startswith(CONTRADICTED)


@cache
def token_keeping_policies() -> frozenset[str]:
    """Return the names of the policies whose requests keep their tokens over an eviction.

    Where one does so, it solves an easier problem than the one that bounds are about, so its TEL
    may be below OPT.  Whether a schedule did is told by the schedule alone (``any_kept``).
    """
    return frozenset(
        name
        for name, policy in policies().items()
        if isinstance(policy, RoundPolicy) and policy.keeps_tokens
    )


def policy_name(method: str) -> str:
    """Return the first word of a method's text, without parameters and prediction."""
    return method.partition(" ")[0].partition("(")[0]


def showings(store: Store, keys: Collection[str] | None) -> list[Showing]:
    """Return what stored runs show; ``keys`` None means all.

    Raises
    ------
    StoreError
        If the store cannot be read.
    """
    wanted = None if keys is None else set(keys)
    rows = store.select(*_COLUMNS, "lower_bound")
    runs = [Showing(*row) for row in rows if wanted is None or row[0] in wanted]
    return [replace(run, keeps_tokens=True) if _keeps_tokens(run, store) else run for run in runs]


def _keeps_tokens(run: Showing, store: Store) -> bool:
    """Tell whether the requests of a schedule kept tokens over an eviction."""
    own = run.method.startswith("file:")
    if run.tel is None or not (own or policy_name(run.method) in token_keeping_policies()):
        return False
    document = store.schedule(run.key)
    # Stored without its schedule, nothing shows that it kept none.
    return document is None or any_kept(document.get("kept"))


def alarms(runs: Sequence[Showing]) -> list[str]:
    """Return one line for every run that is wrong, and for every two that exclude each other."""
    lines = [f"{run.run}: {run.detail}" for run in runs if run.alarming]
    of_instance: dict[str, list[Showing]] = defaultdict(list)
    for run in runs:
        of_instance[run.instance_sha256].append(run)
    for together in of_instance.values():
        bounds = [run for run in together if run.lower_bound is not None]
        schedules = [run for run in together if run.tel is not None and not run.keeps_tokens]
        if not bounds or not schedules:
            continue
        high = max(bounds, key=lambda run: run.lower_bound or 0)
        low = min(schedules, key=lambda run: run.tel or 0)
        if (high.lower_bound or 0) > (low.tel or 0):
            lines.append(
                f"{high.run}: lower bound {high.lower_bound} exceeds the TEL {low.tel} "
                f"of {low.method}, seed {low.seed}"
            )
    return lines
