"""The forks that tests run in place of processes: what ``subprocess`` promises holds of them."""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor

from tests.forks import Fork


def test_all_who_wait_are_told_the_same() -> None:
    """Several threads may ask for the exit code at once; one in ten such forks told 255."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            for _ in range(40):
                ours, theirs = os.pipe()
                nothing = os.open(os.devnull, os.O_RDWR)
                command = [sys.executable, "-P", "-m", "kvopt.running.reaper", str(ours), "this"]
                fork = Fork(
                    command, stdin=nothing, stdout=nothing, stderr=nothing, cwd=None,
                    env=dict(os.environ), start_new_session=True, pass_fds=[ours],
                )  # fmt: skip
                codes = list(pool.map(fork.wait, [30.0] * 4))
                for each in (ours, theirs, nothing):
                    os.close(each)
                assert codes == [0, 0, 0, 0]
                assert fork.returncode == 0
    finally:
        sys.setswitchinterval(before)
