"""The ranking and the answer at the end of an evaluation, from its rows."""

import pandas as pd
import pytest

from kvopt.runs.row_columns import Record
from reports.compared_methods import MOST_RANKED, MethodRanking
from reports.policy_boards import ranked
from reports.stored_results import Results
from reports.table import write_end, write_ratio, write_share
from reports.terminal_report import format_ranking
from tests.reports.synthetic import frame, record, units_of


def _run(method: str, instance: str, tel: int | None, **more: object) -> Record:
    given: dict[str, object] = {"tel": tel, "status": "feasible" if tel else "no_solution"}
    given |= {"method": method, "instance": instance, "lower_bound": 90} | more
    return record(**given, key=f"{method} {instance} {given.get('seed', 0)}")


def _compared(*records: Record) -> MethodRanking:
    (unit,) = units_of(*records)
    found = unit.compared
    assert found is not None
    return found


def test_all_stand_on_the_instances_of_the_one_compared_with() -> None:
    """svf was run on one of both: it has no line, and is counted; mc-sf failed on one."""
    runs = [
        *(_run("vllm-v1", name, tel) for name, tel in (("a", 120), ("b", 100))),
        *(_run("fcfs", name, tel) for name, tel in (("a", 110), ("b", 110))),
        *(_run("mc-sf", name, tel) for name, tel in (("a", 100), ("b", None))),
        _run("svf", "a", 100),
    ]
    found = _compared(*runs)
    # UB is 100 and 110: 10 / 110 and 0; 20 / 120 and, of its own problem, 0; 0 and, failing, 1.
    lines = found.lines.set_index("label")
    gaps = {"fcfs": 10 / 220, "vllm-v1 *": 20 / 240, "mc-sf": 0.5}
    assert lines["gap_low"].to_dict() == pytest.approx(gaps)
    assert lines["rank"].to_dict() == {"fcfs": 1, "vllm-v1 *": 1, "mc-sf": 2}
    assert (found.over, found.elsewhere) == ("mean over 2 instances", 1)
    # A sum of latencies would be another number.
    assert (found.answer, found.bound) == (None, None)


def test_a_schedule_of_a_method_that_only_bounds_is_not_left_out() -> None:
    """It began with a policy that is better than those that were asked for: 96 of 4 requests."""
    bound = _run("bound", "a", 96, found_by="policy svf-first-fit")
    found = _compared(_run("vllm-v1", "a", 120), _run("svf", "a", 100), bound)
    assert found.answer is not None
    best = ("lengths", "best known: policy svf-first-fit, bound", "24.000", "20.0 %")
    assert found.answer.rows()[-1] == best
    first = [cell.text for cell in next(iter(found.table().rows(1)))]
    assert first[:6] == ["clairvoyant", "1", "svf", "100", "-16.7 %", "[4.0, 10.0] %"]


def test_an_interval_is_rounded_outwards_wherever_it_stands() -> None:
    """(119 - 70) / 119 = 41.176 %; of a gap that is known it is the nearest."""
    found = _compared(_run("vllm-v1", "a", 119, lower_bound=70), _run("svf", "a", 119))
    assert write_share(0.10096, 49 / 119) == "[10.0, 41.2] %"
    assert write_share(0.36455, 0.36464) == "[36.4, 36.5] %"
    assert (write_share(0.1225, 0.1225), write_share(49 / 119, 49 / 119)) == ("12.2 %", "41.2 %")
    assert write_ratio(1.39499, 1.80576, known=False) == "[1.394, 1.806]"
    assert write_ratio(1.39499, 1.80576, known=True) == "1.395"
    assert (write_end(0.1, 0.4111, 1), write_end(0.4111, 0.4111, 1)) == ("41.2 %", "41.1 %")
    assert (write_end(-0.2, -0.1111, 1), write_end(0.1, float("nan"), 1)) == ("-11.1 %", "")
    rows = [[cell.text for cell in row] for row in found.table().rows(9)]
    # (119 - 90) / 119 of svf; no bound is about a schedule that may keep tokens.
    assert [row[5] for row in rows[:2]] == ["[0.0, 24.4] %", "[0.0, ?] %"]
    tied = {"gap_low": [0.0] * 2, "tel": [9, 8], "gap_high": [0.3, float("nan")]}
    assert ranked(pd.DataFrame(tied | {"label": ["a", "b"]}))["label"].tolist() == ["b", "a"]


def test_the_ranking_has_few_lines() -> None:
    """The best ten, the first of each class, custom ones, the bound, and the number of others."""
    runs = [_run(f"highs:ilp(x={k})", "a", 100 + k) for k in range(MOST_RANKED + 3)]
    runs += [_run(f"file:mine.py(age={k}) {'x' * 90}", "a", 950 + k) for k in range(3)]
    text = format_ranking(Results(frame(*runs, _run("fcfs", "a", 900), _run("svf", "a", 800))))
    lines = text.splitlines()
    assert sum("highs" in line for line in lines) == MOST_RANKED
    assert sum(" svf " in line for line in lines) == 1
    assert sum("file:mine.py(age=" in line and line.endswith(" %") for line in lines) == 3
    assert any("lower bound" in line and " 90 " in line for line in lines)
    assert "4 methods more." in " ".join(lines)
    assert max(map(len, lines)) <= 100
