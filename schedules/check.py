"""The independent checker: is this schedule possible, and is what it claims of itself true?

The checker shares no code with anything that makes schedules.  It computes in Python integers only,
so neither a rounding error nor an overflow can hide a violation.

A request started at round p holds s + j tokens at time p + j for j = 1..o and completes at p + o;
a cancelled attempt (start q, g tokens) holds s + j at q + j for j = 1..g.  Where ``kept`` says
that a run kept k tokens of the attempt before, j begins at k + 1, so the run really begins at
p + k.  At every integer time the tokens held sum to at most M.

The checks of ``kept`` suffice.  A request's first run keeps nothing; each later one keeps at
most the g' tokens that the run before had in the end, begins at its end q' + g' or after, and makes
a token at least.  From p + k >= q' + g' and k <= g' follows p >= q' and, run by run, that all
starts are at least the arrival.  So a latency is never less than the output, tokens kept or not,
and no start of a possible schedule is negative, which the file format excludes.

In real time (``clock``) rounds take what the batch-time model gives their batches: see
``schedules.clock`` and docs/real_time.md.

As a command, ``python -m schedules.check INSTANCE SCHEDULE`` prints the verdict on one line and
exits with 0 (valid), 10 (malformed, or a file that cannot be read) or 21 (infeasible); 2 is bad
usage.
"""

import sys
from collections.abc import Iterator
from itertools import pairwise

from instances.instance import Instance
from schedules.clock.clock_check import wrong_clock
from schedules.clock.replay import ReplayError, replay_schedule
from schedules.clock.request_runs import runs_of
from schedules.memory_sweep import Piece, memory_exceeded
from schedules.schedule import ENGINE_ACCOUNTING, OUTSIDE, Schedule
from schedules.verdict import Verdict, malformed
from support.message_text import integer_text

__all__ = ["Verdict", "check_schedule"]


def check_schedule(instance: Instance, schedule: Schedule) -> Verdict:
    """Check a schedule against its instance, in O(n log n) for n requests and attempts.

    The structure is checked first, then whether it can be run, then TEL and the claims.  Of
    several violations the earliest in time is reported; at the same time a start before its
    arrival comes before an overlap, and that before the memory.

    The instance is recognised by its hash alone: a schedule that names it otherwise is valid,
    since a renamed file is still the same problem, and the line says so.

    The status ``infeasible`` or ``no_solution`` is refused on a schedule that can be run, and
    ``optimal`` on one that keeps tokens, since OPT is not about these.

    The instance's known optimum is a statement of its file.  A schedule that can be run and has a
    TEL below it proves it wrong, so that schedule is valid and the line says so.
    """
    if wrong := wrong_structure(instance, schedule):
        return wrong
    played = _played(instance, schedule)
    if isinstance(played, Verdict):
        return played
    return _false_claim(schedule, played) or Verdict("valid", _summary(instance, schedule))


def wrong_structure(instance: Instance, schedule: Schedule) -> Verdict | None:
    """Return the first field that is not of this instance's schedules, by hash, count or value."""
    if schedule.instance_sha256 != instance.sha256:
        return malformed(
            f"schedule is of another instance ({schedule.instance!r}, sha256 "
            f"{schedule.instance_sha256[:12]}...), expected {instance.name!r}, sha256 "
            f"{instance.sha256[:12]}..."
        )
    n = len(instance.requests)
    if len(schedule.starts) != n:
        return malformed(f"expected {n} starts, one per request, found {len(schedule.starts)}")
    return (
        _wrong_attempts(instance, schedule)
        or _wrong_kept(instance, schedule)
        or wrong_clock(instance, schedule)
    )


def _wrong_attempts(instance: Instance, schedule: Schedule) -> Verdict | None:
    if schedule.attempts is None:
        return None
    n = len(instance.requests)
    if len(schedule.attempts) != n:
        return malformed(
            f"expected {n} lists of attempts, one per request, found {len(schedule.attempts)}"
        )
    for request, attempts in zip(instance.requests, schedule.attempts, strict=True):
        for start, tokens in attempts:
            # An attempt of all o tokens would have completed.
            least = 0 if _cuts_prompts(schedule) else 1
            if not least <= tokens < request.output:
                return malformed(
                    f"request id {request.id}: cancelled attempt at round "
                    f"{integer_text(start)} has {integer_text(tokens)} tokens, expected at least "
                    f"{least} and fewer than its output of {request.output}",
                    request.id,
                )
    return None


def _wrong_kept(instance: Instance, schedule: Schedule) -> Verdict | None:
    if schedule.kept is None:
        return None
    n, kept = len(instance.requests), schedule.kept
    attempts = ((),) * n if schedule.attempts is None else schedule.attempts
    if len(kept) != n:
        return malformed(f"expected {n} lists of kept tokens, one per request, found {len(kept)}")
    for request, of_request, tried in zip(instance.requests, kept, attempts, strict=True):
        made = (0, *(tokens for _, tokens in tried), request.output)
        if len(of_request) != len(tried) + 1:
            return malformed(
                f"request id {request.id}: expected {len(tried) + 1} counts of kept tokens, one "
                f"for each attempt and one for the run that counts, found {len(of_request)}",
                request.id,
            )
        for count, before, after in zip(of_request, made[:-1], made[1:], strict=True):
            # Nothing can be kept that the attempt before has not made, and a token at least is
            # made, but by an attempt that was cancelled while its prompt was prefilled in chunks.
            if not 0 <= count <= min(before, after if _cuts_prompts(schedule) else after - 1):
                return malformed(
                    f"request id {request.id}: a run of {integer_text(after)} tokens kept "
                    f"{integer_text(count)}, expected fewer, and at most the "
                    f"{integer_text(before)} made before",
                    request.id,
                )
    return None


