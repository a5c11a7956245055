"""Runs scenarios in this suite."""

from __future__ import annotations

from heuristics.registry import policies
from heuristics.simulator import Setting, run_policy
from instances import Instance, Request
from instances.batch_time import parse_batch_time
from instances.batch_time.model import milliseconds
from reports.other_simulators.scenarios import Machine, Row, ServedRequest
from schedules.real_time import replay


def run_own(machine: Machine, trace: list[Row]) -> list[ServedRequest]:
    """Return what ``vllm-v1`` makes of each request, as the replay of its schedule has it."""
    instance = Instance(
        name="trace",
        family="trace",
        memory=machine.memory,
        time_unit="second",
        requests=tuple(
            Request(id=number, arrival=arrival / 1e9, prompt=prompt, output=output)
            for number, (arrival, prompt, output) in enumerate(trace)
        ),
    )
    values = {"block": machine.block, "budget": machine.budget, "running": machine.running}
    batch_time = parse_batch_time(linear_text(machine))
    schedule = run_policy(
        policies()["vllm-v1"], instance, Setting(values | {"chunk": "yes"}, batch_time=batch_time)
    )
    return [
        ServedRequest(each.first_token, each.completion, each.evictions)
        for each in replay(instance, schedule).requests
    ]


def linear_text(machine: Machine) -> str:
    """Return the text that names the machine's batch time."""
    names = ("base", "prefill", "square", "decode", "read")
    values = zip(names, map(milliseconds, machine.coefficients), strict=True)
    return f"linear({', '.join(f'{name}={number}' for name, number in values)})"
