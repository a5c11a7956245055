"""Names that the shell proposes; modules are listed, not imported, since a shell waits."""

import pkgutil
from importlib import import_module
from itertools import chain

import heuristics.policies
from formulations.formulation_registry import formulations
from heuristics.predictions import PREDICTIONS
from instances.instance_names import library_files
from instances.ladder import read_ladder
from kvopt.methods.engine_table import named_engines
from serving.batch_time import batch_times
from support.click_command import ProposedNames


def policy_names() -> list[str]:
    """Return the policies, from the names of their files."""
    modules = pkgutil.iter_modules(heuristics.policies.__path__)
    return sorted(module.name.replace("_", "-") for module in modules)


instances = ProposedNames(lambda: chain(library_files(), read_ladder()), or_files=True)
inputs = ProposedNames(
    lambda: chain(import_module("kvopt.suites").suites(), library_files(), read_ladder()),
    or_files=True,
)
policies = ProposedNames(lambda: ["all", *policy_names()])
solvers = ProposedNames(named_engines)
formulation_names = ProposedNames(formulations)
#: Names for ``kvopt show``.
shown_names = ProposedNames(lambda: chain(policy_names(), formulations(), named_engines()))
predictions = ProposedNames(lambda: PREDICTIONS)
clocks = ProposedNames(batch_times)
methods = ProposedNames(lambda: chain(named_engines(), policy_names()), commas=True)
