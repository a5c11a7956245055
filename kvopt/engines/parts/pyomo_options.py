"""Options of each solver that Pyomo can call, with which its bound is a proof."""

import math
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class SolverSettings:
    """A solver whose gaps are set to 0.

    ``options`` are relative and absolute MIP gap, and tolerances where the default is above 10⁻⁶;
    ``tolerance`` is the largest of its tolerances then.  ``states_bound``: Pyomo returns the
    solver's bound at any ending.  Else it counts at the ending ``optimal`` only: at a limit some
    interfaces state the incumbent's value.
    """

    options: dict[str, Any] = field(default_factory=dict)
    tolerance: float = 1e-6
    states_bound: bool = False


# Restarts: see ``kvopt.engines.highs``.
_HIGHS = {"mip_rel_gap": 0.0, "mip_abs_gap": 0.0, "mip_allow_restart": False}
_GUROBI = {"MIPGap": 0.0, "MIPGapAbs": 0.0, "IntFeasTol": 1e-6}
_SCIP = {"limits/gap": 0.0, "limits/absgap": 0.0}
_CBC = {"ratioGap": 0.0, "allowableGap": 0.0}
_CPLEX = {
    "mip_tolerances_mipgap": 0.0,
    "mip_tolerances_absmipgap": 0.0,
    "mip_tolerances_integrality": 1e-6,
}
_XPRESS = {"miprelstop": 0.0, "mipabsstop": 0.0, "miptol": 1e-6}
_MOSEK = {
    "MSK_DPAR_MIO_TOL_REL_GAP": 0.0,
    "MSK_DPAR_MIO_TOL_ABS_GAP": 0.0,
    "MSK_DPAR_MIO_TOL_ABS_RELAX_INT": 1e-6,
}


def _of(options: dict[str, Any], silent: str, stating: str = "") -> dict[str, SolverSettings]:
    """Return solvers with the same options; those ``stating`` return a bound at any ending."""
    found = {name: SolverSettings(options) for name in silent.split()}
    return found | {name: SolverSettings(options, states_bound=True) for name in stating.split()}


_GUROBIS = "gurobi_direct gurobi_direct_v2 gurobi_persistent gurobi_persistent_v2 appsi_gurobi"
#: By Pyomo's names.  GLPK's tolerance for integers is 10⁻⁵; it has no absolute gap.
KNOWN: dict[str, SolverSettings] = {
    "glpk": SolverSettings({"mipgap": 0.0}, tolerance=1e-5),
    **_of(_CBC, "appsi_cbc cbc"),
    **_of(_CPLEX, "cplex", "appsi_cplex cplex_direct cplex_persistent"),
    **_of(_GUROBI, "gurobi", _GUROBIS),
    **_of(_HIGHS, "", "appsi_highs"),
    **_of(_MOSEK, "mosek", "mosek_direct mosek_persistent"),
    **_of(_SCIP, "scip", "scip_direct scip_persistent"),
    **_of(_XPRESS, "xpress", "xpress_direct xpress_persistent"),
}
#: An unknown solver: its schedules count, its bound does not.
UNKNOWN = SolverSettings(tolerance=math.inf)
