"""What all tests have in common."""

from __future__ import annotations

import signal


def pytest_configure() -> None:
    """Let Ctrl-C reach the commands that tests start.

    A shell starts what it puts in the background with SIGINT ignored, and whoever is started from
    there inherits that; a handler becomes the default in a program that is started.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # So with nohup and SIGHUP.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