def _cuts_prompts(schedule: Schedule) -> bool:
    return schedule.clock is not None and schedule.clock.prefills is not None


def _played(instance: Instance, schedule: Schedule) -> int | Verdict:
    """Return the TEL of a schedule of the right structure, or the first violation."""
    played = _on_time(instance, schedule)
    if isinstance(played, Verdict) and played.kind == "malformed":
        return played
    memory = memory_exceeded(instance, lambda: _pieces(instance, schedule))
    all_found = (played, _overlap(instance, schedule), memory)
    found = [verdict for verdict in all_found if isinstance(verdict, Verdict)]
    # `min` keeps the first of equals, hence the order above decides at the same time.
    return min(found, key=lambda verdict: verdict.time or 0, default=played)


def _on_time(instance: Instance, schedule: Schedule) -> int | Verdict:
    """Return the TEL, or the fault in the times at which runs begin."""
    if schedule.clock is None:
        return _start_before_arrival(instance, schedule) or _tel(instance, schedule)
    try:
        return replay_schedule(instance, schedule).tel
    except ReplayError as error:
        return error.verdict


def _start_before_arrival(instance: Instance, schedule: Schedule) -> Verdict | None:
    early = [
        (start, request.id, int(request.arrival))
        for request, runs in zip(instance.requests, runs_of(instance, schedule), strict=True)
        if (start := min(run.last_chunk for run in runs)) < request.arrival
    ]
    if not early:
        return None
    start, identity, arrival = min(early)
    return Verdict(
        "infeasible",
        f"request id {identity} starts at round {start}, before its arrival at round {arrival}",
        time=start,
        request_ids=(identity,),
    )


def _overlap(instance: Instance, schedule: Schedule) -> Verdict | None:
    """Return the first run that begins before the attempt before has ended."""
    if schedule.attempts is None:
        return None
    overlaps = [
        (run.first_chunk, request.id, before.end)
        for request, runs in zip(instance.requests, runs_of(instance, schedule), strict=True)
        for before, run in pairwise(runs)
        if run.first_chunk < before.end
    ]
    if not overlaps:
        return None
    time, identity, end = min(overlaps)
    return Verdict(
        "infeasible",
        f"request id {identity} starts at round {integer_text(time)}, before its previous "
        f"attempt ends at time {integer_text(end)}",
        time=time,
        request_ids=(identity,),
    )


def _pieces(instance: Instance, schedule: Schedule) -> Iterator[Piece]:
    """Yield the tokens held by runs, and between two runs what the later one finds."""
    for runs in runs_of(instance, schedule):
        for run in runs:
            yield from run.pieces(schedule.held_prompt(run.prompt))
        for before, run in pairwise(runs):
            if run.cached:
                yield run.position, before.end + 1, run.first_chunk + 1, run.cached, 0


def _false_claim(schedule: Schedule, tel: int) -> Verdict | None:
    bound = schedule.lower_bound
    if schedule.tel != tel:
        return malformed(
            f"TEL is {integer_text(tel)}, the schedule claims {integer_text(schedule.tel)}"
        )
    if bound is not None and bound > tel:
        return malformed(
            f"lower bound {integer_text(bound)} exceeds the TEL of {integer_text(tel)}"
        )
    if schedule.status == "optimal" and bound is None:
        return malformed(f"status is optimal without a lower bound, TEL is {integer_text(tel)}")
    if schedule.status == "optimal" and bound is not None and bound != tel:
        return malformed(
            f"status is optimal, but the lower bound {integer_text(bound)} is not the "
            f"TEL {integer_text(tel)}"
        )
    if schedule.status in ("infeasible", "no_solution"):
        return malformed(f"status is {schedule.status}, but the schedule can be run")
    if schedule.status == "optimal" and schedule.easier:
        return malformed(f"status is optimal, but the schedule {schedule.easier}")
    return None


def _tel(instance: Instance, schedule: Schedule) -> int:
    return sum(
        start + request.output - int(request.arrival)
        for start, request in zip(schedule.starts, instance.requests, strict=True)
    )


def _summary(instance: Instance, schedule: Schedule) -> str:
    renamed = f" (in the schedule {schedule.instance!r})"
    return (
        f"instance {instance.name!r}{renamed if schedule.instance != instance.name else ''}, "
        f"n={len(instance.requests)}, TEL {integer_text(schedule.tel)}{instance.unit.tick}"
        f"{_remark(instance, schedule)}"
    )


def _remark(instance: Instance, schedule: Schedule) -> str:
    """Return what the reader of a valid verdict should know besides, or nothing."""
    if schedule.clock is not None:
        # The code of a bound knows whether it holds with kept tokens.
        counted = ENGINE_ACCOUNTING if schedule.engine_accounting else ""
        return "".join(f"; {each}" for each in (counted, schedule.easier) if each)
    if schedule.easier:
        return f"; {schedule.easier}{OUTSIDE}"
    optimum = instance.stated_optimum
    if optimum is not None and schedule.tel < optimum:
        return f"; the instance's known optimum, {integer_text(optimum)}, is wrong"
    return ""


if __name__ == "__main__":
    from schedules.check_command import main  # what nobody else needs

    sys.exit(main())
