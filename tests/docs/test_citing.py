"""How to cite kvopt: one entry in three places, and nothing that is not there."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_citation_bibtex_and_package_agree() -> None:
    """Author, title and version; no DOI or address stands for one that there is not."""
    cited = dict(re.findall(r"^(\S+): (.+)$", text := _text("CITATION.cff"), re.MULTILINE))
    (author,) = re.findall(r"authors:\n  - name: \"(.+)\"\n", text)
    entry = dict(re.findall(r"^  (\w+) += \{(.+)\},$", _text("docs/citing.md"), re.MULTILINE))
    files = ("pyproject.toml", "papers/pyproject.toml", "integrations/vllm/pyproject.toml")
    project, *parts = (tomllib.loads(_text(each))["project"] for each in files)
    assert {each["version"] for each in parts} == {project["version"]}
    assert [{"name": author}] == project["authors"]
    assert entry["author"] == f"{{{author}}}"
    assert entry["title"].replace("{", "").replace("}", "") == cited["title"].strip('"')
    assert entry["version"] == cited["version"] == project["version"]
    assert f"version {project['version']}," in entry["note"]
    assert ("date-released" in cited) == (".dev" not in project["version"])
    assert re.findall(r"^  - (\w.*)$", text.partition("keywords:")[2], re.M) == project["keywords"]
    assert not re.search(r"10\.\w+/|https?://", text + _text("docs/citing.md"))


def _text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")
