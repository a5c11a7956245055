"""Smallest volume first (arXiv 2606.22327) and its kin: the admission of MC-SF in other orders.

The source states the order; ``svf-1bit``, ``svf-first-fit`` and ``output-peak`` are of this suite
and stand in no paper.
"""

from __future__ import annotations

from heuristics.reference.mc_sf import in_order
from instances import Instance, Request
from schedules import Schedule, make_schedule


def volume(request: Request) -> int:
    """Return Σ (s + j) over j = 1..o, token-rounds."""
    return sum(request.prompt + j for j in range(1, request.output + 1))


def svf(instance: Instance) -> Schedule:
    """In ascending order of the volume, the largest prefix that fits."""
    return make_schedule(instance, in_order(instance, volume), "svf")


def svf_first_fit(instance: Instance) -> Schedule:
    """In ascending order of the volume, every waiting request is tried."""
    return make_schedule(instance, in_order(instance, volume, first_fit=True), "svf-first-fit")


def svf_1bit(instance: Instance, threshold: float) -> Schedule:
    """Volumes of at most ``threshold`` rounds of the whole memory before all others."""
    bit = threshold * instance.memory
    return make_schedule(instance, in_order(instance, lambda r: volume(r) > bit), "svf-1bit")


def output_peak(instance: Instance) -> Schedule:
    """In ascending order of o·(s + o), the largest prefix that fits."""
    return make_schedule(instance, in_order(instance, lambda r: r.output * r.peak), "output-peak")
