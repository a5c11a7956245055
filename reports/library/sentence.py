"""The state of the library, and its runs, in sentences whose figures are computed."""

import pandas as pd

from kvopt.best_known.library_and_ladder import LibraryWithLadder
from kvopt.best_known.registry_entry import NO_METHODS, EntryValue, OptimumProof, Registry
from reports.freshness import age_text, origin
from reports.nightly.night_rows import typed
from reports.table import Table
from reports.tables.library_values import CLASSES
from reports.verdict_sentences import RowName, Sentence
from support.message_text import plural

#: Columns of a run's origin; the registry knows no machines.
_ORIGIN = ("git_commit", "finished_utc", "total_seconds", "solver", "cpu", "cores", "python")


def state(table: Table) -> Sentence:
    """Return how many instances are closed, and how wide the gaps of the others are.

    ``table`` is from :func:`reports.tables.library_values.library_table`.
    """
    gaps = table.frame["gap"]
    still = gaps[gaps > 0]
    counts = table.frame["class"].value_counts()
    proved = ", ".join(f"{counts.get(each, 0):,} {each}" for each in CLASSES[:-1])
    count = len(gaps) - len(still)
    unrun = len(LibraryWithLadder({}).keys() - set(table.frame["sha"]))
    of = f"{plural(len(gaps), 'instance')} ({unrun:,} more, of the ladder, were never run)"
    closed = f"{of}, {count:,} of them with UB = LB ({proved})"
    if still.empty:
        return Sentence((f"{closed}.",))
    rest = f"{closed}. Open: {len(still):,}, with a gap of {100 * still.mean():.1f} % on average "
    widest = f"and {100 * still.max():.1f} % at most ("
    return Sentence((rest, widest, RowName(table.frame["instance"].iloc[0]), ")."))


def runs(registry: Registry) -> Sentence:
    """Return commits, days and solvers of the runs behind values and proofs."""
    found = {
        (entry.instance, each.method, each.seed, each.date, each.seconds): each
        for entry in registry.instances
        for each in (entry.upper, entry.lower, entry.certified, *entry.proofs)
        if isinstance(each, EntryValue) and each.method not in NO_METHODS
    }
    lines = [(run.git_commit, f"{run.date}T", run.seconds, run.solver) for run in found.values()]
    return origin(typed(pd.DataFrame(lines, columns=list(_ORIGIN[:4])), _ORIGIN), "Runs")


def proofs(registry: Registry) -> list[OptimumProof]:
    """Return all runs that proved an optimum."""
    return [proof for entry in registry.instances for proof in entry.proofs]


def stale_of(registry: Registry, stale: int) -> Sentence:
    """Return how many proofs are stale, and the command that evaluates the rest."""
    age = age_text(len(proofs(registry)), stale, "proof")
    command = RowName("kvopt best-known --check")
    return Sentence((age, " ", command, " evaluates schedules and certificates anew."))
