"""HiGHS on a Pyomo model: the LP relaxation with a certified bound, then the MIP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray

from formulations.bounds.highs import quiet_highs
from formulations.certificates.certificate_file import price_certificate
from formulations.lagrangian.prices import certify_prices
from formulations.lagrangian.starts import certified_costs
from formulations.valid.groups import WindowGroup
from formulations.valid.windows import Windows
from kvopt.engines.job import Job
from kvopt.engines.parts.prepared import Prepared, covered, prepare
from kvopt.engines.parts.tolerances import CoveredReport
from kvopt.runs.events import Report

#: Read by ``kvopt.methods.engines``.
ENGINE = {"solves": "mip", "named": True, "default": True, "proof": "HiGHS"}

#: From this many columns on, the relaxation is solved on its own first, by interior point: the
#: root node's simplex would take minutes before there was any bound.
RELAXATION_FIRST_FROM = 20_000
#: The objective is an integer, so a smaller absolute gap closes it.
ABSOLUTE_GAP = 0.9
#: The largest of HiGHS' tolerances, its default; smaller ones are less safe (``tolerances``).
TOLERANCE = 1e-6


@dataclass(frozen=True)
class Compiled:
    """A Pyomo model as HiGHS takes it, with the columns' variables and the memory rows.

    ``priced`` lists the position and the time of each memory row, ``opened`` the position, group
    and round of each row of a window group.
    """

    lp: Any
    integer: NDArray[np.bool_]
    columns: list[Any]
    priced: list[tuple[int, int]]
    groups: list[WindowGroup]
    opened: list[tuple[int, int, int]]

    def values(self) -> NDArray[np.float64]:
        """Return the values that the variables carry now, shape (columns,)."""
        return np.array([variable.value for variable in self.columns], dtype=np.float64)


def solve(job: Job, report: Report) -> None:
    """Build the model of a MIP formulation and solve it within the job's limits."""
    prepared = prepare(job, report)
    if prepared is None:
        return
    compiled = compile_model(prepared)
    lp = compiled.lp
    report.built(
        columns=lp.num_col_,
        rows=lp.num_row_,
        entries=len(lp.a_matrix_.value_),
    )
    outcome, nodes, seconds = "", 0, 0.0
    if job.relaxation or lp.num_col_ >= RELAXATION_FIRST_FROM:
        outcome, seconds = _solve_relaxation(job, report, compiled, prepared)
    if not job.relaxation:
        model = covered(job, report, prepared, TOLERANCE)
        if model is not prepared:
            compiled = compile_model(model)
        words = CoveredReport(job, report, "HiGHS", model.activity, TOLERANCE)
        words.prices(model.windows)
        outcome, nodes, more = _search(job, report, compiled, words)
        seconds += more
    solver = f"HiGHS {quiet_highs().version()}"
    report.done(solver=solver, nodes=nodes, outcome=outcome, solver_seconds=seconds)


def relaxed_starts(job: Job, report: Report) -> list[float] | None:
    """Return Σ t·x of each request in the LP relaxation (rounds), and certify no bound.

    None where it is not solved; notes say why.
    """
    prepared = prepare(job, report)
    if prepared is None:
        return None
    compiled = compile_model(prepared)
    engine = _relax(job, compiled)
    if engine.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    values = np.asarray(engine.getSolution().col_value)
    return _expected_starts(compiled, values, len(job.instance))


