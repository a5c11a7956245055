"""Damaged traces: one clear line with the file and the row, for every format."""

import csv
import gzip
import os
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from instances.instance_files import instance_document, parse_instance
from serving.traces import TraceError, TraceOptions
from serving.traces.formats import formats
from serving.traces.read_trace import read_trace
from serving.traces.trace_options import TraceOptionError
from tests.serving.traces.cases import BY_NAME, CASES, MEMORY, Case, each_case

TABLES = [case for case in CASES if case.file.endswith(".csv")]
TIMED = [case for case in CASES if case.timed]
each_table = pytest.mark.parametrize("case", TABLES, ids=lambda case: case.file)
each_timed = pytest.mark.parametrize("case", TIMED, ids=lambda case: case.file)


def refusal(path: Path, form: str | None = None) -> str:
    """Return the complaint, which is one line and names the file."""
    with pytest.raises(TraceError) as refused:
        read_trace(path, TraceOptions(memory=MEMORY, format=form))
    told = str(refused.value)
    assert "\n" not in told
    assert len(told) < 500
    assert path.name in told
    return told


def damaged(case: Case, tmp_path: Path, data: bytes | str) -> Path:
    path = tmp_path / case.file
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


@each_case
def test_a_missing_column(case: Case, tmp_path: Path) -> None:
    """Told by its name where the format is named, with the nearest format where it is not."""
    expects = formats()[case.format].reader.expects
    lost = expects[-1]
    path = damaged(case, tmp_path, case.text.replace(lost, lost.swapcase() + "_"))
    told = refusal(path, case.format)
    assert "row 1" in told or "row 2" in told
    assert lost in told or "no prompt with an answer" in told
    # A result of vllm bench is known by one of its lists.
    known = case.format == "vllm-bench"
    expected = f"expected a list {lost}" if known else "expected the "
    assert f"row 1: {expected}" in refusal(path)


@each_table
def test_a_row_with_other_fields_than_the_header(case: Case, tmp_path: Path) -> None:
    """The lost field is unknown: a shifted row would be a wrong request."""
    header, row, *others = csv.reader(case.text.splitlines(keepends=True))
    for wrong in ([*row, "7"], row[1:]):
        with (tmp_path / case.file).open("w", newline="") as file:
            csv.writer(file).writerows([header, wrong, *others])
        told = refusal(tmp_path / case.file, case.format)
        assert f"row 2: expected {len(header)} fields, found {len(wrong)}" in told
    unended = damaged(case, tmp_path, f'{case.text.partition(chr(10))[0]}\n"1\n')
    assert "row 2" in refusal(unended)


@each_timed
def test_a_wrong_unit(case: Case, tmp_path: Path) -> None:
    """A value that is no time of the unit is refused with its row."""
    good, bad = case.time
    assert case.text.count(good) == 1
    row = case.text[: case.text.index(good)].count("\n") + 1
    if case.file in ("vllm_bench.json", "guidellm.json"):
        row = 2  # an entry of a list
    told = refusal(damaged(case, tmp_path, case.text.replace(good, bad)))
    assert f"row {row}: " in told
    assert ": expected a" in told


@pytest.mark.parametrize("case", [c for c in TIMED if c.order[0]], ids=lambda case: case.file)
def test_rows_out_of_order(case: Case, tmp_path: Path) -> None:
    good, bad = case.order
    assert case.text.count(good) == 1
    told = refusal(damaged(case, tmp_path, case.text.replace(good, bad)))
    assert f"row {case.row}: expected rows in the order of arrival" in told


@each_timed
def test_a_negative_time(case: Case, tmp_path: Path) -> None:
    """A time before 0, or a date before 1970, with its row; and a number of many digits."""
    good = case.time[0]
    long = damaged(case, tmp_path, case.text.replace(good, "9" * 5000))
    assert "row " in refusal(long, case.format)
    bad = "1969-12-31 23:59:59" if case.format == "azure" else f"-{good}"
    told = refusal(damaged(case, tmp_path, case.text.replace(good, bad)))
    assert "expected a date from 1970" in told or "seconds from 0 to" in told
    assert "row " in told


@each_case
@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xef\xbb\xbf"])
def test_an_empty_file(case: Case, content: bytes, tmp_path: Path) -> None:
    """Nothing, blank lines, a byte order mark alone."""
    assert "found an empty file" in refusal(damaged(case, tmp_path, content), case.format)


@each_case
def test_a_header_only(case: Case, tmp_path: Path) -> None:
    """A header without rows, an array or lists without entries."""
    empty = {"sharegpt.json": "[]", "vllm_bench.json": '{"input_lens": [], "output_lens": []}'}
    content = empty.get(case.file, case.text.partition("\n")[0] + "\n")
    if case.file.endswith(".jsonl"):
        content = "{}\n"
    told = refusal(damaged(case, tmp_path, content), case.format)
    assert "row " in told


