"""HiGHS on a Pyomo model: the MIP, in large models after a certified bound of the LP relaxation."""

from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np

from formulations.bounds.highs_lp import Floats, quiet_highs, set_columns
from formulations.valid.running_states import Ints
from formulations.valid.window_groups import WindowGroup
from kvopt.engines.job import EngineJob
from kvopt.engines.parts.mip_model import PreparedModel, covered, prepare
from kvopt.engines.parts.tolerances import CoveredReport, send_prices
from kvopt.runs.events import EventReport

ENGINE = {"solves": "mip", "named": True, "default": True, "proof": "HiGHS"}

#: Columns from which interior point solves the relaxation first: the root's simplex takes minutes.
RELAXATION_FIRST_FROM = 20_000
#: The objective is an integer, so a smaller absolute gap closes it.
ABSOLUTE_GAP = 0.9
#: The largest of HiGHS' tolerances, its default; smaller ones are less safe (``tolerances``).
TOLERANCE = 1e-6


@dataclass(frozen=True)
class HighsModel:
    """A Pyomo model as HiGHS takes it, with the columns' variables and the rows that have prices.

    ``priced`` has (position, time) of each memory row, ``opened`` (position, group, round) of each
    row of a window group, ``starts`` positions and rounds of each request's starts.
    """

    lp: Any
    columns: list[Any]
    priced: list[tuple[int, int]]
    groups: list[WindowGroup]
    opened: list[tuple[int, int, int]]
    starts: list[tuple[Ints, Ints]]

    def starts_of(self, values: Floats) -> list[int]:
        """Return the start round of each request with the largest x."""
        return [int(rounds[np.argmax(values[places])]) for places, rounds in self.starts]

    def expected_starts(self, values: Floats) -> list[float]:
        """Return Σ t·x of each request, rounds (the y_i of wang2025 Alg. 6)."""
        return [float(np.maximum(values[places], 0.0) @ rounds) for places, rounds in self.starts]


def solve(job: EngineJob, report: EventReport) -> None:
    """Build the model of a MIP formulation and solve it within the job's limits."""
    prepared = prepare(job, report)
    if prepared is None:
        return
    compiled = compile_model(prepared, len(job.instance))
    lp = compiled.lp
    report.built(columns=lp.num_col_, rows=lp.num_row_, entries=len(lp.a_matrix_.value_))
    outcome, nodes, seconds = "", 0, 0.0
    if job.relaxation or lp.num_col_ >= RELAXATION_FIRST_FROM:
        outcome, seconds = _solve_relaxation(job, report, compiled, prepared)
    if not job.relaxation:
        model = covered(job, report, prepared, TOLERANCE)
        if model is not prepared:
            compiled = compile_model(model, len(job.instance))
        words = CoveredReport(job, report, "HiGHS", model.activity, TOLERANCE)
        words.prices(model.windows)
        outcome, nodes, more = _search(job, report, compiled, words)
        seconds += more
    solver = f"HiGHS {quiet_highs().version()}"
    report.done(solver=solver, nodes=nodes, outcome=outcome, solver_seconds=seconds)


def relaxed_starts(job: EngineJob, report: EventReport) -> list[float] | None:
    """Return Σ t·x of each request in the LP relaxation (rounds), and certify no bound.

    None where it is not solved; notes say why.
    """
    prepared = prepare(job, report)
    if prepared is None:
        return None
    compiled = compile_model(prepared, len(job.instance))
    engine = _relax(job, compiled)
    if engine.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    return compiled.expected_starts(np.asarray(engine.getSolution().col_value))


def compile_model(prepared: PreparedModel, requests: int) -> HighsModel:
    """Translate a linear Pyomo model into HiGHS' form."""
    model, form = prepared.model, prepared.form
    matrix = form.A.tocsc()
    lp = highspy.HighsLp()
    lp.num_row_, lp.num_col_ = matrix.shape
    lp.col_cost_ = np.asarray(form.c.todense(), dtype=np.float64).ravel()
    lp.offset_ = float(form.c_offset[0])
    bounds = [variable.bounds for variable in form.columns]
    infinity = highspy.kHighsInf
    lp.col_lower_ = np.array([-infinity if low is None else low for low, _ in bounds], dtype=float)
    lp.col_upper_ = np.array([infinity if top is None else top for _, top in bounds], dtype=float)
    # Mixed form: bound type 1 is row ≤ rhs, −1 is row ≥ rhs, 0 is row = rhs.
    kinds = np.array([row.bound_type for row in form.rows])
    lp.row_lower_ = np.where(kinds <= 0, form.rhs, -infinity)
    lp.row_upper_ = np.where(kinds >= 0, form.rhs, infinity)
    set_columns(lp, matrix)
    priced, opened = [], []
    groups = getattr(model, "window_groups", [])
    for position, row in enumerate(form.rows):
        if row.constraint.parent_component() is model.memory:
            priced.append((position, row.constraint.index()))
        elif groups and row.constraint.parent_component() is model.group:
            opened.append((position, *row.constraint.index()))
    starts: list[list[tuple[int, int]]] = [[] for _ in range(requests)]
    for position, variable in enumerate(form.columns):
        if variable.parent_component() is model.x:
            request, start = variable.index()
            starts[request].append((position, start))
    pairs = [tuple(np.array(each, dtype=np.int64).T) for each in starts]
    return HighsModel(lp, list(form.columns), priced, groups, opened, pairs)


