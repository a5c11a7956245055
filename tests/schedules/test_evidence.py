"""The rule of evidence, on plain values alone."""

from dataclasses import replace
from itertools import permutations
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedules.evidence import (
    COMPUTED,
    CONTRADICTED,
    MISSTATED,
    STANDINGS,
    BoundStatement,
    ProofArgument,
    Standing,
    Witness,
    contradictions,
    independent_pair,
    is_bound_believed,
    judge,
    keeps_tokens,
    misstatement,
    own_contradiction,
    proves_method_wrong,
)
from schedules.schedule import EASIER, KEEPS_TOKENS_NOTE, OUTSIDE


def _certificate(kind: str, code: str, argument: ProofArgument) -> Witness:
    name = f"certificate: {kind}"
    return Witness(name, 12, "certificate: ", frozenset({code}), argument, kind)


ILP = Witness(
    "highs:ilp", 12, "highs", frozenset({"ilp", "windows"}), ProofArgument.BRANCH_AND_BOUND
)
CP = Witness("cpsat:cpsat", 12, "cpsat", frozenset({"cp"}), ProofArgument.CONSTRAINTS)
SEARCH = Witness(
    "search", 12, "search", frozenset({"layers", "windows"}), ProofArgument.FORWARD_SETS
)
BACKWARD = Witness("search:sweep", 12, "search", frozenset({"sweep"}), ProofArgument.BACKWARD)
SWEEP = _certificate("sweep", "swept", ProofArgument.BACKWARD)
VOLUMES = _certificate("volumes", "volume", ProofArgument.AREA)
PARTS = _certificate("parts", "parts", ProofArgument.PARTS)
PRICES = _certificate("prices", "windows", ProofArgument.MEMORY_PRICES)


@pytest.mark.parametrize(
    ("upper", "lower", "witnesses", "construction", "standing", "reason"),
    [
        (None, None, [], None, "none", "open"),
        (None, 10, [], None, "none", "open"),
        (12, None, [], None, "open", "open"),
        (12, 11, [ILP, CP], None, "open", "open"),
        (12, 12, [ILP, CP], None, "opt", "solver-reported by highs:ilp and cpsat:cpsat"),
        # Windows are common to both models.
        (12, 12, [ILP, SEARCH], None, "one witness", "one proof only: highs:ilp, search"),
        (12, 12, [CP], None, "one witness", "one proof only: cpsat:cpsat"),
        (12, 12, [], None, "one witness", "one solver-reported bound only"),
        (12, 12, [VOLUMES, CP], None, "opt", "certified (volumes), solver-reported by"),
        (12, 12, [ILP, PRICES], None, "one witness", "one proof only: highs:ilp, "),
        (12, 12, [PRICES], 12, "opt", "certified (prices), by construction"),
        (12, 12, [CP], 12, "opt", "by construction, solver-reported by cpsat:cpsat"),
        (12, 12, [], 12, "construction", "by construction alone"),
        # Without common code, but by one argument.
        (12, 12, [BACKWARD, SWEEP], None, "one argument", "one argument only: backward"),
        (12, 12, [VOLUMES], 12, "one argument", "one argument only: area"),
        # A sum over parts may rest on any certificate's argument for each of them.
        (12, 12, [BACKWARD, PARTS], None, "one argument", "one argument only: backward"),
        (12, 12, [PARTS], 12, "one argument", "one argument only: sum over parts"),
        (12, 12, [CP, PARTS], None, "opt", "certified (parts), solver-reported by cpsat"),
        (12, 12, [SEARCH, SWEEP], None, "opt", "certified (sweep), solver-reported by sea"),
        (13, 12, [CP], 12, "construction", "open"),
        (None, 12, [], 12, "construction", "open"),
        (12, 13, [ILP, CP], None, "contradiction", "lower bound 13 exceeds 12"),
        (14, 13, [], 12, "contradiction", "lower bound 13 exceeds 12"),
        (11, 10, [], 12, "contradiction", "lower bound 12 exceeds 11"),
    ],
)
def test_each_standing(
    upper: int | None,
    lower: int | None,
    witnesses: list[Witness],
    construction: int | None,
    standing: str,
    reason: str,
) -> None:
    """What bounds, witnesses and construction come to, with the line that says why."""
    verdict = judge(upper, lower, witnesses, construction=construction)
    assert verdict.standing == standing
    assert verdict.reason.startswith(reason)
    assert verdict.opt == (standing == "opt")


