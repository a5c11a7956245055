"""Questions to a process, and its answers."""

from tests.child import Child


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
