"""Faults of an engine's run, by its events and the optimum."""

from typing import Any

from formulations.certificates.certificate_evaluation import evaluate_certificate
from formulations.certificates.certificate_file import read_certificate
from formulations.certificates.reader_budget import CertificateError, TooLongError
from formulations.valid.volume_bounds import volume_bound
from instances import Instance
from kvopt.runs.events import BoundProved, Event, MethodFailed, RelaxationSolved
from kvopt.runs.state import RunState
from schedules import make_schedule

#: Relative error that a stated LP objective may have.
_FLOAT = 1e-6


def judge(
    instance: Instance,
    optimum: int,
    known: list[int],
    method: str,
    events: list[Event],
) -> dict[str, Any]:
    """Return the row of a run: its results, and its faults in one line each.

    ``known`` are the starts of the schedule that the engine began from.
    """
    faults: list[str] = []
    state = RunState(instance, method)
    state.raise_bound(volume_bound(instance), "volumes")
    state.offer(make_schedule(instance, known, "known"), "known")
    for event in events:
        if isinstance(event, MethodFailed):
            faults.append(f"says {event.text}")
        if isinstance(event, BoundProved):
            if event.value > optimum:
                faults.append(f"bound {event.value} ({event.source}) above the optimum")
            if event.certificate is not None:
                faults += _certificate_faults(instance, optimum, event.certificate)
        most = optimum + _FLOAT * max(optimum, 1)
        if isinstance(event, RelaxationSolved) and event.value is not None and event.value > most:
            faults.append(f"relaxation {event.value} above the optimum")
        state.take(event)
    faults += [f"the checker refuses a schedule of {reason}" for reason in state.refused]
    assert state.schedule is not None
    tel, bound = state.schedule.tel, state.lower_bound
    state.close()
    status = state.standing()
    if tel < optimum:
        faults.append(f"TEL {tel} below the optimum: the oracle or the checker is wrong")
    if status == "error" or (status == "optimal" and tel != optimum):
        faults.append(f"status {status} with TEL {tel} and bound {bound}")
    row: dict[str, Any] = {"method": method, "tel": tel, "bound": bound, "status": status}
    # Several events may have the same fault.
    row["faults"] = list(dict.fromkeys(f"{fault}, optimum {optimum}" for fault in faults))
    if state.notes:
        row["notes"] = state.notes
    return row


def _certificate_faults(instance: Instance, optimum: int, document: dict[str, Any]) -> list[str]:
    """Evaluate the certificate of a bound: it must prove its value, and nothing false."""
    try:
        certificate = read_certificate(document)
        proved = evaluate_certificate(instance, certificate)
    except TooLongError:
        # The sets of requests that a reader's sweep meets are known only at its end.
        return []
    except CertificateError as error:
        return [f"its certificate is refused: {error}"]
    if proved < certificate.value:
        return [f"its certificate says {certificate.value} and proves {proved}"]
    if proved > optimum:
        return [f"its certificate proves {proved}, above the optimum"]
    return []
