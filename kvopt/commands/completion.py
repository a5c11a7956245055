"""What the shell proposes where a command takes names: those of the library, of methods, of suites.

Files are listed, not imported: a shell waits for the answer.
"""

from __future__ import annotations

import pkgutil
from itertools import chain

import click
from click.shell_completion import CompletionItem

import heuristics.policies
from formulations.registry import formulations
from heuristics.predictions import PREDICTIONS
from instances.batch_time import batch_times
from instances.ladder import ladder
from instances.named import library_files
from kvopt.methods.engines import named_engines
from kvopt.suites import suites
from support.command import beginning


def instances(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Propose instances of the library, and files where none begins so."""
    return _or_files(beginning(incomplete, chain(library_files(), ladder())), incomplete)


def inputs(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Propose suites and instances, and files where none begins so."""
    return _or_files(beginning(incomplete, chain(suites(), library_files(), ladder())), incomplete)


def policy_names() -> list[str]:
    """Return the policies: a file bears its policy's name."""
    modules = pkgutil.iter_modules(heuristics.policies.__path__)
    return sorted(module.name.replace("_", "-") for module in modules)


def policies(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Propose policies, and ``all``."""
    return beginning(incomplete, ["all", *policy_names()])


def solvers(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Propose solvers."""
    return beginning(incomplete, named_engines())


def methods(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Propose solvers and policies, after the last comma where there are several methods."""
    before, comma, last = incomplete.rpartition(",")
    names = beginning(last, [*named_engines(), *policy_names()])
    return [f"{before}{comma}{name}" for name in names]


def formulation_names(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Propose formulations."""
    return beginning(incomplete, formulations())


def shown_names(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Propose what ``kvopt show`` shows: policies, formulations and solvers."""
    return beginning(incomplete, [*policy_names(), *formulations(), *named_engines()])


def predictions(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Propose predictions."""
    return beginning(incomplete, PREDICTIONS)


def clocks(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Propose batch times."""
    return beginning(incomplete, batch_times())


def _or_files(names: list[str], incomplete: str) -> list[CompletionItem]:
    return [*map(CompletionItem, names)] or [CompletionItem(incomplete, type="file")]
