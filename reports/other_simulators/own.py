"""STAND-IN until the simulator cuts prompts: the literal."""
from reports.other_simulators.bridge import simulate, turned
from reports.other_simulators.outcome import Outcome
from reports.other_simulators.scenarios import Machine, Row


def run_own(machine: Machine, trace: list[Row]) -> list[Outcome]:
    """STAND-IN."""
    return simulate(trace, machine, turned())
