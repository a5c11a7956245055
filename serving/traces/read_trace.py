"""The one way from a trace to an instance, for commands, API, suites and sweeps."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from instances.arrivals import as_rounds, as_seconds, times_at_rate
from instances.bulk_requests import build_requests
from instances.families.draws import Draws
from instances.instance import MAX_ARRIVAL, MAX_TOKENS, Instance
from instances.instance_files import read_instance
from instances.instance_names import IN_FOLDER, trace_file
from serving.batch_time import DEFAULT, read_batch_time
from serving.deployments import UNSTATED, RecordedSettings
from serving.traces.csv_reader import header_of
from serving.traces.format_reader import TraceRows, shared_prefixes
from serving.traces.formats import Format, formats
from serving.traces.json_readers import WORDS_NOTE
from serving.traces.trace_options import TraceOptionError, TraceOptions, in_nanoseconds
from serving.traces.trace_report import Ints, SkippedRows, SkipReason, TraceError, TraceReport
from serving.traces.trace_stream import TraceStream, first_object
from support.message_text import plural, printable, unknown_name
from support.progress import count_progress

#: Most requests of an instance from a trace; they take some gigabytes.
MOST_REQUESTS = 10**7
#: Suffixes that no instance file has.
_SUFFIXES = (".csv", ".jsonl", ".gz")
#: The formats that a message proposes for a custom trace, and their unit of arrivals.
_PLAINEST = {"columns": ("vidur", "seconds"), "keys": ("mooncake", "whole milliseconds")}
_SEPARATED = re.compile(r"[;\t|]")


def read_input(
    path: str | Path, options: TraceOptions | None = None, name: str | None = None
) -> tuple[Instance, TraceReport | None]:
    """Read an instance file, or a trace with its report; the beginning shows which.

    Options of a trace with an instance file raise a :class:`TraceOptionError`.  Messages call the
    file ``name``, by default its path.
    """
    wanted = options or TraceOptions()
    if is_trace(path, wanted):
        return read_trace(path, wanted, name)
    given = list(wanted.given)
    shown = printable(str(path) if name is None else name)
    refusal = f"{', '.join(given)}: goes with a trace, {shown} is an instance file"
    # The memory of the file may be given.
    if given not in ([], ["memory"]):
        raise TraceOptionError(refusal)
    instance = read_instance(path, name)
    if given and wanted.memory != instance.memory:
        raise TraceOptionError(f"{refusal} of {instance.memory:,} tokens")
    return instance, None


def is_trace(path: str | Path, options: TraceOptions | None = None) -> bool:
    """Check if a file is a trace and no instance: by its beginning, its name, or the options."""
    given = bool((options or TraceOptions()).given)
    if options is not None and options.format is not None:
        return True
    if not os.path.isfile(trace_file(path)):
        # A stream can be read only once, a folder not at all.
        return given and os.path.exists(path)
    head = _head(path)
    if _begins_instance(head):
        return False
    if any(each.reader.claims(head) for each in formats().values()):
        return True
    # The beginning of a damaged file shows nothing.
    return given or (Path(path).suffix in _SUFFIXES and not str(path).endswith(".json.gz"))


def is_instance_file(path: str | Path) -> bool:
    """Check if a file begins as an instance of kvopt."""
    return os.path.isfile(path) and _begins_instance(_head(path))


def _begins_instance(head: str) -> bool:
    found, _ = first_object(head)
    schema = (found.get("schema") or "").startswith("kvopt.instance/")
    return schema or {"memory", "requests"} <= found.keys()


def _head(path: str | Path) -> str:
    """Return the beginning of a file, empty if the file cannot be read."""
    try:
        with TraceStream(path) as stream:
            return stream.head
    except TraceError:
        return ""


def read_trace(
    path: str | Path, options: TraceOptions, name: str | None = None
) -> tuple[Instance, TraceReport]:
    """Read a trace of one of :func:`serving.traces.formats.formats`; messages call it ``name``.

    Requests have the trace's order and ids 0, 1, ...  Arrivals count from the first kept request or
    the window's start: in seconds, in rounds with ``round_seconds``, and all at round 0 for a trace
    without arrivals and without a rate.

    Raises :class:`TraceError` if the file or a row cannot be read or no request is left, and
    :class:`TraceOptionError` if the memory is missing or an option does not go with the format.
    """
    with TraceStream(path, name) as stream:
        form = _format(stream, options)
        selection = _Selection(options, stream)
        stretches = form.reader.rows(stream, options)
        for rows in count_progress(stretches, "stretches of the trace read"):
            if not selection.take(rows):
                break
    return _made(form, selection)


def _format(stream: TraceStream, options: TraceOptions) -> Format:
    known, head = formats(), stream.head
    claimed = [name for name, each in known.items() if each.reader.claims(head)]
    if options.format is not None:
        claimed = [options.format]
        if options.format not in known:
            raise TraceOptionError(unknown_name("format", options.format, known))
    elif len(claimed) > 1:
        names = ", ".join(claimed)
        raise TraceOptionError(f"format: expected one of {names} (--format), since all fit")
    elif _begins_instance(head):
        raise TraceError(f"{printable(stream.label)}: expected a trace, found an instance file")
    elif not claimed:
        stream.refuse(_unknown(head))
    form = known[claimed[0]]
    if options.tokenizer is not None and not form.reader.counts_text:
        raise TraceOptionError(f"tokenizer: goes with text, {form.name} states tokens")
    if options.run is not None and not form.reader.several_runs:
        raise TraceOptionError(f"run: goes with files of several runs, {form.name} has none")
    return form


def _unknown(head: str) -> str:
    """Return the complaint about a beginning that no reader knows."""
    line, columns = head.partition("\n")[0], header_of(head)
    if len(columns) == 1 and _SEPARATED.search(line):
        return f"expected commas as separator, found {printable(line, 120)}"
    kind, names = ("columns", columns) if columns else ("keys", list(first_object(head)[0]))
    found = printable(", ".join(names) or line, 120)
    name, unit = _PLAINEST[kind]
    plain = ",".join(formats()[name].reader.expects)
    return (
        f"expected the {kind} of a format of kvopt convert --list (--format NAME), found {found}; "
        f"or rename yours to {plain} (arrival in {unit}, prompt and output in tokens)"
    )


@dataclass
class _Selection:
    """The selected rows, some of which become requests."""

    options: TraceOptions
    stream: TraceStream
    kept: int = 0
    settings: RecordedSettings = UNSTATED
    first: int | None = None
    last: int | None = None
    parts: list[TraceRows] = field(default_factory=list)

    @property
    def label(self) -> str:
        return printable(self.stream.label)

    @property
    def memory(self) -> int:
        """M: the given one, or the memory of the recorded engine."""
        if self.options.memory is not None:
            return self.options.memory
        blocks, block = self.settings.blocks, self.settings.block
        if not blocks or not block:
            served = read_batch_time(DEFAULT).served
            assert served is not None
            raise TraceOptionError(
                f"{self.label}: a trace states no memory, expected one in tokens (--memory M); "
                f"{served}, whose batch time is the default, holds {served.memory.tokens:,}, kvopt "
                "memory computes others"
            )
        if blocks * block > MAX_TOKENS:
            raise TraceOptionError(
                f"{self.label}: expected at most {MAX_TOKENS:,} tokens of memory, found {blocks:,} "
                f"blocks of {block:,} (--memory M takes another)"
            )
        return blocks * block

    def take(self, rows: TraceRows) -> bool:
        """Select rows of a stretch; return True if more may follow."""
        self.settings = rows.settings
        start, end, more = 0, len(rows.numbers), True
        prompts, outputs, reasons = rows.prompts, rows.outputs, rows.reasons
        for reason, fault in (
            (SkipReason.NEGATIVE, (prompts < 0) | (outputs < 0)),
            (SkipReason.NO_OUTPUT, outputs == 0),
            (SkipReason.OVER_MEMORY, prompts + outputs > self.memory),
        ):
            reasons[fault & (reasons == SkipReason.NONE)] = reason
        if rows.times is not None:
            self._check_order(rows.numbers, rows.times)
            sound = np.flatnonzero(np.isin(reasons, [SkipReason.NONE, SkipReason.OVER_MEMORY]))
            self.last = int(rows.times[-1])
            if self.first is None and len(sound):
                self.first = int(rows.times[sound[0]])
            if self.options.window is not None:
                # No row is within before the first request.
                first = self.last + 1 if self.first is None else self.first
                window = [first + in_nanoseconds(each) for each in self.options.window]
                start, end = np.searchsorted(rows.times, window).tolist()
                more = end == len(rows.numbers)
        elif self.options.window is not None:
            raise TraceOptionError(f"window: {self.stream.label} has no arrivals")
        kept, limit = np.flatnonzero(reasons[start:end] == SkipReason.NONE), self.options.limit
        if limit is not None and len(kept) >= limit - self.kept:
            kept, more = kept[: limit - self.kept], False
            end = start + int(kept[-1]) + 1
        self.kept += len(kept)
        if self.kept > MOST_REQUESTS:
            raise TraceError(
                f"{self.label}: expected at most {MOST_REQUESTS:,} requests, found more (--limit "
                "takes the first)"
            )
        self.parts.append(rows.take(slice(start, end)))
        return more

    def _check_order(self, numbers: Ints, times: Ints) -> None:
        before = np.append(times[:1] if self.last is None else self.last, times[:-1])
        back = np.flatnonzero(times < before)
        if len(back):
            seconds = int(before[back[0]] - times[back[0]]) / 1e9
            expected = f"expected rows in the order of arrival, found one {seconds:g} s before the "
            self.stream.refuse(f"{expected}row above it", int(numbers[back[0]]))

    def refuse_empty(self, rows: int, skipped: Sequence[SkippedRows]) -> None:
        """Refuse a trace without a request, with the cause."""
        reason = "row 2: expected a request, found the end of the file"
        if skipped:
            reason = f"no request is left of {rows:,} rows: {'; '.join(map(str, skipped))}"
        elif self.options.window is not None and self.last is not None:
            last = 0.0 if self.first is None else (self.last - self.first) / 1e9
            reason = f"no row is within the window; the last arrives at {last:g} s"
        raise TraceError(f"{self.label}: {reason}")

    def times_of(self, rows: TraceRows) -> list[int] | None:
        """Return arrivals in nanoseconds: drawn ones, or from the first or the window's start."""
        if self.options.rate is not None:
            draws = Draws(self.options.arrival_seed)
            try:
                return times_at_rate(draws, len(rows.numbers), self.options.rate)
            except ValueError as error:
                raise TraceOptionError(str(error)) from None
        if rows.times is None:
            return None
        base = int(rows.times[0])
        if self.options.window is not None and self.first is not None:
            base = self.first + in_nanoseconds(self.options.window[0])
        return [each - base for each in rows.times.tolist()]


