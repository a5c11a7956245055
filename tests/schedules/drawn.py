"""Random schedules for tests of the checker: possible ones with evictions, and damaged ones."""

import copy
import random
from typing import Any

from tests.oracles.literal_checker import Row

HUGE = 10**30


def draw_rows(rng: random.Random, most: int = 4) -> tuple[list[Row], int]:
    """Return requests (arrival, prompt, output) and a memory that each of them fits into."""
    memory = rng.randint(1, 9)
    rows = []
    for _ in range(rng.randint(1, most)):
        output = rng.randint(1, min(memory, 5))
        rows.append(
            (rng.choice((0, 0, 1, rng.randint(0, 6))), rng.randint(0, memory - output), output)
        )
    return rows, memory


def draw_possible(rng: random.Random, rows: list[Row], memory: int, keep: bool) -> dict[str, Any]:
    """Return what a scheduler without sense does: it admits and evicts as the dice say."""
    n, time = len(rows), 0
    runs: list[list[tuple[int, int, int]]] = [[] for _ in rows]  # begin, kept, tokens at the end
    active: dict[int, tuple[int, int]] = {}  # begin and kept
    done: set[int] = set()

    def made(i: int, now: int) -> int:
        return now - active[i][0] + active[i][1]

    while len(done) < n:
        for i in [i for i in active if made(i, time) == rows[i][2]]:
            runs[i].append((*active.pop(i), rows[i][2]))
            done.add(i)
        waiting = [i for i in range(n) if i not in done and i not in active and rows[i][0] <= time]
        for i in waiting:
            if rng.random() < 0.7:
                before = runs[i][-1][2] if runs[i] else 0
                active[i] = (time, rng.randint(0, before) if keep else 0)
        restless = rng.random() < 0.3 and time < 40
        while sum(rows[i][1] + made(i, time) + 1 for i in active) > memory or (restless and active):
            i = rng.choice(list(active))
            restless = False
            if made(i, time) > active[i][1]:
                runs[i].append((*active[i], made(i, time)))
            del active[i]
        time += 1
    starts = [last[-1][0] - last[-1][1] for last in runs]
    tel = sum(p + o - a for p, (a, _, o) in zip(starts, rows, strict=True))
    document: dict[str, Any] = {"starts": starts, "tel": tel, "lower_bound": None}
    document["status"] = "feasible"
    if any(len(each) > 1 for each in runs) or rng.random() < 0.2:
        document["attempts"] = [[(b - k, g) for b, k, g in each[:-1]] for each in runs]
    if any(k for each in runs for _, k, _ in each) or (keep and rng.random() < 0.2):
        document["kept"] = [[k for _, k, _ in each] for each in runs]
    return document


def damaged(rng: random.Random, document: dict[str, Any], rows: list[Row]) -> dict[str, Any]:
    """Return the document with a few things changed; its TEL is mostly made to fit again."""
    after = copy.deepcopy(document)
    for _ in range(rng.choice((1, 1, 2, 3))):
        rng.choice((_move, _move, _move, _recount, _rekeep, _rekeep, _drop, _reshape, _reclaim))(
            rng, after
        )
    if rng.random() < 0.8 and len(after["starts"]) == len(rows):
        after["tel"] = sum(p + o - a for p, (a, _, o) in zip(after["starts"], rows, strict=True))
        if after["status"] == "optimal" and rng.random() < 0.7:
            after["lower_bound"] = after["tel"]
    return after


def _number(rng: random.Random, old: int) -> int:
    near = (old + 1, max(old - 1, 0), max(old + rng.randint(-4, 4), 0), rng.randint(0, 8))
    return rng.choice((*near, *near, *near, -1, HUGE + rng.randint(0, 3)))


def _move(rng: random.Random, document: dict[str, Any]) -> None:
    starts = document["starts"]
    if starts:
        i = rng.randrange(len(starts))
        starts[i] = _number(rng, starts[i])


def _recount(rng: random.Random, document: dict[str, Any]) -> None:
    lists = [tried for tried in document.get("attempts") or () if tried]
    if lists:
        tried = rng.choice(lists)
        k = rng.randrange(len(tried))
        start, tokens = tried[k]
        both = (_number(rng, start), tokens), (start, _number(rng, tokens))
        tried[k] = rng.choice(both)


def _rekeep(rng: random.Random, document: dict[str, Any]) -> None:
    if document.get("kept") is None:
        attempts = document.get("attempts") or [[] for _ in document["starts"]]
        document["kept"] = [[0] * (len(tried) + 1) for tried in attempts]
    lists = [counts for counts in document["kept"] if counts]
    if lists:
        counts = rng.choice(lists)
        k = rng.randrange(len(counts))
        counts[k] = rng.choice((counts[k] + 1, _number(rng, counts[k])))


def _drop(rng: random.Random, document: dict[str, Any]) -> None:
    key = rng.choice(("attempts", "kept"))
    if rng.random() < 0.8:
        document.pop(key, None)
    else:
        document[key] = []


def _reshape(rng: random.Random, document: dict[str, Any]) -> None:
    lists: list[list[Any]] = [document["starts"], *(document.get("kept") or ())]
    if document.get("attempts") is not None:
        lists += [document["attempts"], *document["attempts"]]
    chosen = rng.choice(lists)
    if chosen and rng.random() < 0.6:
        del chosen[rng.randrange(len(chosen))]
    elif chosen:
        chosen.append(copy.deepcopy(rng.choice(chosen)))


def _reclaim(rng: random.Random, document: dict[str, Any]) -> None:
    document["status"] = rng.choice(("optimal", "optimal", "feasible", "infeasible", "time_limit"))
    document["lower_bound"] = rng.choice((None, 0, _number(rng, document["tel"]), document["tel"]))
