"""The result of vllm bench serve with --save-detailed: lengths, starts and errors of each request.

One JSON object with the lists ``input_lens`` and ``output_lens``, often ``errors`` (text, empty for
none) and, of later versions, ``start_times`` in seconds (vllm/benchmarks/serve.py).  A row is an
entry of these lists.  A request took its TTFT (``ttfts``, seconds) and the sum of its gaps
(``itls``, lists of seconds); ``model_id`` is the model.

Without --save-detailed the file has totals only and is refused.  With --append-result every run is
an object, one after the other; ``run`` chooses one by its number.
"""

import math
from collections.abc import Sequence
from typing import Any

from instances.batch_time import NANOSECONDS
from instances.instance import MAX_SECONDS
from serving.deployments import RecordedSettings
from serving.traces.benchmark_results import ResultReader, RunRows, TimedRequest, chosen, text_at
from serving.traces.exact_times import SECONDS
from serving.traces.format_reader import read_times
from serving.traces.json_readers import objects_of
from serving.traces.trace_report import SkipReason
from serving.traces.trace_stream import TraceStream
from support.message_text import printable

_PROMPTS, _OUTPUTS, _STARTS, _ERRORS = "input_lens", "output_lens", "start_times", "errors"
_TTFTS, _ITLS = "ttfts", "itls"
#: Totals that every result has, with the lists and without, by which it is known.
_TOTALS = frozenset(
    ("model_id", "num_prompts", "request_rate", "completed", "request_throughput", "mean_ttft_ms")
)
_FEWEST = 3


class BenchReader(ResultReader):
    """Reads objects whose lists have an entry a request."""

    several_runs = True
    start = _STARTS
    expects = (_PROMPTS, _OUTPUTS)
    units = f"{_STARTS}, where they are: seconds"

    def claims(self, head: str) -> bool:
        """Check if it begins as an object with the lengths, or with the totals of a result."""
        names = self.names(head)
        known = bool(names & set(self.expects)) or len(names & _TOTALS) >= _FEWEST
        return head.lstrip()[:1] == "{" and known

    def read(self, stream: TraceStream, run: int | None) -> RunRows:
        """Return the requests, and the model."""
        results = objects_of(stream)
        result = chosen(stream, results, run, [*map(_label, results)])
        lists: dict[str, list[Any]] = {}
        for key in (_PROMPTS, _OUTPUTS, _STARTS, _ERRORS, _TTFTS, _ITLS):
            if key in result or key in self.expects:
                column = lists[key] = _list(stream, key, result)
                n = len(lists[_PROMPTS])
                if len(column) != n:
                    expected = f"{n} entries as in {_PROMPTS}"
                    stream.refuse(f"{key}: expected {expected}, found {len(column)}")
        numbers = range(1, n + 1)
        starts: Sequence[int | None] = [None] * n
        if _STARTS in lists:
            starts = read_times(stream, numbers, _STARTS, SECONDS, lists[_STARTS])
        firsts, lasts = _measured(stream, numbers, lists)
        failed = [SkipReason.FAILED if e else SkipReason.NONE for e in lists.get(_ERRORS, [""] * n)]
        columns = (numbers, lists[_PROMPTS], lists[_OUTPUTS], starts, firsts, lasts, failed)
        return [*map(TimedRequest, *columns)], RecordedSettings(model=text_at(result, "model_id"))


def _measured(
    stream: TraceStream, numbers: Sequence[int], lists: dict[str, list[Any]]
) -> tuple[Sequence[int | None], Sequence[int | None]]:
    """Return the times of first and last tokens from the start; None without them."""
    if _TTFTS not in lists or _ITLS not in lists:
        return [None] * len(numbers), [None] * len(numbers)
    firsts = read_times(stream, numbers, _TTFTS, SECONDS, lists[_TTFTS])
    lasts = []
    for number, first, gaps in zip(numbers, firsts, lists[_ITLS], strict=True):
        timed = isinstance(gaps, list) and all(type(gap) in (int, float) for gap in gaps)
        if not timed or not all(0 <= gap <= MAX_SECONDS for gap in gaps) or sum(gaps) > MAX_SECONDS:
            found = printable(repr(gaps), 80)
            stream.refuse(f"{_ITLS}: expected a list of seconds, found {found}", number)
        lasts.append(first + round(math.fsum(gaps) * NANOSECONDS))
    return firsts, lasts


def _list(stream: TraceStream, key: str, result: dict[str, Any]) -> list[Any]:
    if _PROMPTS not in result and _OUTPUTS not in result:
        writes = "vllm bench serve writes the lists with --save-detailed"
        stream.refuse(f"expected a list {key}, found totals only: {writes}")
    if key not in result:
        stream.refuse(f"expected a list {key} (--save-detailed writes it), found none")
    if not isinstance(result[key], list):
        stream.refuse(f"{key}: expected a list, found {printable(repr(result[key]), 80)}")
    return list(result[key])


def _label(result: dict[str, Any]) -> str:
    """Return the label of a run among the others of its file."""
    parts = [text_at(result, "date"), text_at(result, "model_id")]
    parts += [f"{key} {text_at(result, key)}" for key in ("request_rate", "num_prompts")]
    return ", ".join(part for part in parts if part and not part.endswith(" "))


READER = BenchReader()
