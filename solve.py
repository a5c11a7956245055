"""Solve one instance with one method: an exact engine or a policy; see --help."""

import sys

from kvopt.commands.start import start_solve

if __name__ == "__main__":
    sys.exit(start_solve(sys.argv[1:], "solve.py"))
