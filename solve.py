"""Solve one instance with one method: an exact engine or a policy; see --help."""

from __future__ import annotations

import time

_STARTED = time.monotonic()

import sys

from runs.solve_command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], _STARTED))
