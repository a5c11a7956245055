"""Run many instances with many methods, store every run, build reports; see --help."""

import sys

from runs.evaluate_command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
