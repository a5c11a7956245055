"""LLMServingSim's measured runs: requests.jsonl, or its folder, with meta.json.

Keys ``input_toks``, ``output_toks``, ``arrival_time`` (seconds on the wall clock), ``queued_ts``,
``first_token_ts`` and ``last_token_ts`` (seconds on the engine's clock), as the bench folder of
casys-kaist/LLMServingSim records vLLM.  The least time from an arrival to its queueing is taken as
the difference of the clocks.  The other file has the engine's settings.
"""

from pathlib import Path

from serving.deployments import UNSTATED, RecordedSettings
from serving.traces.benchmark_results import ResultReader, TimedRequest, at, text_at, time_between
from serving.traces.exact_times import SECONDS
from serving.traces.format_reader import read_times
from serving.traces.json_readers import objects_of, records_of
from serving.traces.trace_stream import TraceStream
from support.message_text import printable

_ENDS = ("first_token_ts", "last_token_ts")


class RecordedReader(ResultReader):
    """Reads requests with times on two clocks."""

    start = "arrival_time"
    expects = ("input_toks", "output_toks", *_ENDS, "queued_ts", start)
    units = f"{start}: seconds"

    def read(
        self, stream: TraceStream, run: int | None
    ) -> tuple[list[TimedRequest], RecordedSettings]:
        """Return the requests, with the wall clock's arrivals."""
        del run
        listed = [*records_of(stream)]
        if not listed:
            return [], UNSTATED
        rows, records = zip(*listed, strict=True)
        written = [each.get(self.start) for each in records]
        arrivals = read_times(stream, rows, self.start, SECONDS, written)
        queued = [time_between(0, each.get("queued_ts"), SECONDS) for each in records]
        # A 0 marks a request that was never queued.
        waits = [queue - time for queue, time in zip(queued, arrivals, strict=True) if queue]
        if not waits:
            stream.refuse("queued_ts: expected seconds in some row, found none")
        lag = min(waits)
        requests = []
        for (row, record), arrival in zip(listed, arrivals, strict=True):
            first, last = (time_between(arrival + lag, record.get(key), SECONDS) for key in _ENDS)
            prompt, output = record.get("input_toks"), record.get("output_toks")
            requests.append(TimedRequest(row, prompt, output, arrival, first, last))
        path = stream.path.with_name("meta.json")
        return requests, _settings(path) if path.is_file() else UNSTATED


def _settings(path: Path) -> RecordedSettings:
    with TraceStream(path) as stream:
        meta = objects_of(stream)[0]

    def count(*keys: str) -> int | None:
        value = at(meta, *keys)
        if value is not None and (type(value) is not int or not 0 < value < 2**40):
            found = printable(repr(value), 60)
            stream.refuse(f"{'.'.join(keys)}: expected a number of at least 1, found {found}")
        return value

    return RecordedSettings(
        blocks=count("kv_cache", "num_gpu_blocks"),
        block=count("kv_cache", "block_size"),
        running=count("engine_kwargs", "max_num_seqs"),
        budget=count("engine_kwargs", "max_num_batched_tokens"),
        replicas=count("engine_kwargs", "data_parallel_size"),
        gpu=text_at(meta, "hardware", "device_name"),
        model=text_at(meta, "model"),
    )


READER = RecordedReader()
