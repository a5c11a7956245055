"""Evidence of a run about the ``known_optimum`` of its instance's file."""

from typing import Any

from formulations.valid.volume_bounds import volume_bound
from instances import Instance
from kvopt.runs.serving_imports import evaluate_seconds_document
from schedules.evidence import misstatement


def find_misstatement(
    instance: Instance,
    tel: int | None,
    lower_bound: int | None,
    certificate: dict[str, Any] | None,
    proved: int | None = None,
) -> str:
    """Return one line if the stated optimum is wrong; empty otherwise, or without a statement.

    ``tel`` is of a checked schedule that keeps no tokens (rounds).  The certificate (JSON) is
    evaluated here, unless it has ``proved`` a value already.
    """
    stated = instance.stated_optimum
    if stated is None:
        return ""
    certified = 0
    # Certificates take time: not for a bound that the statement allows.
    if lower_bound is not None and lower_bound > stated:
        found = evaluate_document(instance, "", tel, certificate) if proved is None else proved
        certified = max(volume_bound(instance), found)
    return misstatement(stated, tel, certified)


def certificate_body(document: dict[str, Any]) -> dict[str, Any]:
    """Return the object of a certificate file without schema and instance."""
    return {k: v for k, v in document.items() if k not in ("schema", "instance", "instance_sha256")}


def evaluate_document(
    instance: Instance, batch_time: str, tel: int | None, document: dict[str, Any] | None
) -> int:
    """Return the bound that a certificate proves in integers, in the unit of the TEL; else 0.

    One for another batch time proves nothing of the run; a certificate in rounds may assume a
    schedule of this ``tel``.
    """
    if document is None:
        return 0
    from formulations.certificates.certificate_evaluation import evaluate_certificate
    from formulations.certificates.certificate_file import read_certificate
    from formulations.certificates.reader_budget import CertificateError

    try:
        if batch_time:
            return evaluate_seconds_document(instance, batch_time, document)
        certificate = read_certificate(document)
        assumed = certificate.upper_bound
        # The premise, a schedule, must hold.
        holds = assumed is None or (tel is not None and tel <= assumed)
        return evaluate_certificate(instance, certificate) if holds else 0
    except CertificateError:
        return 0
