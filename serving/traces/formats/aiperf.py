"""AIPerf's records (profile_export.jsonl): JSON lines with nanoseconds and tokens of each request.

Keys ``metadata`` with ``request_start_ns`` and ``benchmark_phase``, ``metrics`` with
``input_sequence_length``, ``output_sequence_length``, ``time_to_first_token`` and
``request_latency``, each a value with its unit, and ``error`` where one failed (docs of
ai-dynamo/aiperf).  Lengths are counted by its tokenizer.  Its other file,
profile_export_aiperf.json, has totals only.
"""

from typing import Any

from serving.deployments import UNSTATED
from serving.traces.benchmark_results import ResultReader, RunRows, TimedRequest, at, time_between
from serving.traces.exact_times import MILLISECONDS, SECONDS, NumericTimeReader
from serving.traces.format_reader import read_times
from serving.traces.json_readers import records_of
from serving.traces.trace_report import SkipReason
from serving.traces.trace_stream import TraceStream

_NANOSECONDS = NumericTimeReader("nanoseconds", 1)
_MICROSECONDS = NumericTimeReader("microseconds", 1000)
_UNITS = {"ns": _NANOSECONDS, "us": _MICROSECONDS, "ms": MILLISECONDS, "sec": SECONDS, "s": SECONDS}
_TOTALS = {"input_config", "request_latency"}
_LENGTHS = ("input", "output")
_ENDS = ("time_to_first_token", "request_latency")


class RecordsReader(ResultReader):
    """Reads records, and refuses totals with the name of the file that has records."""

    start = "request_start_ns"
    expects = ("metrics", "metadata")
    units = f"{start}: nanoseconds"

    def claims(self, head: str) -> bool:
        """Check if it begins as a record, or as the file of totals."""
        return super().claims(head) or self.names(head) >= _TOTALS

    def read(self, stream: TraceStream, run: int | None) -> RunRows:
        """Return the requests; the engine is not stated."""
        del run
        if self.names(stream.head) >= _TOTALS:
            stream.refuse("expected records, found totals only: they are in profile_export.jsonl")
        found = []
        for row, record in records_of(stream):
            metadata, metrics = record.get("metadata"), record.get("metrics")
            if not isinstance(metadata, dict):
                stream.refuse("expected an object metadata, found none", row)
            written = [metadata.get(self.start)]
            [start] = read_times(stream, [row], self.start, _NANOSECONDS, written)
            warm = metadata.get("benchmark_phase") == "warmup"
            reason = SkipReason.WARM_UP if warm else SkipReason.NONE
            if record.get("error") is not None or metadata.get("was_cancelled") is True:
                reason = SkipReason.FAILED
            prompt, output = (at(metrics, f"{each}_sequence_length", "value") for each in _LENGTHS)
            first, last = (_time(at(metrics, key)) for key in _ENDS)
            found.append(TimedRequest(row, prompt, output, start, first, last, reason))
        return found, UNSTATED


def _time(metric: Any) -> int | None:
    unit = _UNITS.get(str(at(metric, "unit")))
    return None if unit is None else time_between(0, at(metric, "value"), unit)


READER = RecordsReader()
