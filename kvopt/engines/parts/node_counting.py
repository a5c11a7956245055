"""The search over counts for ``search``, and for ``auto`` where it takes no time."""

from formulations.bounds.fluid_limit import likely_horizon
from formulations.dp import counts
from instances import Instance
from kvopt.engines.job import EngineJob
from kvopt.runs.events import EventReport

#: Rounds times sets of started requests up to which the search ends in a second.  Other searches
#: load compiled kernels, which takes longer.
AT_ONCE_UP_TO = 4_000


def ends_at_once(instance: Instance) -> bool:
    """Return whether the search ends before any other could start."""
    requests = len(instance)
    return requests < 64 and 2**requests * likely_horizon(instance) <= AT_ONCE_UP_TO


def solve(job: EngineJob, report: EventReport) -> None:
    """Search over counts of equal requests, which ends with the optimum or with nothing."""
    if job.upper_bound >= counts.TEL_BELOW:
        report.note(f"search:counts takes TELs below {counts.TEL_BELOW}")
        return
    found = counts.search(job.instance, job.upper_bound, lambda: job.left() < 0)
    if found is not None:
        report.schedule(found.starts, "search counts")
        report.bound(value=found.tel, source="search")
    elif job.left() > 0:
        report.failure("the search over counts found no schedule as good as one that is known")
        return
    report.done(
        solver="kvopt counts",
        nodes=found.states if found else 0,
        outcome="optimal" if found else "limit",
    )
