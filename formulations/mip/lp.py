"""LP relaxation of the start-time integer program as printed (W (11)-(14), J2 (18)-(21))."""

from __future__ import annotations

from formulations.mip import _parts, ilp
from formulations.mip.ilp import model_size, set_starts
from formulations.valid.windows import Windows
from instances import Instance

RELAXATION = True

__all__ = ["RELAXATION", "build_model", "model_size", "set_starts"]


def build_model(instance: Instance, windows: Windows) -> _parts.Model:
    """Return the model of ``ilp`` with x in [0, 1]."""
    return _parts.relax(ilp.build_model(instance, windows))
