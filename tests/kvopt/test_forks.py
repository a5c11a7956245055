"""The forks that tests run in place of processes: what ``subprocess`` promises holds of them."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import connection, forkserver

import pytest

from tests.forks import Fork


@pytest.fixture(autouse=True)
def read_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exit code is read so slowly that another thread that asks meanwhile reads, too."""
    read = forkserver.read_signed

    def slow(fd: int) -> int:
        time.sleep(0.2)
        return int(read(fd))

    monkeypatch.setattr(forkserver, "read_signed", slow)


@contextmanager
def _ended() -> Iterator[Fork]:
    """Start a fork that ends at once, and wait until it has."""
    ours, theirs = os.pipe()
    nothing = os.open(os.devnull, os.O_RDWR)
    command = [sys.executable, "-P", "-m", "kvopt.runs.reaper", str(ours), "this"]
    try:
        fork = Fork(
            command, stdin=nothing, stdout=nothing, stderr=nothing, cwd=None,
            env=dict(os.environ), start_new_session=True, pass_fds=[ours],
        )  # fmt: skip
        connection.wait([fork._process.sentinel], 30.0)
        yield fork
    finally:
        for each in (ours, theirs, nothing):
            os.close(each)


def test_all_who_wait_are_told_the_same() -> None:
    """Several threads may ask for the exit code at once."""
    with _ended() as fork, ThreadPoolExecutor(4) as pool:
        assert list(pool.map(fork.wait, [30.0] * 4)) == [0, 0, 0, 0]
        assert fork.returncode == 0


def test_who_starts_a_fork_takes_no_exit_code_away() -> None:
    """``multiprocessing`` asks for the codes of all others where a process is started."""
    with _ended() as fork, ThreadPoolExecutor(1) as pool:
        told = pool.submit(fork.wait, 30.0)
        time.sleep(0.05)
        with _ended() as another:
            assert told.result() == 0
            assert (fork.returncode, another.returncode) == (0, 0)
