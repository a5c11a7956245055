"""Every command and code block of README, CONTRIBUTING and docs is run."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT, Block, blocks, read_blocks, shown

BLOCKS = [block for page in PAGES for block in blocks(page)]
RUN = [block for block in BLOCKS if block.is_run]
LANGUAGES = {"", "json", "mermaid", "python", "sh", "toml"}
_SCRIPTS = ("solve.py", "evaluate.py")
_COPIED = ("instances", "schedules", "formulations", "heuristics", "kvopt", "reports")


def _called(block: Block) -> str:
    return f"{shown(block.page)}:{block.line}"


def _workspace(folder: Path, page: Path) -> Path:
    """Return the checkout that a page's commands use, with the page's own files written.

    The folder is the one in which the commands run: empty but for the two scripts, or a copy of the
    project where the page adds files to it.
    """
    written = [block for block in blocks(page) if block.file or block.edit]
    added = [block for block in written if block.edit or "/" in block.file]
    checkout = ROOT
    if added:
        checkout = folder
        nothing = shutil.ignore_patterns("__pycache__", "nightly")
        for name in _COPIED:
            shutil.copytree(ROOT / name, folder / name, ignore=nothing)
        (folder / "reports" / "nightly").mkdir()
        for name in (*_SCRIPTS, "pyproject.toml"):
            shutil.copy(ROOT / name, folder)
    else:
        for name in _SCRIPTS:
            (folder / name).symlink_to(ROOT / name)
    for block in written:
        if block.edit:
            path, line = folder / block.edit[0], block.edit[1]
            whole = path.read_text(encoding="utf-8")
            assert whole.count(f"\n{line}\n") == 1, (block.name, line)
            path.write_text(whole.replace(f"\n{line}\n", f"\n{line}\n{_like(line, block)}"))
        else:
            (folder / block.file).write_text(block.text, encoding="utf-8")
    return checkout


def _like(line: str, block: Block) -> str:
    """Return a block's text with the indentation of the line that it follows."""
    indent = line[: len(line) - len(line.lstrip())]
    return "".join(f"{indent}{each.strip()}\n" for each in block.text.splitlines())


def _script(block: Block) -> str:
    """Return a block of shell as a script that ends at the first code that is not expected."""
    lines = ["set -eu -o pipefail"]
    for line in block.changed().splitlines():
        command, _, code = line.partition("  # exits ")
        if code:
            lines.append(f"{{ {command}; }} && found=0 || found=$?; [ $found -eq {int(code)} ]")
        else:
            lines.append(line)
    return "\n".join(lines)


def _run(block: Block, folder: Path) -> subprocess.CompletedProcess[str]:
    programs = folder / ".programs"
    programs.mkdir()
    for name, words in (("python", ""), ("kvopt", "-m kvopt ")):
        (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words}"$@"\n')
        (programs / name).chmod(0o755)
    checkout = _workspace(folder, block.page)
    environment = os.environ | {
        "PATH": os.pathsep.join([str(programs), os.environ["PATH"]]),
        "PYTHONPATH": str(checkout),
        "CHECKOUT": str(ROOT),
    }
    if block.language == "sh":
        command = ["bash", "-c", _script(block)]
    else:
        command = [sys.executable, "-c", block.changed()]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=500
    )


@pytest.mark.parametrize("block", RUN, ids=_called)
def test_the_block_runs(block: Block, tmp_path: Path) -> None:
    """As it stands, but for what its marker changes."""
    ran = _run(block, tmp_path)
    assert ran.returncode == 0, f"{ran.stdout[-2000:]}\n{ran.stderr[-2000:]}"


def test_no_block_is_passed_over() -> None:
    """A block is run, written, or elsewhere for a reason that names a file; or no program."""
    assert {block.language for block in BLOCKS} <= LANGUAGES
    assert len(RUN) >= 20
    for block in BLOCKS:
        if block.elsewhere:
            named = re.findall(r"[\w./]+/[\w./]+", block.elsewhere)
            assert named, block.name
            assert all((ROOT / name).is_file() for name in named), block.name
        if block.language == "json":
            json.loads(block.text)


@pytest.mark.parametrize(
    "text",
    [
        "<!-- test: later -->\n```sh\ntrue\n```\n",
        '<!-- test: "a" -->\n```sh\na\n```\n',
        "<!-- skip: slow -->\n```sh\ntrue\n```\n",
    ],
)
def test_a_marker_of_ones_own_is_refused(text: str) -> None:
    """So nothing is skipped by a word that the tests do not know."""
    with pytest.raises(ValueError, match="no marker"):
        read_blocks(ROOT / "page.md", text)


def test_a_change_must_be_of_something() -> None:
    """A limit that a marker shortens must be in the block."""
    (block,) = read_blocks(ROOT / "page.md", '<!-- test: "60" as "2" -->\n```sh\ntrue 6\n```\n')
    with pytest.raises(ValueError, match="changes '60'"):
        block.changed()


@pytest.mark.parametrize(
    ("line", "code"),
    [("false", 1), ("true", 0), ("false  # exits 1", 0), ("true  # exits 1", 1), ("(exit 3)", 3)],
)
def test_a_command_that_fails_is_seen(line: str, code: int, tmp_path: Path) -> None:
    """And one that should fail and does not."""
    (block,) = read_blocks(ROOT / "README.md", f"```sh\n{line}\ntrue\n```\n")
    assert _run(block, tmp_path).returncode == code
