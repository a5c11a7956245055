"""Options of each solver that Pyomo can call, with which its bound is a proof."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Known:
    """A solver whose gaps are set to 0.

    ``options`` are relative and absolute MIP gap, and tolerances where the default is above 10⁻⁶;
    ``tolerance`` is the largest of its tolerances then.  ``states_bound`` says that Pyomo hands
    over the solver's own bound at any ending.  Else the lower bound that it states counts at the
    ending ``optimal`` only: at a limit some interfaces leave the incumbent's value in its place.
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

#: By Pyomo's names.  GLPK's tolerance for integers is 10⁻⁵; it has no absolute gap.
KNOWN: dict[str, Known] = {
    "appsi_cbc": Known(_CBC),
    "appsi_cplex": Known(_CPLEX, states_bound=True),
    "appsi_gurobi": Known(_GUROBI, states_bound=True),
    "appsi_highs": Known(_HIGHS, states_bound=True),
    "cbc": Known(_CBC),
    "cplex": Known(_CPLEX),
    "cplex_direct": Known(_CPLEX, states_bound=True),
    "cplex_persistent": Known(_CPLEX, states_bound=True),
    "glpk": Known({"mipgap": 0.0}, tolerance=1e-5),
    "gurobi": Known(_GUROBI),
    "gurobi_direct": Known(_GUROBI, states_bound=True),
    "gurobi_direct_v2": Known(_GUROBI, states_bound=True),
    "gurobi_persistent": Known(_GUROBI, states_bound=True),
    "gurobi_persistent_v2": Known(_GUROBI, states_bound=True),
    "mosek": Known(_MOSEK),
    "mosek_direct": Known(_MOSEK, states_bound=True),
    "mosek_persistent": Known(_MOSEK, states_bound=True),
    "scip": Known(_SCIP),
    "scip_direct": Known(_SCIP, states_bound=True),
    "scip_persistent": Known(_SCIP, states_bound=True),
    "xpress": Known(_XPRESS),
    "xpress_direct": Known(_XPRESS, states_bound=True),
    "xpress_persistent": Known(_XPRESS, states_bound=True),
}
#: A solver of which nothing is known: its schedules count, its bound does not.
UNKNOWN = Known(tolerance=math.inf)
