"""Every format: its sample becomes the requests that were worked out by hand, in any wrapping."""

import gzip
import re
from pathlib import Path

import pytest

import serving.traces.formats
from instances.batch_time import NANOSECONDS
from instances.instance import Instance
from instances.instance_files import instance_document, parse_instance
from serving.traces import TraceError, TraceOptions, TraceReport
from serving.traces.formats import formats
from serving.traces.read_trace import is_trace, read_trace
from tests.serving.traces.cases import CASES, MEMORY, SAMPLES, Case, each_case


def rows_of(instance: Instance) -> list[tuple[float, int, int]]:
    return [(each.arrival, each.prompt, each.output) for each in instance.requests]


def skips_of(report: TraceReport) -> list[tuple[str, int, int]]:
    return [(str(each.reason), each.rows, each.first_row) for each in report.skipped]


def test_every_format_has_a_sample() -> None:
    """No reader without one, and no sample without a case."""
    assert {case.format for case in CASES} == set(formats())
    assert {case.file for case in CASES} == {path.name for path in SAMPLES.iterdir()}


@each_case
def test_the_sample_is_read(case: Case) -> None:
    """Format by its beginning; requests, skipped rows with the first, and units."""
    instance, report = read_trace(case.path, TraceOptions(memory=MEMORY))
    assert rows_of(instance) == case.requests
    assert skips_of(report) == case.skipped
    assert (report.format, report.kept) == (case.format, len(case.requests))
    assert report.rows == report.kept + sum(rows for _, rows, _ in case.skipped)
    assert instance.time_unit == ("second" if case.timed else "round")
    assert [each.id for each in instance.requests] == list(range(len(instance)))
    assert instance.source is not None
    assert instance.source.startswith(f"{case.file}, {case.format}")
    told = "\n".join(report.shown_lines())
    assert ("nanoseconds" if case.timed else "all at round 0") in told
    assert is_trace(case.path)
    # What was built by columns is what the format's own validation builds.
    assert parse_instance(instance_document(instance)) == instance


@each_case
@pytest.mark.parametrize("wrapping", ["gzip", "mark", "utf-16", "crlf", "no end", "forced"])
def test_the_wrapping_changes_nothing(case: Case, wrapping: str, tmp_path: Path) -> None:
    """Gzip, a byte order mark, UTF-16, line ends of Windows, no end, the format by its name."""
    data = case.path.read_bytes()
    wrapped = {
        "gzip": gzip.compress(data),
        "mark": b"\xef\xbb\xbf" + data,
        "utf-16": data.decode().encode("utf-16"),
        "crlf": data.replace(b"\n", b"\r\n"),
        "no end": data.rstrip(b"\n"),
        "forced": data,
    }[wrapping]
    path = tmp_path / case.file
    path.write_bytes(wrapped)
    form = case.format if wrapping == "forced" else None
    instance, report = read_trace(path, TraceOptions(memory=MEMORY, format=form))
    assert rows_of(instance) == case.requests
    assert skips_of(report) == case.skipped


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ('{"prompt": "a b", "output_tokens": 2, "schema": {"type": "object"}}', "vllm-custom"),
        ('{"timestamp": 0, "input_length": 2, "output_length": 2, "a": [{"schema": "kvopt."}]}',
         "mooncake"),
        (f'{{"info": [{"1, " * 70_000}1],\n "input_lens": [2], "output_lens": [2]}}', "vllm-bench"),
        ('[{"tags": ["conversation:", {"input_lens": 1}], "conversations": []}]', "sharegpt"),
    ],
)  # fmt: skip
def test_keys_are_looked_for_at_the_top(text: str, form: str, tmp_path: Path) -> None:
    """Whatever stands below them, and however far behind the beginning they are."""
    path = tmp_path / "trace.jsonl"
    path.write_text(text)
    assert is_trace(path, TraceOptions(memory=9))
    if form == "sharegpt":
        with pytest.raises(TraceError, match="1 row skipped: no prompt with an answer"):
            read_trace(path, TraceOptions(memory=9))
    else:
        instance, report = read_trace(path, TraceOptions(memory=9))
        assert (report.format, rows_of(instance)) == (form, [(0, 2, 2)])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"version": 1, "experiments": [{"requests": []}]}', "(--format NAME), found version, "),
        ('{"t": 0}', "rename yours to timestamp,input_length,output_length (arrival in whole mill"),
        ("a;b\n1;2\n", "row 1: expected commas as separator, found a;b"),
        ("a,b\n1,2\n", "columns of a format of kvopt convert --list (--format NAME), found a, b"),
    ],
)
def test_an_unknown_file_leads_to_the_formats(text: str, told: str, tmp_path: Path) -> None:
    """The message says what was found, and what names a format; it is no instance either."""
    path = tmp_path / "trace.csv"
    path.write_text(text)
    with pytest.raises(TraceError, match=re.escape(told)):
        read_trace(path, TraceOptions(memory=9))


