"""Runs a block of a page as a reader would, in a folder of its own."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from kvopt.project_paths import PACKAGES
from tests.commands import run_process
from tests.docs.pages import ROOT, Block, blocks, shown

_SCRIPTS = ("solve.py", "evaluate.py")


def called(block: Block) -> str:
    return f"{shown(block.page)}:{block.line}"


def _workspace(folder: Path, page: Path) -> Path:
    """Return the checkout that a page's commands use, with the page's own files written."""
    written = [block for block in blocks(page) if block.file or block.edit]
    added = [block for block in written if block.edit or "/" in block.file]
    checkout = ROOT
    if added:
        checkout = folder
        nothing = shutil.ignore_patterns("__pycache__", "nightly")
        for name in PACKAGES:
            shutil.copytree(ROOT / name, folder / name, ignore=nothing)
        (folder / "reports" / "nightly").mkdir()
        for name in (*_SCRIPTS, "pyproject.toml"):
            shutil.copy(ROOT / name, folder)
    else:
        for name in _SCRIPTS:
            (folder / name).symlink_to(ROOT / name)
    for block in written:
        if block.edit:
            _insert(block, folder / block.edit[0], block.edit[1])
        else:
            (folder / block.file).write_text(block.text, encoding="utf-8")
    return checkout


def _insert(block: Block, path: Path, line: str) -> None:
    """Insert a block after a line, with the indentation of that line."""
    lines = path.read_text(encoding="utf-8").splitlines()
    (at,) = [number for number, each in enumerate(lines) if each.strip() == line]
    indent = lines[at][: -len(line)]
    lines[at + 1 : at + 1] = [indent + each.strip() for each in block.text.splitlines()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def printed(found: Sequence[Block]) -> dict[Block, Block]:
    """Return the block that shows what comes out, by the block of commands that it follows."""
    return {
        command: text
        for command, text in pairwise(found)
        if command.is_run and text.language in ("", "text") and not text.file
    }


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


def _programs(folder: Path) -> Path:
    folder.mkdir()
    for name, words in (("python", ""), ("kvopt", "-m kvopt ")):
        (folder / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words}"$@"\n')
        (folder / name).chmod(0o755)
    return folder


def run(block: Block, folder: Path) -> subprocess.CompletedProcess[str]:
    checkout = _workspace(folder, block.page)
    programs = _programs(folder / ".programs")
    # A command of its own is no worker of the tests' pytest, nor told what that was told.
    inherited = {name: value for name, value in os.environ.items() if "PYTEST" not in name}
    environment = inherited | {"PYTHONPATH": str(checkout), "CHECKOUT": str(ROOT)}
    environment["PATH"] = os.pathsep.join([str(programs), os.environ["PATH"]])
    shell = block.language == "sh"
    command = ["bash", "-c", _script(block)] if shell else ["python", "-c", block.changed()]
    return run_process(*command, cwd=folder, env=environment, timeout=500)
