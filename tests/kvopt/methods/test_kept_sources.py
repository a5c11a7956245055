"""What a file of the project says is kept in the user's cache folder, for the very same bytes."""

from __future__ import annotations

import ast
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import kvopt.methods.sources
from kvopt.methods.sources import Source, read_source

TEXT = '"""Says."""\nimport numpy\nfrom json import loads\nNAME = "word"\n'


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of one file, beside an empty cache; caches in memory are not asked."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "mine.py").write_text(TEXT)
    monkeypatch.setattr(kvopt.methods.sources, "ROOT", folder)
    monkeypatch.setattr(kvopt.methods.sources, "cache_folder", lambda name: tmp_path / name)
    return folder


def _read_anew(path: Path) -> Source:
    kvopt.methods.sources._read.cache_clear()
    return read_source(path)


def _kept(project: Path) -> Path:
    (kept,) = _all_kept(project)
    return kept


def _all_kept(project: Path) -> list[Path]:
    return list((project.parent / "sources").glob("*"))


def test_what_is_kept_is_what_was_found(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second time nothing is parsed, and the answer is the same."""
    first = _read_anew(project / "mine.py")
    assert first.imports == {"numpy", "json", "json.loads"}
    assert first.words == {"word"}
    monkeypatch.setattr(kvopt.methods.sources, "_parsed", None)
    assert _read_anew(project / "mine.py") == first


def test_other_bytes_of_the_same_size_and_time_are_read(project: Path) -> None:
    """Time and size of a file do not vouch for it: an archive may set them."""
    path = project / "mine.py"
    first = _read_anew(path)
    state = path.stat()
    path.write_text(TEXT.replace("word", "next"))
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert path.stat().st_size == state.st_size
    assert (_read_anew(path).digest, _read_anew(path).words) != (first.digest, first.words)
    path.write_text(TEXT)
    assert _read_anew(path) == first
    assert len(_all_kept(project)) == 2


def test_another_reader_reads_anew(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an older release has kept is not taken for what this one would find."""
    first = _read_anew(project / "mine.py")
    document = json.loads(_kept(project).read_text())
    _kept(project).write_text(json.dumps(document | {"imports": ["lie"]}))
    assert _read_anew(project / "mine.py").imports == {"lie"}
    monkeypatch.setattr(kvopt.methods.sources, "_reader", lambda: b"another")
    assert _read_anew(project / "mine.py") == first
    assert len(_all_kept(project)) == 2


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:0],
        lambda data: data[: len(data) // 2],
        lambda data: b"\xff" * len(data),
        lambda data: data[:0] + b"[]",
        lambda data: data[:0] + b"null",
        lambda data: data.replace(b'"words"', b'"other"'),
        lambda data: data.replace(b'["word"]', b"3"),
        lambda data: data.replace(b'["word"]', b"[3]"),
        lambda data: data.replace(b'["word"]', b'"word"'),
        lambda data: data.replace(b'["word"]', b'{"word": 1}'),
        lambda data: data.replace(b'"digest": "', b'"digest": null, "was": "'),
    ],
)
def test_damage_is_read_past_and_mended(project: Path, damage: Callable[[bytes], bytes]) -> None:
    """A torn file counts as none."""
    first = _read_anew(project / "mine.py")
    whole = _kept(project).read_bytes()
    _kept(project).write_bytes(damage(whole))
    assert _kept(project).read_bytes() != whole
    assert _read_anew(project / "mine.py") == first
    assert _kept(project).read_bytes() == whole


def test_checkouts_share_what_is_kept(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same bytes elsewhere are not parsed again, whatever Python itself may keep."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    first = _read_anew(project / "mine.py")
    (project / "copy.py").write_text(TEXT)
    monkeypatch.setattr(kvopt.methods.sources, "_parsed", None)
    assert _read_anew(project / "copy.py") == first


def test_nothing_is_kept_of_others_files_or_without_a_folder(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Outside the project, where no folder can be made, and of a user without a home."""
    elsewhere = project.parent / "other.py"
    elsewhere.write_text(TEXT)
    answers = [_read_anew(elsewhere)]
    assert not (project.parent / "sources").exists()
    (project.parent / "sources").touch()
    answers += [_read_anew(project / "mine.py")]
    (project.parent / "sources").unlink()

    def homeless(name: str) -> Path:
        raise RuntimeError(name)

    with monkeypatch.context() as patch:
        patch.setattr(kvopt.methods.sources, "cache_folder", homeless)
        answers += [_read_anew(project / "mine.py")]
    assert not _all_kept(project)
    assert set(answers) == {_read_anew(project / "mine.py")}
    assert _kept(project)


def test_what_is_kept_is_of_the_bytes_that_were_read(project: Path) -> None:
    """Whatever the file holds by then."""
    first = _read_anew(project / "mine.py")
    (project / "mine.py").write_text(TEXT.replace("word", "next"))
    kvopt.methods.sources._kept(TEXT.encode() + b"# more\n", project / "mine.py")
    (project / "mine.py").write_text(TEXT + "# more\n")
    assert _read_anew(project / "mine.py") == first


def test_a_file_that_is_not_python_is_said_to_be_none_each_time(project: Path) -> None:
    """Nothing is kept of it."""
    (project / "mine.py").write_text("def\n")
    for _ in range(2):
        with pytest.raises(SyntaxError):
            _read_anew(project / "mine.py")
    assert not _all_kept(project)


def test_a_digest_is_the_same_under_every_python() -> None:
    """Fields that a later version has added, or leaves out where empty, do not count."""
    expected = (
        "Module(body=[FunctionDef(name='f', args=arguments(posonlyargs=[], args=[], kwonlyargs=[], "
        "kw_defaults=[], defaults=[]), body=[Pass()], decorator_list=[])], type_ignores=[])"
    )
    assert kvopt.methods.sources._text_of(ast.parse("def f(): pass")) == expected
