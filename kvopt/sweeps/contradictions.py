"""Contradictions of stored runs: a schedule that was refused, a bound above a schedule."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields, replace

from kvopt.methods.method_names import policy_name, shown_method, token_keeping_policies
from kvopt.methods.witness import is_own
from kvopt.registry_lookup import registered_values
from kvopt.store import Store
from schedules.evidence import (
    MISSTATED,
    BoundStatement,
    bounds_hold,
    contradictions,
    keeps_tokens,
    proves_method_wrong,
)
from schedules.schedule import reason_easier


@dataclass(frozen=True)
class RunSummary:
    """A stored run without its traces."""

    key: str
    instance: str
    instance_sha256: str
    method: str
    seed: int
    status: str
    detail: str
    tel: int | None
    lower_bound: int | None
    batch_time: str = ""
    claimed_bound: int | None = None
    own_name: str = ""
    keeps_tokens: bool = False

    @property
    def shown(self) -> str:
        """The method as tables show it."""
        return shown_method(self.method, self.own_name)

    @property
    def run(self) -> str:
        """Instance, method and seed in words."""
        return f"{self.shown} on {self.instance}, seed {self.seed}"

    @property
    def alarming(self) -> bool:
        """Return whether the run itself proves its method wrong."""
        return proves_method_wrong(self.status, self.detail)


def run_summaries(store: Store, keys: Collection[str] | None) -> list[RunSummary]:
    """Return the summaries of stored runs; ``keys`` None means all."""
    wanted = None if keys is None else set(keys)
    rows = store.select(*(x.name for x in fields(RunSummary) if x.name != "keeps_tokens"))
    runs = [RunSummary(*row) for row in rows if wanted is None or row[0] in wanted]
    keeping = token_keeping_policies()
    methods = {run.method for run in runs}
    may_keep = {each for each in methods if is_own(each) or policy_name(each) in keeping}
    asked = [run.key for run in runs if run.method in may_keep and run.tel is not None]
    kept = {key: bool(reason_easier(document)) for key, document in store.schedules(asked)}
    return [
        replace(
            run,
            keeps_tokens=run.tel is not None
            and keeps_tokens(run.detail, may_keep=run.method in may_keep, kept=kept.get(run.key)),
        )
        for run in runs
    ]


def misstated_optima(runs: Sequence[RunSummary]) -> list[str]:
    """Return one line for every instance whose file states an optimum that a run proves wrong."""
    lines: dict[str, str] = {}
    for run in runs:
        _, found, rest = run.detail.partition(MISSTATED)
        if found:
            lines.setdefault(run.instance, f"{run.instance}: {found}{rest.partition('; ')[0]}")
    return [*lines.values()]


def alarms(runs: Sequence[RunSummary]) -> list[str]:
    """Return one line for every wrong run, contradiction of two runs, and one of the registry."""
    lines = [f"{run.run}: {run.detail}" for run in runs if run.alarming]
    of_instance: dict[tuple[str, str], list[RunSummary]] = defaultdict(list)
    for run in runs:
        of_instance[run.instance_sha256, run.batch_time].append(run)
    for (sha256, batch_time), together in of_instance.items():
        uppers = [
            BoundStatement(run.tel, f"{run.shown}, seed {run.seed}")
            for run in together
            if run.tel is not None and bounds_hold(run.detail, run.keeps_tokens)
        ]
        lowers = [
            BoundStatement(bound, run.run)
            for run in together
            for bound in (run.lower_bound, run.claimed_bound)
            if bound is not None
        ]
        if not batch_time and (known := registered_values(sha256)):
            uppers.append(BoundStatement(known.upper, "the registry"))
            lowers.append(BoundStatement(known.lower, f"the registry on {together[0].instance}"))
        found = contradictions(uppers, lowers)
        lines += [
            f"{lower.by}: lower bound {lower.value} exceeds the TEL {upper.value} of {upper.by}"
            for lower, upper in found
        ]
    return lines
