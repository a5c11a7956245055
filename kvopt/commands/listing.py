"""Text of ``--list`` in both commands: methods, their parts, and their knowledge."""

from formulations.formulation_registry import formulations
from heuristics.policy_registry import policies
from heuristics.predictions import PREDICTIONS
from kvopt.methods.engine_table import named_engines
from kvopt.methods.grammar import ANSWER
from kvopt.methods.knowledge import knowledge_words
from kvopt.methods.option_values import describe
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
    lines = [f"methods: {FORM}", _MEANING]

    def begin(title: str) -> None:
        lines.extend(["", title])

    def add(name: str, words: str, *below: str) -> None:
        lines.append(f"  {name:<{width}}  {words}")
        lines.extend(f"  {'':<{width}}    {each}" for each in below)

    begin("solvers (NAME)")
    for engine in named_engines().values():
        add(engine.name, f"{_solves(engine.solves):<8} {engine.summary}")
    add("NAME", f"{_solves('mip'):<8} any other solver that Pyomo lists and finds here")
    begin("policies (NAME)")
    for policy in policies().values():
        guarantee = f"guarantee: {policy.guarantee or 'none'}"
        known = (f"class: {knowledge_words(policy)}", guarantee)
        add(policy.name, policy.summary, *known, *map(describe, policy.parameters))
    begin("formulations (FORMULATION, of a solver of the same [kind])")
    for model in formulations().values():
        options = (f"{'':<9}{describe(each)}" for each in model.options)
        add(model.name, f"{_solves(model.kind):<8} {model.summary}", *options)
    begin("predictions (PREDICTION, for policies with predictions)")
    for prediction in PREDICTIONS.values():
        add(prediction.name, prediction.summary, *map(describe, prediction.parameters))
    begin("batch times (--batch-time TEXT, for arrivals in seconds)")
    for clock in batch_times().values():
        options = (f"{each.name}={each.default}  {each.meaning}" for each in clock.options)
        add(clock.name, clock.summary, *options)
    begin("suites (of evaluate.py)")
    for name in suites():
        add(name, read_suite(name).summary)
    return "\n".join(lines)


def _solves(kind: str | None) -> str:
    return f"[{kind}]" if kind else ""
