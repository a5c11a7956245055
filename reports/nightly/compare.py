"""Compares the rows of a night with the committed ones: lost, better, and slower runs.

A pure function of both tables.  Times never fail a night: machines differ.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from reports.nightly.night_rows import RUN
from reports.stored_results import BestKnown, Results

#: Share by which a bound may be less than before: another processor may round its prices otherwise.
BOUND_SLACK = 1e-4
#: A run counts as slower from this factor and these seconds on.
SLOWER_FACTOR = 2.0
SLOWER_SECONDS = 2.0
#: Statuses in which a run has ended badly.
_BROKEN = ("refused", "error", "crashed")

#: One run: a row by column, None where nothing stands.
Row = dict[str, Any]


@dataclass(frozen=True)
class Comparison:
    """Comparison of a night; it fails if there is any of the ``failures``.

    ``better`` says that the committed rows are out of date; ``changed`` and ``slower`` never fail.
    ``compared`` is the number of runs that are in both.
    """

    failures: tuple[str, ...]
    better: tuple[str, ...]
    changed: tuple[str, ...]
    slower: tuple[str, ...]
    compared: int


def compare(
    reference: pd.DataFrame, now: pd.DataFrame, best_known: BestKnown | None = None
) -> Comparison:
    """Compare two tables of :func:`reports.nightly.night_rows.nightly_rows`.

    A night fails on a schedule that the checker refused, a bound above a schedule of the night, of
    the reference or of the registry, a run that is missing or broke, an optimum that is no longer
    proved or is another one, and, in reproducible sections, a worse TEL or a worse bound (by more
    than ``BOUND_SLACK``). Other sections fail only on losses that time cannot excuse.
    """
    before, after = map(_by_run, (reference, now))
    failures = [
        f"{_run_text(row)}: the checker refused a schedule: {row['detail']}"
        for row in after.values()
        if row["status"] == "refused"
    ]
    failures += [f"CONTRADICTION {line}" for line in _contradictions(reference, now, best_known)]
    better: list[str] = []
    changed = [f"{_run_text(row)}: new" for run, row in after.items() if run not in before]
    slower: list[str] = []
    for run, old in before.items():
        if (new := after.get(run)) is None:
            failures.append(f"{_run_text(old)}: this run is missing")
            continue
        worse = list(_worse(old, new))
        # A slower machine excuses neither.
        two = old["status"] == new["status"] == "optimal" and old["tel"] != new["tel"]
        serious = two or new["status"] in ("error", "crashed")
        (failures if serious or _judged(old) else changed).extend(worse)
        better += _better(old, new) if not worse and _judged(old) else []
        took, takes = float(old["seconds"]), float(new["seconds"])
        if takes >= SLOWER_FACTOR * took and takes - took >= SLOWER_SECONDS:
            slower.append(f"{_run_text(old)}: {took:.1f} s before, now {takes:.1f} s")
    both = len(before.keys() & after.keys())
    return Comparison(tuple(failures), tuple(better), tuple(changed), tuple(slower), both)


def _contradictions(old: pd.DataFrame, now: pd.DataFrame, known: BestKnown | None) -> list[str]:
    """Return contradictions in which the night has a part, not those of the reference alone."""
    together = pd.concat([now, old], ignore_index=True)
    together["key"] = [str(position) for position in range(len(together))]
    before = set(map(str, Results(old.assign(key="r"), known or {}).contradictions))
    found = map(str, Results(together, known or {}).contradictions)
    return [each for each in found if each not in before]


def _worse(old: Row, new: Row) -> Iterator[str]:
    """Yield the losses of the new row against the old one."""
    where = _run_text(old)
    if new["status"] in _BROKEN and old["status"] not in _BROKEN:
        if new["status"] != "refused":  # is in the failures already
            yield f"{where}: {old['status']} before, now {new['status']}: {new['detail']}"
        return
    if old["status"] == "optimal":
        if new["status"] != "optimal":
            yield (
                f"{where}: the optimum {old['tel']} is lost: {new['status']}, "
                f"TEL {_shown(new['tel'])}, bound {_shown(new['lower_bound'])}"
            )
        elif new["tel"] != old["tel"]:
            yield f"{where}: two optima, {old['tel']} before and {new['tel']} now: one is wrong"
        return
    if old["role"] != "bounds" and _better_tel(old["tel"], new["tel"]):
        yield f"{where}: TEL {old['tel']} before, now {_shown(new['tel'])} ({new['status']})"
    if old["lower_bound"] is not None:
        allowed = old["lower_bound"] - math.ceil(BOUND_SLACK * old["lower_bound"])
        if new["lower_bound"] is None or new["lower_bound"] < allowed:
            yield f"{where}: bound {old['lower_bound']} before, now {_shown(new['lower_bound'])}"


def _judged(old: Row) -> bool:
    """Return whether the result is independent of time: it ended by itself, or with a proof."""
    done = old["ending"] == "finished" and (old["role"] != "exact" or old["status"] == "optimal")
    return bool(old["reproducible"]) and done


def _better(old: Row, new: Row) -> Iterator[str]:
    where, tel, bound = _run_text(old), new["tel"], new["lower_bound"]
    if new["status"] == "optimal" and old["status"] != "optimal":
        yield f"{where}: {old['status']} before, now optimal"
    elif old["role"] != "bounds" and _better_tel(tel, old["tel"]):
        yield f"{where}: TEL {_shown(old['tel'])} before, now {tel}"
    elif bound is not None and (old["lower_bound"] is None or bound > old["lower_bound"]):
        yield f"{where}: bound {_shown(old['lower_bound'])} before, now {bound}"


def _better_tel(first: int | None, second: int | None) -> bool:
    """Return whether the first TEL is less than the second; a missing one is worse than any."""
    return first is not None and (second is None or first < second)


def _by_run(rows: pd.DataFrame) -> dict[tuple[Any, ...], Row]:
    plain = rows.astype(object).where(rows.notna(), None)
    records = [{str(key): value for key, value in row.items()} for row in plain.to_dict("records")]
    return {tuple(row[name] for name in RUN): row for row in records}


def _run_text(row: Row) -> str:
    return f"{row['section']}: {row['method']} on {row['instance']}, seed {row['seed']}"


def _shown(value: object) -> str:
    return "none" if value is None else str(value)
