"""``kvopt show NAME``: a policy beside the pseudocode of its paper, or a formulation's file."""

from __future__ import annotations

import shutil
import sys
from itertools import zip_longest
from pathlib import Path

import click

from formulations.registry import formulations
from heuristics.reference import references
from heuristics.registry import policies
from instances.checkout import ROOT
from instances.command import Command, Options, argument
from instances.telling import find_name, unknown_name
from instances.usage import UsageError
from kvopt.commands import completion
from kvopt.methods.sources import module_file, read_source

#: Columns of a line of source.
_LINE = 100
_BETWEEN = " | "


@click.command(
    "kvopt show",
    cls=Command,
    examples=("mc-sf", "ilp-sparse"),
    codes="0 shown; 2 no such name",
)
@argument("name", metavar="NAME", shell_complete=completion.shown_names)
def main(options: Options) -> int:
    """Show a policy's file and the pseudocode of its paper, or a formulation's file.

    They stand side by side where the terminal is wide enough.  NAME is a policy or a formulation of
    solve --list.
    """
    known = [*policies(), *formulations()]
    name = find_name(options.name, known)
    if name is None:
        raise UsageError(unknown_name("policy or formulation", options.name, known))
    wide = sys.stdout.isatty() and shutil.get_terminal_size().columns >= 2 * _LINE + len(_BETWEEN)
    print(show(name, beside=wide))
    return 0


def show(name: str, *, beside: bool = False) -> str:
    """Return the file of a policy or formulation, and of a policy also that of its pseudocode.

    Parameters
    ----------
    name
        As ``solve --list`` has it.
    beside
        Whether the two stand side by side, 100 columns each.

    Raises
    ------
    KeyError
        If there is neither a policy nor a formulation of that name.
    """
    if name not in policies():
        files = map(_file, formulations()[name].modules)
        return "\n\n".join("\n".join(lines) for lines in files)
    policy = _file(f"heuristics.policies.{name.replace('-', '_')}")
    if name not in references():
        return "\n".join([*policy, "", "# no pseudocode: see the docstring"])
    reference = _file(references()[name].__module__)
    if not beside:
        return "\n".join([*policy, "", *reference])
    rows = zip_longest(policy, reference, fillvalue="")
    return "\n".join(f"{left:<{_LINE}}{_BETWEEN}{right}".rstrip() for left, right in rows)


def _file(module: str) -> list[str]:
    """Return the lines of a module, headed by its path and those of what it uses beside it."""
    path = module_file(module)
    assert path is not None
    near = {module_file(each) for each in read_source(path).imports}
    uses = sorted(
        _where(each)
        for each in near
        if each and each.parent == path.parent and each.stem != "__init__"
    )
    head = [f"# {_where(path)}", *(f"# with {each}" for each in uses)]
    return [*head, "", *path.read_text(encoding="utf-8").rstrip("\n").split("\n")]


def _where(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()
