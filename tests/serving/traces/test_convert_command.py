"""``kvopt convert`` writes a trace as an instance file, and reports skipped rows."""

from functools import partial
from pathlib import Path

import pytest

from instances import read_instance
from instances.instance_files import format_instance
from instances.instance_names import find_instance
from serving.traces import TraceOptions
from serving.traces.convert import main
from serving.traces.formats import formats
from serving.traces.read_trace import read_trace
from tests.kvopt.conftest import Refused
from tests.serving.traces.cases import BY_NAME, Case, each_case


@each_case
def test_files_are_traces(case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same instance, and the report on standard error only."""
    path = tmp_path / "out.json"
    assert main([str(case.path), "--memory", "100", "--out", str(path)]) == 0
    instance, report = read_trace(case.path, TraceOptions(memory=100))
    assert read_instance(path) == instance
    told = capsys.readouterr()
    assert (told.out, told.err.splitlines()) == ("", report.shown_lines())


@pytest.mark.parametrize("memory", [(), ("--memory", "43")])
@pytest.mark.parametrize("name", ["am1_n5_seed0", "ladder/am1_n5_seed0"])
def test_by_name(name: str, memory: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """One of the ladder, which has no file; its own memory may be named."""
    assert main([name, *memory]) == 0
    assert capsys.readouterr().out == format_instance(read_instance(find_instance(name)))


def test_all_options_arrive(capsys: pytest.CaptureFixture[str]) -> None:
    """Each of them, without a file to standard output, and quietly."""
    arguments = "--memory 100 --limit 2 --window 0 3 --rate 2.5 --arrival-seed 7 --quiet "
    arguments += "--round-seconds 0.5 --format vidur"
    trace = BY_NAME["vidur.csv"].path
    assert main([str(trace), *arguments.split()]) == 0
    options = TraceOptions(100, 2, (0.0, 3.0), 2.5, "vidur", None, 0.5, 7)
    told = capsys.readouterr()
    assert (told.out, told.err) == (format_instance(read_trace(trace, options)[0]), "")


def test_the_listing_names_every_format(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    shown = capsys.readouterr().out
    for form in formats().values():
        assert form.name in shown
        assert form.summary in shown
        assert ", ".join(form.reader.expects) in shown


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], "expected a TRACE, found none"),
        (["TRACE"], "a trace states no memory"),
        (["TRACE", "--memory", "0"], "field memory: Input should be greater than or equal to 1"),
        (["TRACE", "--memory", "9", "--window", "x", "1"], "'x' is not a valid float"),
        (["none.csv", "--memory", "9"], "found neither"),
        (["am1_n5_sed0"], "did you mean am1_n5_seed0"),
        (["am1_n5_seed0", "--memory", "44"], "am1_n5_seed0 is an instance file of 43 tokens"),
        (["am1_n5_seed0", "--limit", "2"], "limit: goes with a trace"),
        (["INFEASIBLE"], "request id 0 needs 4 + 1 = 5 tokens"),
        (["DAMAGED", "--memory", "9", "--out", "OUT"], "row 3: arrived_at: expected a number"),
        (["TRACE", "--memory", "9", "--out", "TRACE"], "is the input"),
    ],
)
def test_every_mistake_is_one_line(
    arguments: list[str], expected: str, tmp_path: Path, refused: Refused
) -> None:
    """Exit code 2, the trace is unharmed, and no file is written."""
    path, damaged, text = tmp_path / "trace.csv", tmp_path / "bad.csv", BY_NAME["vidur.csv"].text
    path.write_text(text)
    damaged.write_text(text.replace(*BY_NAME["vidur.csv"].time))
    infeasible = tmp_path / "infeasible.json"
    infeasible.write_text(
        '{"schema": "kvopt.instance/1", "name": "x", "memory": 4, "requests": '
        '[{"id": 0, "arrival": 0, "prompt": 4, "output": 1}]}'
    )
    places = {"TRACE": str(path), "DAMAGED": str(damaged), "OUT": str(tmp_path / "out.json")}
    places["INFEASIBLE"] = str(infeasible)
    told = refused(partial(main, program="kvopt convert"), *(places.get(x, x) for x in arguments))
    assert told.startswith("kvopt convert: ")
    assert expected in told
    assert path.read_text() == text
    assert set(tmp_path.iterdir()) == {path, damaged, infeasible}
