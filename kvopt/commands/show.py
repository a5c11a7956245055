"""``kvopt show NAME``: a policy and its pseudocode, a formulation, or a solver's constants."""

from __future__ import annotations

import ast
import shutil
import sys
from itertools import groupby, zip_longest
from pathlib import Path
from textwrap import wrap

import click

from formulations.registry import formulations
from heuristics.reference import references
from heuristics.registry import policies
from kvopt.commands import completion
from kvopt.methods.constants import constants
from kvopt.methods.engines import named_engines
from kvopt.methods.grammar import MethodError, read_method
from kvopt.methods.sources import module_file, parse_file
from support.checkout import ROOT
from support.command import Command, Options, argument
from support.text import find_name, unknown_name
from support.usage import UsageError

#: Columns of a line of source.
_LINE = 100
_BETWEEN = " | "


@click.command(
    "kvopt show",
    cls=Command,
    examples=("mc-sf", "ilp-sparse", "search:layers"),
    codes="0 shown; 2 no such name",
)
@argument("name", metavar="NAME", type=completion.shown_names)
def main(options: Options) -> int:
    """Show a policy and its paper's pseudocode, a formulation, or a solver's constants.

    NAME is of solve --list, of a solver also with a formulation, as in search:layers.  Files stand
    side by side where the terminal is wide enough.
    """
    known = [*policies(), *formulations(), *named_engines()]
    # What stands before a colon is a solver, with a formulation behind it.
    alone, colon, _ = options.name.partition(":")
    name = find_name(alone, [*named_engines()] if colon else known)
    if name is None:
        raise UsageError(unknown_name("policy, formulation or solver", options.name, known))
    wide = sys.stdout.isatty() and shutil.get_terminal_size().columns >= 2 * _LINE + len(_BETWEEN)
    try:
        print(show(options.name if colon else name, beside=wide))
    except MethodError as error:
        raise UsageError(str(error)) from None
    return 0


def show(name: str, *, beside: bool = False) -> str:
    """Return the file of a policy (and of its pseudocode) or formulation, or a solver's constants.

    ``beside`` sets the two side by side, 100 columns each.  Raises a MethodError for an unknown
    name.
    """
    if name in formulations():
        files = map(_file, formulations()[name].modules)
        return "\n\n".join("\n".join(lines) for lines in files)
    if name not in policies():
        return show_constants(name)
    policy = _file(f"heuristics.policies.{name.replace('-', '_')}")
    if name not in references():
        return "\n".join([*policy, "", "# no pseudocode: see the docstring"])
    reference = _file(references()[name].__module__)
    if not beside:
        return "\n".join([*policy, "", *reference])
    rows = zip_longest(policy, reference, fillvalue="")
    return "\n".join(f"{left:<{_LINE}}{_BETWEEN}{right}".rstrip() for left, right in rows)


def show_constants(method: str) -> str:
    """Return the numbers that tune a solver, with their meanings, file by file."""
    read = read_method(method)
    lines = [f"# {read.text}: constants of the files that its digest covers"]
    for path, found in groupby(constants(read), key=lambda each: each.path):
        lines += ["", f"# {_where(path)}"]
        for each in found:
            lines += wrap(each.meaning, _LINE, initial_indent="# ", subsequent_indent="# ")
            lines.append(each.text)
    return "\n".join(lines)


def _file(module: str) -> list[str]:
    """Return the lines of a module, headed by its path and those of what it uses beside it."""
    path = module_file(module)
    assert path is not None
    imports = [each for each in ast.walk(parse_file(path)) if isinstance(each, ast.ImportFrom)]
    near = {module_file(str(each.module)) for each in imports}
    near |= {module_file(f"{each.module}.{name.name}") for each in imports for name in each.names}
    uses = sorted(
        _where(each)
        for each in near
        if each and each.parent == path.parent and each.stem != "__init__"
    )
    head = [f"# {_where(path)}", *(f"# with {each}" for each in uses)]
    return [*head, "", *path.read_text(encoding="utf-8").rstrip("\n").split("\n")]


def _where(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()
