"""Time limit of a run: one rule for both commands, for policies and engines."""

import time

from kvopt.runs.task import Task

#: Seconds of a deadline that a command keeps for its last checks; each request adds some: a
#: schedule of a million takes two to three seconds.
RESERVE_SECONDS, RESERVE_A_REQUEST = 0.3, 2e-6
#: Least seconds of a method of a series, as long as so many are left.
LEAST_SHARE = 1.0
#: Share and seconds more for a custom method, or one with a team, to send its results; fewer
#: seconds where a deadline covers more than the run.
GRACE_SHARE, GRACE_SECONDS, DEADLINE_GRACE_SECONDS = 0.1, 2.0, 0.9


def limit_of(task: Task) -> float:
    """Return the seconds after which a run is killed, from the end of the imports.

    So long may the import of a custom file take, too.  A policy is killed at the limit.
    """
    return task.time_limit + _grace(task, GRACE_SECONDS)


def kill_at(task: Task) -> float | None:
    """Return when a run with a deadline is killed, on the same clock, None without a deadline."""
    if task.deadline is None:
        return None
    return task.deadline + RESERVE_SECONDS + _grace(task, DEADLINE_GRACE_SECONDS)


def certificate_seconds(task: Task, spent: float, interrupted: bool) -> float:
    """Return the seconds for the certificate of a custom method, after a run of ``spent`` seconds.

    They last until the run would have been killed, unless the user has interrupted it; one is sure.
    """
    left = limit_of(task) - spent
    if (end := kill_at(task)) is not None:
        left = min(left, end - time.monotonic())
    return max(1.0, 0.0 if interrupted else left)


def deadline_of_command(started: float, seconds: float, requests: int) -> float:
    """Return when the run of a command must have ended that may take so many seconds in all."""
    return started + seconds - RESERVE_SECONDS - RESERVE_A_REQUEST * requests


def share_time(task: Task, left: float, waiting: int) -> float:
    """Return the seconds of a method of a series while so many wait, with itself.

    It gets half of the time left, so that quick ones run whole.  An advised policy may take all: it
    solves the relaxation that those after it wait for, too.
    """
    whole = task.method.call is not None and task.method.looks_at_the_clock
    part = max(left / min(waiting, 2), LEAST_SHARE)
    return max(0.1, left if whole else min(left, part))


def _grace(task: Task, seconds: float) -> float:
    if not task.method.looks_at_the_clock:
        return 0.0
    if task.method.kind == "engine" and not task.method.joined:
        return 1.0  # to stop by itself
    return GRACE_SHARE * task.time_limit + seconds
