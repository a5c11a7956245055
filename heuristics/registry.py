"""The policies, found by looking into ``heuristics/policies``: adding one is adding a file."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import replace
from functools import cache

import heuristics.policies
from heuristics.policy import Policy


@cache
def policies() -> dict[str, Policy]:
    """Return all policies by name, sorted; the summary is the first line of the file's docstring.

    Raises
    ------
    TypeError
        If a file in ``heuristics/policies`` holds no ``POLICY`` or no docstring.
    """
    found: dict[str, Policy] = {}
    for module_info in pkgutil.iter_modules(heuristics.policies.__path__):
        module = importlib.import_module(f"heuristics.policies.{module_info.name}")
        policy = getattr(module, "POLICY", None)
        if not isinstance(policy, Policy) or not module.__doc__:
            raise TypeError(f"{module.__name__}: expected a docstring and a POLICY")
        if policy.name in found:
            raise TypeError(f"{module.__name__}: policy {policy.name!r} occurs twice")
        found[policy.name] = replace(policy, summary=module.__doc__.strip().splitlines()[0])
    return dict(sorted(found.items()))
