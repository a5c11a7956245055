"""Does not look at the clock, in a process of its own and in one that it starts."""

import subprocess
import sys
import time
from typing import Any


def solve(instance: Any, seconds: float) -> Any:
    del instance
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    time.sleep(100 * seconds)