def _made(form: Format, selection: _Selection) -> tuple[Instance, TraceReport]:
    options, stream, settings = selection.options, selection.stream, selection.settings
    parts, skipped = selection.parts, []
    rows_read = sum(len(each.numbers) for each in parts)
    for reason in [*SkipReason][1:]:
        numbers = [row for each in parts for row in each.numbers[each.reasons == reason].tolist()]
        if numbers:
            skipped.append(SkippedRows(reason, len(numbers), min(numbers)))
    skipped.sort(key=lambda each: each.first_row)
    if not selection.kept:
        selection.refuse_empty(rows_read, skipped)
    rows = TraceRows.joined([x.take(np.flatnonzero(x.reasons == SkipReason.NONE)) for x in parts])
    times = selection.times_of(rows)
    # Latencies at drawn arrivals would be of another load.
    warning, measured = "", rows.measured if options.rate is None else None
    if rows.lacks and options.rate is None:
        unseen = ", and what was measured is not shown" if measured else ""
        warning = (
            f"no {rows.lacks} in the file: all requests arrive at round 0, in rounds and not in "
            f"seconds{unseen} (--rate draws arrivals)"
        )
    arrivals: list[int] | list[int | float] = [0] * selection.kept
    time_unit: Literal["round", "second"] = "round"
    if times is not None and options.round_seconds is None:
        arrivals, time_unit = as_seconds(times), "second"
    elif times is not None and options.round_seconds is not None:
        arrivals = as_rounds(times, max(in_nanoseconds(options.round_seconds), 1))
        if arrivals[-1] > MAX_ARRIVAL:
            expected = f"round_seconds: expected rounds up to {MAX_ARRIVAL}"
            raise TraceOptionError(f"{expected}, found {arrivals[-1]}")
    elif options.round_seconds is not None:
        raise TraceOptionError("round_seconds: goes with arrivals or a rate, found neither")
    of_model = settings.model and f"of {settings.model}"
    source = ", ".join(filter(None, (stream.path.name, form.name, of_model, str(options))))
    instance = Instance(
        name=printable(_name(stream.path, options, selection.memory), 200),
        source=printable(source, 300),
        seed=options.arrival_seed if options.rate is not None else None,
        memory=selection.memory,
        time_unit=time_unit,
        requests=build_requests(arrivals, rows.prompts.tolist(), rows.outputs.tolist()),
    )
    notes = tuple(_notes(form, selection, rows, times))
    counts = stream.label, form.name, rows_read, selection.kept, tuple(skipped)
    return instance, TraceReport(*counts, notes, settings, measured, warning)


