"""Writes the model of a MIP formulation to a file for other solvers; solves nothing."""

from __future__ import annotations

from pathlib import Path

from formulations.windows import start_windows
from runs.job import Job, Report
from runs.solvers.loading import load_formulation
from runs.solvers.size import too_large


def solve(job: Job, report: Report) -> None:
    """Write the model to ``job.path``, in the format of its suffix (.mps or .lp)."""
    formulation, options = load_formulation(job)
    windows = start_windows(job.instance, job.upper_bound)
    if reason := too_large(formulation.model_size(job.instance, windows), job.memory_limit):
        report("too_large", text=reason)
        return
    assert job.path is not None
    model = formulation.build_model(job.instance, windows, **options)
    report("built", columns=model.nvariables(), rows=model.nconstraints(), entries=0)
    # Symbolic labels: x(3_17) tells request and round to whoever reads a solution back.
    model.write(job.path, io_options={"symbolic_solver_labels": True})
    report("done", solver="", nodes=0, outcome=f"wrote {Path(job.path).stat().st_size} bytes")