def _damages(case: Case) -> Iterator[tuple[bytes, str]]:
    """Yield a NUL byte, a byte that is no UTF-8, half a character of UTF-16, and torn gzip."""
    data, text = case.path.read_bytes(), case.text.replace("é", "e")
    yield data[:-4] + b"\0" + data[-4:], "found a NUL byte"
    yield text[:-2].encode() + b"\xe9" + text[-2:].encode(), "expected UTF-8, found byte 0xe9"
    yield text.encode("utf-16")[:-1], "expected UTF-16, found truncated data"
    packed = gzip.compress(data * 50)
    for torn in (packed[:-20], packed[:12], packed[:40] + b"\xff\xff\xff" + packed[43:]):
        yield torn, ""


@each_case
def test_what_is_no_text(case: Case, tmp_path: Path) -> None:
    for data, expected in _damages(case):
        told = refusal(damaged(case, tmp_path, data), case.format)
        assert expected in told
        assert "row " in told


@each_case
def test_whatever_is_damaged(case: Case, tmp_path: Path) -> None:
    """Bytes that are cut out, doubled or overwritten: an instance, or one line."""
    draws, data = random.Random(case.file), case.path.read_bytes()
    path = tmp_path / case.file
    for _ in range(60):
        start, size = draws.randrange(len(data)), draws.choice([1, 1, 2, 9, 60])
        what = draws.choice([b"", data[start : start + size] * 2, draws.randbytes(size)])
        path.write_bytes(data[:start] + what + data[start + size :])
        form = draws.choice([None, case.format])
        try:
            instance, report = read_trace(path, TraceOptions(memory=MEMORY, format=form))
        except TraceError as error:
            told = str(error)
        else:
            told = path.name
            assert len(instance) == report.kept
            assert parse_instance(instance_document(instance)) == instance
        assert "\n" not in told
        assert path.name in told


def test_a_folder(tmp_path: Path) -> None:
    """Is no trace, and neither is what is not there, or no file can be called."""
    assert "expected a trace, found a folder" in refusal(tmp_path)
    assert "cannot be read: No such file" in refusal(tmp_path / "none.csv")
    if sys.platform == "linux":
        assert "cannot be read: Input/output error" in refusal(Path("/proc/self/mem"))
    assert "cannot be read: File name too long" in refusal(tmp_path / ("x" * 300 + ".csv"))


@each_table
def test_a_table_that_was_put_together_wrong(case: Case, tmp_path: Path) -> None:
    """A column twice in the header, the header of a second file, a line break in quotes."""
    name = formats()[case.format].reader.expects[0]
    header, _, rest = case.text.partition("\n")
    path = damaged(case, tmp_path, f"{header},{name}\n{rest}")
    assert f"row 1: column {name} stands 2 times" in refusal(path)
    path = damaged(case, tmp_path, f"{header}\n{rest}{header}\n{rest}")
    row = case.text.count("\n") + 1
    assert f"row {row}: the header stands here again" in refusal(path)
    first, *others = rest.splitlines()
    value, _, more = first.partition(",")
    broken = "\n".join([header, first, f'"{value}\n",{more}', *others, first, ""])
    told = refusal(damaged(case, tmp_path, broken), case.format)
    assert "row 3: expected a row a line, found a line break in quotation marks" in told


