"""The policies, found by looking into ``heuristics/policies``: adding one is adding a file."""

from dataclasses import replace
from functools import cache

import heuristics.policies
from heuristics.policy import Policy
from support.module_objects import find_module_objects


@cache
def policies() -> dict[str, Policy]:
    """Return all policies by name, sorted; the summary is the first line of the file's docstring.

    It raises TypeError if a file holds no ``POLICY`` or no docstring.
    """
    found: dict[str, Policy] = {}
    for file, summary, policy in find_module_objects(heuristics.policies, "POLICY", Policy):
        if policy.name in found:
            raise TypeError(f"{file}: policy {policy.name!r} occurs twice")
        found[policy.name] = replace(policy, summary=summary)
    return dict(sorted(found.items()))
