"""``kvopt show NAME``: a policy and its pseudocode, a formulation, or a solver's constants."""

from itertools import groupby
from pathlib import Path
from textwrap import wrap

import click

from formulations.formulation_registry import formulations
from heuristics.policy_registry import policies
from heuristics.reference import references
from kvopt.commands import completion
from kvopt.methods.constants import constants
from kvopt.methods.engine_table import named_engines
from kvopt.methods.grammar import MethodError, read_method
from kvopt.methods.python_files import module_file
from support.click_command import Command, CommandOptions, argument
from support.message_text import find_name, unknown_name
from support.project_root import ROOT
from support.usage_errors import UsageError

#: Columns of a line of source.
_LINE = 100


@click.command(
    "kvopt show",
    cls=Command,
    fails={2: (MethodError,)},
    examples=("mc-sf", "ilp-sparse", "search:layers"),
    codes="0 shown; 2 no such name",
)
@argument("name", metavar="NAME", type=completion.shown_names)
def main(options: CommandOptions) -> int:
    """Show a policy and its paper's pseudocode, a formulation, or a solver's constants.

    NAME is a name of solve --list; a solver may have a formulation, as in search:layers.
    """
    known = [*policies(), *formulations(), *named_engines()]
    # Before a colon stands a solver, behind it a formulation.
    alone, colon, _ = options.name.partition(":")
    name = find_name(alone, [*named_engines()] if colon else known)
    if name is None:
        raise UsageError(unknown_name("policy, formulation or solver", options.name, known))
    print(show(options.name if colon else name))
    return 0


def show(name: str) -> str:
    """Return a policy's file and pseudocode, a formulation's, or constants; else a MethodError."""
    if name in formulations():
        return "\n\n".join(map(_file, formulations()[name].modules))
    if name not in policies():
        return show_constants(name)
    policy = _file(f"heuristics.policies.{name.replace('-', '_')}")
    reference = references().get(name)
    below = _file(reference.__module__) if reference else "# no pseudocode: see the docstring"
    return f"{policy}\n\n{below}"


def show_constants(method: str) -> str:
    """Return the numbers that tune a solver, with their meanings, file by file."""
    read = read_method(method)
    lines = [f"# {read.text}: constants of the files that its digest covers"]
    for path, found in groupby(constants(read), key=lambda each: each.path):
        lines += ["", f"# {_below_root(path)}"]
        for each in found:
            lines += wrap(each.meaning, _LINE, initial_indent="# ", subsequent_indent="# ")
            lines.append(each.text)
    return "\n".join(lines)


def _file(module: str) -> str:
    """Return the text of a module, headed by its path."""
    path = module_file(module)
    assert path is not None
    return f"# {_below_root(path)}\n\n{path.read_text(encoding='utf-8').rstrip()}"


def _below_root(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()
