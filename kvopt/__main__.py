"""``python -m kvopt``: the same as the command ``kvopt``."""

import sys

from kvopt.commands.main import main

if __name__ == "__main__":
    sys.exit(main(program="python -m kvopt"))
