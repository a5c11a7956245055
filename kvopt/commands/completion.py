"""What the shell proposes where a command takes names: those of the library, of methods, of suites.

Files are listed, not imported: a shell waits for the answer.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterable
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

Proposals = list[CompletionItem] | list[str]
Proposing = Callable[[click.Context, click.Parameter, str], Proposals]


def _proposing(names: Callable[[], Iterable[str]], *, or_files: bool = False) -> Proposing:
    """Return what proposes names, or else files where an argument may be one."""

    def propose(_: click.Context, __: click.Parameter, incomplete: str) -> Proposals:
        found = beginning(incomplete, names())
        return found if found or not or_files else [CompletionItem(incomplete, type="file")]

    return propose


def policy_names() -> list[str]:
    """Return the policies: a file bears its policy's name."""
    modules = pkgutil.iter_modules(heuristics.policies.__path__)
    return sorted(module.name.replace("_", "-") for module in modules)


instances = _proposing(lambda: chain(library_files(), ladder()), or_files=True)
inputs = _proposing(lambda: chain(suites(), library_files(), ladder()), or_files=True)
policies = _proposing(lambda: ["all", *policy_names()])
solvers = _proposing(named_engines)
formulation_names = _proposing(formulations)
#: What ``kvopt show`` shows.
shown_names = _proposing(lambda: chain(policy_names(), formulations(), named_engines()))
predictions = _proposing(lambda: PREDICTIONS)
clocks = _proposing(batch_times)


def methods(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Propose solvers and policies, after the last comma where there are several methods."""
    before, comma, last = incomplete.rpartition(",")
    names = beginning(last, [*named_engines(), *policy_names()])
    return [f"{before}{comma}{name}" for name in names]