def _notes(
    form: Format, selection: _Selection, rows: TraceRows, times: Sequence[int] | None
) -> list[str]:
    """Return the report's notes on texts, arrivals and engines; ``times`` are in nanoseconds."""
    options, settings = selection.options, selection.settings
    notes = []
    if form.reader.counts_text:
        notes.append(WORDS_NOTE if options.tokenizer is None else f"tokens of {options.tokenizer}")
    if options.rate is not None:
        notes.append(f"arrivals drawn: Poisson, scaled to {options.rate:g} a second")
    elif times is not None:
        start = "the window's start" if options.window else "the first kept request"
        # A wrong unit shows in the span.
        span = f"{plural(len(times), 'request')} over {(times[-1] - times[0]) / 1e9:,.15g} s"
        notes.append(f"{span} ({form.reader.units}, rounded to nanoseconds, counted from {start})")
    elif not rows.lacks:
        notes.append("no arrivals in the file: all at round 0")
    if options.round_seconds is not None:
        notes.append(f"rounds of {options.round_seconds:g} s, arrivals rounded up")
    tokens = (settings.blocks or 0) * (settings.block or 0)
    if tokens and tokens != selection.memory:
        notes.append(f"memory: {selection.memory:,} tokens, recorded with {tokens:,}")
    if settings.replicas and settings.replicas > 1:
        recorded = f"recorded on {settings.replicas} engines that share the requests"
        notes.append(f"{recorded}; here one has all")
    return [*notes, *rows.notes, *shared_prefixes(rows)]


def _name(path: Path, options: TraceOptions, memory: int) -> str:
    """Return the stem of the file with the given options, as in conv_m16492_limit100."""
    stem = path.parent.name if path.name == IN_FOLDER else path.name
    while (suffix := Path(stem).suffix) in (*_SUFFIXES, ".json"):
        stem = stem.removesuffix(suffix)
    parts = [stem or "trace", f"m{memory}"]
    short = {"round_seconds": "round", "arrival_seed": "seed"}
    for key, value in options.shown.items():
        if key == "tokenizer":
            value = "-" + Path(value).name
        if key != "format":
            parts.append(f"{short.get(key, key)}{value.replace('..', '-')}")
    return "_".join(parts)
