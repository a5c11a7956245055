"""The independent checker: is this schedule possible, and is what it claims of itself true?

It shares no code with anything that makes schedules and computes in Python integers only, so
neither a rounding error nor an overflow can hide a violation.

A request started at round p holds s + j tokens at time p + j for j = 1..o and completes at p + o;
a cancelled attempt (start q, g tokens) holds s + j at q + j for j = 1..g.  Where ``kept`` says
that a run kept k tokens of the attempt before, j begins at k + 1, so the run really begins at
p + k.  At every integer time the tokens held sum to at most M.

What is checked of ``kept`` suffices.  A request's first run keeps nothing; each later one keeps at
most the g' tokens that the run before had in the end, begins at its end q' + g' or after, and makes
a token at least.  From p + k >= q' + g' and k <= g' follows p >= q' and, run by run, that all
starts are at least the arrival.  So a latency is never less than the output, tokens kept or not,
and no start of a possible schedule is negative, which the file format excludes.

As a command, ``python -m schedules.check INSTANCE SCHEDULE`` prints the verdict on one line and
exits with 0 (valid), 10 (malformed, or a file that cannot be read) or 21 (infeasible); 2 is bad
usage.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from instances.files import read_instance
from instances.jsonfile import FileError
from instances.model import InfeasibleInstanceError, Instance
from instances.named import INSTANCE_HELP, find_instance
from instances.streams import steadily
from instances.telling import one_line
from instances.usage import Parser, UsageError, complain
from schedules.files import read_schedule
from schedules.model import KEEPS_TOKENS_NOTE, Schedule

Kind = Literal["valid", "malformed", "infeasible"]

_EXIT_CODES: dict[Kind, int] = {"valid": 0, "malformed": 10, "infeasible": 21}
_IDS_SHOWN = 10


@dataclass(frozen=True)
class Verdict:
    """What the checker found; of several faults the one it reports is described below.

    Attributes
    ----------
    kind
        ``valid``; ``malformed`` where the schedule is not one of this instance or claims what is
        not so (hash, counts, TEL, bound, optimality); ``infeasible`` where it cannot be run
        (start before arrival, overlapping attempts, more tokens than the memory).
    reason
        One line for a person.
    time
        The first violating time (rounds) of an infeasible schedule, else None.
    tokens
        Tokens held at that time, where the memory is exceeded, else None.
    request_ids
        Ids of the requests concerned, sorted: for the memory all that hold tokens at that time.
    """

    kind: Kind
    reason: str
    time: int | None = None
    tokens: int | None = None
    request_ids: tuple[int, ...] = ()

    @property
    def valid(self) -> bool:
        """Whether the schedule can be run and all its claims hold."""
        return self.kind == "valid"

    @property
    def exit_code(self) -> int:
        """Exit code of the command: 0 valid, 10 malformed, 21 infeasible."""
        return _EXIT_CODES[self.kind]

    def __str__(self) -> str:
        return f"{self.kind}: {self.reason}"


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
    TEL below it proves it wrong, so that schedule is valid and the line says so; the line also
    tells of a lower bound above it.
    """
    return (
        _wrong_structure(instance, schedule)
        or _first_violation(instance, schedule)
        or _false_claim(instance, schedule)
        or Verdict("valid", _summary(instance, schedule))
    )


def _wrong_structure(instance: Instance, schedule: Schedule) -> Verdict | None:
    if instance.time_unit != "round":
        return _malformed(
            f"instance {instance.name!r} has arrivals in seconds, which cannot be compared with "
            "start rounds; only instances in rounds are supported"
        )
    if schedule.instance_sha256 != instance.sha256:
        return _malformed(
            f"schedule is of another instance ({schedule.instance!r}, sha256 "
            f"{schedule.instance_sha256[:12]}...), expected {instance.name!r}, sha256 "
            f"{instance.sha256[:12]}..."
        )
    n = len(instance.requests)
    if len(schedule.starts) != n:
        return _malformed(f"expected {n} starts, one per request, found {len(schedule.starts)}")
    return _wrong_attempts(instance, schedule) or _wrong_kept(instance, schedule)


def _wrong_attempts(instance: Instance, schedule: Schedule) -> Verdict | None:
    if schedule.attempts is None:
        return None
    n = len(instance.requests)
    if len(schedule.attempts) != n:
        return _malformed(
            f"expected {n} lists of attempts, one per request, found {len(schedule.attempts)}"
        )
    for request, attempts in zip(instance.requests, schedule.attempts, strict=True):
        for start, tokens in attempts:
            # An attempt of all o tokens would have completed.
            if not 1 <= tokens < request.output:
                return _malformed(
                    f"request id {request.id}: cancelled attempt at round {_shown(start)} has "
                    f"{_shown(tokens)} tokens, expected at least 1 and fewer than its output of "
                    f"{request.output}",
                    request.id,
                )
    return None


