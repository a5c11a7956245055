"""GuideLLM's report (benchmarks.json): requests with separate times, of one run of several.

One JSON object with ``metadata`` and ``benchmarks``, each with ``requests`` of three lists:
successful, incomplete (cut off when the run ended) and errored.  A request has ``prompt_tokens``,
``output_tokens`` and under ``info.timings`` seconds since 1970: ``request_start``,
``first_token_iteration`` and ``last_token_iteration`` (guidellm/schemas of version 0.4 and later).
Rows count over the three lists.  A sweep has several runs: one is chosen by its number (``run``).
"""

from serving.deployments import RecordedSettings
from serving.traces.benchmark_results import (
    ResultReader,
    RunRows,
    TimedRequest,
    at,
    chosen,
    text_at,
    time_between,
)
from serving.traces.exact_times import SECONDS
from serving.traces.format_reader import read_times
from serving.traces.json_readers import objects_of
from serving.traces.trace_report import SkipReason
from serving.traces.trace_stream import TraceStream

_STATUS = ("successful", "incomplete", "errored")
_ENDS = ("first_token_iteration", "last_token_iteration")


class GuideReader(ResultReader):
    """Reads reports."""

    several_runs = True
    start = "request_start"
    expects = ("metadata", "benchmarks")
    units = f"{start}: seconds"

    def read(self, stream: TraceStream, run: int | None) -> RunRows:
        """Return the requests of all three lists, and the model."""
        runs = at(objects_of(stream)[0], "benchmarks")
        if not isinstance(runs, list):
            stream.refuse("expected a list benchmarks, found none")
        labels = [text_at(each, "config", "strategy", "type_") for each in runs]
        report = chosen(stream, runs, run, labels)
        found: list[TimedRequest] = []
        for status in _STATUS:
            listed = at(report, "requests", status)
            if not isinstance(listed, list):
                stream.refuse(f"expected a list {status} of requests, found none")
            for request in listed:
                times, row = at(request, "info", "timings"), len(found) + 1
                start = time_between(0, at(times, self.start), SECONDS)
                if start is None and status == _STATUS[0]:
                    read_times(stream, [row], self.start, SECONDS, [at(times, self.start)])
                # A failed request may have none and gets the start above.
                start = start or (found and found[-1].start) or 0
                prompt, output = at(request, "prompt_tokens"), at(request, "output_tokens")
                first, last = (time_between(start, at(times, key), SECONDS) for key in _ENDS)
                reason = SkipReason.NONE if status == _STATUS[0] else SkipReason.FAILED
                found.append(TimedRequest(row, prompt, output, start, first, last, reason))
        return found, RecordedSettings(model=text_at(report, "config", "backend", "model"))


READER = GuideReader()
