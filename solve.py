"""Solve one instance with one method: an exact engine or a policy; see --help."""

import sys

from runs.solve_command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
