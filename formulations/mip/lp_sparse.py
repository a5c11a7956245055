"""LP relaxation of ``ilp-sparse``: the bound of ``lp`` at a fraction of its entries."""

from __future__ import annotations

from formulations.mip import _parts, ilp_sparse
from formulations.mip.ilp_sparse import model_size, set_starts
from formulations.valid.windows import Windows
from instances import Instance

RELAXATION = True

__all__ = ["RELAXATION", "build_model", "model_size", "set_starts"]


def build_model(instance: Instance, windows: Windows) -> _parts.Model:
    """Return the model of ``ilp-sparse`` with x in [0, 1]."""
    return _parts.relax(ilp_sparse.build_model(instance, windows))
