"""Build the integer program that a text names."""

from typing import Any

from formulations.mip.integer_program import IntegerProgram
from kvopt.methods.option_values import bound_only, read_formulation


def program_of(text: str) -> tuple[IntegerProgram, dict[str, Any]]:
    """Return the program of a formulation with options, and the arguments of its functions."""
    formulation, values = read_formulation(text)
    own = bound_only(formulation, values)[1]
    program = formulation.built(own).declared
    assert isinstance(program, IntegerProgram)
    return program, formulation.arguments(own)
