"""Asks for a copy of the process that ``tests/copies.py`` keeps; needs the standard library alone.

``python tests/copied.py COMMAND``, where a copy may be asked for, does what ``python COMMAND`` does
without the time for imports: a page's commands call it.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
from pathlib import Path

#: Holds, in the environment of a copy, the name of the socket where copies are asked for.
TOLD = "KVOPT_TEST_COPIES"
#: Holds the file to which the copies with this in their environment add their ids, a line each.
LISTED = "KVOPT_TEST_LISTED"
#: Stands in a command for the number of a descriptor that is passed on.
PASSED = "{passed}"


class Copy:
    """What ``subprocess.Popen`` is of ``python COMMAND``, in so far as it is used of runs.

    Parameters
    ----------
    asked
        Name of the socket where copies are asked for.
    passed
        A descriptor that the copy inherits; its number there replaces its number here in COMMAND.
    """

    def __init__(
        self,
        command: list[str],
        *,
        asked: str,
        stdin: int | None = None,
        stdout: int,
        stderr: int,
        cwd: Path | None = None,
        env: dict[str, str] | None = None,
        new_session: bool = False,
        passed: int | None = None,
    ) -> None:
        given = {"stdin": stdin, "stdout": stdout, "stderr": stderr, "passed": passed}
        handed = {name: each for name, each in given.items() if each is not None}
        question = {
            "command": [PASSED if each == str(passed) else each for each in command],
            "cwd": str(cwd or Path.cwd()),
            "env": dict(os.environ) if env is None else env,
            "new_session": new_session,
            "handed": list(handed),
        }
        reader, told = os.pipe()
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asking:
            asking.connect(f"\0{asked}")
            socket.send_fds(asking, [json.dumps(question).encode()], [told, *handed.values()])
        os.close(told)
        self._told = os.fdopen(reader)
        self.pid = int(self._told.readline())
        self.returncode: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code, as ``Popen`` does."""
        if self.returncode is None:
            ready, _, _ = select.select([self._told], [], [], timeout)
            if not ready:
                assert timeout is not None
                raise subprocess.TimeoutExpired(str(self.pid), timeout)
            with self._told:
                self.returncode = int(self._told.readline())
        return self.returncode

    def kill(self) -> None:
        """End it."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


def main() -> int:
    """Run the command on this process's streams; end as a shell tells the copy's end."""
    copy = Copy(sys.argv[1:], asked=os.environ[TOLD], stdin=0, stdout=1, stderr=2)
    code = copy.wait()
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