def test_witnesses_of_another_value_do_not_count() -> None:
    """Proofs of 12 say nothing about a schedule of 11."""
    assert judge(11, 11, [ILP, CP]).standing == "one witness"


def test_one_solver_is_one_witness() -> None:
    """Whatever its models are, and however often it is named."""
    strong = replace(CP, name="cpsat:cpsat-strong", model_code=frozenset({"t"}))
    assert independent_pair([CP, strong]) is None
    assert judge(12, 12, [CP, CP]).reason == "one proof only: cpsat:cpsat"
    assert judge(12, 12, [CP, CP]).shared == judge(12, 12, [CP, ILP]).shared == ""


def test_why_a_second_proof_does_not_count() -> None:
    """The solver, code of the model, the argument, or several of them."""
    assert judge(12, 12, [ILP, SEARCH]).shared == ("highs:ilp and search share code of the model")
    assert judge(12, 12, [BACKWARD, SWEEP]).shared == (
        "certificate: sweep and search:sweep share the argument (backward dynamic "
        "programming with state-space relaxation)"
    )
    other = Witness("highs:strong", 12, "highs", ILP.model_code, ProofArgument.BRANCH_AND_BOUND)
    assert judge(12, 12, [ILP, other]).shared == (
        "highs:ilp and highs:strong share the solver and code of the model and the argument "
        "(time-indexed formulation, branch and bound)"
    )
    assert independent_pair([ILP, SEARCH, CP]) == (ILP, CP)


@given(
    st.sets(st.sampled_from([ILP, CP, SEARCH, BACKWARD, SWEEP, VOLUMES, PRICES])),
    st.sampled_from([ILP, CP, SEARCH, BACKWARD, SWEEP, VOLUMES, PRICES]),
    st.sampled_from([None, 12]),
)
def test_more_evidence_never_shows_less(
    witnesses: set[Witness], more: Witness, construction: int | None
) -> None:
    """A further witness, or the construction, takes no optimum away; the order does not matter."""
    before = judge(12, 12, [*witnesses])
    after = judge(12, 12, [*witnesses, more], construction=construction)
    assert after.opt >= before.opt
    orders = list(permutations([*witnesses, more]))[:24]
    assert len({judge(12, 12, order).standing for order in orders}) == 1


def test_every_standing_has_a_word_and_only_one_is_called_known() -> None:
    """Tables take their words from here."""
    assert set(STANDINGS) == set(get_args(Standing))
    assert [key for key, text in STANDINGS.items() if "known" in text] == ["opt"]


@pytest.mark.parametrize(
    ("status", "detail", "source", "word", "expected"),
    [
        ("optimal", "", "CP-SAT", True, True),
        ("time_limit", "", "CP-SAT", True, True),
        ("crashed", "died", "CP-SAT", True, True),
        ("refused", "", "CP-SAT", True, False),
        ("error", CONTRADICTED + "13 > 12", "CP-SAT", True, False),
        ("error", "", "volumes", True, False),
        # The file is to blame, not the run.
        ("error", f"{MISSTATED}9, is wrong", "CP-SAT", True, True),
        ("error", f"{KEEPS_TOKENS_NOTE}; {MISSTATED}9, is wrong", "CP-SAT", True, True),
        ("error", f"{CONTRADICTED}{MISSTATED}9, is wrong", "CP-SAT", True, False),
        ("refused", f"{MISSTATED}9, is wrong", "CP-SAT", True, False),
        ("optimal", "", "own method", False, False),
        ("feasible", "", "volumes", False, True),
    ],
)
def test_bounds_that_are_believed(
    status: str, detail: str, source: str, word: bool, expected: bool
) -> None:
    """Not those of caught runs, nor the word of what is no solver of the project."""
    assert is_bound_believed(status, detail, source, word=word) == expected