def compile_model(prepared: Prepared) -> Compiled:
    """Translate a linear Pyomo model into HiGHS' own form."""
    model, form = prepared.model, prepared.form
    matrix = form.A.tocsc()
    infinity = highspy.kHighsInf
    lp = highspy.HighsLp()
    lp.num_row_, lp.num_col_ = matrix.shape
    lp.col_cost_ = np.asarray(form.c.todense(), dtype=np.float64).ravel()
    lp.offset_ = float(form.c_offset[0])
    bounds = [variable.bounds for variable in form.columns]
    lp.col_lower_ = np.array([-infinity if low is None else low for low, _ in bounds], dtype=float)
    lp.col_upper_ = np.array(
        [infinity if high is None else high for _, high in bounds], dtype=float
    )
    # Mixed form: bound type 1 is row ≤ rhs, −1 is row ≥ rhs, 0 is row = rhs.
    kinds = np.array([row.bound_type for row in form.rows])
    lp.row_lower_ = np.where(kinds <= 0, form.rhs, -infinity)
    lp.row_upper_ = np.where(kinds >= 0, form.rhs, infinity)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_ = matrix.indptr
    lp.a_matrix_.index_ = matrix.indices
    lp.a_matrix_.value_ = matrix.data
    priced, opened = [], []
    groups = getattr(model, "window_groups", [])
    for position, row in enumerate(form.rows):
        if row.constraint.parent_component() is model.memory:
            priced.append((position, row.constraint.index()))
        elif groups and row.constraint.parent_component() is model.group:
            opened.append((position, *row.constraint.index()))
    integer = np.array([not variable.is_continuous() for variable in form.columns])
    return Compiled(
        lp=lp,
        integer=integer,
        columns=list(form.columns),
        priced=priced,
        groups=groups,
        opened=opened,
    )


def _engine(job: Job) -> Any:
    engine = quiet_highs()
    engine.setOptionValue("threads", job.threads)
    engine.setOptionValue("random_seed", job.seed)
    # HiGHS counts its time over all runs of one object, so each run has an object of its own.
    engine.setOptionValue("time_limit", max(job.left(), 0.01))
    return engine


def _relax(job: Job, compiled: Compiled) -> Any:
    """Return HiGHS after its run on the LP relaxation."""
    engine = _engine(job)
    if compiled.lp.num_col_ >= RELAXATION_FIRST_FROM:
        engine.setOptionValue("solver", "ipm")
        engine.setOptionValue("run_crossover", "off")
    engine.passModel(compiled.lp)
    engine.run()
    return engine


def _solve_relaxation(
    job: Job, report: Report, compiled: Compiled, prepared: Prepared
) -> tuple[str, float]:
    """Send the LP's value and the bound that its prices certify; return outcome and seconds."""
    engine = _relax(job, compiled)
    outcome = engine.modelStatusToString(engine.getModelStatus()).lower()
    solution = engine.getSolution()
    if engine.getModelStatus() == highspy.HighsModelStatus.kOptimal:
        values = np.asarray(solution.col_value)
        # Where the tolerance is a token it is of another LP.
        shown = prepared.activity * TOLERANCE < 1
        value = engine.getInfo().objective_function_value if shown else None
        report.relaxation(value, _expected_starts(compiled, values, len(job.instance)))
    if solution.dual_valid:
        duals = np.asarray(solution.row_dual)
        prices = np.zeros(max((time for _, time in compiled.priced), default=0) + 1)
        for row, time in compiled.priced:
            prices[time] = -duals[row]
        if np.all(np.isfinite(prices)):
            _send_certified(job, report, compiled, prepared.windows, prices, duals)
    return str(outcome), engine.getRunTime()


def _send_certified(
    job: Job,
    report: Report,
    compiled: Compiled,
    windows: Windows,
    prices: NDArray[np.float64],
    duals: NDArray[np.float64],
) -> None:
    """Send the bound that the LP's prices prove in integers, where they prove one."""
    try:
        if compiled.groups:
            group_prices = np.zeros((len(compiled.groups), windows.horizon + 1))
            for row, group, time in compiled.opened:
                group_prices[group, time] = max(-duals[row], 0.0)
            costs = certified_costs(
                job.instance, compiled.groups, (prices, group_prices), windows.latest
            )
            value, denominator, memory = costs.bound, costs.denominator, costs.memory
            priced = costs.groups
        else:
            bound = certify_prices(job.instance, prices.tolist(), windows.latest)
            value, denominator, memory = bound.value, bound.denominator, bound.numerators
            priced = None
    except OverflowError:
        report.note("the LP's prices are too large for exact evaluation")
        return
    if value <= 0:
        return  # bad prices, which an LP with many tokens may well give, prove nothing
    certificate = price_certificate(
        value,
        denominator,
        memory,
        upper_bound=job.upper_bound,
        groups=compiled.groups,
        group_prices=priced,
    )
    report.bound(value=value, source="prices of the LP relaxation", certificate=certificate)


