"""The best known bound of an instance, and the share that is left to gain.

All commands take it from here, so that they give one answer: the largest bound of the command, of
the registry of best-known values, and of the default store, as far as its certificates prove it.
That store is only read, and left out if it cannot be read.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from instances import Instance
from instances.batch_time import parse_batch_time
from instances.time_unit import unit_of
from kvopt.methods.method_names import only_bounds, shown_source
from kvopt.methods.witness import trusts_solver
from kvopt.project_paths import DEFAULT_STORE
from kvopt.registry_lookup import find_registered
from kvopt.runs.row_columns import Record
from kvopt.runs.run_evidence import evaluate_document
from schedules.evidence import is_bound_believed, names_proof
from schedules.gap import gap
from serving.bounds.loads import not_covered

if TYPE_CHECKING:
    from kvopt.store import Store

#: Schedulers that bounds in seconds cover.
_COVERED = "one worker, one token per request and round; clairvoyant schedulers included"
_KEPT = "; kept tokens after evictions included"
_PAGE = "docs/bounds_in_seconds.md"


@dataclass(frozen=True)
class KnownBound:
    """A bound on the TEL (rounds or nanoseconds), its source, and its finder with the place."""

    value: int
    source: str
    origin: str = ""

    def __str__(self) -> str:
        return ", ".join(filter(None, (shown_source(self.source), self.origin)))


def best_bound(
    instance: Instance,
    batch_time: str,
    *,
    here: Iterable[KnownBound] = (),
    tel: int | None = None,
    stores: Sequence[Store] = (),
) -> KnownBound | None:
    """Return the largest known bound of an instance; None without one.

    The first of equal ones is returned: computed by the command (``here``), of the registry, of the
    open ``stores``, of the default store.  ``tel`` is of a checked schedule that keeps no tokens,
    which certificates in rounds may assume.  The batch time is empty for an instance in rounds.
    """
    found = list(here)
    if known := find_registered(instance):
        found.append(KnownBound(known.lower, "the registry"))
    best = max(found, key=lambda each: each.value, default=None)
    for store in stores:
        best = _stored(store, instance, batch_time, tel, best)
    default = DEFAULT_STORE.absolute()
    if default.is_file() and all(Path(store.name).absolute() != default for store in stores):
        # No fault of that file stops a command.
        with suppress(Exception):
            from kvopt.store import Store  # a quarter of a second

            with closing(Store(DEFAULT_STORE, readonly=True)) as store:
                best = _stored(store, instance, batch_time, tel, best)
    return best


def bound_runs(store: Store, keys: Collection[str] | None) -> list[str]:
    """Return the keys of a store's runs that make bounds only, or better ones than the named."""
    rows = store.select("key", "method", "lower_bound", "instance_sha256", "batch_time")
    own, most = set(keys or ()), dict[tuple[str, ...], int]()
    for key, _, bound, *place in rows:
        if key in own:
            most[tuple(place)] = max(bound or 0, most.get(tuple(place), 0))
    better = [row for row in rows if only_bounds(row[1]) or (row[2] or 0) > most.get(row[3:], 0)]
    return [key for key, *_, sha, timed in better if key not in own and (sha, timed) in most]


def bound_of_run(
    instance: Instance, record: Record, certificate: dict[str, Any] | None = None
) -> Iterator[KnownBound]:
    """Yield the bound of a run that has just ended, if it counts.

    Where :func:`schedules.evidence.is_bound_believed` takes no word, as of a custom method, it is
    what the certificate proves.
    """
    value, source = record.lower_bound, record.bound_source
    # Proofs of this run were evaluated at its end (``kvopt.runs.state``).
    stated = (record.status, record.detail, source)
    word, proved = trusts_solver(record.method), names_proof(source) or None
    if not is_bound_believed(*stated, word=word, proved=proved):
        value = evaluate_document(instance, record.batch_time, None, certificate)
        source = str((certificate or {}).get("kind", ""))
    if value:
        yield KnownBound(value, source, f"computed here in {record.seconds:.1f} s")


def share_left(tel: int, bound: int) -> float | None:
    """Return the share of a TEL that any schedule saves at most; None for nonsense."""
    return None if bound > tel else gap(tel, bound)


def percent_left(share: float) -> str:
    """Return a share in percent with one digit, rounded up."""
    tenths = math.ceil(1000 * share - 1e-9)
    return f"{tenths // 10}.{tenths % 10}"


def coverage(instance: Instance, batch_time: str) -> str:
    """Return one sentence on the schedulers that a bound in seconds covers."""
    exception = not_covered(instance, parse_batch_time(batch_time))
    return f"{_COVERED}{f'; {exception}' if exception else _KEPT} ({_PAGE})"


def bound_text(bound: KnownBound | None, batch_time: str) -> str:
    """Return a bound with its unit and its source, for every command."""
    if bound is None:
        return "none"
    return f"{lower_text(bound.value, batch_time)}  (from {bound})"


def lower_text(value: int, batch_time: str) -> str:
    """Return a lower bound (rounds or nanoseconds) with its unit, rounded down."""
    unit = unit_of(batch_time)
    return unit.text(value - value % (unit.ticks // 1000 or 1))


def _stored(
    store: Store, instance: Instance, batch_time: str, tel: int | None, best: KnownBound | None
) -> KnownBound | None:
    """Return the best bound that a store's certificates prove, or ``best`` if none is better."""
    from kvopt.store.proved_bounds import remembered  # only a store needs it

    columns = ("lower_bound", "bound_source", "method", "seconds", "key")
    rows = store.select(*columns, instance_sha256=instance.sha256, batch_time=batch_time)
    claims = [row for row in rows if row[0] is not None]
    for claimed, source, method, seconds, key in sorted(claims, key=lambda row: -row[0]):
        if best is not None and claimed <= best.value:
            break
        value = min(claimed, remembered(instance, batch_time, tel, store.certificate(key)))
        if value and (best is None or value > best.value):
            best = KnownBound(value, source, f"{method} in {seconds:.1f} s, {store.name}")
    return best