def test_nothing_is_read_after_the_limit(tmp_path: Path) -> None:
    """A row of the file's end that would be refused, and a torn end of gzip, are not reached."""
    rows = "".join(f"{second},{second % 50},5\n" for second in range(60_000))
    text = f"arrived_at,num_prefill_tokens,num_decode_tokens\n{rows}0,1,1\n"
    path = tmp_path / "long.csv"
    for data in (text.encode(), gzip.compress(text.encode())[:-9]):
        path.write_bytes(data)
        for asked in ({"limit": 9}, {"window": (0, 9)}):
            options = TraceOptions.of({"memory": MEMORY, **asked})
            instance, report = read_trace(path, options)
            assert (len(instance), report.rows) == (9, 9)
        with pytest.raises(TraceError, match="row "):
            read_trace(path, TraceOptions(memory=MEMORY))


@each_case
def test_a_rate_replaces_the_arrivals(case: Case) -> None:
    """Lengths stay, times ascend from 0 in seconds, and the seed decides them."""
    options = TraceOptions(memory=MEMORY, rate=2.0, arrival_seed=3)
    instance, _ = read_trace(case.path, options)
    again, _ = read_trace(case.path, options)
    other, _ = read_trace(case.path, TraceOptions(memory=MEMORY, rate=2.0))
    assert (instance.time_unit, instance.seed) == ("second", 3)
    arrivals = [request.arrival for request in instance.requests]
    assert (arrivals, arrivals[0]) == (sorted(arrivals), 0)
    assert [row[1:] for row in rows_of(instance)] == [row[1:] for row in case.requests]
    assert instance == again
    assert instance.sha256 != other.sha256


@pytest.mark.parametrize("case", [case for case in CASES if case.timed], ids=lambda c: c.file)
def test_a_window_is_half_open_and_moves_the_origin(case: Case) -> None:
    """From the second request's arrival to before the last row's; times count from its start."""
    times = [arrival for arrival, _, _ in case.requests]
    start, end = times[1], times[-1]
    instance, _ = read_trace(case.path, TraceOptions(memory=MEMORY, window=(start / 2, end + 1)))
    expected = [round((t - start / 2) * NANOSECONDS) for t in times if start / 2 <= t < end + 1]
    assert [round(request.arrival * NANOSECONDS) for request in instance.requests] == expected
    if len(times) > 2:
        instance, _ = read_trace(case.path, TraceOptions(memory=MEMORY, window=(start, end)))
        assert rows_of(instance) == [(0, *case.requests[1][1:])]


def test_a_window_counts_from_the_first_request(tmp_path: Path) -> None:
    """Not from a damaged row above it; where none is a request nothing is within."""
    path = tmp_path / "trace.csv"
    header, damaged = "arrived_at,num_prefill_tokens,num_decode_tokens\n", "0,?,1\n50,1,0\n"
    path.write_text(f"{header}{damaged}100,99999,1\n107,2,3\n111,4,5\n")
    instance, report = read_trace(path, TraceOptions(memory=MEMORY, window=(5, 10)))
    assert rows_of(instance) == [(2, 2, 3)]
    assert (report.rows, report.skipped) == (1, ())
    path.write_text(header + damaged)
    with pytest.raises(TraceError, match="no row is within the window"):
        read_trace(path, TraceOptions(memory=MEMORY, window=(0, 10)))


def test_names_tell_the_options() -> None:
    """So that two readings of one file in one table are apart."""
    options = TraceOptions(memory=MEMORY, limit=2, window=(0, 3), rate=2.0, round_seconds=0.5)
    instance, _ = read_trace(SAMPLES / "azure_2023.csv", options)
    assert instance.name == "azure_2023_m100_limit2_window0-3_rate2_round0.5"
    given = "limit=2, window=0..3, rate=2, round_seconds=0.5"
    assert instance.source == f"azure_2023.csv, azure, {given}"


def test_a_new_file_is_a_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file dropped into the folder is found at once; one without a reader is refused."""
    monkeypatch.setattr(serving.traces.formats, "__path__", [str(tmp_path)])
    formats.cache_clear()
    try:
        (tmp_path / "one_more.py").write_text(
            '"""One more."""\nfrom serving.traces.csv_reader import TableReader\n'
            'READER = TableReader(prompt="in", output="out")\n'
        )
        trace = tmp_path / "mine.csv"
        trace.write_text("in,out\n3,4\n")
        instance, report = read_trace(trace, TraceOptions(memory=9))
        assert report.format == "one-more"
        assert rows_of(instance) == [(0, 3, 4)]
        formats.cache_clear()
        (tmp_path / "nothing.py").write_text('"""No reader."""\n')
        with pytest.raises(TypeError, match="expected a READER"):
            formats()
    finally:
        formats.cache_clear()
