"""How much is left: one bound, one sentence and one figure, whichever command is asked."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import kvopt
from instances import Instance, Request, write_instance
from instances.time_unit import SECONDS
from kvopt.commands.evaluate import main as evaluate
from kvopt.commands.solve import main as solve
from kvopt.project_paths import DEFAULT_STORE
from kvopt.runs.execute import execute
from kvopt.runs.task import FinishedRun, Task
from kvopt.summary import exceeded_bounds
from serving.batch_time import DEFAULT
from serving.best_bound import (
    KnownBound,
    best_bound,
    coverage,
    lower_text,
    percent_left,
    share_left,
)
from serving.commands.rates_command import main as rates
from tests.kvopt.sweep_tools import store_runs, task_of

_TRACE = """\
TIMESTAMP,ContextTokens,GeneratedTokens
2023-11-16 10:00:00.0000000,310,40
2023-11-16 10:00:00.3000000,420,120
2023-11-16 10:00:00.5500000,905,60
2023-11-16 10:00:00.7000000,80,20
2023-11-16 10:00:00.9000000,85,18
"""
TIGHT = Instance("tight", 12, tuple(Request(i, 0, 2, 6) for i in range(3)), time_unit="second")


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The default store is one of the current folder."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def bounded(request: pytest.FixtureRequest) -> FinishedRun:
    """A run on TIGHT, of ``bound`` unless another is named, put into the default store."""
    method = getattr(request, "param", "bound")
    found = execute(task_of(TIGHT, method, time_limit=1.0, batch_time=DEFAULT))
    assert found.record.lower_bound is not None
    DEFAULT_STORE.parent.mkdir()
    store_runs(DEFAULT_STORE, found)
    return found


@pytest.mark.slow("walks")
def test_three_commands_give_one_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The figure of a method, the bound's source and the sentence are the same in all three."""
    (tmp_path / "conv.csv").write_text(_TRACE)
    trace = ["conv.csv", "--memory", "1000"]
    assert rates([*trace, "--rates", "2", "--methods", "mc-sf,vllm-v1", "--time-limit", "6"]) == 0
    told = {"rates": capsys.readouterr().out}
    at_two = [*trace, "--rate", "2", "--quiet"]
    for method in ("mc-sf", "vllm-v1"):
        assert solve([*at_two, "--policy", method, "--time-limit", "6"]) == 0
        told[method] = capsys.readouterr().out
    assert solve([*at_two, "--policy", "all", "--time-limit", "8"]) == 0
    told["all"] = capsys.readouterr().out
    for method in ("mc-sf", "vllm-v1"):
        # A slow machine shows what runs, too.
        (line,) = (x for x in told["rates"].splitlines() if x.split()[:2] == ["2", method])
        (cells,) = (line for line in told["all"].splitlines() if line.startswith(f"{method} "))
        in_summary = re.search(r"left to gain +at most ([\d.]+) % of the TEL", told[method])
        assert in_summary is not None
        # In rates after the rate, the method, AEL and the bound; in the table before TTFT.
        table = re.search(r"clairvoyant +[\d.]+ +[\d.]+ +([\d.]+) ", cells)
        assert table is not None
        assert line.split()[4] == in_summary[1] == table[1]
        assert "(from Lagrangian multipliers on loads, " in told[method]
    instance = kvopt.read("conv.csv", memory=1000, rate=2)
    for text in told.values():
        # A summary wraps it.
        assert " ".join(text.split()).count(coverage(instance, DEFAULT)) == 1


