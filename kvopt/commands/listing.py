"""What ``solve.py --list`` prints: solvers, formulations, policies and predictions."""

from __future__ import annotations

from formulations.registry import formulations
from formulations.spec import describe_option
from heuristics.predictions import PREDICTIONS
from heuristics.registry import policies
from heuristics.spec import describe_parameter


def listing() -> str:
    """Return one line for everything that can be named, and one for each of its parameters."""
    sections = [
        "solvers",
        "  auto    bound, local search and exact engine side by side, by size (the default)",
        "  highs   HiGHS on a Pyomo model: MIP and LP relaxations",
        "  cpsat   OR-tools' CP-SAT",
        "  bound   lower bounds from memory prices or volumes, certified in integers",
        "  search  our own search over sets of started requests, up to 63 requests",
        "  NAME    any other solver that Pyomo's solver interface finds on this machine",
        "",
        "formulations",
    ]
    width = max(len(name) for name in [*formulations(), *policies()])
    for formulation in formulations().values():
        kind = f"[{formulation.kind}]"
        sections.append(f"  {formulation.name:<{width}}  {kind:<8} {formulation.summary}")
        for option in formulation.options:
            sections.append(f"  {'':<{width}}  {'':<8}   {describe_option(option)}")
    sections += ["", "policies"]
    for policy in policies().values():
        sections.append(f"  {policy.name:<{width}}  {policy.summary}")
        for parameter in policy.parameters:
            sections.append(f"  {'':<{width}}    {describe_parameter(parameter)}")
    sections += ["", "predictions (for policies that are not clairvoyant)"]
    for prediction in PREDICTIONS.values():
        sections.append(f"  {prediction.name:<{width}}  {prediction.summary}")
        for parameter in prediction.parameters:
            sections.append(f"  {'':<{width}}    {describe_parameter(parameter)}")
    return "\n".join(sections)
