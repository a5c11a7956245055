"""Text of ``--list`` in both commands: methods, their parts, and their knowledge."""

from collections.abc import Sequence

from formulations.formulation_registry import formulations
from heuristics.policy_registry import policies
from heuristics.predictions import PREDICTIONS
from kvopt.methods.engine_table import named_engines
from kvopt.methods.grammar import ANSWER
from kvopt.methods.knowledge import knowledge_words
from kvopt.methods.option_values import Declared, describe
from kvopt.methods.syntax import FORM
from kvopt.suites import read_suite, suites
from serving.batch_time import batch_times

#: Notes on the form of a method.
_MEANING = (
    "  a solver of [mip] or [cp] runs alone with FORMULATION, and with the methods of auto "
    "without it;\n  a file takes the parameters that it declares; in lists of methods policies and "
    "solvers mean all of them,\n  and answer means vLLM's scheduler and its rivals: "
    f"{', '.join(ANSWER)}"
)


def listing() -> str:
    """Return one line for each name, and one for each of its parameters."""
    named = [*named_engines(), *formulations(), *policies(), *PREDICTIONS, *batch_times()]
    named += [*suites()]
    width = max(map(len, named))
    lines = [f"methods: {FORM}", _MEANING, "", "solvers (NAME)"]
    for engine in named_engines().values():
        lines.append(f"  {engine.name:<{width}}  {_solves(engine.solves):<8} {engine.summary}")
    lines.append(
        f"  {'NAME':<{width}}  {_solves('mip'):<8} any other solver that Pyomo lists and finds here"
    )
    lines += ["", "formulations (FORMULATION, of a solver of the same [kind])"]
    for formulation in formulations().values():
        kind = _solves(formulation.kind)
        lines.append(f"  {formulation.name:<{width}}  {kind:<8} {formulation.summary}")
        lines += _options(width + 9, formulation.options)
    lines += ["", "policies (NAME)"]
    for policy in policies().values():
        lines.append(f"  {policy.name:<{width}}  {policy.summary}")
        lines.append(f"  {'':<{width}}    class: {knowledge_words(policy)}")
        lines.append(f"  {'':<{width}}    guarantee: {policy.guarantee or 'none'}")
        lines += _options(width, policy.parameters)
    lines += ["", "predictions (PREDICTION, for policies with predictions)"]
    for prediction in PREDICTIONS.values():
        lines.append(f"  {prediction.name:<{width}}  {prediction.summary}")
        lines += _options(width, prediction.parameters)
    lines += ["", "batch times (--batch-time TEXT, for arrivals in seconds)"]
    for model in batch_times().values():
        lines.append(f"  {model.name:<{width}}  {model.summary}")
        lines += [
            f"  {'':<{width}}    {each.name}={each.default}  {each.meaning}"
            for each in model.options
        ]
    lines += ["", "suites (of evaluate.py)"]
    for name in suites():
        lines.append(f"  {name:<{width}}  {read_suite(name).summary}")
    return "\n".join(lines)


def _solves(kind: str | None) -> str:
    return f"[{kind}]" if kind else ""


def _options(width: int, declared: Sequence[Declared]) -> list[str]:
    return [f"  {'':<{width}}    {describe(each)}" for each in declared]
