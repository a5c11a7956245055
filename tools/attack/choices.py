"""Methods to run on an instance: formulations and policies with drawn options."""

import random

from formulations.formulation_registry import FormulationOption, formulations
from heuristics.policy import Choice, Parameter
from heuristics.policy_registry import policies
from instances import Instance
from kvopt.methods.engine_table import engines
from kvopt.methods.option_values import format_formulation

#: Solver of each kind of formulation.
SOLVERS = {each.solves: name for name, each in engines().items() if each.default}
#: Values of options that are numbers.
NUMBERS = {
    "compare": (0, 1, 2, 64),
    "grids": (0, 1, 2, 4, 6),
    "knots": (0, 1, 2, 5, 25),
    "lookahead": (0, 1, 2, 3, 9),
}
PREDICTIONS = (
    "exact",
    # The first is refused where an output is longer, the second never.
    "interval(1,4)",
    "interval(1,1000000000)",
    "bins(width=3)",
    "bins(width=1)",
    "deciles",
    "relative(x=0.5)",
    "relative(x=1)",
    "noise(sigma=0.5)",
    "noise(sigma=3)",
    "overestimate(factor=3)",
    "rank(accuracy=0.7)",
    "refreshed(sigma=1,step=2)",
    "log-t(sigma=1)",
    "histogram(groups=2)",
)
#: Policies that clear the memory and start again, and the round from which an arrival is far.
RESTARTING, FAR = ("alpha-greedy", "alpha-beta"), 10**5
#: The most of a parameter that is drawn, where its whole range would take minutes.
MOST = {"moves": 200}


def draw_formulation(draws: random.Random) -> str:
    """Draw a formulation, two times in three with every option drawn."""
    formulation = draws.choice([each for each in formulations().values() if each.in_rounds])
    if draws.random() >= 0.67:
        return formulation.name
    drawn = {option.name: _value(option, draws) for option in formulation.options}
    return format_formulation(formulation, drawn)


def _value(option: FormulationOption, draws: random.Random) -> bool | int | float:
    if isinstance(option.default, bool):
        return draws.random() < 0.5
    return draws.choice(NUMBERS.get(option.name, (0, 1, 2, option.default)))


def draw_policy(draws: random.Random, instance: Instance) -> tuple[str, str | None]:
    """Draw a policy with its parameters, and a prediction where that changes it.

    Policies that clear and start again may do so in every round up to the last arrival; they are
    not drawn where that is far away.
    """
    last = max(request.arrival for request in instance.requests)
    able = [each for each in policies().values() if last <= FAR or each.name not in RESTARTING]
    policy = draws.choice(able)
    given = ",".join(
        f"{parameter.name}={_setting(parameter, draws)}" for parameter in policy.parameters
    )
    method = f"{policy.name}({given})" if given and draws.random() < 0.67 else policy.name
    useless = policy.clairvoyant or policy.blind
    return method, None if useless else draws.choice(PREDICTIONS)


def _setting(parameter: Parameter | Choice, draws: random.Random) -> str:
    if isinstance(parameter, Choice):
        return draws.choice(parameter.options)
    high = min(parameter.high, MOST.get(parameter.name, parameter.high))
    near = min(parameter.low + draws.randint(0, 5), high)
    anywhere = draws.uniform(parameter.low, high)
    value = draws.choice((min(parameter.default, high), parameter.low, high, anywhere, near))
    return f"{int(value)}" if parameter.integer else f"{value:.6f}"


def switches(method: str) -> list[str]:
    """Return the formulation or policy of a method, and every option's value."""
    name, _, inside = method.partition("(")
    given = dict(entry.split("=") for entry in inside.rstrip(")").split(",") if "=" in entry)
    if name not in formulations():
        return [name]
    found = [name]
    for option in formulations()[name].options:
        default = option.default
        shown = ("no", "yes")[default] if isinstance(default, bool) else str(default)
        found.append(f"{name} {option.name}={given.get(option.name, shown)}")
    return found
