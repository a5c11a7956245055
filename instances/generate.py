"""Command: write one instance of a family, ``python -m instances.generate FAMILY``."""

import inspect
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, get_type_hints

import click
from pydantic import TypeAdapter, ValidationError

from instances.families import families
from instances.families.shared import LAST_SEED, ranges
from instances.instance import InfeasibleInstanceError, Instance
from instances.instance_files import format_instance
from support.click_command import Command, CommandOptions, ProposedNames, argument, option
from support.json_files import describe_first_fault, write_text
from support.message_text import did_you_mean, find_name, unknown_name
from support.output_checks import OutputError, check_outputs
from support.usage_errors import UsageError, read_integer


def family_seed(text: str) -> int:
    """Read a seed of what a family draws."""
    return read_integer(text, 0, LAST_SEED)


#: Lets a command take the parameters of a family, for :func:`draw_family`.
SET_OPTION = option(
    "--set", "KEY=VALUE", "a parameter of the family, as n=8; may be repeated", multiple=True
)


@click.command(
    "python -m instances.generate",
    cls=Command,
    fails={2: (OutputError,)},
    examples=("--list", "am1 --seed 7 --out mine.json", "uniform --set n=20 --set memory=100"),
    codes="0 written; 2 bad usage",
)
@argument("family", required=False, metavar="FAMILY", type=ProposedNames(families))
@option("--seed", "K", "of what is drawn (default: 0)", family_seed, 0)
@SET_OPTION
@option("--out", "FILE", "file to write (default: standard output)")
@option("--list", is_flag=True, help="name the families and their parameters")
def main(options: CommandOptions) -> int:
    """Write one instance of a family."""
    if options.list:
        rows = ((each.name, each.summary, _shown(each.generate)) for each in families().values())
        sys.stdout.write(format_listing(rows))
        return 0
    if options.family is None:
        raise UsageError("expected a FAMILY; --list names them")
    check_outputs({"--out": options.out})
    instance = draw_family(options.family, options.seed, options.set)
    write_out(options.out, format_instance(name_parameters(instance, options.set)))
    return 0


def format_listing(rows: Iterable[tuple[str, str, str]]) -> str:
    """Return two lines a row, which is a name, its summary, and what it takes."""
    every = list(rows)
    width = max(len(name) for name, _, _ in every)
    return "".join(f"{name:<{width}}  {a}\n{'':<{width}}  {b}\n" for name, a, b in every)


def name_parameters(drawn: Instance, assignments: Iterable[str]) -> Instance:
    """Return a drawn instance whose name has each KEY=VALUE, as ``_rate2.5``, unless it has it."""
    more = ""
    for key, _, text in (each.partition("=") for each in assignments):
        has = (key + text, text, text.replace("-", "_").replace(".", "_"))
        more += "" if any(f"_{each}_" in f"_{drawn.name}_" for each in has) else f"_{key}{text}"
    return replace(drawn, name=drawn.name + more)


def draw_family(name: str, seed: int, assignments: Sequence[str]) -> Instance:
    """Return an instance of a family with parameters KEY=VALUE, or raise a UsageError."""
    family = families().get(find_name(name, families()) or "")
    if family is None:
        raise UsageError(unknown_name("family", name, families()))
    types = get_type_hints(family.generate)
    values: dict[str, Any] = {}
    for assignment in assignments:
        key, sign, text = assignment.partition("=")
        if not sign or key not in _parameters(family.generate) or key in values:
            raise UsageError(
                f"--set {assignment!r}: expected KEY=VALUE, each key once, from "
                f"{_shown(family.generate)}{did_you_mean(key, _parameters(family.generate))}"
            )
        try:
            values[key] = TypeAdapter(types[key]).validate_strings(text)
        except ValidationError as error:
            raise UsageError(f"--set {assignment!r}: {describe_first_fault(error)}") from None
    try:
        return family.generate(seed=seed, **values)
    except ValidationError as error:
        raise UsageError(f"{family.name}: {describe_first_fault(error)}") from None
    except (ValueError, InfeasibleInstanceError) as error:
        raise UsageError(f"{family.name}: {error}") from None


def _parameters(generate: Callable[..., Instance]) -> dict[str, Any]:
    """Return the parameters that --set takes, with their defaults."""
    parameters = inspect.signature(generate).parameters.values()
    return {each.name: each.default for each in parameters if each.name != "seed"}


def _shown(generate: Callable[..., Instance]) -> str:
    limits = ranges(generate)
    shown = [
        (key if default is None else f"{key}={str(default).lower()}")
        + (f" ({limits[key]})" if key in limits else "")
        for key, default in _parameters(generate).items()
    ]
    return ", ".join(shown) or "(no parameters)"


def write_out(path: str | None, text: str) -> None:
    """Write a file, or on standard output without one; raise a UsageError if that fails."""
    if path is None:
        sys.stdout.write(text)
        return
    try:
        write_text(path, text)
    except (OSError, ValueError) as error:
        raise UsageError(f"--out {path}: {getattr(error, 'strerror', None) or error}") from None


if __name__ == "__main__":
    sys.exit(main())
