"""The origin of rows and the number of stale ones, as stated under the title of their page.

A row is stale if the digest of its method's rooms is another one now
(:func:`kvopt.methods.fingerprint.fingerprint`), or if it does not name one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pandas as pd

from kvopt.methods.fingerprint import fingerprint
from kvopt.methods.grammar import MethodError, read_method
from reports.markdown import sentence_text
from reports.verdict import Name, Sentence
from support.text import counted, one_line
from support.usage import complain

_STATED = re.compile(r"^Stale: ([\d,]+|none) of ", re.MULTILINE)
_DAY = re.compile(r"\d{4}-\d\d-\d\dT")
#: Most commits, machines and versions that are named; the other ones are counted.
_MOST = 3


def told(rows: pd.DataFrame, stale: int) -> str:
    """Return of what rows are, and how many are stale, as two paragraphs of Markdown."""
    return f"{sentence_text(origin(rows))}\n\n{staleness(len(rows), stale)}\n"


def staleness(total: int, stale: int, what: str = "row") -> str:
    """Return how many of all are stale as a sentence, which :func:`stated` reads."""
    number = f"{stale:,}" if stale else "none"
    return (
        f"Stale: {number} of {counted(total, what)}, whose method's sources have changed since, "
        "or are not named."
    )


def origin(rows: pd.DataFrame, what: str = "Rows") -> Sentence:
    """Return of which commits, days, machines and versions rows are, and how long they took."""
    days = sorted({day[:10] for day in rows["finished_utc"] if _DAY.match(day)})
    machines = zip(rows["cpu"], rows["cores"], strict=True)
    parts = [
        *_listed("; commit ", (each[:12] for each in rows["git_commit"])),
        *(["; ", " to ".join(dict.fromkeys([days[0], days[-1]]))] if days else []),
        *_listed("; ", (f"{cpu}, {counted(int(n), 'core')}" for cpu, n in machines if cpu)),
        *_listed("; Python ", rows["python"]),
        *_listed("; ", (each for each in rows["solver"] if re.search(r"\d", each))),
    ]
    named = int(rows["git_commit"].ne("").sum())
    if 0 < named < len(rows):
        parts.insert(0, f"; {len(rows) - named:,} without a commit")
    hours = float(rows["total_seconds"].fillna(0).sum()) / 3600
    return Sentence((f"{what}: {len(rows):,}", *parts, f"; {hours:.1f} hours in all."))


def stated(page: str) -> int | None:
    """Return how many rows a page calls stale, None where it says nothing of it."""
    found = _STATED.search(page)
    if found is None:
        return None
    return 0 if found[1] == "none" else int(found[1].replace(",", ""))


def stale_rows(rows: pd.DataFrame) -> int:
    """Return how many rows are stale; of files of one's own nothing is known."""
    digests = rows["code"] if "code" in rows else pd.Series("", index=rows.index)
    pairs = zip(map(_digest, rows["method"]), digests, strict=True)
    return sum(now not in (None, before) for now, before in pairs)


def to_be_stated(program: str, page: Path, total: int, now: int) -> int:
    """Return the count that a page is to state when it is checked; complain of a wrong one.

    A page that names stale rows may have more by now; one that calls itself current may have none.
    """
    before = stated(page.read_text(encoding="utf-8")) if page.exists() else None
    if before == 0 and now:
        complain(program, f"{page}: it calls itself current, but {now:,} of {total:,} are stale")
    return before or now


@cache
def _digest(method: str) -> str | None:
    """Return the digest of a method's sources, empty for one that there is no more."""
    try:
        read = read_method(method, planned=True)
    except MethodError:
        return ""
    return None if read.kind == "file" else fingerprint(read)


def _listed(what: str, values: Iterable[str]) -> list[str]:
    """Return the values that most rows have, most first, and how many others there are."""
    counts = Counter(value for value in values if value)
    parts = [
        piece for value, _ in counts.most_common(_MOST) for piece in (", ", Name(one_line(value)))
    ]
    more = [f" and {len(counts) - _MOST} more"] if len(counts) > _MOST else []
    return [what, *parts[1:], *more] if parts else []
