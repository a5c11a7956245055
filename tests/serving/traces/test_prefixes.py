"""What could be shared of a trace's prompts, and times that are of another format."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serving.traces import TraceError, TraceOptions
from serving.traces.format_reader import shared_tokens
from serving.traces.read_trace import read_trace
from tests.serving.traces.cases import BY_NAME


def told(path: Path, memory: int = 100, **options: Any) -> list[str]:
    _, report = read_trace(path, TraceOptions(memory=memory, **options))
    return [note for note in report.notes if "hash_ids" in note]


def test_the_samples_tell_what_could_be_shared() -> None:
    """Of requests that are kept only, in the format's blocks, once in the report."""
    # Bailian: 40, 60 and 10 tokens.  The second begins with the three blocks of the first, 48
    # tokens; the third with one block, of which it has 10 tokens only.
    (note,) = told(BY_NAME["bailian.jsonl"].path)
    assert note.startswith("58 of 110 prompt tokens (52.7 %) repeat the beginning of an earlier")
    assert "blocks of 16 tokens" in note
    # Mooncake: 50, 60 and 7; the second begins as the first, whose block of 512 holds all of it.
    (note,) = told(BY_NAME["mooncake.jsonl"].path)
    assert note.startswith("60 of 117 prompt tokens (51.3 %)")
    assert "blocks of 512 tokens" in note


def test_nothing_is_told_of_what_is_not_stated(tmp_path: Path) -> None:
    """A file without hash_ids, and formats that have none."""
    path = tmp_path / "plain.jsonl"
    path.write_text('{"timestamp": 0, "input_length": 1, "output_length": 2}\n')
    assert told(path) == []
    assert told(BY_NAME["vidur.csv"].path) == []


Blocks = st.lists(st.integers(0, 2), max_size=6)


@given(prompts=st.lists(Blocks, max_size=8), block=st.integers(1, 4))
def test_against_every_pair(prompts: list[list[int]], block: int) -> None:
    """The longest beginning in common with an earlier prompt, in whole blocks."""
    expected = 0
    for place, ids in enumerate(prompts):
        longest = 0
        for earlier in prompts[:place]:
            common = [a == b for a, b in zip(ids, earlier, strict=False)]
            longest = max(longest, (*common, False).index(False))
        expected += longest * block
    assert shared_tokens(prompts, [len(ids) * block for ids in prompts], block) == expected


@pytest.mark.parametrize("ids", [None, "abc", [1.5], [True], ["a"], 3])
def test_what_is_no_list_of_ids_shares_nothing(ids: Any) -> None:
    """Nor is it refused: the problem has no use for it."""
    assert shared_tokens([ids, ids], [5, 5], 16) == 0


def test_seconds_are_not_read_as_milliseconds(tmp_path: Path) -> None:
    """Fractions are refused, with what they may be; gaps of 10 ms and more look like no seconds."""
    text = BY_NAME["bailian.jsonl"].text.replace('"chat_id"', '"id"')
    path = tmp_path / "anonymous.jsonl"
    path.write_text(text.replace('"parent_chat_id"', '"parent"'))
    expected = r"row 1: timestamp: expected whole milliseconds \(of seconds, as Bailian's are, with"
    with pytest.raises(TraceError, match=expected):
        read_trace(path, TraceOptions(memory=100))
    instance, _ = read_trace(path, TraceOptions(memory=100, format="bailian"))
    assert [each.arrival for each in instance.requests] == [0, 2.864, 7.75]
    path.write_text(path.read_text().replace("1.25,", "1027.25,"))
    with pytest.raises(
        TraceError, match=r"timestamp: expected whole milliseconds, found 1027\.25$"
    ):
        read_trace(path, TraceOptions(memory=100))
