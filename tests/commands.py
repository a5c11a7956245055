"""Call commands, in the tests' process or another; return output and exit code."""

import contextlib
import io
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any


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


def run_process(*command: object, **more: Any) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, which is to come within two minutes; return what it printed."""
    given = {"capture_output": True, "text": True, "timeout": 120} | more
    return subprocess.run([*map(str, command)], **given)
