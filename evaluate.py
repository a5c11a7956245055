"""Run many instances with many methods, store every run, build reports; see --help."""

import sys

from kvopt.commands.interrupts import interrupt_once
from kvopt.running.kernel import occupy_streams


def _evaluate() -> int:
    interrupt_once()
    try:
        from kvopt.commands.evaluate import main
    except KeyboardInterrupt:
        print("evaluate.py: interrupted before anything was run", file=sys.stderr)
        return 130
    return main(sys.argv[1:])


if __name__ == "__main__":
    occupy_streams()
    sys.exit(_evaluate())
