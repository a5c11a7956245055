"""Prints what each benchmark stores with its time: ratios, exponents, sizes."""

from typing import Any

import pytest


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print every benchmark's ``extra_info`` below pytest-benchmark's own table."""
    session = getattr(config, "_benchmarksession", None)
    if session is None or not session.benchmarks:
        return
    terminalreporter.section("ratios of this run")
    for benchmark in session.benchmarks:
        for label, value in benchmark.extra_info.items():
            shown = f"{value:.4g}" if isinstance(value, float) else str(value)
            terminalreporter.write_line(f"{benchmark.name}: {label} = {shown}")
