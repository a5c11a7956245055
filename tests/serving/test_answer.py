"""The one answer for who serves: who is compared with whom, and by what share."""

from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from instances.time_unit import ROUNDS, SECONDS, TimeUnit
from kvopt.methods.knowledge import Knowledge, knowledge
from serving.answer import Answer, MethodTotal, make_answer

#: TEL (ms) over ten requests.
TRACE = {
    "vllm-v1": 123_000,
    "a-min with bins(100)": 115_400,
    "srpt-predicted with deciles": 100_000,
    "svf": 91_000,
    "mc-sf": 95_000,
    "alpha-beta": 130_000,
    "local-search": 90_000,
}


#: The answer for ten requests in rounds, whose bound is about all schedules.
IN_ROUNDS = partial(make_answer, covers_kept=True, requests=10, unit=ROUNDS)


def _outcomes(tels: dict[str, int], ticks: int) -> list[MethodTotal]:
    marked = {name: name + (" *" if name.startswith("vllm") else "") for name in tels}
    return [MethodTotal(marked[k], k, knowledge(k), tel * ticks) for k, tel in tels.items()]


def _answer(
    tels: dict[str, int], bound: int | None = 87_005, unit: TimeUnit = SECONDS, **more: Any
) -> Answer:
    ticks = unit.ticks // 1000 or 1
    least = None if bound is None else bound * ticks
    found = IN_ROUNDS(_outcomes(tels, ticks), bound=least, unit=unit, **more)
    assert found is not None
    return found


def _said(found: Answer) -> str:
    return "".join(text for text, _ in found.conclusion())


def test_a_line_a_class_in_the_terms_of_the_trace() -> None:
    """The best of each class against vLLM's scheduler; nothing of who adds nothing.

    1 - 115.4 / 123 = 0.06178, 1 - 100 / 123 = 0.18699, 1 - 91 / 123 = 0.26016, 1 - 90 / 123 =
    0.26829 and, rounded up, 1 - 87.005 / 123 = 0.29264.
    """
    found = _answer(TRACE)
    assert found.headers == ("information", "best method", "latency", "saved over vLLM")
    assert found.rows() == [
        ("none", "vllm-v1 *", "12.300 s", ""),
        ("predictions", "a-min with bins(100)", "11.540 s", "6.1 %"),
        ("deciles", "srpt-predicted with deciles", "10.000 s", "18.6 %"),
        ("lengths", "svf", "9.100 s", "26.0 %"),
        ("hindsight", "local-search", "9.000 s", "26.8 %"),
    ]
    last = "No scheduler has a mean below 8.700 s, so none saves more than 29.3 % over vLLM."
    assert _said(found) == last
    lines = str(found).splitlines()
    assert lines[0].split("  ")[0] == "information"
    assert " ".join(lines[3].split()) == "predictions a-min with bins(100) 11.540 s 6.1 %"
    assert (len(lines), lines[-1]) == (8, last)


def test_a_loss_is_no_saving() -> None:
    """Of two classes that are above vLLM's scheduler, and one at it."""
    found = _answer({"vllm-v1": 100, "a-min with bins(100)": 105, "svf": 100}, 90)
    assert [row[3] for row in found.rows()] == ["", "nothing", "nothing"]
    assert _said(found).endswith("so none saves more than 10.0 % over vLLM.")


def test_rounds_say_so_and_a_bound_that_does_not_cover_kept_tokens() -> None:
    """A scheduler that keeps tokens may be below: the share is of others; rounds show none."""
    found = _answer({"vllm-v1": 30, "svf": 25}, 24, ROUNDS, covers_kept=False)
    assert found.headers[2] == "latency, rounds"
    assert found.rows()[1] == ("lengths", "svf", "2.500", "16.6 %")
    assert _said(found) == "No scheduler within the problem has a mean below 2.400."
    said = _said(_answer({"vllm-v1": 30, "svf": 25}, 24, covers_kept=False))
    assert said.startswith("No scheduler within the problem has a mean below 0.002 s, so none of ")
    assert said.endswith("them saves more than 20.0 % over vLLM.")


def test_the_best_known_schedules_are_named_where_no_method_reaches_them() -> None:
    """The share is one number where the bound is met: 24 / 30 = 0.8."""
    best = MethodTotal("svf-first-fit, bound", "", Knowledge("outputs", offline=True), 24)
    outcomes = _outcomes({"vllm-v1": 30, "svf": 25}, 1)
    asked = partial(IN_ROUNDS, best=best)
    found = asked(outcomes, bound=24, optimal=True)
    assert found is not None
    assert found.rows()[2] == ("hindsight", "svf-first-fit, bound", "2.400", "20.0 %")
    last = "The best schedule has a mean of 2.400, so none saves more than 20.0 % over vLLM."
    assert _said(found) == last
    reached = [*outcomes, *_outcomes({"mc-sf": 24}, 1)]
    assert "best known" not in str(asked(reached, bound=20))


