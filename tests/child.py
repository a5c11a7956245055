"""A process that answers one line for one line, and is replaced when it hangs or dies."""

import contextlib
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TextIO

_ROOT = Path(__file__).resolve().parents[1]
#: Address space of a child, bytes: a child that eats memory dies alone.
_MEMORY = 8 << 30
#: Seconds in which a child without another question ends by itself.
_END_SECONDS = 10.0


class ChildError(Exception):
    """A child hung or died over a question; the message says how in one line."""


class Child:
    """``python -m MODULE``, started at its first question."""

    def __init__(self, *command: str) -> None:
        self._command = command
        self._process: subprocess.Popen[str] | None = None

    def ask(self, line: str, seconds: float) -> str:
        """Return the answer to a line, or raise ChildError where the process hangs or dies."""
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        answer = ""
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(line)
            process.stdin.flush()
            if not select.select([process.stdout], [], [], seconds)[0]:
                self._kill()
                raise ChildError(f"hangs: no answer within {seconds:g} s")
            answer = process.stdout.readline()
        if not answer:
            code = process.wait()
            self._errors.seek(0)
            last = (self._errors.read().strip().splitlines() or ["nothing on standard error"])[-1]
            self.close()
            raise ChildError(f"crashes with exit code {code}: {last[:300]}")
        return answer

    def close(self) -> None:
        """Let the process come to its end, if there is one."""
        if self._process is not None:
            assert self._process.stdin is not None
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_END_SECONDS)
            self._kill()

    def _kill(self) -> None:
        assert self._process is not None
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._process = None

    def _start(self) -> subprocess.Popen[str]:
        self._errors = tempfile.TemporaryFile(mode="w+", errors="replace")  # noqa: SIM115
        self._process = subprocess.Popen(
            [sys.executable, *self._command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            cwd=_ROOT,
            env=os.environ | {"PYTHONPATH": str(_ROOT), "OMP_NUM_THREADS": "1"},
            start_new_session=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY)),
        )
        return self._process


def open_answers() -> TextIO:
    """Return the stream for the answers of this child; prints of libraries go elsewhere."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    return answers
