"""The page of the library: every instance, open ones first, every link a file."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from kvopt.best_known import read_registry
from kvopt.best_known.entry import Registry
from reports.library.__main__ import FOLDER, main, page_text
from reports.tables.library import bar, library_frame


@pytest.fixture(scope="module")
def registry() -> Registry:
    """The committed registry."""
    found = read_registry()
    assert found is not None
    return found


def test_the_committed_page_is_fresh() -> None:
    """It is what the registry gives."""
    assert main(["--check"]) == 0


def test_every_instance_is_there_the_open_ones_first(registry: Registry) -> None:
    """By gap; closed ones last; each of the registry once."""
    frame = library_frame(registry)
    assert sorted(frame["sha"]) == sorted(entry.sha256 for entry in registry.instances)
    assert frame["gap"].is_monotonic_decreasing
    line = frame.iloc[0]
    assert line["gap"] == (line["upper"] - line["lower"]) / line["upper"] > 0


def test_every_link_leads_to_a_file(registry: Registry) -> None:
    """Instances, schedules and certificates."""
    links = re.findall(r"\]\(([^)]+)\)", page_text(registry))
    assert len(links) > 2 * len(registry.instances)
    assert [link for link in links if not (FOLDER / link).resolve().is_file()] == []


def test_the_sentence_is_computed(registry: Registry) -> None:
    """Another value of one instance gives another sentence."""
    widest, *rest = sorted(
        registry.instances, key=lambda e: (e.lower.value - e.upper.value) / e.upper.value
    )
    closed = replace(widest, lower=replace(widest.lower, value=widest.upper.value))
    before, after = (
        page_text(replace(registry, instances=(*rest, each))).split("\n")[2]
        for each in (widest, closed)
    )
    counts = [int(re.findall(r"(\d+) of them with UB = LB", text)[0]) for text in (before, after)]
    assert counts[1] == counts[0] + 1
    assert f"`{widest.instance}`" in before
    assert f"`{widest.instance}`" not in after


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.0, ""), (0.0001, "▏"), (0.1, "█"), (0.25, "██▌"), (1.0, "██████████")],
)
def test_bars(share: float, text: str) -> None:
    """Ten characters are all of it; what is open is never invisible."""
    assert bar(share) == text
