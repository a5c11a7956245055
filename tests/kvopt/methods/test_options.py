"""Formulations with options by name: read, refused, shown, and handed to the engine."""

from __future__ import annotations

import dataclasses

import pytest

from formulations.registry import RELAXED, formulations
from kvopt.commands.solve import main
from kvopt.methods.options import changed_values, describe, format_formulation, read_formulation
from tests.commands import run_command


def test_options_are_read_in_any_order_and_kept_in_the_files() -> None:
    """Only what differs from the default is kept, so that one method has one name."""
    formulation, options = read_formulation(" cpsat-strong( equal=no , separation=yes, groups=no)")
    assert formulation.name == "cpsat-strong"
    assert list(options.items()) == [("groups", False), ("equal", False)]
    assert format_formulation(formulation, options) == "cpsat-strong(groups=no,equal=no)"


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