def _engine(job: EngineJob) -> Any:
    engine = quiet_highs()
    engine.setOptionValue("threads", job.threads)
    engine.setOptionValue("random_seed", job.seed)
    # HiGHS counts its time over all runs of one object, so each run has a new one.
    engine.setOptionValue("time_limit", max(job.left(), 0.01))
    return engine


def _relax(job: EngineJob, compiled: HighsModel) -> Any:
    engine = _engine(job)
    if compiled.lp.num_col_ >= RELAXATION_FIRST_FROM:
        engine.setOptionValue("solver", "ipm")
        engine.setOptionValue("run_crossover", "off")
    engine.passModel(compiled.lp)
    engine.run()
    return engine


def _solve_relaxation(
    job: EngineJob, report: EventReport, compiled: HighsModel, prepared: PreparedModel
) -> tuple[str, float]:
    """Send the LP's value and the bound that its prices certify; return outcome and seconds."""
    engine = _relax(job, compiled)
    outcome = engine.modelStatusToString(engine.getModelStatus()).lower()
    solution = engine.getSolution()
    if engine.getModelStatus() == highspy.HighsModelStatus.kOptimal:
        # Where the tolerance is a token it is of another LP.
        shown = prepared.activity * TOLERANCE < 1
        value = engine.getInfo().objective_function_value if shown else None
        report.relaxation(value, compiled.expected_starts(np.asarray(solution.col_value)))
    if solution.dual_valid:
        duals = np.asarray(solution.row_dual)
        prices = np.zeros((1 + len(compiled.groups), prepared.windows.horizon + 1))
        for row, time in compiled.priced:
            prices[0, time] = -duals[row]
        for row, group, time in compiled.opened:
            prices[1 + group, time] = max(-duals[row], 0.0)
        source = "prices of the LP relaxation"
        latest = prepared.windows.latest
        send_prices(job, report, compiled.groups, (prices[0], prices[1:]), latest, source)
    return str(outcome), engine.getRunTime()


def _search(
    job: EngineJob, report: EventReport, compiled: HighsModel, words: CoveredReport
) -> tuple[str, int, float]:
    """Run branch and bound from the warm start; return outcome, nodes and seconds."""
    engine = _engine(job)
    engine.setOptionValue("mip_rel_gap", 0.0)
    engine.setOptionValue("mip_abs_gap", ABSOLUTE_GAP)
    engine.setOptionValue("mip_feasibility_tolerance", TOLERANCE)
    # HiGHS 1.15 proves wrong optima after a restart, of models as small as M = 8, n = 4
    # (``ilp-xy``: 41 of 300 seeds; none without restarts, or without presolve).
    engine.setOptionValue("mip_allow_restart", False)
    engine.passModel(compiled.lp)
    integer = [not variable.is_continuous() for variable in compiled.columns]
    positions = np.flatnonzero(integer).astype(np.int32)
    kinds = np.full(len(positions), int(highspy.HighsVarType.kInteger), dtype=np.uint8)
    engine.changeColsIntegrality(len(positions), positions, kinds)
    start = highspy.HighsSolution()
    start.col_value = [float(variable.value) for variable in compiled.columns]
    engine.setSolution(start)

    def on_improvement(event: Any) -> None:
        words.schedule(compiled.starts_of(np.asarray(event.data_out.mip_solution)))

    engine.cbMipImprovingSolution.subscribe(on_improvement)
    # HiGHS logs only where it prints; this callback comes between nodes and cut rounds as well.
    engine.cbMipInterrupt.subscribe(lambda event: words.bound(event.data_out.mip_dual_bound))
    failed = engine.run() == highspy.HighsStatus.kError
    info, status = engine.getInfo(), engine.getModelStatus()
    if failed:
        # HiGHS then states a bound of no search.
        report.failure("HiGHS refuses to solve the model")
    else:
        words.bound(info.mip_dual_bound)
        if status == highspy.HighsModelStatus.kInfeasible:
            words.infeasible()
        elif info.primal_solution_status == int(highspy.SolutionStatus.kSolutionStatusFeasible):
            words.schedule(compiled.starts_of(np.asarray(engine.getSolution().col_value)))
    outcome = str(engine.modelStatusToString(status).lower())
    return outcome, int(info.mip_node_count), engine.getRunTime()
