"""What one run has found, as ``solve.py`` tells and writes it."""

from __future__ import annotations

from typing import Any

from formulations.bounds.volume import volume_bound
from kvopt.methods.grammar import Method
from kvopt.running.provenance import provenance
from kvopt.running.supervise import Supervised
from schedules import Schedule, Status, make_schedule

#: What a reader is told of a run that did not end by itself.
_ENDINGS = {
    "time_limit": "stopped at the time limit",
    "memory_limit": "stopped at the memory limit",
    "crashed": "the method's process died ({detail})",
    "interrupted": "interrupted by the user",
}


class Answer:
    """The account of a run that has ended, with the name of what was run.

    Attributes
    ----------
    method
        Policy with parameters, or solver and formulation, also where the size has chosen it.
    status
        From DESIGN section 6's closed list.
    """

    def __init__(self, method: Method, run: Supervised) -> None:
        self.account = run.account
        self._outcome = run.outcome
        self.account.close()
        if self.account.disputed:
            # What is left when a bound is withdrawn that may be wrong itself.
            bound = volume_bound(self.account.instance)
            self.account.lower_bound, self.account.bound_source = bound, "volumes"
        if ending := _ENDINGS.get(run.outcome.ending):
            self.account.tell(ending.format(detail=run.outcome.detail))
        self.method = method.text
        if method.kind == "engine":
            chosen = method.formulation or self.account.chosen
            self.method = f"{method.solver} {chosen}".strip()
        self.status: Status = self.account.standing(run.outcome.ending)

    @property
    def about_the_file(self) -> str:
        """One line if the optimum that the instance's file states is contradicted, else empty."""
        return self.account.misstated or self.account.disputed

    def schedule(self, **of_run: Any) -> Schedule | None:
        """Return the best checked schedule with what is claimed of it; None without one.

        Keyword arguments are added to its provenance.
        """
        account, found = self.account, self.account.schedule
        if found is None:
            return None
        return make_schedule(
            account.instance,
            found.starts,
            self.method,
            # None where the bound is not about this schedule.
            lower_bound=None if found.keeps_tokens else account.lower_bound,
            status="optimal" if self.status == "optimal" else "feasible",
            attempts=found.attempts,
            kept=found.kept,
            provenance=provenance(
                solver=account.solver or None,
                outcome=account.engine_outcome or self._outcome.ending,
                nodes=account.nodes,
                model=account.model or None,
                found_by=account.found_by,
                bound_source=account.bound_source,
                relaxation=account.relaxation,
                peak_memory_mb=round(self._outcome.peak_memory / 1e6),
                notes=account.notes,
                **of_run,
            ),
        )

    def rows(self, seconds: float) -> list[tuple[str, str]]:
        """Return labels and values of the summary."""
        account = self.account
        instance, schedule = account.instance, account.schedule
        rows = [
            ("instance", instance.name),
            ("n", str(len(instance))),
            ("M", f"{instance.memory} tokens"),
            ("method", self.method),
            ("status", self.status),
        ]
        if schedule is not None:
            rows += [
                ("TEL", f"{schedule.tel}  (from {account.found_by})"),
                ("AEL", f"{schedule.tel / len(instance):.3f}"),
            ]
        if account.lower_bound is None:
            rows.append(("lower bound", "none"))
        else:
            rows.append(("lower bound", f"{account.lower_bound}  (from {account.bound_source})"))
        if account.gap is not None:
            rows.append(("gap %", f"{100 * account.gap:.3f}"))
        if instance.known_optimum is not None and not self.about_the_file:
            ratio = f", ratio {schedule.tel / instance.known_optimum:.4f}" if schedule else ""
            rows.append(("known optimum", f"{instance.known_optimum}{ratio}"))
        if account.relaxation is not None:
            rows.append(("LP relaxation", f"{account.relaxation:.6f}"))
        rows.append(("seconds", f"{seconds:.2f}"))
        if account.refused:
            rows.append(("checker", "REFUSED"))
        else:
            rows.append(("checker", "valid" if schedule is not None else "nothing to check"))
        return rows + [("note", note) for note in account.told()]
