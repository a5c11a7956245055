"""The table of every policy: classes, policies that do not run, and the reference of TELs."""

import time
from collections.abc import Collection
from dataclasses import replace
from functools import partial

import pytest

import kvopt
from heuristics.policy_registry import policies
from instances import Instance, Request
from kvopt.commands import policies_table as module
from kvopt.commands.companion_runs import PolicyLimits
from kvopt.commands.policies_table import PoliciesOutcome, policies_table
from kvopt.methods.grammar import every_policy
from kvopt.methods.method_names import policy_name
from kvopt.registry_lookup import RegisteredValues
from kvopt.runs.task import FinishedRun, Task
from serving.slo import read_slo

pytestmark = pytest.mark.usefixtures("quick_bounds")

SIX = Instance("six", 20, tuple(Request(i, i, 2 + i % 3, 3 + 2 * (i % 3)) for i in range(6)))
SECONDS = replace(SIX, time_unit="second", memory=64)
FINDERS = [f"{each}.find_registered" for each in ("serving.best_bound", module.__name__)]
BATCH = "affine(base=100,token=10)"


def table_of(
    instance: Instance, batch_time: str = "", prediction: str | None = None, seconds: float = 60
) -> PoliciesOutcome:
    limits = PolicyLimits(time.monotonic() + seconds, None, jobs=2)
    return policies_table(instance, batch_time, prediction=prediction, seed=0, limits=limits)


def _told(table: PoliciesOutcome, policy: str) -> str:
    """Return the class of a policy, from its line."""
    header, *lines = table.text.splitlines()
    (line,) = (each for each in lines if each.startswith(f"{policy} "))
    begin = header.index("class")
    return line[begin:].split("  ")[0].strip()


def _only(monkeypatch: pytest.MonkeyPatch, names: Collection[str]) -> None:
    """Have the table be of some policies."""
    kept = {name: policy for name, policy in policies().items() if name in names}
    monkeypatch.setattr(module, "policies", lambda: kept)
    pick = partial(filter, lambda method: policy_name(method.text) in kept)
    monkeypatch.setattr(module, "every_policy", lambda told: [*pick(every_policy(told))])


def test_who_is_told_what(monkeypatch: pytest.MonkeyPatch) -> None:
    """A policy that takes intervals knows the outputs where there are none, and vllm-v1 nothing."""
    expected = {"a-min": "exact predictions", "local-search": "clairvoyant, offline"}
    expected |= {"vllm-v1": "non-clairvoyant", "mc-sf": "clairvoyant"}
    _only(monkeypatch, expected)
    table = table_of(SECONDS, BATCH)
    assert {name: _told(table, name) for name in expected} == expected
    requests = tuple(replace(x, output_lower=1, output_upper=x.output + 1) for x in SIX.requests)
    assert _told(table_of(replace(SIX, requests=requests)), "a-min") == "predictions"
    given = table_of(SIX, prediction="interval(1,10)")
    assert _told(given, "a-min") == "predictions"
    assert "predictions: interval(high=10)" in given.text.splitlines()


def test_the_table_fits_into_a_hundred_characters() -> None:
    """Header and lines with figures, in rounds and in seconds with an objective."""
    limits = PolicyLimits(time.monotonic() + 20, None, jobs=2)
    slo = read_slo("ttft:2s")
    timed = policies_table(SECONDS, BATCH, slo=slo, prediction=None, seed=0, limits=limits)
    svf = kvopt.run(SECONDS, "svf", batch_time=BATCH)
    cells = next(line.split() for line in timed.text.splitlines() if line.startswith("svf "))
    assert cells[2] == f"{(svf.serving.mean_e2el_ms or 0) / 1000:.3f}"
    share = svf.goodput("ttft:2s") / svf.serving.request_throughput
    assert cells[-1] == f"{100 * share:.1f}"
    assert "good %: requests that keep ttft:2s" in timed.text.splitlines()
    assert any(line.startswith("lower bound ") for line in timed.text.splitlines())
    for table in (table_of(kvopt.read("tiny_two_bursts"), seconds=5), timed):
        lines = table.text.splitlines()[:20]
        assert max(len(line) for line in lines) <= 100
    header = "policy class E2EL s p99 left % TTFT s p99 TPOT s p99 good %"
    assert timed.text.splitlines()[0].split() == header.split()


@pytest.mark.slow("walks")
def test_who_would_be_refused_alone_is_not_run() -> None:
    """Those advised by a relaxation in rounds are named below the table with the reason."""
    lines = table_of(SECONDS, BATCH).text.splitlines()
    assert not any(line.startswith("sorted-lp") for line in lines)
    (refused,) = (line for line in lines if ": not run: " in line)
    assert refused.startswith("lp-swap, sorted-lp: not run: is advised by an LP relaxation in rou")
    assert any(line.startswith("sorted-lp ") for line in table_of(SIX).text.splitlines())


def test_the_policies_of_the_answer_are_run_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """vLLM's is the very first; what solves or searches is last, and a table of nothing says so."""
    ran: list[Task] = []

    def series(tasks: list[Task], deadline: float, *_: object, **__: object) -> _None:
        assert deadline > time.monotonic()
        ran.extend(tasks)
        _None.waiting = tuple(tasks)
        return _None()

    monkeypatch.setattr(module, "MethodSeries", series)
    told = table_of(SIX).text
    names = [task.method.text for task in ran]
    assert names[:5] == ["vllm-v1", "swf", "las", "srpt-predicted", "a-min"]
    assert {"local-search", "lp-swap", "sorted-lp"} < set(names[-9:])
    assert len(names) == len(set(names)) > 20
    advice = "answer: none, vllm-v1 was not run to the end; see --time-limit, --policy vllm-v1 (of "
    assert f"{advice}a trace, --limit and --window read less)" in told.replace("\n", " ")


class _None:
    """A series of nothing."""

    interrupted = False
    waiting: tuple[Task, ...] = ()

    def run(self) -> list[FinishedRun]:
        return []


@pytest.mark.slow("walks")
def test_what_ratios_are_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """The registry's optimum, its bound, or what volumes prove: header and line below say which."""
    two = kvopt.read("tiny_two_bursts")
    known = table_of(two)
    assert "TEL/OPT" in known.text.splitlines()[0]
    assert "best known TEL 22 (optimal)" in known.text.splitlines()
    svf = next(line for line in known.text.splitlines() if line.startswith("svf "))
    assert svf.split()[2:4] == ["22", "1.0000"]
    other = table_of(SIX)
    assert "TEL/LB" in other.text.splitlines()[0]
    assert "(from area bound)" in other.text
    for name in FINDERS:
        monkeypatch.setattr(name, lambda _: RegisteredValues(22, 20, "open"))
    left_open = table_of(two)
    assert "TEL/LB" in left_open.text.splitlines()[0]
    assert "lower bound 20  (from the registry)" in left_open.text.splitlines()


def test_a_bound_that_a_schedule_is_below(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of this run or of the registry: nothing is compared with it, and one of the two is wrong."""
    _only(monkeypatch, ["svf"])
    for known in (RegisteredValues(1, 1, "optimal"), RegisteredValues(10**6, 10**5, "open")):
        for name in FINDERS:
            monkeypatch.setattr(name, lambda _, known=known: known)
        assert "exceeds the TEL of a checked schedule" in table_of(SIX).contradiction
    table = table_of(SIX)
    assert "the bound 100000  (from the registry) exceeds the TEL" in table.contradiction
    svf = next(line for line in table.text.splitlines() if line.startswith("svf "))
    assert svf.split()[3] == "-"
