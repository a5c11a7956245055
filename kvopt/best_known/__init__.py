"""Best-known values: for each instance a schedule, a bound, and their proofs."""

from kvopt.best_known.registry_files import RegistryError, read_registry
from kvopt.best_known.report_values import known_values

__all__ = ["RegistryError", "known_values", "read_registry"]
