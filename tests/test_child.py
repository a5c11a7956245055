"""A child process answers each line with a line."""

import pytest

from tests.child import Child, ChildError


def test_what_a_library_prints_is_no_answer() -> None:
    """A line that C code writes to descriptor 1 does not stand before the answer."""
    code = (
        "import os, sys\n"
        "from tests.child import open_answers\n"
        "answers = open_answers()\n"
        "os.write(1, b'Running HiGHS\\n')\n"
        "for line in sys.stdin: print(line.strip() * 2, file=answers)"
    )
    child = Child("-c", code)
    try:
        assert child.ask("ab\n", 30) == "abab\n"
    finally:
        child.close()


def test_children_that_hang_or_die_are_replaced() -> None:
    """Each is named in one line, and the next question is answered."""
    echo = Child("-c", "import sys\nfor line in sys.stdin: print(1 / int(line), flush=True)")
    try:
        assert echo.ask("2\n", 20) == "0.5\n"
        with pytest.raises(ChildError, match="exit code 1: ZeroDivisionError"):
            echo.ask("0\n", 20)
        assert echo.ask("4\n", 20) == "0.25\n"
    finally:
        echo.close()
    slow = Child("-c", "import time; time.sleep(60)")
    with pytest.raises(ChildError, match=r"hangs: no answer within 0\.2 s"):
        slow.ask("\n", 0.2)