def test_the_best_schedule_has_what_a_method_that_reaches_it_has() -> None:
    """Of 11 rounds over three requests, 3.667: not 3.666, rounded down as a bound is."""
    outcomes = _outcomes({"vllm-v1": 13, "svf": 11}, 1)
    found = IN_ROUNDS(outcomes, bound=11, requests=3, optimal=True)
    assert found is not None
    assert found.rows()[1][2] == "3.667"
    assert _said(found).startswith("The best schedule has a mean of 3.667,")
    assert "a mean below 3.666" in str(IN_ROUNDS(outcomes, bound=11, requests=3))


@pytest.mark.parametrize(
    ("tels", "base", "others"),
    [
        ({"svf": 25, "alpha-beta": 30, "fcfs": 26}, "alpha-beta", ["svf"]),
        ({"vllm-v1(budget=64)": 30, "alpha-beta": 20}, "vllm-v1(budget=64) *", ["alpha-beta"]),
        ({"vllm-v1(budget=64)": 20, "vllm-v1": 30}, "vllm-v1 *", ["vllm-v1(budget=64) *"]),
        ({"vllm-v1": 20, "svf": 25, "local-search": 26}, "vllm-v1 *", ["svf"]),
        ({"vllm-v1": 20, "a-min with exact": 19, "svf": 19, "local-search": 19},
         "vllm-v1 *", ["svf"]),
        # Noise of no width tells the outputs, and so do the ranks of all.
        ({"vllm-v1": 20, "a-min with noise(0)": 9, "svf": 8}, "vllm-v1 *", ["svf"]),
        ({"vllm-v1": 20, "a-min with rank(1)": 9, "svf": 8}, "vllm-v1 *", ["svf"]),
        ({"vllm-v1": 20, "a-min with relative(0.5)": 9, "svf": 8}, "vllm-v1 *", ["svf"]),
        ({"vllm-v1": 20, "a-min with rank(0.9999)": 9, "svf": 8}, "vllm-v1 *",
         ["a-min with rank(0.9999)", "svf"]),
        ({"vllm-v1": 20, "svf": 25, "file:mine.py": 26}, "vllm-v1 *", ["file:mine.py", "svf"]),
        # Of a file that was run with many parameters the best.
        ({"vllm-v1": 20, "file:a.py(b=1)": 9, "file:a.py(b=2) with bins(5)": 8, "file:c.py": 7},
         "vllm-v1 *", ["file:c.py", "file:a.py(b=2) with bins(5)"]),
    ],
)  # fmt: skip
def test_who_is_compared_with_whom(tels: dict[str, int], base: str, others: list[str]) -> None:
    """vLLM's scheduler as it is, else with options, else non-clairvoyant; one's own always."""
    found = _answer(tels, None)
    assert found.base.label == base
    assert [each.label for _, each in found.others] == others


@pytest.mark.parametrize("tels", [{}, {"svf": 25, "mc-sf": 26}, {"vllm-v1": 20}])
def test_without_two_of_them_there_is_no_answer(tels: dict[str, int]) -> None:
    """Nobody to compare with, or nobody else."""
    assert IN_ROUNDS(_outcomes(tels, 1), bound=None) is None


@given(st.integers(1, 10**12), st.integers(1, 10**12), st.integers(1, 10**4))
def test_the_bound_is_never_shown_above_itself(base: int, bound: int, requests: int) -> None:
    """It is rounded down, and the share that is left is rounded up."""
    low = min(base, bound)
    outcomes = [MethodTotal("v", "vllm-v1", knowledge("vllm-v1"), base)]
    text = str(IN_ROUNDS(outcomes, bound=low, requests=requests))
    shown = float(text.partition("mean below ")[2].split(",")[0])
    assert shown <= low / requests
    share = float(text.partition("more than ")[2].split()[0])
    assert share >= 100 * (base - low) / base - 1e-6


@given(st.integers(1, 10**12), st.integers(1, 10**12))
def test_what_is_won_is_never_shown_above_itself(base: int, other: int) -> None:
    """It is rounded down, and what nobody wins is 0; the bound is then the best schedule's TEL."""
    found = _answer({"vllm-v1": base, "svf": other}, min(base, other))
    saved = found.rows()[-1][3].removesuffix(" %") if found.others else "0"
    low = 0.0 if saved == "nothing" else float(saved)
    high = float(_said(found).partition("more than ")[2].split()[0])
    won = 100 * max(0, base - other) / base
    assert low <= won + 1e-6 <= high + 2e-6
    assert high - low <= 0.1 + 1e-9


def test_without_a_bound_there_is_no_conclusion() -> None:
    """The rows stand alone, also of a best known schedule without a name."""
    best = MethodTotal("", "", knowledge("svf"), 24)
    runs = [MethodTotal("vllm-v1", "vllm-v1", knowledge("vllm-v1"), 30)]
    found = IN_ROUNDS(runs, bound=None, best=best)
    assert found is not None
    assert found.rows()[1] == ("lengths", "", "2.400", "20.0 %")
    assert _said(found) == ""
