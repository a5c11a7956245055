"""Words of messages: a number and its word agree."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from support.message_text import guard_cell, plural, summary_text, unguard_cell, wrap_lines


def test_one_and_many() -> None:
    """Words in y become ies, all others end in s."""
    assert plural(0, "run") == "0 runs"
    assert plural(1, "online policy") == "1 online policy"
    assert plural(1_200, "online policy") == "1,200 online policies"


@pytest.mark.parametrize("unit", ["%", "s", "ms", "tokens", "round"])
@pytest.mark.parametrize("number", ["46.3", "[0.0, 18.1]"])
def test_no_line_ends_between_a_number_and_its_unit(number: str, unit: str) -> None:
    """Whatever stands before it; the words are the same."""
    for before in range(1, 37):
        text = f"{'x' * before} and {number} {unit}, then (-46.9 %); more"
        lines = wrap_lines(text, 40, "  ").splitlines()
        assert " ".join(map(str.strip, lines)) == text
        assert any(f"{number.split()[-1]} {unit}," in line for line in lines)
        assert any("(-46.9 %);" in line for line in lines)
        assert all(line.startswith("  ") for line in lines[1:])


@given(st.text() | st.text(st.sampled_from("'=+-@\t\rx")))
@example("=cmd|' /C calc'!A0")
def test_no_cell_is_a_formula_and_each_text_comes_back(text: str) -> None:
    """Also one that begins with a quote itself; nothing else is changed."""
    cell = guard_cell(text)
    assert not cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n"))
    assert unguard_cell(cell) == text
    assert cell in (text, f"'{text}")


def test_a_table_and_a_long_word_stay_whole() -> None:
    """Of a value with lines only the last, a sentence, is wrapped."""
    wide, word = "a " * 60 + "b", "x" * 120
    found = summary_text([("answer", f"head\n{wide}\n{wide}"), ("time", word)]).splitlines()
    assert found[:2] == ["answer  head", f"        {wide}"]
    assert [each.strip() for each in found[2:4]] == [("a " * 46).strip(), ("a " * 14 + "b").strip()]
    assert found[-1].strip() == word
