"""Solve one instance with one method: an exact engine or a policy; see --help."""

import sys

from kvopt.commands.entry_point import script

if __name__ == "__main__":
    sys.exit(script("solve.py", "solve"))
