"""Formulations with options by name: read, refused, shown, and handed to the engine."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from collections.abc import Sequence

import pytest

from formulations.registry import RELAXED, formulations
from instances import Instance, Request
from instances.files import instance_document
from kvopt.commands.solve import main
from kvopt.methods.options import changed_values, describe, format_formulation, read_formulation
from tests.commands import run_command
from tests.kvopt.sweep_tools import ROOT


def test_options_are_read_in_any_order_and_kept_in_the_files() -> None:
    """Only what differs from the default is kept, so that one method has one name."""
    formulation, options = read_formulation(" cpsat-strong( equal=no , separation=yes, groups=no)")
    assert formulation.name == "cpsat-strong"
    assert list(options.items()) == [("groups", False), ("equal", False)]
    assert format_formulation(formulation, options) == "cpsat-strong(groups=no,equal=no)"


@pytest.mark.parametrize("text", ["cpsat", "cpsat()", "cpsat(separation=yes)", " cpsat ( ) "])
def test_defaults_have_the_bare_name(text: str) -> None:
    """A formulation without options, or with all at their defaults, is named as itself."""
    formulation, options = read_formulation(text)
    assert options == {}
    assert format_formulation(formulation, options) == "cpsat"


def test_numbers_are_options_too() -> None:
    """An option whose default is an int takes an integer, and 1 is no yes."""
    formulation, options = read_formulation("bound-patterns(knots=1)")
    assert options == {"knots": 1}
    assert not isinstance(options["knots"], bool)
    assert format_formulation(formulation, options) == "bound-patterns(knots=1)"
    assert changed_values({"knots": 40}, formulation.options) == {}


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


def test_an_option_reaches_the_model() -> None:
    """Without pairwise separation and groups the same model has fewer rows."""
    instance = Instance("four", 9, tuple(Request(i, 0, 2, 4) for i in range(4)))
    strong = [f"cpsat-strong({switch}=no)" for switch in ("groups", "equal", "separation")]
    models = ("cpsat", "cpsat(separation=no)", "cpsat-strong", *strong)
    rows = dict(zip(models, _rows(instance, models), strict=True))
    assert rows["cpsat(separation=no)"] < rows["cpsat"]
    assert all(rows[model] < rows["cpsat-strong"] for model in strong)


def _rows(instance: Instance, models: Sequence[str]) -> list[int]:
    """Return the number of constraints of each CP model."""
    code = (
        "import sys, json; from kvopt.methods.options import read_formulation; "
        "from instances.files import parse_instance\n"
        "instance = parse_instance(json.loads(sys.argv[1]))\n"
        "for text in sys.argv[2:]:\n"
        "    formulation, options = read_formulation(text)\n"
        "    program, chosen = formulation.declared, formulation.arguments(options)\n"
        "    model, _ = program.build(instance, program.windows(instance), None, **chosen)\n"
        "    print(len(model.proto.constraints))"
    )
    document = json.dumps(instance_document(instance))
    printed = subprocess.run(
        [sys.executable, "-c", code, document, *models],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    ).stdout
    return [int(line) for line in printed.split()]
