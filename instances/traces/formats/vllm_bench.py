"""The result of vllm bench serve with --save-detailed: lengths, starts and errors of each request.

One JSON object with the lists ``input_lens`` and ``output_lens``, where there are any ``errors``
(text, empty where all went well) and, of later versions, ``start_times`` in seconds
(vllm/benchmarks/serve.py).  A row is an entry of these lists; they stand in the order in which
requests were asked for, which need not be that in which they started, so rows are sorted.

Without --save-detailed the file has totals only, and is refused with that word.  With
--append-result every run is an object, one after the other: one of several is chosen by its number
(``run``), since each began with an empty server, and at times of its own.

``ttfts`` (seconds) and ``itls`` (lists of seconds) are what was measured: a request took its TTFT
and the sum of its gaps.  ``model_id`` is what was measured.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from instances.batch_time import NANOSECONDS
from instances.deployments import EngineSettings
from instances.model import MAX_SECONDS
from instances.traces.measured import Measured
from instances.traces.numbers import SECONDS, whole
from instances.traces.reader import Reader, Rows, TokenCount, make_rows, read_times
from instances.traces.records import keys_of, objects_of
from instances.traces.report import Reason
from instances.traces.stream import TraceStream
from support.text import printable

_PROMPTS, _OUTPUTS, _STARTS, _ERRORS = "input_lens", "output_lens", "start_times", "errors"
_TTFTS, _ITLS = "ttfts", "itls"
#: Totals that every result has, with the lists and without, by which it is known.
_TOTALS = frozenset(
    ("model_id", "num_prompts", "request_rate", "completed", "request_throughput", "mean_ttft_ms")
)
_FEWEST = 3
#: Most runs that a complaint lists.
_LISTED = 8


@dataclass(frozen=True)
class ResultReader(Reader):
    """Reads objects whose lists have an entry a request; the file is read as a whole.

    Attributes
    ----------
    run
        Which of the objects, from 1; None for the only one.
    """

    run: int | None = None
    expects = (_PROMPTS, _OUTPUTS)
    units = f"{_STARTS}, where they are: seconds"

    def of_run(self, run: int) -> Reader:
        """Return the reader of one of several runs."""
        return replace(self, run=run)

    def names(self, head: str) -> set[str]:
        """Return the keys that the beginning shows."""
        return keys_of(head)

    def claims(self, head: str) -> bool:
        """Tell whether it begins as an object with the lengths, or with the totals of a result."""
        known = bool(keys_of(head) & set(self.expects)) or len(keys_of(head) & _TOTALS) >= _FEWEST
        return head.lstrip()[:1] == "{" and known

    def rows(self, stream: TraceStream, count: TokenCount) -> Iterator[Rows]:
        """Yield all rows at once; see :class:`instances.traces.reader.Reader`."""
        del count
        result = self._chosen(stream, objects_of(stream))
        lists: dict[str, Sequence[Any]] = {
            key: _list(stream, key, result)
            for key in (_PROMPTS, _OUTPUTS, _STARTS, _ERRORS, _TTFTS, _ITLS)
            if key in result or key in self.expects
        }
        n = len(lists[_PROMPTS])
        for key, column in lists.items():
            if len(column) != n:
                stream.refuse(f"{key}: expected {n} entries as in {_PROMPTS}, found {len(column)}")
        if not n:
            return
        numbers = list(range(1, n + 1))
        notes: tuple[str, ...] = ()
        if _STARTS in lists:
            lists[_STARTS] = times = read_times(stream, numbers, _STARTS, SECONDS, lists[_STARTS])
            numbers.sort(key=lambda number: times[number - 1])
            lists = {key: [column[row - 1] for row in numbers] for key, column in lists.items()}
            notes = _late(sum(each < before for before, each in pairwise(times)))
        reasons = [Reason.FAILED if e else Reason.NONE for e in lists.get(_ERRORS, [""] * n)]
        rows = make_rows(numbers, lists.get(_STARTS), lists[_PROMPTS], lists[_OUTPUTS], reasons)
        yield replace(
            rows,
            settings=EngineSettings(model=_text(result, "model_id")),
            notes=notes,
            measured=_measured(stream, numbers, lists),
            lacks="" if _STARTS in lists else _STARTS,
        )

    def _chosen(self, stream: TraceStream, results: list[dict[str, Any]]) -> dict[str, Any]:
        chosen = self.run or 1
        if chosen > len(results) or (self.run is None and len(results) > 1):
            listed = [f"{k} ({_told(each)})" for k, each in enumerate(results[:_LISTED], 1)]
            listed += [f"{len(results) - _LISTED} more"] if len(results) > _LISTED else []
            expected = "one run (--run K)" if self.run is None else f"run {self.run}"
            stream.refuse(f"expected {expected}, found {len(results)}: {', '.join(listed)}")
        return results[chosen - 1]


def _late(late: int) -> tuple[str, ...]:
    """Return the note on rows that start before the one above; none where all are in order."""
    rows = "row starts" if late == 1 else "rows start"
    note = f"{_STARTS}: {late:,} {rows} before the one above: sorted by start"
    return (note,) if late else ()


def _measured(
    stream: TraceStream, numbers: Sequence[int], lists: dict[str, Sequence[Any]]
) -> Measured | None:
    """Return what was measured; None where the file lacks it, or nothing was streamed."""
    if _TTFTS not in lists or _ITLS not in lists:
        return None
    firsts = read_times(stream, numbers, _TTFTS, SECONDS, lists[_TTFTS])
    if not any(firsts):
        return None
    gaps = []
    for number, each in zip(numbers, lists[_ITLS], strict=True):
        gaps.append(_sum(each))
        if not 0 <= gaps[-1] <= MAX_SECONDS:
            stream.row = number
            found = printable(repr(each), 80)
            stream.refuse(f"{_ITLS}: expected a list of seconds, found {found}")
    after = np.array([round(gap * NANOSECONDS) for gap in gaps], np.int64)
    made = np.array([whole(each) or 0 for each in lists[_OUTPUTS]], np.int64)
    first = np.array(firsts, np.int64)
    return Measured(first, first + after, made)


def _sum(gaps: Any) -> float:
    """Return the sum of some seconds; negative where they are none."""
    if not isinstance(gaps, list) or not all(type(gap) in (int, float) for gap in gaps):
        return -1.0
    if not all(0 <= gap <= MAX_SECONDS for gap in gaps):
        return -1.0
    return math.fsum(gaps)


def _list(stream: TraceStream, key: str, result: dict[str, Any]) -> list[Any]:
    if key not in result:
        stream.refuse(
            f"expected a list {key}, found totals only: vllm bench serve writes the lists with "
            "--save-detailed"
            if _PROMPTS not in result and _OUTPUTS not in result
            else f"expected a list {key} (--save-detailed writes it), found none"
        )
    if not isinstance(result[key], list):
        stream.refuse(f"{key}: expected a list, found {printable(repr(result[key]), 80)}")
    return list(result[key])


def _told(result: dict[str, Any]) -> str:
    """Return what tells a run from the others of its file."""
    parts = [_text(result, "date"), _text(result, "model_id")]
    parts += [f"{key} {_text(result, key)}" for key in ("request_rate", "num_prompts")]
    return ", ".join(part for part in parts if part and not part.endswith(" "))


def _text(result: dict[str, Any], key: str) -> str:
    value = result.get(key)
    plain = isinstance(value, str | int | float) and not isinstance(value, bool)
    return printable(str(value), 60) if plain else ""


READER = ResultReader()
