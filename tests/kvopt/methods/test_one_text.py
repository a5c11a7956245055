"""One method, one text: however it is named, and whatever its options are."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formulations.registry import Option, formulations
from heuristics.policy import Choice, Parameter
from heuristics.predictions import PREDICTIONS
from heuristics.registry import policies
from kvopt.commands.solve import main
from kvopt.commands.solve_arguments import judge_options, named_method
from kvopt.methods.engines import engines, named_engines
from kvopt.methods.grammar import MethodError, every_policy, read_method, read_methods
from kvopt.suites import read_suite
from kvopt.sweeps.plan import plan
from support.command import Options

Drawn = st.SearchStrategy[str]


def _value(declared: Parameter | Choice | Option) -> Drawn:
    if isinstance(declared, Choice):
        return st.sampled_from(declared.options)
    if isinstance(declared, Option):
        if isinstance(declared.default, bool):
            return st.sampled_from(("yes", "no"))
        return st.integers(0, 2**31 - 1).map(str)
    if declared.integer:
        return st.integers(int(declared.low), int(declared.high)).map(str)
    return st.floats(declared.low, declared.high).map(repr)


@st.composite
def _calls(draw: st.DrawFn, name: str, declared: tuple[Parameter | Choice | Option, ...]) -> str:
    """Draw a name with some of its options, in any order, with blanks and other hyphens."""
    chosen = draw(st.permutations(declared))[: draw(st.integers(0, len(declared)))]
    blank = draw(st.sampled_from(("", " ")))
    entries = [f"{blank}{each.name}{blank}={blank}{draw(_value(each))}" for each in chosen]
    spelled = draw(st.sampled_from((name, name.upper(), name.replace("-", "_"))))
    return f"{spelled}{blank}({f'{blank},'.join(entries)}{blank})" if entries else spelled


@st.composite
def _methods(draw: st.DrawFn) -> str:
    """Draw a method of the grammar: every policy, engine, formulation and prediction."""
    if draw(st.booleans()):
        policy = draw(st.sampled_from(list(policies().values())))
        text = draw(_calls(policy.name, policy.parameters))
        if policy.clairvoyant or policy.blind or draw(st.booleans()):
            return text
        model = draw(st.sampled_from(list(PREDICTIONS.values())))
        if model.name == "interval":
            low, high = sorted(draw(st.tuples(*[st.integers(1, 10**9)] * 2)))
            return f"{text}  with interval( {low}, {high})"
        return f"{text} with {draw(_calls(model.name, model.parameters))}"
    engine = draw(st.sampled_from(list(named_engines().values())))
    fitting = [each for each in formulations().values() if each.kind == engine.solves]
    if not fitting or draw(st.booleans()):
        return draw(st.sampled_from((engine.name, engine.name.upper())))
    formulation = draw(st.sampled_from(fitting))
    return f"{engine.name}:{draw(_calls(formulation.name, formulation.options))}"


@given(_methods())
def test_the_canonical_text_reads_as_itself(text: str) -> None:
    """Reading it gives the same method again, values and all: what a worker is sent is all."""
    method = read_method(text)
    assert read_method(method.text) == method
    assert read_method(method.text, planned=True) == method
    assert method.text == method.text.lower()


@given(_methods())
def test_solve_reads_the_same_from_a_text_and_from_parts(text: str) -> None:
    """``--method`` and the options that name it in parts are one reader."""
    method = read_method(text)
    parts = _parts(text, method.kind)
    for arguments in ([f"--method={text}"], parts):
        assert named_method(_arguments(*arguments)) == method


def _arguments(*arguments: str) -> Options:
    options = Options(**main.make_context("solve.py", ["tiny_handover", *arguments]).params)
    judge_options(options)
    return options


def _parts(text: str, kind: str) -> list[str]:
    if kind == "policy":
        policy, found, prediction = text.partition(" with ")
        return [f"--policy={policy}", *([f"--predict={prediction}"] if found else [])]
    solver, found, formulation = text.partition(":")
    return [f"--solver={solver}", *([f"--formulation={formulation}"] if found else [])]


@pytest.mark.parametrize(
    "text",
    [
        "A_min with Interval(1, 50)",
        "highs : ilp_sparse(Groups=yes)",
        "bound:bound-patterns(points=2)",
        "auto",
    ],
)
def test_two_ways_to_one_text(text: str, tmp_path: Path) -> None:
    """Suite, command line and a text read by itself name the same method."""
    method = read_method(text)
    suite = tmp_path / "one.toml"
    suite.write_text(
        'summary = "One."\n[[section]]\nname = "one"\ninstances = ["tiny/handover.json"]\n'
        f"methods = ['{text}']\n"
    )
    (section,) = read_suite(suite).sections
    (task,) = plan([section])
    assert task.method == method == read_methods([text])[0]


def test_a_formulation_alone_finds_its_engine() -> None:
    """``--formulation F`` is the engine that is the default of its kind."""
    for name, formulation in formulations().items():
        method = named_method(_arguments("--formulation", name.upper()))
        assert method.formulation == name
        assert engines()[method.solver].solves == formulation.kind
        assert engines()[method.solver].default


def test_every_policy_is_told_what_it_may_know() -> None:
    """With a prediction for all, those that know the outputs or use none run without."""
    methods = every_policy("interval(1,50)")
    assert [method.call and method.call.policy.name for method in methods] == list(policies())
    for method in methods:
        assert method.call is not None
        told = method.text.endswith(" with interval(high=50)")
        assert told == (not method.call.policy.clairvoyant and not method.call.policy.blind)
    with pytest.raises(MethodError, match="unknown prediction 'magic'"):
        every_policy("magic")
