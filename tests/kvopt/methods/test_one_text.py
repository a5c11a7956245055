"""One method, one text: however it is named, and whatever its options are."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formulations.formulation_registry import RELAXED, FormulationOption, formulations
from heuristics.policy import Choice, Parameter
from heuristics.policy_registry import policies
from heuristics.predictions import PREDICTIONS
from kvopt.commands.solve import main
from kvopt.commands.solve_arguments import judge_options, named_method
from kvopt.methods.engine_table import engines, named_engines
from kvopt.methods.grammar import MethodError, every_policy, read_method
from kvopt.methods.option_values import describe, format_formulation, read_formulation
from support.click_command import CommandOptions
from tests.commands import run_command

Drawn = st.SearchStrategy[str]


def _value(declared: Parameter | Choice | FormulationOption) -> Drawn:
    if isinstance(declared, Choice):
        return st.sampled_from(declared.options)
    if isinstance(declared, FormulationOption):
        if isinstance(declared.default, bool):
            return st.sampled_from(("yes", "no"))
        return st.integers(0, 2**31 - 1).map(str)
    if declared.integer:
        return st.integers(int(declared.low), int(declared.high)).map(str)
    return st.floats(declared.low, declared.high).map(repr)


@st.composite
def _calls(
    draw: st.DrawFn, name: str, declared: tuple[Parameter | Choice | FormulationOption, ...]
) -> str:
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
    names, between = ("solver", "formulation"), ":"
    if method.kind == "policy":
        names, between = ("policy", "predict"), " with "
    parts = [f"--{k}={v}" for k, v in zip(names, text.split(between, 1), strict=False)]
    for arguments in ([f"--method={text}"], parts):
        assert named_method(_arguments(*arguments)) == method


def _arguments(*arguments: str) -> CommandOptions:
    options = CommandOptions(**main.make_context("solve.py", ["tiny_handover", *arguments]).params)
    judge_options(options)
    return options


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


def test_options_are_read_in_any_order_and_kept_in_the_files() -> None:
    """Only what differs from the default is kept, so that one method has one name."""
    formulation, options = read_formulation(" cpsat-strong( equal=no , separation=yes, groups=no)")
    assert formulation.name == "cpsat-strong"
    assert list(options.items()) == [("groups", False), ("equal", False)]
    assert format_formulation(formulation, options) == "cpsat-strong(groups=no,equal=no)"


def test_every_option_is_described() -> None:
    """Each option has a meaning to print; the listing shows name, default and what is allowed."""
    described = [describe(option) for each in formulations().values() for option in each.options]
    assert described
    assert all(option.meaning for each in formulations().values() for option in each.options)
    listing = run_command(main, "--list").stdout
    assert all(line in listing for line in described)
    assert any(line.startswith("knots=40  (0..2147483647)") for line in described)
    assert any(line.startswith("separation=yes  (yes | no)") for line in described)


@pytest.mark.parametrize("name", [name for name, each in formulations().items() if each.options])
def test_the_listing_is_what_the_formulation_takes(name: str) -> None:
    """The options listed are the fields of the declared dataclass, in order, at their defaults."""
    formulation = formulations()[name]
    options = [option for option in formulation.options if option != RELAXED]
    taken = (formulation.strengthened or formulation).arguments({}).get("options")
    own = dataclasses.asdict(taken) if taken else {}
    assert list(own.items()) == [(option.name, option.default) for option in options]
    # Each is taken by its name.
    for option in options:
        turned = not option.default if isinstance(option.default, bool) else option.default + 1
        chosen = formulation.arguments({option.name: turned})["options"]
        assert dataclasses.asdict(chosen) == own | {option.name: turned}
