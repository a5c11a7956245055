"""LP relaxation of ``ilp-cliques``: memory and window groups, both priced and certified."""

from __future__ import annotations

from formulations.mip import _parts, ilp_cliques
from formulations.mip.ilp_cliques import model_size, set_starts
from formulations.valid.windows import Windows
from instances import Instance

RELAXATION = True

__all__ = ["RELAXATION", "build_model", "model_size", "set_starts"]


def build_model(instance: Instance, windows: Windows) -> _parts.Model:
    """Return the model of ``ilp-cliques`` with x in [0, 1]."""
    return _parts.relax(ilp_cliques.build_model(instance, windows))
