"""``python -m kvopt``: the same as the command ``kvopt``."""

import sys

from kvopt.commands.entry_point import kvopt

if __name__ == "__main__":
    sys.exit(kvopt("python -m kvopt"))
