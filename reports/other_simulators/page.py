"""The page and its figure: pure functions of the traces and the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from reports.figures.style import add_legend, draw_curves, drawing
from reports.markdown import pipe_table
from reports.other_simulators.rows import ServedRequests
from reports.other_simulators.scenarios import (
    KVOPT,
    SCENARIOS,
    SIMULATORS,
    Row,
    Scenario,
    ServedRequest,
    read_trace,
)
from reports.other_simulators.steps import Step, latencies, same
from reports.other_simulators.texts import CLOSING, DIFFERENCES, INTRODUCTION, RULES, TRACES

FIGURE = "latencies.svg"
#: Scenarios that the figure shows.
_DRAWN = ("congested", "cut")
_POINTS = 400


def page(rows: Mapping[str, ServedRequests], bridges: Sequence[Step]) -> str:
    """Return the page as Markdown, from the rows of each simulator and the steps between them."""
    parts = [
        INTRODUCTION.format(traces=TRACES),
        f"![Latencies by simulator]({FIGURE})\n",
        "## Side by side\n",
    ]
    for scenario in SCENARIOS:
        trace = read_trace(scenario.trace)
        parts += [_heading(scenario, trace), _side_by_side(scenario, trace, rows)]
    parts += ["## Each difference\n", DIFFERENCES, _rules()]
    for scenario in SCENARIOS:
        parts += _bridges(scenario, bridges)
    return "\n".join([*parts, CLOSING])


def _heading(scenario: Scenario, trace: list[Row]) -> str:
    machine = scenario.machine
    base, prefill, square, decode, read = (f"{value / 1e9:g}" for value in machine.coefficients)
    squares = f" + {square}·Σp²" if machine.coefficients[2] else ""
    return (
        f"### {scenario.name}: {scenario.about}\n\n"
        f"{len(trace):,} requests (`traces/{scenario.trace}.csv`), {machine.blocks:,} blocks of "
        f"{machine.block} tokens (M = {machine.memory:,}), at most {machine.budget:,} tokens a "
        f"round and {machine.running} requests at a time; τ[ms] = {base} + {prefill}·P{squares} + "
        f"{decode}·D + {read}·K.\n"
    )


def _side_by_side(scenario: Scenario, trace: list[Row], rows: Mapping[str, ServedRequests]) -> str:
    ours = rows[KVOPT][scenario.name]
    lines = []
    for simulator in scenario.simulators:
        found = rows[simulator][scenario.name]
        latency = latencies(trace, [one.completion for one in found]) / 1e9
        first = latencies(trace, [one.first_token for one in found]) / 1e9
        lines.append(
            [
                SIMULATORS[simulator],
                f"{sum(one.evictions for one in found):,}",
                *_mean_and_tail(latency),
                *_mean_and_tail(first),
                f"{max(one.completion for one in found) / 1e9:,.3f}",
                "" if simulator == KVOPT else f"{same(found, ours):,}",
                "" if simulator == KVOPT else f"{out_of_order(found, ours):.2f}",
            ]
        )
    headers = [
        "simulator",
        "evictions",
        "latency, mean (s)",
        "p99 (s)",
        "first token, mean (s)",
        "p99 (s)",
        "last completion (s)",
        "requests with our times",
        "pairs in another order (%)",
    ]
    return _table(headers, lines)


def _bridges(scenario: Scenario, bridges: Sequence[Step]) -> list[str]:
    """Return, for each other simulator that differs, the rules turned one after the other."""
    parts = []
    headers = ["rules", "evictions", "latency, mean (s)", "p99 (s)", "requests as there"]
    for simulator in scenario.simulators:
        lines = [
            [
                f"`{step.rule}` turned" if step.rule else "ours",
                f"{step.evictions:,}",
                f"{step.mean_ns / 1e9:,.3f}",
                f"{step.p99_ns / 1e9:,.3f}",
                f"{step.same:,}",
            ]
            for step in bridges
            if (step.scenario, step.simulator) == (scenario.name, simulator)
        ]
        if lines:
            parts += [
                f"### {scenario.name}: from ours to {SIMULATORS[simulator]}\n",
                _table(headers, lines),
            ]
    return parts


def out_of_order(found: list[ServedRequest], others: list[ServedRequest]) -> float:
    """Return the share (%) of pairs of requests that complete in opposite orders."""
    here = np.array([one.completion for one in found])
    there = np.array([one.completion for one in others])
    opposite = np.sign(here[:, None] - here) * np.sign(there[:, None] - there) < 0
    return 100 * float(opposite.sum()) / (len(found) * (len(found) - 1))


def _mean_and_tail(values: np.ndarray) -> tuple[str, str]:
    return f"{values.mean():,.3f}", f"{np.percentile(values, 99):,.3f}"


def _rules() -> str:
    lines = [[f"`{name}`", *texts] for name, *texts in RULES]
    headers = ["rule", "here", "there", "nearer to vLLM"]
    return pipe_table(headers, lines)


def _table(headers: list[str], lines: list[list[str]]) -> str:
    return pipe_table(headers, lines, ["left"] + ["right"] * (len(headers) - 1))


def figure(rows: Mapping[str, ServedRequests]) -> str:
    """Return the figure as SVG: the share of requests with at most a latency."""
    scenarios = [one for one in SCENARIOS if one.name in _DRAWN]
    shown = list(SIMULATORS)
    with drawing(3.4 * len(scenarios) + 2.4, 3.6) as made:
        panels = made.figure.subplots(1, len(scenarios), sharey=True)
        for axes, scenario in zip(panels, scenarios, strict=True):
            trace = read_trace(scenario.trace)
            found = {
                name: np.sort(
                    latencies(trace, [one.completion for one in rows[name][scenario.name]]) / 1e9
                )
                for name in scenario.simulators
            }
            grid = np.linspace(0, max(values[-1] for values in found.values()), _POINTS)
            curves = {
                name: np.searchsorted(values, grid, side="right") / len(values)
                for name, values in found.items()
            }
            draw_curves(axes, grid, curves, shown)
            axes.set_title(scenario.name, loc="left")
            axes.set_xlabel("latency (s)")
        panels[0].set_ylabel("share of requests")
        add_legend(made.figure, panels[:1], 0)
    return made.svg
