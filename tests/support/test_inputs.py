"""Every read has a bound and ends in one line."""

import bz2
import gzip
import lzma
import os
from collections.abc import Callable
from pathlib import Path

import pytest

import schedules.check_command
import serving.traces.read_trace
import serving.traces.trace_stream
from instances.batch_time import BatchTimeError
from instances.instance_files import read_instance
from kvopt.methods.grammar import MethodError, read_method
from kvopt.store.row_files import ExportError, read_rows
from kvopt.suites import SuiteError, read_suite
from reports.nightly.night_rows import read_rows as committed_rows
from schedules.schedule_files import ScheduleFileError, read_schedule
from serving.batch_time import read_batch_time
from serving.batch_time.vllm_log import read_log
from serving.traces import TraceOptions
from serving.traces.read_trace import read_trace
from serving.traces.trace_report import TraceError
from support.input_files import describe_special, read_whole
from support.output_streams import run_steadily
from tests.serving.traces.cases import BY_NAME


@pytest.mark.parametrize(
    ("name", "read", "error"),
    [
        ("i.json", read_instance, ValueError),
        ("s.json", read_schedule, ScheduleFileError),
        ("m.csv", lambda path: read_batch_time(f"fitted({path})"), BatchTimeError),
        ("own.py", lambda path: read_method(f"file:{path}"), MethodError),
        ("rows.csv", read_rows, ExportError),
        ("rows.parquet", read_rows, ExportError),
        ("suite.toml", read_suite, SuiteError),
    ],
)
def test_a_huge_file_is_refused_by_its_size(
    name: str, read: Callable[[Path], object], error: type[Exception], tmp_path: Path
) -> None:
    """20 GB are not read for it; the file is sparse."""
    path = tmp_path / name
    path.touch()
    os.truncate(path, 2 * 10**10)
    with pytest.raises(error, match=r"at most [0-9,]+ bytes, found 20,000,000,000"):
        read(path)


def test_a_device_is_no_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """One line, as for any file that is no instance."""
    assert schedules.check_command.main(["/dev/zero", str(tmp_path / "x")]) == 10
    told = capsys.readouterr().err
    assert told == "/dev/zero: cannot be read: expected a file, found a device\n"


@pytest.mark.parametrize(
    ("suffix", "read"),
    [
        (".json", read_instance),
        (".json", read_schedule),
        (".csv", lambda path: read_batch_time(f"fitted({path})")),
        (".csv", lambda path: read_trace(path, TraceOptions(memory=3000))),
        (".csv", read_rows),
        (".csv", committed_rows),
        (".parquet", read_rows),
        (".toml", read_suite),
        ("", lambda path: describe_special(path) and read_whole(path)),
    ],
)
def test_a_pipe_that_nobody_fills_is_refused(
    suffix: str, read: Callable[[Path], object], tmp_path: Path
) -> None:
    """A reader would wait for ever; a link to it is the same."""
    pipe, link = tmp_path / f"pipe{suffix}", tmp_path / f"link{suffix}"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    for path in (pipe, link):
        with pytest.raises(ValueError, match="expected a file, found a named pipe"):
            read(path)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (lzma.compress(b"x"), "an xz file"),
        (bz2.compress(b"x"), "a bzip2 file"),
        (b"PAR1\x15\x04", "a Parquet file"),
        (b"PK\x03\x04", "a zip archive"),
        (b"\x28\xb5\x2f\xfd\x20", "a zstd file"),
        (b"\n<!DOCTYPE html>\n<html>", "an HTML page"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0", "a pointer of Git LFS"),
        ("a,b".encode("utf-16-le"), "UTF-16 without a byte order mark"),
        ('{"a"'.encode("utf-16-be"), "UTF-16 without a byte order mark"),
        (b"t.csv".ljust(257, b"\0") + b"ustar", "a tar archive"),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_a_file_of_another_kind_is_named(
    data: bytes, kind: str, pack: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    """Wherever text is read, compressed or not."""
    path = tmp_path / "file.toml"
    path.write_bytes(pack(data))
    for read in (
        read_instance,
        read_schedule,
        read_suite,
        read_log,
        lambda path: read_batch_time(f"fitted({path})"),
        lambda path: read_trace(path, TraceOptions(memory=3000)),
    ):
        with pytest.raises(ValueError, match=f"expected (text|a trace), found {kind}"):
            read(path)


def test_a_stream_of_the_process_is_read() -> None:
    """As ``<(...)`` of a shell names one; 1,000 bytes and no more."""
    for size in (1000, 1001):
        there, here = os.pipe()
        os.write(here, b"x" * size)
        os.close(here)
        for stream in (f"/dev/fd/{there}", f"/proc/self/fd/{there}"):
            assert describe_special(stream) == ""
        if size == 1000:
            assert read_whole(f"/dev/fd/{there}", 1000) == b"x" * 1000
        else:
            with pytest.raises(ValueError, match="at most 1,000 bytes, found more"):
                read_whole(f"/dev/fd/{there}", 1000)
        os.close(there)


def test_a_trace_without_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither its requests nor its text go on for ever."""
    path, options = BY_NAME["vidur.csv"].path, TraceOptions(memory=3000)
    monkeypatch.setattr(serving.traces.read_trace, "MOST_REQUESTS", 1)
    with pytest.raises(TraceError, match=r"at most 1 requests, found more \(--limit"):
        read_trace(path, options)
    monkeypatch.setattr(serving.traces.trace_stream, "LARGEST_TRACE", 30)
    with pytest.raises(TraceError, match="at most 30 "):
        read_trace(path, options)


def test_running_out_of_memory_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    """Of whatever the command has read, or computes."""

    def run() -> int:
        raise MemoryError

    assert run_steadily("kvopt", run) == 2
    assert capsys.readouterr().err == "kvopt: out of memory\n"
