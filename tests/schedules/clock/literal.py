"""A replay written token by token, which shares nothing with ``schedules.clock``."""

import random
from dataclasses import dataclass, field
from typing import Any

from instances import Instance, Request
from instances.batch_time import Batch, parse_batch_time
from schedules import Schedule
from schedules.schedule import Clock


@dataclass
class LiteralTimes:
    """What the literal replay says, in plain lists (ns, tokens)."""

    begins: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    running: list[int] = field(default_factory=list)
    waiting: list[int] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    first_ran: dict[int, int] = field(default_factory=dict)
    token_times: dict[int, dict[int, int]] = field(default_factory=dict)
    computed: dict[int, int] = field(default_factory=dict)


def literal(instance: Instance, schedule: Schedule) -> LiteralTimes:
    """Go through the rounds one by one, and in each through all requests and all their runs."""
    clock = schedule.clock
    assert clock is not None
    model, stated = parse_batch_time(clock.batch_time), dict(clock.begins)
    expected, now, index = LiteralTimes(), 0, 0
    arrivals = [round(request.arrival * 10**9) for request in instance.requests]
    runs = [_runs_of(instance, schedule, i) for i in range(len(instance))]
    while any(index <= run["end"] for of_request in runs for run in of_request):
        now = stated.get(index, now)
        prefills, decoding, read, held, made, ran = [], 0, 0, 0, [], 0
        for i, request in enumerate(instance.requests):
            for run in runs[i]:
                if not run["begin"] <= index <= run["end"]:
                    continue
                ran += 1
                expected.first_ran.setdefault(i, now)
                piece = index - run["begin"]
                if piece < len(run["chunks"]):
                    before = sum(run["chunks"][:piece])
                    prefills.append((before, run["chunks"][piece]))
                    held += before + run["chunks"][piece]
                    expected.computed[i] = expected.computed.get(i, 0) + run["chunks"][piece]
                    if piece < len(run["chunks"]) - 1 or run["made"] <= run["kept"]:
                        continue
                    held += 1
                    token = run["kept"] + 1
                else:
                    token = run["kept"] + piece - len(run["chunks"]) + 2
                    decoding += 1
                    read += request.prompt + token - 1
                    held += request.prompt + token
                expected.computed[i] += 1
                made.append((i, token))
        duration = model.nanoseconds(Batch(tuple(prefills), decoding, read))
        there = sum(arrival <= now for arrival in arrivals)
        complete = sum(run[-1]["end"] < index for run in runs)
        expected.begins.append(now)
        expected.running.append(ran)
        expected.waiting.append(there - complete - ran)
        expected.tokens.append(held)
        now += duration
        expected.ends.append(now)
        for i, token in made:
            # What is made again replaces what was lost.
            expected.token_times.setdefault(i, {})[token] = now
        index += 1
    return expected


def _runs_of(instance: Instance, schedule: Schedule, i: int) -> list[dict[str, Any]]:
    tried = (*(schedule.attempts[i] if schedule.attempts else ()),)
    tried = (*tried, (schedule.starts[i], instance.requests[i].output))
    kept = schedule.kept[i] if schedule.kept else (0,) * len(tried)
    cut = schedule.clock.prefills if schedule.clock else None
    found = []
    for number, ((start, made), keeps) in enumerate(zip(tried, kept, strict=True)):
        chunks = cut[i][number] if cut else (instance.requests[i].prompt + keeps,)
        last = start + keeps
        end = last + max(made - keeps, 1) - 1
        begin = last - len(chunks) + 1
        found.append({"begin": begin, "end": end, "chunks": chunks, "kept": keeps, "made": made})
    return found


def drawn(seed: int) -> tuple[Instance, Schedule]:
    """Return a small instance in seconds and a schedule that fills every round."""
    # Memory is not looked at, and some begin before they may.
    draw = random.Random(seed)
    n = draw.randint(1, 5)
    requests = tuple(
        Request(i, round(draw.random() * 0.2, 4), draw.randint(0, 6), draw.randint(1, 5))
        for i in range(n)
    )
    instance = Instance("drawn", 1000, requests, time_unit="second")
    keeping, cutting = draw.random() < 0.5, draw.random() < 0.5
    starts, attempts, kept, prefills = [], [], [], []
    at = 0
    for request in requests:
        tried, keeps, cuts, held = [], [0], [], 0
        free = at
        for _ in range(draw.choice((0, 0, 1, 2)) if request.output > 1 else 0):
            if held + 1 > request.output - 1:
                break
            made = draw.randint(held + 1, request.output - 1)
            pieces = _pieces(draw, request.prompt + held, cutting)
            begin = free + len(pieces) - 1
            tried.append((begin - held, made))
            cuts.append(pieces)
            free = begin + made - held
            held = draw.randint(held, made) if keeping else 0
            keeps.append(held)
        pieces = _pieces(draw, request.prompt + held, cutting)
        begin = free + len(pieces) - 1
        starts.append(begin - held)
        cuts.append(pieces)
        attempts.append(tuple(tried))
        kept.append(tuple(keeps))
        prefills.append(tuple(cuts))
        at = draw.randint(at, begin + request.output - held)
    late = [(0, draw.choice((1, 2)) * 10**8)] if draw.random() < 0.8 else []
    late += [(2, 10**9)] if draw.random() < 0.5 else []
    batch_time = "linear(base=7,prefill=1.5,square=0.25,decode=2,read=0.125)"
    clock = Clock(batch_time, tuple(late), tuple(prefills) if cutting else None)
    named = instance.name, instance.sha256, "drawn", tuple(starts), 0, None
    before = tuple(attempts) if any(attempts) else None
    found = tuple(kept) if any(map(any, kept)) else None
    return instance, Schedule(*named, "feasible", attempts=before, kept=found, clock=clock)


def _pieces(draw: random.Random, total: int, cutting: bool) -> tuple[int, ...]:
    first = draw.randint(0, total) if cutting else total
    return (first, total - first) if 0 < first < total else (total,)
