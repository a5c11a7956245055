"""The result of vllm bench serve with --save-detailed: lengths, starts and errors of each request.

One JSON object with the lists ``input_lens`` and ``output_lens``, where there are any ``errors``
(text, empty where all went well) and, of later versions, ``start_times`` in seconds
(vllm/benchmarks/serve.py).  A row is an entry of these lists.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from instances.telling import printable
from instances.traces.reader import Rows, TokenCount, make_rows
from instances.traces.records import keys_of, single_object
from instances.traces.report import Reason
from instances.traces.stream import TraceStream
from instances.traces.table import read_times
from instances.traces.times import SECONDS

_PROMPTS, _OUTPUTS, _STARTS, _ERRORS = "input_lens", "output_lens", "start_times", "errors"


@dataclass(frozen=True)
class ResultReader:
    """Reads one object whose lists have an entry a request; it is read as a whole."""

    expects: tuple[str, ...] = (_PROMPTS, _OUTPUTS)
    units: str = f"{_STARTS}, where they are: seconds"
    counts_text: bool = False

    def finds(self, head: str) -> set[str]:
        """Return which of the lists the beginning shows."""
        return keys_of(head) & set(self.expects)

    def claims(self, head: str) -> bool:
        """Tell whether it begins as an object with the lengths; the second list may come late."""
        return head.lstrip()[:1] == "{" and bool(self.finds(head))

    def rows(self, stream: TraceStream, count: TokenCount) -> Iterator[Rows]:
        """Yield all rows at once; see :class:`instances.traces.reader.Reader`."""
        del count
        result = single_object(stream)
        lists: dict[str, list[Any]] = {}
        for key in (_PROMPTS, _OUTPUTS, _STARTS, _ERRORS):
            if key in result or key in self.expects:
                lists[key] = _list(stream, key, result)
        n = len(lists[_PROMPTS])
        for key, column in lists.items():
            if len(column) != n:
                stream.refuse(f"{key}: expected {n} entries as in {_PROMPTS}, found {len(column)}")
        if not n:
            return
        numbers = range(1, n + 1)
        times = None
        if _STARTS in lists:
            times = read_times(stream, numbers, _STARTS, SECONDS, lists[_STARTS])
        errors = lists.get(_ERRORS, [""] * n)
        reasons = [Reason.FAILED if error else Reason.NONE for error in errors]
        yield make_rows(numbers, times, lists[_PROMPTS], lists[_OUTPUTS], reasons)


def _list(stream: TraceStream, key: str, result: dict[str, Any]) -> list[Any]:
    if key not in result:
        stream.refuse(f"expected a list {key} (--save-detailed writes it), found none")
    if not isinstance(result[key], list):
        stream.refuse(f"{key}: expected a list, found {printable(repr(result[key]), 80)}")
    return list(result[key])


READER = ResultReader()