@pytest.mark.parametrize(
    ("file", "content", "expected"),
    [
        ("mooncake.jsonl", '{"timestamp": 0, "input_length": 1, "output_length": 2}\n{"a',
         "row 2: no valid JSON at column 2: unterminated"),
        ("mooncake.jsonl", '{"timestamp": 0, "input_length": 1, "output_length": 2}\n[1]\n',
         "row 2: expected a JSON object, found [1]"),
        ("mooncake.jsonl", '{"timestamp": 0, "input_length": 1, "output_length": 2}\n\n{}\n',
         "row 3: expected a key timestamp, found none"),
        ("mooncake.jsonl", '{"timestamp": NaN, "input_length": 1, "output_length": 2}\n',
         "row 1: timestamp: expected a number of milliseconds, found nan"),
        ("mooncake.jsonl", '{"timestamp": 0, "input_length": 1, "input_length": 2}\n',
         'row 1: expected each key once, found "input_length" twice in one object'),
        ("sharegpt.json", '[{"conversations": []}, {"id": 1, "conversations": [], "id": 2}]',
         'row 2: expected each key once, found "id" twice in one object'),
        ("mooncake.jsonl", "[" * 10**5 + '\n{"timestamp": 0}',
         "row 1: expected "),
        ("sharegpt.json", '[{"conversations": []} {}]',
         "row 2: no valid JSON: parse error: after array element"),
        ("sharegpt.json", '[{"conversations": []}',
         "row 2: no valid JSON: parse error: premature EOF"),
        ("sharegpt.json", '[{"conversations": []}] x',
         "row 2: no valid JSON: parse error: trailing garbage"),
        ("sharegpt.json", '[{"conversations": nope, ' + '"a": "' + "b" * 10**5 + '"}]',
         "row 1: no valid JSON: lexical error"),
        ("vllm_bench.json", '{"input_lens": [1], "output_lens": [1, 2]}',
         "row 1: output_lens: expected 1 entries as in input_lens, found 2"),
        ("vllm_bench.json", '{"input_lens": [1]}', "row 1: expected a list output_lens"),
        ("vllm_bench.json", '{"input_lens": 3, "output_lens": [1]}',
         "row 1: input_lens: expected a list, found 3"),
    ],
)  # fmt: skip
def test_damaged_json(file: str, content: str, expected: str, tmp_path: Path) -> None:
    case = BY_NAME[file]
    assert expected in refusal(damaged(case, tmp_path, content), case.format)


def test_rows_that_leave_nothing(tmp_path: Path) -> None:
    """Where every row is skipped, the line says why, with the first rows."""
    path = tmp_path / "some.csv"
    path.write_text("num_prefill_tokens,num_decode_tokens\n1,0\n99,2\n5,0\n")
    assert refusal(path).endswith(
        "no request is left of 3 rows: 2 rows skipped: no output tokens (first in row 2); "
        "1 row skipped: prompt and output exceed the memory (first in row 3)"
    )


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"memory": 0}, "memory: Input should be greater than or equal to 1, found 0"),
        ({"memory": True}, "memory: Input should be a valid integer"),
        ({"window": (3, 3)}, "window: expected a start before its end, found 3 and 3"),
        ({"window": (float("nan"), 3)}, "window.0: Input should be a finite number"),
        ({"rate": 0}, "rate: Input should be greater"),
        ({"round_seconds": -1.0}, "round_seconds: Input should be greater"),
        ({"arrival_seed": 3}, "arrival_seed: goes with a rate, found none"),
        ({"formt": "azure"}, "field formt: unknown key"),
        ({}, "a trace states no memory"),
        ({"memory": 9, "format": "azur"}, "unknown format 'azur'; did you mean azure"),
        ({"memory": 99, "tokenizer": "x"}, "tokenizer: goes with text, lengths states"),
        ({"memory": 99, "window": (0, 1)}, "has no arrivals"),
        ({"memory": 99, "round_seconds": 1.0}, "round_seconds: goes with arrivals"),
        ({"memory": 99, "run": 1}, "run: goes with files of several runs, lengths has none"),
    ],
)
def test_options_that_do_not_fit(options: dict[str, object], expected: str) -> None:
    """Out of range they are refused by their names before anything is read."""
    with pytest.raises(TraceOptionError, match=expected):
        read_trace(BY_NAME["lengths.csv"].path, TraceOptions.of(options))


@pytest.mark.parametrize("year", ["0001", "1969", "2262", "9999"])
def test_dates_that_have_no_nanoseconds(year: str, tmp_path: Path) -> None:
    """A year beyond 64 bits is refused with its row."""
    path = tmp_path / "azure.csv"
    path.write_text(
        "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-12 00:00:00+00:00,10,4\n"
        f"{year}-01-01 00:00:00+00:00,20,5\n"
    )
    assert "row 3: TIMESTAMP: expected a date from 1970 to 2261" in refusal(path)


@pytest.mark.parametrize("squeeze", [bytes, gzip.compress])
def test_a_pipe_that_is_filled_in_pieces(squeeze: Callable[[bytes], bytes], tmp_path: Path) -> None:
    """The beginning is waited for, down to a byte at a time."""
    case = TABLES[0]
    there, here = os.pipe()
    path = Path(f"/dev/fd/{there}")
    data = squeeze(case.text.encode())

    def fill() -> None:
        with open(here, "wb", buffering=0) as pipe:
            for place in range(len(data)):
                pipe.write(data[place : place + 1])
                time.sleep(0.0005)

    writer = threading.Thread(target=fill)
    writer.start()
    instance, _ = read_trace(path, TraceOptions(memory=MEMORY))
    writer.join()
    os.close(there)
    expected, _ = read_trace(damaged(case, tmp_path, case.text), TraceOptions(memory=MEMORY))
    assert instance.requests == expected.requests