@pytest.mark.parametrize(
    "source", ["volumes", "work", "certificate: sweep", "certificate: ", "HiGHS"]
)
@pytest.mark.parametrize("word", [False, True])
def test_what_a_source_names_must_be_there(source: str, word: bool) -> None:
    """Whose word it is does not count where a proof is named: it proves the bound, or not."""
    told = ("feasible", "", source)
    stated = [is_bound_believed(*told, word=word, proved=each) for each in (True, False)]
    assert stated == ([word, word] if source == "HiGHS" else [True, False])
    unseen = is_bound_believed(*told, word=word)
    assert unseen == (source in COMPUTED or (source == "HiGHS" and word))
    assert not is_bound_believed("refused", "", source, word=True, proved=True)


def test_runs_that_prove_their_method_wrong() -> None:
    """A refused schedule and a bound that cannot be true; a wrong file is nobody's fault here."""
    assert proves_method_wrong("refused", "")
    assert proves_method_wrong("error", f"{KEEPS_TOKENS_NOTE}; {CONTRADICTED}13 > 12")
    assert not proves_method_wrong("error", f"{MISSTATED}9, is wrong")
    assert not proves_method_wrong("error", "own.py:3: ZeroDivisionError")


@pytest.mark.parametrize(
    ("detail", "may_keep", "kept", "expected"),
    [
        ("", False, None, False),
        ("", True, None, True),
        ("", True, False, False),
        ("", True, True, True),
        *((easier + OUTSIDE, False, None, True) for easier in EASIER),
        (f"{KEEPS_TOKENS_NOTE}; more", True, None, True),
    ],
)
def test_schedules_that_are_no_upper_bound(
    detail: str, may_keep: bool, kept: bool | None, expected: bool
) -> None:
    """Where nothing shows that a method which may keep tokens kept none, its TEL is none."""
    assert keeps_tokens(detail, may_keep=may_keep, kept=kept) == expected


def test_contradictions_name_the_least_schedule() -> None:
    """Every bound above it is named, the greatest first; without a schedule none is wrong."""
    uppers = [BoundStatement(13, "svf"), BoundStatement(12, "cpsat")]
    lowers = [BoundStatement(12, "a"), BoundStatement(13, "b"), BoundStatement(20, "c")]
    found = contradictions(uppers, lowers)
    assert [(each.lower.by, each.upper.by) for each in found] == [("c", "cpsat"), ("b", "cpsat")]
    assert contradictions([], lowers) == contradictions(uppers, []) == []


def test_a_bound_above_the_schedule_of_its_own_run() -> None:
    """One line with both numbers, nothing where they agree or one is missing."""
    line = own_contradiction(12, 13, "CP-SAT")
    assert line == "lower bound 13 (CP-SAT) exceeds the run's own checked TEL, 12"
    assert own_contradiction(12, 12, "x") == own_contradiction(None, 13, "x") == ""
    assert own_contradiction(12, None, "x") == ""


@pytest.mark.parametrize(
    ("upper", "certified", "told"),
    [(12, 10, ""), (None, 0, ""), (13, 12, ""), (11, 0, "has TEL 11"), (13, 13, "bound 13")],
)
def test_a_wrong_statement(upper: int | None, certified: int, told: str) -> None:
    """A checked schedule or a certified bound proves it."""
    found = misstatement(12, upper, certified)
    assert (found.startswith(MISSTATED), found.endswith(told)) == (bool(told), True)
