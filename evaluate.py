"""Run many instances with many methods, store every run, build reports; see --help."""

import sys

from kvopt.commands.start import start_evaluate

if __name__ == "__main__":
    sys.exit(start_evaluate(sys.argv[1:], "evaluate.py"))
