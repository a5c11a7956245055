"""One answer on a trace: the same table from solve, evaluate and its report, and the rates."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

import kvopt
from kvopt.commands.evaluate import main as evaluate
from kvopt.commands.solve import main as solve
from kvopt.methods.grammar import ANSWER, read_methods
from kvopt.suites import SuiteSection, read_source
from kvopt.summary import answer_of
from kvopt.sweeps.plan import plan
from serving.commands.rates_command import main as rates
from tests.kvopt.test_policies_table import BATCH, SIX

pytestmark = pytest.mark.usefixtures("quick_bounds")

TRACE = "arrived_at,num_prefill_tokens,num_decode_tokens\n" + "".join(
    f"{0.1 * i:.1f},{2 + i % 3},{3 + 2 * (i % 3)}\n" for i in range(6)
)


def test_a_result_answers_with_those_that_ran_beside() -> None:
    """Without others nothing is said; who did not run to the end is named, and why."""
    timed = replace(SIX, time_unit="second")
    vllm, svf = (kvopt.run(timed, each, batch_time=BATCH) for each in ("vllm-v1(block=1)", "svf"))
    assert answer_of(svf) is None
    both = replace(svf, others=(vllm,))
    assert vllm.tel is not None
    assert svf.tel is not None
    answer = answer_of(both)
    assert answer is not None
    assert answer.won == pytest.approx(max(0, 1 - svf.tel / vllm.tel))
    assert answer.rows()[-1][1] == "svf"
    assert dict(both.summary())["answer"].endswith(f":\n{answer}")
    told = dict(replace(svf, unrun=("swf", "vllm-v1")).summary())
    assert "not run to the end; see --time-limit, --policy vllm-v1 (of a t" in told["answer"]
    told = dict(replace(both, unrun=("las", "srpt")).summary())
    assert "vllm-v1(block=1) *" in told["answer"]
    unrun = "las, srpt to the end, for the answer; see --time-limit, --policy NAME"
    assert told["not run"] == unrun


def test_what_runs_where_no_method_is_named() -> None:
    """Those of the answer in seconds, auto in rounds; a section that names one keeps it."""
    timed = replace(SIX, name="timed", time_unit="second")
    sources = (read_source(SIX), read_source(timed))
    tasks = plan([SuiteSection("", sources, ())])
    ran = [(task.name, task.method.text) for task in tasks]
    texts = [each.text for each in read_methods(["answer"])]
    assert ran == [("six", "auto"), *(("timed", each) for each in texts)]
    assert len(texts) == len(ANSWER)
    named = plan([SuiteSection("", sources, read_methods(["svf"]))])
    assert [task.method.text for task in named] == ["svf", "svf"]


def _answer(text: str) -> list[list[str]]:
    """Return the rows of the answer from any command: what it knows, its best method, figures."""
    shown = re.sub(r"[|`\\–]", " ", text)
    known = r"^\W*((?:none|intervals|deciles|lengths|hindsight) .* s\b.*)$"
    return [line.split() for line in re.findall(known, shown, re.MULTILINE)]


@pytest.mark.slow("walks")
def test_the_same_from_every_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("trace.csv").write_text(TRACE, encoding="utf-8")
    named = ["trace.csv", "--memory", "32", "--batch-time", BATCH, "--time-limit", "12"]
    assert solve([*named, "--quiet"]) == 0
    expected = _answer(capsys.readouterr().out)
    # In one block vLLM's runs one request at a time.
    assert [row[-2:] for row in expected if row[1] == "las"] == [["47.6", "%"]]
    assert [row[-2:] for row in expected if row[0] == "lengths"] == [["49.5", "%"]]
    assert evaluate([*named, "--report", "report"]) == 0
    assert _answer(capsys.readouterr().out) == expected
    assert _answer(Path("report/README.md").read_text(encoding="utf-8")) == expected
    asked = ["trace.csv", "--memory", "32", "--batch-time", BATCH, "--rates", "2,8"]
    assert rates([*asked, "--methods", "vllm-v1,svf", "--time-limit", "2", "--quiet"]) == 0
    out = capsys.readouterr().out
    assert [out.count(f"at rate {rate}\n") for rate in (2, 8)] == [1, 1]
    assert out.count("saved over vLLM") == 2
