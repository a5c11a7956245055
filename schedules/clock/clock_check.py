"""Checks of the clock of a schedule in real time, and of the chunks of its prompts.

In Python integers only; nothing is shared with what makes schedules.
"""

from itertools import pairwise

from instances import Instance
from schedules.clock.request_runs import RequestRun, runs_of
from schedules.schedule import Chunks, Clock, Schedule
from schedules.verdict import Verdict, malformed
from support.message_text import integer_text


def wrong_clock(instance: Instance, schedule: Schedule) -> Verdict | None:
    """Return the fault in the field ``clock``, given that the other fields have their shape.

    It is there for instances in seconds and for no others, names its late rounds once and in order,
    and where prompts are cut has for every run the chunks of the prompt and of kept tokens;
    an attempt that was cancelled before its first token has less.
    """
    clock = schedule.clock
    if (clock is None) != (instance.time_unit == "round"):
        found, unit = ("no clock", "seconds") if clock is None else ("a clock", "rounds")
        return malformed(f"instance {instance.name!r} has arrivals in {unit}, found {found}")
    if clock is None:
        return None
    for (before, _), (number, _) in pairwise(clock.begins):
        if number <= before:
            return malformed(
                f"expected late rounds in ascending order, found {integer_text(number)} after "
                f"{integer_text(before)}"
            )
    return _wrong_lengths(instance, schedule, clock) or _wrong_runs(instance, schedule)


def _wrong_lengths(instance: Instance, schedule: Schedule, clock: Clock) -> Verdict | None:
    n = len(instance.requests)
    attempts = schedule.attempts or ((),) * n
    if clock.cached is not None and list(map(len, clock.cached)) != [len(a) + 1 for a in attempts]:
        return malformed("expected a count of cached tokens for every run of each request")
    if clock.prefills is None:
        return None
    if len(clock.prefills) != n:
        return malformed(
            f"expected {n} lists of chunks, one per request, found {len(clock.prefills)}"
        )
    for request, chunks, tried in zip(instance.requests, clock.prefills, attempts, strict=True):
        if len(chunks) != len(tried) + 1 or not all(chunks):
            return malformed(
                f"request id {request.id}: expected chunks of {len(tried) + 1} runs, found "
                f"{_found(chunks)}",
                request.id,
            )
    return None


def _found(chunks: Chunks) -> str:
    return f"{len(chunks)}" if all(chunks) else "a run without any"


def _wrong_runs(instance: Instance, schedule: Schedule) -> Verdict | None:
    for request, runs in zip(instance.requests, runs_of(instance, schedule), strict=True):
        for before, run in pairwise([None, *runs]):
            assert run is not None
            reason = _wrong_run(run, last=run is runs[-1])
            if run.cached > (before.computed if before else 0):
                reason = (
                    f"a run finds {integer_text(run.cached)} tokens, more than were computed before"
                )
            if reason:
                return malformed(f"request id {request.id}: {reason}", request.id)
    return None


def _wrong_run(run: RequestRun, *, last: bool) -> str:
    """Return the fault in the chunks of a run, or nothing."""
    whole, computed = run.prompt + run.kept, run.cached + sum(run.chunks)
    if run.first_chunk < 0:
        last_round = integer_text(run.last_chunk)
        return f"a run whose last chunk is in round {last_round} has too many before it"
    if min(run.chunks) < 1 and (run.chunks != (0,) or run.cached):
        return "expected chunks of at least 1 token, found 0"
    if computed == whole and run.made > 0:
        return ""
    if computed < whole and run.made == 0 and not last and computed > 0:
        return ""
    return (
        f"a run prefills {integer_text(computed)} of {integer_text(whole)} tokens and makes "
        f"{integer_text(run.made)}; expected all and at least 1, or "
        "fewer and none in an attempt that was cancelled"
    )
