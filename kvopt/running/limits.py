"""How long a run may take: one rule for both commands, for policies as for engines."""

from __future__ import annotations

from kvopt.methods.grammar import read_method
from kvopt.running.task import Task

#: Seconds that the start of a process may take before a deadline; what it takes more, the first
#: time on a machine that has compiled nothing yet, is added to the deadline.
START_COUNTS = 2.0
#: Seconds that a command with a deadline keeps back for its last checks.
RESERVE_SECONDS = 0.3
#: Seconds after which an engine that has not stopped by itself is killed.
ENGINE_SECONDS = 1.0
#: Seconds that a method of a series gets at least, as long as so many are left.
LEAST_SHARE = 1.0
#: Share and seconds more for a method that others work for, or one's own, to tell what it has
#: found; less where a deadline covers more than the run.
GRACE_SHARE, GRACE_SECONDS, DEADLINE_GRACE_SECONDS = 0.1, 2.0, 0.9


def limit_of(task: Task) -> float:
    """Return the seconds from the end of the imports after which a run is killed.

    A policy, which has nothing to tell before its end, is killed at the limit.
    """
    return task.time_limit + _grace(task, GRACE_SECONDS)


def kill_at(task: Task) -> float | None:
    """Return when a run with a deadline is killed, on the same clock, None without a deadline."""
    if task.deadline is None:
        return None
    return task.deadline + RESERVE_SECONDS + _grace(task, DEADLINE_GRACE_SECONDS)


def late_start(task: Task, seconds: float) -> float:
    """Return what is added to a deadline for a start that took so many seconds.

    Nothing for a method of one's own: what its file does when it is imported is its own time.
    """
    own = read_method(task.method, planned=True, path=task.method_path).kind == "file"
    return 0.0 if own else max(0.0, seconds - START_COUNTS)


def share(task: Task, left: float, waiting: int) -> float:
    """Return the seconds that a method of a series may take, itself and those after it ``waiting``.

    So a slow one costs no other its turn.  An advised policy may take all that is left: it solves
    the relaxation that those after it wait for, too.
    """
    method = read_method(task.method, planned=True, path=task.method_path)
    whole = method.call is not None and method.looks_at_the_clock
    return max(0.1, left if whole else min(left, max(left / waiting, LEAST_SHARE)))


def share_ends(task: Task, left: float, waiting: int) -> float:
    """Return the seconds after which a method of a series is killed."""
    return share(task, left, waiting) + min(_grace(task, DEADLINE_GRACE_SECONDS), ENGINE_SECONDS)


def _grace(task: Task, seconds: float) -> float:
    method = read_method(task.method, planned=True, path=task.method_path)
    if not method.looks_at_the_clock:
        return 0.0
    if method.kind == "engine":
        return ENGINE_SECONDS
    return GRACE_SHARE * task.time_limit + seconds
