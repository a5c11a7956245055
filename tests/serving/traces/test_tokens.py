"""How text is counted: words by default, which is said; or a tokenizer that the user names."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from serving.traces import TraceOptions
from serving.traces.json_readers import token_count
from serving.traces.read_trace import read_trace
from serving.traces.trace_options import TraceOptionError
from tests.serving.traces.cases import BY_NAME


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Naming a tokenizer needs an extra, which the complaint names."""
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(TraceOptionError, match=r"the extra kvopt\[tokenizers\]"):
        token_count("gpt2")


def test_a_tokenizer_of_a_file(tmp_path: Path) -> None:
    """Every character is a token of this one, and none is special."""
    pytest.importorskip("tokenizers", reason="an optional extra")
    path = tmp_path / "tokenizer.json"
    letters = {letter: at for at, letter in enumerate("abcde ?")}
    model = {"type": "BPE", "vocab": letters, "merges": [], "unk_token": "?"}
    parts = dict.fromkeys(("normalizer", "pre_tokenizer", "post_processor", "decoder"))
    path.write_text(json.dumps({"version": "1.0", "added_tokens": [], "model": model} | parts))
    options = TraceOptions(memory=100, tokenizer=str(path))
    instance, report = read_trace(BY_NAME["lmsys.jsonl"].path, options)
    # "a b" and "c d e"; " " is a token now, with the answer "b"; "a b c d" and "b".
    assert (instance.prompts.tolist(), instance.outputs.tolist()) == ([3, 1, 7], [5, 1, 1])
    assert f"tokens of {path}" in report.notes


def test_texts_on_which_a_tokenizer_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of a surrogate pair counts as U+FFFD; whatever else is raised skips its row."""

    class Letters:
        def encode(self, text: str, **_: bool) -> SimpleNamespace:
            text.encode()  # the package takes no surrogates
            if "x" in text:
                raise BaseException("a panic of the package")
            return SimpleNamespace(ids=list(text))

    package = SimpleNamespace(Tokenizer=SimpleNamespace(from_pretrained=lambda _: Letters()))
    monkeypatch.setitem(sys.modules, "tokenizers", package)
    path = tmp_path / "t.jsonl"
    texts = ["\\ud83d b", "x", "\\ud83d\\ude00"]  # as JSON writes them
    path.write_text("".join(f'{{"prompt": "{text}", "output_tokens": 2}}\n' for text in texts))
    instance, report = read_trace(path, TraceOptions(memory=9, tokenizer="letters"))
    assert instance.prompts.tolist() == [3, 1]
    (skipped,) = report.skipped
    assert str(skipped) == "1 row skipped: the tokenizer fails on a text (first in row 2)"


def test_a_tokenizer_that_is_none(tmp_path: Path) -> None:
    """One line, whatever the package raises."""
    pytest.importorskip("tokenizers", reason="an optional extra")
    path = tmp_path / "tokenizer.json"
    path.write_text("{}")
    with pytest.raises(TraceOptionError, match=r"\A.*tokenizer .*: cannot be read: .*\Z"):
        token_count(str(path))
