"""The command ``python -m instances.generate``: files, listing, and one line for every mistake."""

import inspect
import json
from dataclasses import replace
from pathlib import Path

import pytest

from instances import read_instance
from instances.families import families
from instances.families.shared import MAX_REQUESTS, ranges
from instances.generate import main
from instances.instance_files import format_instance
from tests.tiers import a_few

Captured = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    ("name", "values", "ends"),
    [
        ("am1", {"n": 8}, ""),
        ("planted", {"online": True, "waves": 4}, "_onlineTrue_waves4"),
        ("late_burst", {"variant": "theorem-6.2", "memory": 64}, ""),
        ("geometric", {"p": 0.5, "n": 3}, "_p0.5"),
    ],
)
def test_an_instance_is_written(
    name: str, values: dict[str, object], ends: str, tmp_path: Path, capsys: Captured
) -> None:
    """On standard output or in a file; values are read by their types, the name has them."""
    drawn = families()[name.replace("_", "-")].generate(seed=3, **values)
    expected = replace(drawn, name=drawn.name + ends)
    given = [name, "--seed", "3", *(f"--set={key}={value}" for key, value in values.items())]
    assert main(given) == 0
    assert capsys.readouterr().out == format_instance(expected)
    assert (main([*given, f"--out={tmp_path}/one.json"]), capsys.readouterr().out) == (0, "")
    assert read_instance(tmp_path / "one.json") == expected


def test_the_listing_names_every_family(capsys: Captured) -> None:
    """--list shows each family's name, summary and parameters."""
    assert main(["--list"]) == 0
    shown = capsys.readouterr().out
    for family in families().values():
        assert f"{family.name} " in shown
        assert family.summary in shown
    assert "longest=50 (1 to 1000000000), mean=25.0 (above 0 to 1000000000), dev" in shown
    # Integers in the listing's form, so that it says of every number how large it may be.
    assert "  m=4 (1 to 1000000), solvable=true, target=1000 (12 to 999999997)\n" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "expected a FAMILY; --list names them"),
        (["nope"], "unknown family 'nope', expected one of am1, am2"),
        (["am1", "--seed", "x"], "Invalid value for '--seed': expected an integer from 0 to 9223"),
        (["am1", "--seed", "-1"], "Invalid value for '--seed': expected an integer from 0 to 9"),
        (["am1", "--bogus"], "No such option"),
        (["am1", "--set", "n"], "--set 'n': expected KEY=VALUE, each key once, from n (1 to"),
        (["am1", "--set", "q=1"], "--set 'q=1': expected KEY=VALUE"),
        (["am1", "--set", "seed=1"], "--set 'seed=1': expected KEY=VALUE"),
        (["am1", "--set", "n=1", "--set", "n=2"], "--set 'n=2': expected KEY=VALUE"),
        (["am1", "--set", "n=1.5"], "--set 'n=1.5': Input should be a valid integer"),
        (["am1", "--set", "n=\n"], "--set 'n=\\n': Input should be a valid integer"),
        (["am2", "--set", "rate=abc"], "--set 'rate=abc': Input should be a valid number"),
        (["late-burst", "--set", "variant=z"], "--set 'variant=z': Input should be"),
        (["planted", "--set", "online=maybe"], "--set 'online=maybe': Input should be"),
        (["uniform", "--out", "."], "--out .: expected a file to write, found a directory"),
    ],
)
def test_bad_usage_is_one_line_and_exit_2(
    arguments: list[str], message: str, capsys: Captured
) -> None:
    """Every mistake ends with exit code 2, one line on stderr and nothing on stdout."""
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith(f"python -m instances.generate: {message}")
    assert shown.err.count("\n") == 1


#: What someone may type for a number, from less than nothing to what no computer holds.
EXTREMES = ["0", "-1", "1", "0.5", "2147483648", "9223372036854775808", "9" * 400, "9" * 5000]
EXTREMES += ["1e-9", "5e-324", "1e9", "1e308", "-1e308", "inf", "nan", "None", ""]


def _parameters() -> list[tuple[str, str]]:
    """Return every parameter of every family, the first of each before the second of any."""
    found = [
        (position, name, key)
        for name, family in families().items()
        for position, key in enumerate(inspect.signature(family.generate).parameters)
    ]
    return [(name, key) for _, name, key in sorted(found)]


@pytest.mark.parametrize(("name", "parameter"), a_few(_parameters(), len(families())))
def test_extreme_values_are_drawn_or_refused_at_once(
    name: str, parameter: str, capsys: Captured
) -> None:
    """Whatever stands for a number, there is an instance or one line, and never a long wait."""
    limits = ranges(families()[name].generate)
    values = list(EXTREMES)
    if parameter in limits and limits[parameter].largest != MAX_REQUESTS:
        # The ends of the range; a million requests are allowed and take seconds.
        values += [str(limits[parameter].least), str(limits[parameter].largest)]
    for value in values:
        option = ["--seed", value] if parameter == "seed" else ["--set", f"{parameter}={value}"]
        code = main([name, *option])
        shown = capsys.readouterr()
        if code == 0:
            assert len(json.loads(shown.out)["requests"]) <= MAX_REQUESTS
        else:
            assert (code, shown.out) == (2, "")
            assert shown.err.count("\n") == 1
            assert len(shown.err) < 1000