def _expected_starts(compiled: Compiled, values: NDArray[np.float64], n: int) -> list[float]:
    """Return Σ t·x of each request, rounds (the y_i of wang2025 Alg. 6)."""
    expected = [0.0] * n
    for value, variable in zip(values.tolist(), compiled.columns, strict=True):
        if value > 0 and variable.parent_component().local_name == "x":
            request, start = variable.index()
            expected[request] += value * start
    return expected


def _search(
    job: Job, report: Report, compiled: Compiled, words: CoveredReport
) -> tuple[str, int, float]:
    """Branch and bound from the warm start, and send what is found; return outcome, nodes, time."""
    engine = _search_engine(job, compiled)
    starts_of = _StartReader(compiled)

    def on_improvement(event: Any) -> None:
        words.schedule(starts_of(np.asarray(event.data_out.mip_solution)))

    engine.cbMipImprovingSolution.subscribe(on_improvement)
    # HiGHS logs only where it prints; this callback comes between nodes and cut rounds as well.
    engine.cbMipInterrupt.subscribe(lambda event: words.bound(event.data_out.mip_dual_bound))
    failed = engine.run() == highspy.HighsStatus.kError
    info, status = engine.getInfo(), engine.getModelStatus()
    if failed:
        # The bound that it states then is of no search.
        report.failure("HiGHS refuses to solve the model")
    else:
        words.bound(info.mip_dual_bound)
        if status == highspy.HighsModelStatus.kInfeasible:
            words.infeasible()
        elif info.primal_solution_status == int(highspy.SolutionStatus.kSolutionStatusFeasible):
            words.schedule(starts_of(np.asarray(engine.getSolution().col_value)))
    outcome = str(engine.modelStatusToString(status).lower())
    return outcome, int(info.mip_node_count), engine.getRunTime()


def _search_engine(job: Job, compiled: Compiled) -> Any:
    engine = _engine(job)
    engine.setOptionValue("mip_rel_gap", 0.0)
    engine.setOptionValue("mip_abs_gap", ABSOLUTE_GAP)
    engine.setOptionValue("mip_feasibility_tolerance", TOLERANCE)
    # HiGHS 1.15 proves wrong optima after a restart, of models as small as M = 8, n = 4
    # (``ilp-xy``: 41 of 300 seeds; none without restarts, or without presolve).
    engine.setOptionValue("mip_allow_restart", False)
    engine.passModel(compiled.lp)
    positions = np.flatnonzero(compiled.integer).astype(np.int32)
    kinds = np.full(len(positions), int(highspy.HighsVarType.kInteger), dtype=np.uint8)
    engine.changeColsIntegrality(len(positions), positions, kinds)
    start = highspy.HighsSolution()
    start.col_value = compiled.values().tolist()
    engine.setSolution(start)
    return engine


class _StartReader:
    """Reads start rounds from column values: of each request the start with the largest x."""

    def __init__(self, compiled: Compiled) -> None:
        self._columns: dict[int, list[tuple[int, int]]] = {}
        for position, variable in enumerate(compiled.columns):
            if variable.parent_component().local_name == "x":
                request, start = variable.index()
                self._columns.setdefault(request, []).append((position, start))
        self._positions = {
            request: np.array([position for position, _ in pairs])
            for request, pairs in self._columns.items()
        }

    def __call__(self, values: NDArray[np.float64]) -> list[int]:
        return [
            self._columns[request][int(np.argmax(values[self._positions[request]]))][1]
            for request in sorted(self._columns)
        ]
