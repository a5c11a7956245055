"""Bounds of rows that count, because their store proves them or a solver reports them.

A bound that names a proof is proved anew, from the instance and the certificate in the store.  Of
the others :func:`schedules.evidence.is_bound_believed` decides.  The user's cache folder keeps
evaluations, by the digest of all that they depend on.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

from formulations.valid.volume_bounds import volume_bound
from instances import InfeasibleInstanceError, Instance
from instances.instance_files import parse_instance
from kvopt.methods.fingerprint import files_digest
from kvopt.methods.knowledge import knowledge
from kvopt.methods.witness import trusts_solver
from kvopt.runs.row_columns import PROVED
from kvopt.runs.run_evidence import evaluate_document
from schedules import check_schedule
from schedules.evidence import COMPUTED, VOLUMES, is_bound_believed, names_proof
from schedules.schedule_files import parse_schedule
from support.json_files import write_text
from support.project_root import cache_folder

#: Sources that evaluate certificates.
VERIFIERS = (
    *(f"{each}/**/*.py" for each in ("support", "instances", "schedules", "formulations")),
    *("serving/**/*.py", "kvopt/runs/run_evidence.py", "kvopt/runs/serving_imports.py"),
)

if TYPE_CHECKING:
    import pandas as pd

    from kvopt.store.store import Store


def judge_rows(rows: pd.DataFrame, store: Store, known: Iterable[Instance] = ()) -> pd.DataFrame:
    """Return rows with ``proved``: what named proofs and certificates of best bounds prove."""
    import pandas as pd

    columns = ["bound_source", "key", "instance_sha256", "batch_time"]
    lower = rows["lower_bound"].astype("Int64")
    best = lower.eq(lower.groupby([rows[each] for each in columns[2:]]).transform("max"))
    named = rows["bound_source"].map(names_proof).astype(bool)
    judged = best.fillna(False) | (lower.notna() & named)
    judge = _Judge(store, {(each.sha256, each.time_unit): each for each in known})
    runs = zip(judged, *(rows[each] for each in columns), strict=True)
    found = [judge.proved(*run) if asked else None for asked, *run in runs]
    told = map(judge.told, *(rows[each] for each in ("method", "told", *columns[2:])))
    return rows.assign(told=list(told), **{PROVED: pd.Series(found, rows.index, dtype="Int64")})


def believed_rows(rows: pd.DataFrame) -> pd.Series:
    """Return whether the bound of each row, judged or not, counts by the rule of evidence."""
    import pandas as pd

    proved = pd.Series(None, rows.index, dtype="Int64") if PROVED not in rows else rows[PROVED]
    enough = proved.ge(rows["lower_bound"].astype("Int64")).astype(object)
    columns = (rows[each] for each in ("status", "detail", "bound_source", "method"))
    found = [
        is_bound_believed(
            *run, word=trusts_solver(method), proved=None if pd.isna(each) else bool(each)
        )
        for *run, method, each in zip(*columns, enough, strict=True)
    ]
    return pd.Series(found, rows.index, dtype=bool)


class _Judge:
    """Proves bounds of rows from the documents of their store; instances are read once."""

    def __init__(self, store: Store, known: dict[tuple[str, str], Instance]) -> None:
        self._store, self._known = store, known
        self._instance, self._volumes = cache(self._read), cache(volume_bound)

    def proved(self, source: str, key: str, sha256: str, batch_time: str) -> int:
        if (instance := self.instance(sha256, batch_time)) is None:
            return 0
        if source in COMPUTED:
            if not batch_time:
                return self._volumes(instance) if source == VOLUMES else 0
            document: dict[str, Any] | None = {"kind": source, "value": 0, "batch_time": batch_time}
        else:
            document = self._store.certificate(key)
        tel = None if batch_time else _checked_tel(self._store, key, instance)
        return remembered(instance, batch_time, tel, document)

    def instance(self, sha256: str, batch_time: str) -> Instance | None:
        """Return the instance of a row in its unit of time; None without it."""
        unit = "second" if batch_time else "round"
        found = self._known.get((sha256, unit)) or self._instance(sha256)
        return found if found is not None and found.time_unit == unit else None

    def told(self, method: str, words: str, sha256: str, batch_time: str) -> str:
        knows = knowledge(method, words)
        instance = self.instance(sha256, batch_time) if knows.lengths == "file" else None
        return words if instance is None else str(knows.on(instance))

    def _read(self, sha256: str) -> Instance | None:
        """Return the instance of a row; None without it, or where another has its place."""
        document = self._store.instance(sha256)
        with contextlib.suppress(ValueError, InfeasibleInstanceError):
            if document is not None and (found := parse_instance(document)).sha256 == sha256:
                return found
        return None


def remembered(
    instance: Instance, batch_time: str, tel: int | None, document: dict[str, Any] | None
) -> int:
    """Return the bound that a certificate proves, from the cache where it has it."""
    if document is None:
        return 0
    whole = json.dumps([_verifier(), instance.sha256, batch_time, document, tel], sort_keys=True)
    digest = hashlib.sha256(whole.encode()).hexdigest()
    with contextlib.suppress(OSError, ValueError, RuntimeError):
        return int((cache_folder("proved") / digest).read_text(encoding="ascii"))
    value = evaluate_document(instance, batch_time, tel, document)
    with contextlib.suppress(OSError, RuntimeError):
        file = cache_folder("proved") / digest
        file.parent.mkdir(parents=True, exist_ok=True)
        write_text(file, str(value))
    return value


@cache
def _verifier() -> str:
    """Return the digest of the sources that evaluate certificates."""
    return files_digest(VERIFIERS)


def _checked_tel(store: Store, key: str, instance: Instance) -> int | None:
    """Return the TEL (rounds) of a run's schedule, which a certificate may assume."""
    document = store.schedule(key)
    schedule = None if document is None else parse_schedule(document)
    usable = schedule and not schedule.easier and check_schedule(instance, schedule).valid
    return schedule.tel if schedule and usable else None
