"""The README and the pages of commands install and call kvopt as it is."""

import re
import shlex
from pathlib import Path

import pytest

from instances.instance_names import find_instances
from kvopt.commands.show_code import show
from kvopt.suites import suites

ROOT = Path(__file__).resolve().parents[1]
PAGES = (
    "README.md",
    *(f"docs/{name}.md" for name in ("solving", "sweeps", "policies", "proofs/index")),
)
README = "\n".join((ROOT / page).read_text(encoding="utf-8") for page in PAGES)


def _commands(program: str) -> list[list[str]]:
    """Return the words of every line in a block of shell that calls a program."""
    blocks = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    return [shlex.split(line) for line in lines if line.startswith(program)]


def test_an_extra_does_not_end_an_editable_install() -> None:
    """Without -e, pip replaces the installation of the checkout by a copy of it."""
    installs = re.findall(r"pip install[^`&]*", README)
    assert len(installs) >= 3
    for line in installs:
        assert " -e " in line, line


def test_every_module_and_script_of_the_readme_exists() -> None:
    """``python X.py`` and ``python -m x.y``, anywhere in the text."""
    scripts = set(re.findall(r"python (\w+\.py)", README))
    modules = set(re.findall(r"python -m ([\w.]+)", README)) - {"venv", "pytest"}
    assert {"solve.py", "evaluate.py"} <= scripts
    assert "schedules.check" in modules
    assert all((ROOT / name).is_file() for name in scripts)
    for name in modules:
        stem = ROOT.joinpath(*name.split("."))
        assert stem.with_suffix(".py").is_file() or (stem / "__main__.py").is_file(), name


@pytest.mark.parametrize("program", ["python solve.py", "python evaluate.py", "kvopt"])
def test_every_instance_of_the_readme_is_found_from_any_folder(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So its lines run in any folder, with an installed kvopt too."""
    monkeypatch.chdir(tmp_path)
    lines = _commands(program)
    assert len(lines) >= 5
    skipped = len(program.split()) + (program == "kvopt")
    for words in lines:
        named = words[skipped] if len(words) > skipped else "--"
        if words[1] == "show":
            assert show(named)
        elif named == "chat.json":
            assert f"--out {named}" in README  # written by the line above
        elif words[1] == "read-solution":
            assert named == "am1_00.mps"  # written by the line above
        elif words[1] == "submit":
            assert f"--out {named}" in README
        elif not named.startswith("--") and words[1] != "generate" and "(" not in named:
            assert named in suites() or find_instances(named), words
