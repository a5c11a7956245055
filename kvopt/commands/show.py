"""``kvopt show NAME``: a policy beside the pseudocode of its paper, or a formulation's file."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path

from formulations.registry import formulations
from heuristics.reference import references
from heuristics.registry import policies
from instances.checkout import ROOT
from instances.streams import steadily
from instances.telling import find_name, unknown_name
from instances.usage import Parser, UsageError, complain
from kvopt.methods.sources import module_file, read_source

EXIT_OK = 0
EXIT_BAD_USAGE = 2
#: Columns of a line of source.
_LINE = 100
_BETWEEN = " | "


def main(arguments: Sequence[str] | None = None, program: str = "kvopt show") -> int:
    """Run the command and return its exit code: 0, or 2 for an unknown name (one line)."""
    return steadily(program, lambda: _main(arguments, program))


def _main(arguments: Sequence[str] | None, program: str) -> int:
    parser = Parser(
        prog=program,
        description="Show a policy's file and, under it or beside it where the terminal is "
        f"{2 * _LINE + len(_BETWEEN)} columns wide, the pseudocode of its paper line by line; "
        "of a formulation, its file.",
        epilog="exit code: 0 shown, 2 no such name",
    )
    parser.add_argument("name", metavar="NAME", help="a policy or a formulation (solve --list)")
    try:
        word = parser.parse_args(arguments).name
        known = [*policies(), *formulations()]
        name = find_name(word, known)
        if name is None:
            raise UsageError(unknown_name("policy or formulation", word, known))
    except UsageError as error:
        complain(program, error)
        return EXIT_BAD_USAGE
    wide = sys.stdout.isatty() and shutil.get_terminal_size().columns >= 2 * _LINE + len(_BETWEEN)
    print(show(name, beside=wide))
    return EXIT_OK


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
        return "\n".join(_file(formulations()[name].module))
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
