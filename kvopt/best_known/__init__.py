"""Best-known values: per instance of the library a schedule, a bound, and what proves them.

``python -m kvopt.best_known --store STORE`` merges stored runs into ``instances/best_known.json``;
``--check`` verifies what is there; ``python -m kvopt.best_known.prove`` runs stale proofs again.
The file is never edited by hand.
"""

from kvopt.best_known.files import RegistryError, read_registry
from kvopt.best_known.values import known_values

__all__ = ["RegistryError", "known_values", "read_registry"]
