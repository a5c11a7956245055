"""The picture of the best stored schedule of an instance, as text."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, Protocol

from instances.files import parse_instance
from instances.model import InfeasibleInstanceError
from instances.telling import one_line
from schedules import Schedule, check_schedule
from schedules.picture import save_picture
from schedules.real_time.picture import drawn


class Documents(Protocol):
    """Where the stored documents are; ``kvopt.store.Store`` is one."""

    def schedule(self, key: str) -> dict[str, Any] | None:
        """Return the schedule document of a run, None without one."""

    def instance(self, sha256: str) -> dict[str, Any] | None:
        """Return the document of an instance, None without one."""


def draw_best(store: Documents, key: str, sha: str) -> tuple[str, str]:
    """Return the SVG of the schedule of a run and what to say of it; no SVG with the reason.

    Parameters
    ----------
    key
        Of the run with the best stored schedule.
    sha
        Of its instance.
    """
    document, described = store.schedule(key), store.instance(sha)
    if document is None or described is None:
        return "", "The schedule is not in the store."
    try:
        fields = {name: value for name, value in document.items() if name != "schema"}
        instance, schedule = parse_instance(described), Schedule(**fields)
        verdict = check_schedule(instance, schedule)
        if not verdict.valid:
            return "", f"Not drawn: {verdict}"
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "picture.svg"
            save_picture(drawn(instance, schedule), path)
            svg = path.read_text(encoding="utf-8")
    except (ValueError, InfeasibleInstanceError) as error:
        return "", f"Not drawn: {one_line(error, 200)}"
    if schedule.clock is not None:
        return svg, "KV memory held, and requests that run and wait, over seconds."
    return svg, "KV memory held over time, stacked by request, under the limit M."
