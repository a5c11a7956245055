"""Runs scenarios in Vidur (microsoft/vidur), which the user has installed."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from reports.other_simulators.scenarios import SARATHI, Machine, Row, ServedRequest, run_program

DRIVER = Path(__file__).with_name("vidur_driver.py")


def run_vidur(
    folder: Path, python: str, simulator: str, machine: Machine, trace: list[Row]
) -> list[ServedRequest]:
    """Return what Vidur says of each request.

    Parameters
    ----------
    folder
        The checkout that holds the package ``vidur``.
    python
        The interpreter that has what Vidur needs.
    simulator
        Which of its schedulers: ``vidur-sarathi`` or ``vidur-vllm``.

    Raises
    ------
    SimulatorError
        If Vidur does not run to its end.
    """
    task = {
        "vidur": str(folder.resolve()),
        "scheduler": "sarathi" if simulator == SARATHI else "vllm",
        "blocks": machine.blocks,
        "block": machine.block,
        "budget": machine.budget,
        "running": machine.running,
        "coefficients": machine.coefficients,
        "requests": trace,
    }
    with tempfile.TemporaryDirectory() as place:
        given, found = Path(place, "task.json"), Path(place, "result.json")
        given.write_text(json.dumps(task), encoding="utf-8")
        # Isolated, so that this folder's modules do not stand in the way of Vidur's.
        command = [python, "-I", str(DRIVER), str(given), str(found)]
        run_program("Vidur", command, found)
        return [ServedRequest(*row) for row in json.loads(found.read_text(encoding="utf-8"))]
