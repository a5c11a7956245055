"""The lengths of LMSYS-Chat-1M, from Parquet files of its columns."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import kvopt
from instances.traces.lmsys_lengths import main

TURNS = [
    [("user", "one two three"), ("assistant", "four five"), ("user", "six")],
    [("user", "no answer")],
    [("user", "one"), ("assistant", "two")],
    [("assistant", "the wrong way"), ("user", "round")],
]


def test_lengths_of_the_first_question_and_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """3 + 2 and 1 + 1 words; what has no question with an answer is left out, all text too."""
    conversations = [
        [{"role": role, "content": content, "language": "en"} for role, content in turns]
        for turns in TURNS
    ]
    frame = pd.DataFrame({"conversation": conversations, "model": ["m"] * len(TURNS)})
    frame.iloc[:2].to_parquet(tmp_path / "a.parquet")
    frame.iloc[2:].to_parquet(tmp_path / "b.parquet")
    out = tmp_path / "lengths.csv"
    files = [str(tmp_path / name) for name in ("a.parquet", "b.parquet")]
    assert main([*files, "--out", str(out)]) == 0
    assert out.read_text() == "num_prefill_tokens,num_decode_tokens\n3,2\n1,1\n"
    told = capsys.readouterr().err
    assert "2 of 4 conversations have an answer" in told
    assert "whitespace words" in told
    instance = kvopt.read(str(out), memory=100)
    assert [(r.prompt, r.output) for r in instance.requests] == [(3, 2), (1, 1)]


def test_what_is_no_such_file_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another column, and another format: one line each, and nothing is written."""
    pd.DataFrame({"text": ["a"]}).to_parquet(tmp_path / "other.parquet")
    (tmp_path / "text.parquet").write_text("conversation\n")
    for name in ("other.parquet", "text.parquet"):
        assert main([str(tmp_path / name), "--out", str(tmp_path / "out.csv")]) == 2
        error = capsys.readouterr().err
        assert name in error
        assert len(error.splitlines()) <= 2
    assert not (tmp_path / "out.csv").exists()