@pytest.mark.slow("walks")
@pytest.mark.parametrize("asked", [["--policy", "svf"], ["--policy", "all"], ["--method", "auto"]])
def test_a_bound_is_computed_here_and_no_store_is_written(
    asked: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In an empty folder, which stays empty: the bound is above the first one of every run."""
    (tmp_path / "conv.csv").write_text(_TRACE)
    question = ["conv.csv", "--memory", "1000", "--rate", "2", "--time-limit", "8"]
    assert solve([*question, *asked]) == 0
    told = capsys.readouterr().out
    of_loads = r"^lower bound +([\d.]+) s  \(from Lagrangian multipliers on loads"
    (bound,) = re.findall(of_loads, told, re.M)
    if asked == ["--policy", "svf"]:
        assert "computing the bound, " in told
        (own,) = re.findall(r"^of this run +([\d.]+) s ", told, re.M)
        assert float(own) < float(bound)
    assert [path.name for path in tmp_path.iterdir()] == ["conv.csv"]


@pytest.mark.slow("walks")
@pytest.mark.parametrize("bounded", ["bound", "auto"], indirect=True)
def test_a_report_has_the_bound_of_the_store(bounded: FinishedRun, tmp_path: Path) -> None:
    """That of another command on the same instance and batch time, not that on another."""
    bound, batch_time = bounded.record.lower_bound, f"--batch-time={DEFAULT}"
    assert bound is not None
    for instance in (TIGHT, replace(TIGHT, name="wider", memory=13)):
        write_instance(instance, tmp_path / f"{instance.name}.json")
    asked = ["tight.json", "wider.json", "--methods=svf", batch_time, "--report=report", "--quiet"]
    assert evaluate(asked) == 0
    table = Path("report", "tables", "instances-seconds.md").read_text()
    told = dict(re.findall(r"`(tight|wider)`.* ([\d.]+) \| [a-z-]+ +\|", table))
    assert told.keys() == {"tight", "wider"}
    assert told["tight"] == SECONDS.number(bound) != told["wider"]


@pytest.mark.slow("waits")
@pytest.mark.parametrize("threads", ["1", "2"])
def test_the_schedule_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: str) -> None:
    """Whoever asks for a schedule waits for no bound, not for a stored one's evaluation either."""
    (tmp_path / "conv.csv").write_text(_TRACE)
    order: list[str] = []

    def noting(task: Task, *told: Any, **named: Any) -> FinishedRun:
        order.append(task.method.text)
        return execute(task, *told, **named)

    monkeypatch.setattr("kvopt.commands.solve.execute", noting)
    monkeypatch.setattr("kvopt.commands.companion_runs.execute", noting)
    question = ["conv.csv", "--memory", "1000", "--rate", "2", "--time-limit", "4"]
    assert solve([*question, "--policy", "svf", "--threads", threads, "--quiet"]) == 0
    assert order == ["svf", "bound"]


def test_the_store_is_asked_for_this_instance_and_batch_time(bounded: FinishedRun) -> None:
    """Of another instance, or another batch time, it says nothing; a better one here stands."""
    found = best_bound(TIGHT, DEFAULT)
    assert found is not None
    assert (found.value, found.source) == (bounded.record.lower_bound, bounded.record.bound_source)
    assert re.fullmatch(r"[\w ]+, bound in \d+.\d s, results/runs.sqlite", str(found))
    other = replace(TIGHT, memory=13)
    assert best_bound(other, DEFAULT) is None
    assert best_bound(TIGHT, "affine(base=100,token=10)") is None
    # The same hash in rounds.
    assert best_bound(replace(TIGHT, time_unit="round"), "") is None
    larger = KnownBound(found.value + 1, "here")
    assert best_bound(TIGHT, DEFAULT, here=[larger]) == larger


def test_a_stored_claim_counts_as_far_as_its_certificate_proves(bounded: FinishedRun) -> None:
    """Neither a row that claims more than that nor one without a certificate raises the bound."""
    record = replace(bounded.record, lower_bound=10**15)
    forged = {**(bounded.certificate or {}), "value": 10**15}
    certificates = {"1": bounded.certificate, "2": None, "3": forged}
    for key, certificate in certificates.items():
        claimed = replace(bounded, record=replace(record, key=key * 64), certificate=certificate)
        store_runs(DEFAULT_STORE, claimed)
    found = best_bound(TIGHT, DEFAULT)
    assert found is not None
    assert found.value == bounded.record.lower_bound


@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\0" + b"\0" * 999])
def test_a_store_that_cannot_be_read_is_left_out(content: bytes) -> None:
    """It is nobody's fault who asks for a schedule: no line, no other exit code."""
    DEFAULT_STORE.parent.mkdir()
    DEFAULT_STORE.write_bytes(content)
    result = kvopt.run(TIGHT, "svf")
    assert result.bound == result.record.lower_bound
    assert "left to gain" in str(result)
    assert DEFAULT_STORE.read_bytes() == content


def test_the_registry_is_asked_in_rounds() -> None:
    """By the hash: 22 is the optimum of tiny_two_bursts, whatever was computed here."""
    instance = kvopt.read("tiny_two_bursts")
    found = best_bound(instance, "", here=[KnownBound(15, "volumes")])
    assert found == KnownBound(22, "the registry")


def test_the_word_of_ones_own_method_is_no_bound(tmp_path: Path) -> None:
    """The share left is of bounds proved in integers: each request alone, and the work."""
    plain, boasts = tmp_path / "plain.py", tmp_path / "boasts.py"
    plain.write_text(
        "from heuristics.policy_registry import policies\n"
        "from heuristics.simulator import RunSetting, run_policy\n"
        "from instances.batch_time import parse_batch_time\n"
        "def solve(instance):\n"
        f"    setting = RunSetting(batch_time=parse_batch_time({DEFAULT!r}))\n"
        "    return run_policy(policies()['svf'], instance, setting)\n"
    )
    boasts.write_text("def solve(instance, report):\n    report('bound', value=10**15)\n")
    ours = kvopt.run(TIGHT, "svf")
    assert ours.known_bound is not None
    for own in (plain, boasts):
        found = kvopt.solve(TIGHT, f"file:{own}", time_limit=5)
        assert found.known_bound is not None
        assert found.known_bound.value == ours.known_bound.value
        assert found.known_bound.source == f"certificate: {ours.known_bound.source}"
        assert found.gap == (ours.gap if own == plain else None)


def test_what_is_left_is_rounded_up() -> None:
    """29 / 117 = 24.786 %; nothing where the bound exceeds the TEL, which one of them is wrong."""
    share = share_left(117, 88)
    assert share is not None
    assert percent_left(share) == "24.8"
    # 1 - 0.803 is 0.19699999999999995, 197 / 1000 a tenth exactly.
    shown = [percent_left(each) for each in (0.0, 1 - 0.803, 0.1971, 1.0)]
    assert shown == ["0.0", "19.7", "19.8", "100.0"]
    assert share_left(9, 9) == share_left(0, 0) == 0
    assert share_left(8, 9) is None
    assert lower_text(1_999_999_700, DEFAULT) == "1.999 s"
    assert lower_text(7, "") == "7"


def test_a_bound_of_the_store_above_the_schedule_is_told() -> None:
    """It is not of this run, nor of one next to it."""
    result = kvopt.run(TIGHT, "svf")
    result.__dict__["known_bound"] = KnownBound((result.tel or 0) + 1, "work")
    assert "(from total work) exceeds the TEL of a checked schedule" in exceeded_bounds(result)[0]
