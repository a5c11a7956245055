"""Run many instances with many methods, store every run, build reports; see --help."""

import sys

from kvopt.commands.entry_point import script

if __name__ == "__main__":
    sys.exit(script("evaluate.py", "evaluate"))
