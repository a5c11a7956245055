"""The ``known_optimum`` of an instance is what its file states; what a run shows may contradict it.

Only the registry takes it for evidence, of instances of the library, where it follows from the
construction.  Elsewhere it proves nothing and refuses nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from formulations.bounds.certificate import CertificateError, evaluate, read_certificate
from formulations.bounds.volume import volume_bound
from instances import Instance

#: How the line on a statement that is wrong begins.
MISSTATED = "the known_optimum that the instance's file states, "


@dataclass(frozen=True)
class Dispute:
    """One line on a stated optimum and a result that exclude each other.

    ``settled`` tells that the statement is the wrong one: the result is a checked schedule or a
    bound that integers certify.  A bound that rests on a method's word may be wrong itself.
    """

    text: str
    settled: bool


def dispute(
    instance: Instance,
    tel: int | None,
    lower_bound: int | None,
    bound_source: str,
    certificate: dict[str, Any] | None,
) -> Dispute | None:
    """Return what contradicts the stated optimum, None where nothing does or nothing is stated.

    Parameters
    ----------
    tel
        TEL (rounds) of a checked schedule that keeps no tokens; None without one.
    lower_bound, bound_source
        The bound that was claimed (rounds), and what it is said to rest on.
    certificate
        The proof of a bound as JSON, which is evaluated here; None without one.
    """
    known = instance.known_optimum
    if known is None:
        return None
    wrong = f"{MISSTATED}{known}, is wrong"
    if tel is not None and tel < known:
        return Dispute(f"{wrong}: a checked schedule has TEL {tel}", settled=True)
    if lower_bound is None or lower_bound <= known:
        return None
    proved = max(volume_bound(instance), _evaluated(instance, tel, certificate))
    if proved > known:
        return Dispute(f"{wrong}: no TEL is below the certified bound {proved}", settled=True)
    return Dispute(
        f"lower bound {lower_bound} ({bound_source}) exceeds the known_optimum that the instance's "
        f"file states, {known}: one of the two is wrong",
        settled=False,
    )


def _evaluated(instance: Instance, tel: int | None, document: dict[str, Any] | None) -> int:
    """Return what a certificate proves in integers, 0 if nothing."""
    if document is None:
        return 0
    try:
        certificate = read_certificate(document)
        assumed = certificate.upper_bound
        # What assumes a schedule holds only once there is one that good.
        if assumed is not None and (tel is None or tel > assumed):
            return 0
        return evaluate(instance, certificate)
    except CertificateError:
        return 0
