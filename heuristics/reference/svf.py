"""Smallest volume first (arXiv 2606.22327: svf, svf-1bit) and its kin: MC-SF in other orders."""

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


def svf_1bit(instance: Instance, total: int) -> Schedule:
    """In ascending order of the volume with T^¼ for o ≤ √T and T^¾ for any other output."""
    bound = total or instance.memory

    def proxy(request: Request) -> float:
        output: float = bound ** (1 / 4 if request.output**2 <= bound else 3 / 4)
        return request.prompt * output + (output**2 + output) / 2

    return make_schedule(instance, in_order(instance, proxy), "svf-1bit")


def output_peak(instance: Instance) -> Schedule:
    """In ascending order of o·(s + o), the largest prefix that fits."""
    return make_schedule(instance, in_order(instance, lambda r: r.output * r.peak), "output-peak")
