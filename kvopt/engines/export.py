"""Writes the model of a MIP formulation to a file for other solvers; solves nothing."""

from pathlib import Path

import highspy

from kvopt.engines.job import EngineJob
from kvopt.engines.parts.mip_model import prepare
from kvopt.engines.parts.pyomo_options import KNOWN, SolverSettings
from kvopt.engines.parts.tolerances import COVERED
from kvopt.runs.events import EventReport
from kvopt.solution_file import name_of_model

ENGINE = {"solves": "mip", "named": False}
#: A file holds one model, of the whole.
SPLIT = False


def solve(job: EngineJob, report: EventReport) -> None:
    """Write the model to ``job.model_file``, in the format of its suffix (.mps or .lp)."""
    prepared = prepare(job, report)
    if prepared is None:
        return
    model = prepared.model
    # The reader of a solution finds the instance by this name.
    model.name = name_of_model(model.name, job.instance)
    # Symbolic labels: x(3_17) names request and round.  GLPK refuses MPS' section on the sense.
    mps = Path(job.model_file).suffix == ".mps"
    settings = {"symbolic_solver_labels": True} | ({"skip_objective_sense": True} if mps else {})
    model.write(job.model_file, io_options=settings)
    file = highspy.Highs()
    file.setOptionValue("output_flag", False)
    file.readModel(job.model_file)
    # The writer adds a column, and in MPS a row, for the constant.
    report.built(columns=file.getNumCol(), rows=file.getNumRow(), entries=file.getNumNz())
    most, of_glpk = (COVERED / each.tolerance for each in (SolverSettings(), KNOWN["glpk"]))
    if prepared.activity > most:
        report.note(
            f"up to {prepared.activity:.3g} tokens meet in a row; solvers' tolerances cover "
            f"{most:,.0f} (GLPK: {of_glpk:,.0f}): an optimum or bound that one states may be wrong"
        )
    report.done(outcome=f"wrote {Path(job.model_file).stat().st_size} bytes")
