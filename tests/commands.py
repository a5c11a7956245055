"""Call commands in the tests' process and return output and exit code."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
from collections.abc import Callable
from pathlib import Path


def run_command(
    command: Callable[[list[str], str], int],
    *arguments: object,
    cwd: Path | None = None,
    program: str = "",
) -> subprocess.CompletedProcess[str]:
    """Call a command in a folder; return what a process of it would."""
    given = [str(each) for each in arguments]
    output, errors = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(cwd or os.getcwd()),
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(errors),
    ):
        code = command(given, program)
    return subprocess.CompletedProcess(given, code, output.getvalue(), errors.getvalue())
