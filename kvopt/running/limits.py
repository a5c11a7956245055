"""How long a run may take: one rule for both commands, for policies as for engines."""

from __future__ import annotations

from kvopt.running.task import Task

#: Seconds that the start of a process may take before a deadline; what it takes more, the first
#: time on a machine that has compiled nothing yet, is added to the deadline.
START_COUNTS = 2.0
#: Seconds that a command with a deadline keeps back for its last checks.
RESERVE_SECONDS = 0.3
#: Seconds after which an engine that has not stopped by itself is killed.
ENGINE_SECONDS = 1.0
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
    return 0.0 if task.method.kind == "file" else max(0.0, seconds - START_COUNTS)


def _grace(task: Task, seconds: float) -> float:
    if not task.method.looks_at_the_clock:
        return 0.0
    if task.method.kind == "engine" and not task.method.joined:
        return ENGINE_SECONDS
    return GRACE_SHARE * task.time_limit + seconds
