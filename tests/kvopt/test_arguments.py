"""Numbers on the command line: read, or refused with the expected range."""

import re
from collections.abc import Callable

import pytest

import instances.generate
import kvopt.best_known.rerun_proofs
import kvopt.commands.evaluate
import kvopt.commands.solve
import reports.build
import serving.commands.memory_command
import serving.commands.rates_command
import serving.traces.convert
from kvopt.checked_numbers import TIME_LIMIT, read_count, read_gigabytes, read_seconds, read_seed
from kvopt.project_paths import PACKAGES
from support.click_command import Command
from support.usage_errors import read_integer
from tests.kvopt.conftest import Refused
from tests.kvopt.sweep_tools import ROOT

TRACE = ["arrival-seed", "limit", "round-seconds", "run"]
RUNS = ["memory-limit", "time-limit", "tp", *TRACE]
#: Every command that takes numbers, with those that its help names.
NUMBERS = {
    kvopt.commands.solve.main: ["seed", *RUNS, "threads"],
    kvopt.commands.evaluate.main: ["jobs", "seeds", *RUNS, "threads"],
    serving.commands.rates_command.main: ["jobs", "seed", "seeds", *RUNS, "arrivals"],
    serving.commands.memory_command.main: ["gpus", "head-size", "kv-heads", "layers", "tp"],
    serving.traces.convert.main: TRACE,
    kvopt.best_known.rerun_proofs.main: ["each"],
    instances.generate.main: ["seed"],
    reports.build.main: ["pages", "pictures"],
}


def test_numbers_within_their_range() -> None:
    """Both ends are allowed, with leading zeros, too."""
    for text in ("1", "0.5", "1e9", "1000000000", "5e-324", "007"):
        assert read_seconds(text) == float(text)
    assert [read_count("1"), read_count("01024"), read_seed("0")] == [1, 1024, 0]
    assert read_seed(str(2**31 - 1)) == 2**31 - 1
    assert read_integer("0" * 500 + "7", 0, 9) == 7
    assert read_gigabytes("1e6") == 1e6


@pytest.mark.parametrize("main", NUMBERS)
def test_every_number_is_known(main: Command, capfd: pytest.CaptureFixture[str]) -> None:
    """What the help shows with the letter of a number is in the table of the next test."""
    assert main(["--help"]) == 0
    shown = re.findall(r"^ +--([a-z-]+) (?:S|GB|N|K)\b", capfd.readouterr().out, re.MULTILINE)
    assert set(shown) == set(NUMBERS[main])


@pytest.mark.parametrize(
    ("main", "name"),
    [(main, name) for main, names in NUMBERS.items() for name in names if name not in TRACE],
)
def test_every_number_is_refused_in_plain_words(main: Command, name: str, refused: Refused) -> None:
    """One line with the expected range and the text; no name of the code."""
    expected = r"expected (a number above 0, at most \d+|an integer from [01] to \d+), found "
    for text in ("abc", "", "-1", "nan", "1e400", "0x10", "½"):
        _, told = refused(main, f"--{name}={text}").split(f": Invalid value for '--{name}': ")
        assert re.fullmatch(expected + re.escape(repr(text)), told)


@pytest.mark.parametrize(
    ("read", "texts", "expected"),
    [
        (
            read_seconds,
            ["0", "inf", "1e10", "1e308", "-0.0", "9" * 5000, "1,5"],
            "expected a number above 0, at most 1000000000, found",
        ),
        # A petabyte is the most that can be asked for.
        (read_gigabytes, ["1e7", "inf", "0"], "expected a number above 0, at most 1000000, found"),
        # No sign, blank, underscore or other alphabet, and nothing beyond the range.
        (
            read_count,
            ["x", "1.0", "1_0", " 1", "²", "1025", "0", "9" * 5000],
            "expected an integer from 1 to 1024, found",
        ),
        (read_seed, [str(2**31), "9" * 5000], "expected an integer from 0 to 2147483647, found"),
    ],
)
def test_numbers_beyond_their_range(
    read: Callable[[str], float], texts: list[str], expected: str
) -> None:
    """Each is refused with the range."""
    for text in texts:
        with pytest.raises(ValueError, match=expected):
            read(text)


def test_the_default_limit_is_written_once(capfd: pytest.CaptureFixture[str]) -> None:
    """In the code, as a default or in the help; what waits for something else has other names."""
    written = re.compile(rf"limit.*(=|\(default:) ?{TIME_LIMIT:g}\b", re.IGNORECASE)
    places = [
        path.relative_to(ROOT).as_posix()
        for name in PACKAGES
        for path in (ROOT / name).rglob("*.py")
        if path.name != "__init__.py" and written.search(path.read_text(encoding="utf-8"))
    ]
    assert places == ["kvopt/checked_numbers.py"]
    assert kvopt.commands.solve.main(["--help"]) == 0
    assert f"(default: {TIME_LIMIT:g})" in " ".join(capfd.readouterr().out.split())
