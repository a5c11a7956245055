"""The process that tells what a file of one's own declares (``kvopt.methods.described``)."""

from __future__ import annotations

import json
import os
from pathlib import Path

from kvopt.methods.own import OwnMethodError, describe_own


def main() -> None:
    """Import the file and print what it is, or why it is nothing, as one JSON object."""
    # What the file prints is no answer.
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    try:
        told = describe_own(Path(os.environ["KVOPT_DESCRIBE"])).document()
    except OwnMethodError as error:
        told = {"fault": str(error)}
    except (Exception, SystemExit) as error:
        told = {"fault": f"{type(error).__name__}: {error}"}
    answer.write(json.dumps(told))
    answer.flush()
    # Threads that the file has left behind are not waited for.
    os._exit(0)


if __name__ == "__main__":
    main()
