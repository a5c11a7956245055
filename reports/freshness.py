"""The origin of rows and their age, as their page states both.

A row is stale if its method's sources have another digest today
(:func:`kvopt.methods.fingerprint.fingerprint`), or if the row does not name one.
"""

import re
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pandas as pd

from kvopt.methods.fingerprint import fingerprint
from kvopt.methods.grammar import MethodError, read_method
from reports.markdown import sentence_text
from reports.verdict_sentences import RowName, Sentence
from support.message_text import one_line, plural
from support.usage_errors import complain

_STATED = re.compile(r"^(?:All|([\d,]+) of) .* used (?:the present|an older) version of", re.M)
_DAY = re.compile(r"\d{4}-\d\d-\d\dT")
#: Most commits, machines and versions that are named; the other ones are counted.
_MOST = 3


def origin_text(rows: pd.DataFrame, stale: int) -> str:
    """Return origin and age of rows as a section of Markdown."""
    return f"## Rows\n\n{age_text(len(rows), stale)}\n\n{sentence_text(origin(rows))}\n"


def age_text(total: int, stale: int, what: str = "run") -> str:
    """Return how many of all are stale, as a sentence that :func:`stated` reads."""
    code = f"version of {'its' if (stale or total) == 1 else 'their'} method's code"
    if not stale:
        return f"All {plural(total, what)} used the present {code}."
    return f"{stale:,} of {plural(total, what)} used an older {code}; new runs may differ."


def origin(rows: pd.DataFrame, what: str = "Rows") -> Sentence:
    """Return commits, days, machines and versions of rows, and their time in all."""
    days = sorted({day[:10] for day in rows["finished_utc"] if _DAY.match(day)})
    machines = zip(rows["cpu"], rows["cores"], strict=True)
    named = int(rows["git_commit"].ne("").sum())
    partly = [f"; {len(rows) - named:,} without a commit"] if 0 < named < len(rows) else []
    seconds = float(rows["total_seconds"].fillna(0).sum())
    units = (("hours", 3600), ("minutes", 60), ("seconds", 1))
    unit, size = next((each for each in units if seconds >= each[1]), units[-1])
    parts = [
        f"{what}: {len(rows):,}",
        *partly,
        *_listed("; commit ", (each[:12] for each in rows["git_commit"])),
        *(["; ", " to ".join(dict.fromkeys([days[0], days[-1]]))] if days else []),
        *_listed("; ", (f"{cpu}, {plural(int(n), 'core')}" for cpu, n in machines if cpu)),
        *_listed("; Python ", rows["python"]),
        *_listed("; ", (each for each in rows["solver"] if re.search(r"\d", each))),
        f"; {seconds / size:.1f} {unit} in all.",
    ]
    return Sentence(tuple(parts))


def stated(page: str) -> int | None:
    """Return how many rows a page calls stale, None where it says nothing of it."""
    found = _STATED.search(page)
    return found and int((found[1] or "0").replace(",", ""))


def stale_rows(rows: pd.DataFrame) -> int:
    """Return how many rows are stale; custom files have no age."""
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
    """Return the digest of a method's sources, empty for a method that is gone."""
    try:
        read = read_method(method, planned=True)
    except MethodError:
        return ""
    return None if read.kind == "file" else fingerprint(read)


def _listed(start: str, values: Iterable[str]) -> list[str]:
    """Return the values of most rows, most first, and the number of the others."""
    counts = Counter(filter(None, values))
    parts: list[str] = []
    for value, _ in counts.most_common(_MOST):
        parts += [", " if parts else start, RowName(one_line(value))]
    more = [f" and {len(counts) - _MOST} more"] if len(counts) > _MOST else []
    return parts + more
