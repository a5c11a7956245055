"""Has Pyomo load at once what it would load when it translates its first model: SciPy."""

from pyomo.common.dependencies import scipy_available

# Asking is what loads it.
bool(scipy_available)