def _wrong_kept(instance: Instance, schedule: Schedule) -> Verdict | None:
    if schedule.kept is None:
        return None
    n, kept = len(instance.requests), schedule.kept
    attempts = ((),) * n if schedule.attempts is None else schedule.attempts
    if len(kept) != n:
        return _malformed(f"expected {n} lists of kept tokens, one per request, found {len(kept)}")
    for request, of_request, tried in zip(instance.requests, kept, attempts, strict=True):
        made = (0, *(tokens for _, tokens in tried), request.output)
        if len(of_request) != len(tried) + 1:
            return _malformed(
                f"request id {request.id}: expected {len(tried) + 1} counts of kept tokens, one "
                f"for each attempt and one for the run that counts, found {len(of_request)}",
                request.id,
            )
        for count, before, after in zip(of_request, made[:-1], made[1:], strict=True):
            # Nothing can be kept that the attempt before has not made.
            if not 0 <= count <= min(before, after - 1):
                return _malformed(
                    f"request id {request.id}: a run of {_shown(after)} tokens kept "
                    f"{_shown(count)}, expected fewer, and at most the {_shown(before)} made "
                    "before",
                    request.id,
                )
    return None


def _first_violation(instance: Instance, schedule: Schedule) -> Verdict | None:
    found = [
        verdict
        for verdict in (
            _start_before_arrival(instance, schedule),
            _overlapping_attempts(instance, schedule),
            _memory_exceeded(instance, schedule),
        )
        if verdict is not None
    ]
    # `min` keeps the first of equals, hence the order above decides at the same time.
    return min(found, key=lambda verdict: verdict.time or 0, default=None)


def _start_before_arrival(instance: Instance, schedule: Schedule) -> Verdict | None:
    first: tuple[int, int, int] | None = None
    for position, start, _, _ in _runs(instance, schedule):
        request = instance.requests[position]
        if start < request.arrival:
            found = (start, request.id, int(request.arrival))
            first = found if first is None else min(first, found)
    if first is None:
        return None
    start, identity, arrival = first
    return Verdict(
        "infeasible",
        f"request id {identity} starts at round {start}, before its arrival at round {arrival}",
        time=start,
        request_ids=(identity,),
    )


def _overlapping_attempts(instance: Instance, schedule: Schedule) -> Verdict | None:
    if schedule.attempts is None:
        return None
    first: tuple[int, int, int] | None = None
    kept = schedule.kept or [(0,) * (len(attempts) + 1) for attempts in schedule.attempts]
    for request, attempts, last, counts in zip(
        instance.requests, schedule.attempts, schedule.starts, kept, strict=True
    ):
        end = 0
        for (start, tokens), count in zip((*attempts, (last, request.output)), counts, strict=True):
            if start + count < end:
                found = (start + count, request.id, end)
                first = found if first is None else min(first, found)
            end = start + tokens
    if first is None:
        return None
    time, identity, end = first
    return Verdict(
        "infeasible",
        f"request id {identity} starts at round {_shown(time)}, before its previous "
        f"attempt ends at time {_shown(end)}",
        time=time,
        request_ids=(identity,),
    )


def _memory_exceeded(instance: Instance, schedule: Schedule) -> Verdict | None:
    """Sweep the times at which the set of running requests changes, and the pieces between.

    A run that begins at p with k tokens kept, holding s + k + (t - p) at time t, adds s + k - p to
    a constant and 1 to a slope, from p + 1 on as long as it makes tokens.  Between two changes the
    tokens held are therefore exactly constant + slope·t, where the slope is the number of running
    requests and so never negative; the first t at which they exceed M follows by division.
    """
    constants: dict[int, int] = {}
    slopes: dict[int, int] = {}
    for position, start, kept, tokens in _runs(instance, schedule):
        offset = instance.requests[position].prompt + kept - start
        begin, end = start + 1, start + tokens + 1
        constants[begin] = constants.get(begin, 0) + offset
        slopes[begin] = slopes.get(begin, 0) + 1
        constants[end] = constants.get(end, 0) - offset
        slopes[end] = slopes.get(end, 0) - 1
    times = sorted(slopes)
    constant = slope = 0
    for begin, end in itertools.pairwise(times):
        constant += constants[begin]
        slope += slopes[begin]
        if constant + slope * (end - 1) <= instance.memory:
            continue
        time = begin
        if constant + slope * begin <= instance.memory:
            # The slope is positive here: the tokens exceed M at the end but not at the beginning.
            time = (instance.memory - constant) // slope + 1
        return _memory_verdict(instance, schedule, time, constant + slope * time)
    return None


def _memory_verdict(instance: Instance, schedule: Schedule, time: int, tokens: int) -> Verdict:
    active = {
        instance.requests[position].id
        for position, start, _, made in _runs(instance, schedule)
        if start < time <= start + made
    }
    ids = tuple(sorted(active))
    more = f" and {len(ids) - _IDS_SHOWN} more" if len(ids) > _IDS_SHOWN else ""
    listed = ", ".join(str(identity) for identity in ids[:_IDS_SHOWN])
    return Verdict(
        "infeasible",
        f"at time {_shown(time)} {tokens} tokens are held, memory is {instance.memory}; "
        f"active request ids: {listed}{more}",
        time=time,
        tokens=tokens,
        request_ids=ids,
    )


