"""Best-known values: for each instance a schedule, a bound, and their proofs.

``python -m kvopt.best_known --store STORE`` merges stored runs into ``instances/best_known.json``;
``--check`` verifies the file; ``python -m kvopt.best_known.rerun_proofs`` runs stale proofs again.
"""

from kvopt.best_known.registry_files import RegistryError, read_registry
from kvopt.best_known.report_values import known_values

__all__ = ["RegistryError", "known_values", "read_registry"]
