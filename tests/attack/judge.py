"""What is wrong of an engine's run, by its events and the optimum."""

from __future__ import annotations

from typing import Any

from formulations.bounds.certificate import CertificateError, evaluate, read_certificate
from formulations.bounds.volume import volume_bound
from instances import Instance
from kvopt.engines.exact import Progress, final_status, take_event
from kvopt.running.job import Event
from schedules import make_schedule

#: Relative error that a stated LP objective may have.
_FLOAT = 1e-6


def judge(
    instance: Instance,
    optimum: int,
    known: list[int],
    solver: str,
    method: str,
    events: list[dict[str, Any]],
) -> dict[str, Any]:
    """Return the row of a run: what the product would say of it, and its faults in one line each.

    ``known`` are the starts of the schedule that the engine began from.
    """
    faults: list[str] = []
    progress = Progress(instance)
    progress.raise_bound(volume_bound(instance), "volumes")
    progress.offer(make_schedule(instance, known, "known"), "known")
    for record in events:
        event = Event(**record)
        data = event.data
        if event.kind == "error":
            faults.append(f"says {data['text']}")
        if event.kind == "bound":
            if data["value"] > optimum:
                faults.append(f"bound {data['value']} ({data['source']}) above the optimum")
            if data.get("certificate") is not None:
                faults += _certificate_faults(instance, optimum, data)
        if event.kind == "relaxation" and data["value"] > optimum + _FLOAT * max(optimum, 1):
            faults.append(f"relaxation {data['value']} above the optimum")
        take_event(progress, event, solver, method)
    faults += [f"the checker refuses a schedule of {reason}" for reason in progress.refused]
    assert progress.schedule is not None
    tel, bound = progress.schedule.tel, progress.lower_bound
    status = final_status(progress, None)
    if tel < optimum:
        faults.append(f"TEL {tel} below the optimum: the oracle or the checker is wrong")
    if status == "error" or (status == "optimal" and tel != optimum):
        faults.append(f"status {status} with TEL {tel} and bound {bound}")
    row: dict[str, Any] = {"method": method, "tel": tel, "bound": bound, "status": status}
    # More than one event may tell of the same fault.
    row["faults"] = list(dict.fromkeys(f"{fault}, optimum {optimum}" for fault in faults))
    if progress.notes:
        row["notes"] = progress.notes
    return row


def _certificate_faults(instance: Instance, optimum: int, data: dict[str, Any]) -> list[str]:
    """Evaluate the certificate of a bound: it must prove what it says, and nothing false."""
    try:
        certificate = read_certificate(data["certificate"])
        proved = evaluate(instance, certificate)
    except CertificateError as error:
        return [f"its certificate is refused: {error}"]
    if proved < certificate.value:
        return [f"its certificate says {certificate.value} and proves {proved}"]
    if proved > optimum:
        return [f"its certificate proves {proved}, above the optimum"]
    return []
