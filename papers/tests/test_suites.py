"""The suites of the papers' experiments: whole, and no run is refused."""

from pathlib import Path

import pytest

from heuristics.predictions import predict
from kvopt.suites import load, read_suite
from papers.experiment import SUITES, pages

FILES = sorted(SUITES.glob("*.toml"))


def test_every_suite_has_a_page() -> None:
    """And every page has one, each of whose sections it reads."""
    assert {path.stem for path in FILES} == set(pages())
    for page in pages().values():
        read = {name for part in page.parts for name in part.sections}
        assert read == {section.name for section in page.read_suite().sections}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_suite_is_whole(path: Path) -> None:
    """All methods and instances exist, and a common interval holds every output."""
    for section in read_suite(path).sections:
        calls = [method.call for method in section.methods if method.call]
        predicted = [call for call in calls if call.prediction and not call.policy.clairvoyant]
        # The first and the last draw of each section: the rest differ in their seeds only.
        for source in section.sources if predicted else {section.sources[0], section.sources[-1]}:
            loaded = load(source)
            assert loaded.fault == ""
            assert loaded.instance is not None
            for call in predicted:
                predict(loaded.instance, call.prediction, call.prediction_values, 0)


def test_a_trap_that_grows() -> None:
    """W Theorem 8.2 is run with M^1.25 requests, too, since as printed its ratio does not grow."""
    names = [source.name for source in read_suite(SUITES / "traps.toml").sections[0].sources]
    assert len([name for name in names if name.endswith("growth=1.25")]) == 5