def _false_claim(instance: Instance, schedule: Schedule) -> Verdict | None:
    tel = _tel(instance, schedule)
    bound = schedule.lower_bound
    if schedule.tel != tel:
        return _malformed(f"TEL is {_shown(tel)}, the schedule claims {_shown(schedule.tel)}")
    if bound is not None and bound > tel:
        return _malformed(f"lower bound {_shown(bound)} exceeds the TEL of {_shown(tel)}")
    if schedule.status == "optimal" and bound is None:
        return _malformed(f"status is optimal without a lower bound, TEL is {_shown(tel)}")
    if schedule.status == "optimal" and bound is not None and bound != tel:
        return _malformed(
            f"status is optimal, but the lower bound {_shown(bound)} is not the TEL {_shown(tel)}"
        )
    if schedule.status in ("infeasible", "no_solution"):
        return _malformed(f"status is {schedule.status}, but the schedule can be run")
    if schedule.status == "optimal" and schedule.keeps_tokens:
        return _malformed("status is optimal, but requests keep tokens over evictions")
    return None


def _runs(instance: Instance, schedule: Schedule) -> Iterator[tuple[int, int, int, int]]:
    """Yield (position of the request, round in which it begins, tokens kept, tokens it makes).

    Attempts are included; what a run kept it does not make.
    """
    for position, start in enumerate(schedule.starts):
        kept = schedule.kept[position][-1] if schedule.kept else 0
        yield position, start + kept, kept, instance.requests[position].output - kept
    for position, attempts in enumerate(schedule.attempts or ()):
        for number, (start, tokens) in enumerate(attempts):
            kept = schedule.kept[position][number] if schedule.kept else 0
            yield position, start + kept, kept, tokens - kept


def _tel(instance: Instance, schedule: Schedule) -> int:
    return sum(
        start + request.output - int(request.arrival)
        for start, request in zip(schedule.starts, instance.requests, strict=True)
    )


def _summary(instance: Instance, schedule: Schedule) -> str:
    renamed = f" (in the schedule {schedule.instance!r})"
    return (
        f"instance {instance.name!r}{renamed if schedule.instance != instance.name else ''}, "
        f"n={len(instance.requests)}, TEL {_shown(schedule.tel)}{_remark(instance, schedule)}"
    )


def _remark(instance: Instance, schedule: Schedule) -> str:
    """Return what the reader of a valid verdict should know besides, or nothing."""
    if schedule.keeps_tokens:
        return f"; {KEEPS_TOKENS_NOTE}"
    optimum, bound = instance.known_optimum, schedule.lower_bound
    if optimum is not None and schedule.tel < optimum:
        return f"; the instance's known optimum, {_shown(optimum)}, is wrong"
    if optimum is not None and bound is not None and bound > optimum:
        return (
            f"; its lower bound {_shown(bound)} exceeds the instance's known optimum "
            f"{_shown(optimum)}: one of the two is wrong"
        )
    return ""


def _malformed(reason: str, *request_ids: int) -> Verdict:
    return Verdict("malformed", reason, request_ids=request_ids)


def _shown(number: int) -> str:
    # A file may hold integers of thousands of digits, which neither fit on a line nor, beyond
    # Python's limit, can be written in decimals at all.
    return str(number) if number.bit_length() < 200 else f"about 2**{number.bit_length() - 1}"


def main(arguments: Sequence[str] | None = None, program: str = "python -m schedules.check") -> int:
    """Run the command, by the name it was called, and return its exit code."""
    return steadily(program, lambda: _main(arguments, program))


def _main(arguments: Sequence[str] | None, program: str) -> int:
    parser = Parser(
        prog=program,
        description="Check a schedule file against its instance file in integer arithmetic.",
        epilog="exit code: 0 valid, 2 bad usage, 10 malformed or unreadable, 21 infeasible",
    )
    parser.add_argument("instance", metavar="INSTANCE", help=INSTANCE_HELP)
    parser.add_argument("schedule", metavar="SCHEDULE", help="schedule file (kvopt.schedule/1)")
    try:
        options = parser.parse_args(arguments)
        instance = read_instance(find_instance(options.instance))
        schedule = read_schedule(options.schedule)
    except UsageError as error:
        complain(parser.prog, error)
        return 2
    except (InfeasibleInstanceError, FileError) as error:
        print(one_line(error), file=sys.stderr)
        return _EXIT_CODES["malformed"]
    verdict = check_schedule(instance, schedule)
    print(verdict)
    return verdict.exit_code


if __name__ == "__main__":
    sys.exit(main())
