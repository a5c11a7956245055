"""Process that imports a custom method's file and sends its declaration."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kvopt.methods.custom_python import OwnMethodError, describe_own
from kvopt.runs.events import DocumentSent, event_line


def describe(lines: Iterator[str], channel: socket.socket) -> None:
    """Import the file that a line names; send its declaration, or why it has none."""
    found: dict[str, Any]
    try:
        found = describe_own(Path(json.loads(next(lines)))).document()
    except OwnMethodError as error:
        found = {"fault": str(error)}
    except (Exception, SystemExit) as error:
        found = {"fault": f"{type(error).__name__}: {error}"}
    channel.sendall(event_line(DocumentSent(document=found)).encode())
