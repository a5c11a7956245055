"""The picture of a schedule: a file of the right kind, for every size and every name."""

import random
import time
import warnings
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from instances import Instance, Request
from schedules import Clock, Schedule, check_schedule, make_schedule
from schedules.schedule_metrics import memory_profile, running_and_waiting
from schedules.schedule_picture import (
    _GROUND,
    COLUMNS,
    MANY_AREAS,
    THEME,
    _columns,
    _stacked,
    pair_picture,
    picture_of,
    save_picture,
)
from tests.oracles.draws import instance_of
from tests.tiers import a_few

PNG = b"\x89PNG\r\n\x1a\n"


def a_schedule(n: int, *, name: str = "picture", seed: int = 0) -> tuple[Instance, Schedule]:
    """Draw chat-like requests that start in waves; the last of every four was cancelled once."""
    draw = random.Random(seed)
    requests = tuple(
        Request(k, 0, draw.randint(1, 60), max(2, min(1000, int(draw.lognormvariate(3.9, 1)))))
        for k in range(n)
    )
    instance = Instance(name=name, memory=16_492, requests=requests)
    starts = [20 + k for k in range(n)]
    attempts = [[(k, 1)] if k % 4 == 3 else [] for k in range(n)]
    return instance, make_schedule(instance, starts, "waves", attempts=attempts, lower_bound=n)


@pytest.mark.parametrize("n", a_few([1, 13, 2000, 5, 12, 100], 3))
@pytest.mark.parametrize("suffix", ["png", "SVG", "pdf"])
def test_a_picture_is_written_in_every_size(tmp_path: Path, n: int, suffix: str) -> None:
    """From 1 to 2,000 requests a PNG, PDF or well-formed SVG is written, fast and not too large."""
    path = tmp_path / f"picture.{suffix}"
    began = time.perf_counter()
    save_picture(picture_of(*a_schedule(n)), path)
    # Measured well under a second: the limit leaves room for a slow or busy machine.
    assert time.perf_counter() - began < 6
    content = path.read_bytes()
    assert 5_000 < len(content) < 3_000_000
    if suffix != "SVG":
        assert content.startswith(PNG if suffix == "png" else b"%PDF")
    else:
        assert ElementTree.fromstring(content).tag == "{http://www.w3.org/2000/svg}svg"
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize(
    "name",
    [
        '<script>alert("x")</script> & co',
        "a, b; 'c'",
        "$\\frac{1}{$ and $x$ and a lone $",
        "日本 \\alpha _^{} %s {0}",
        "W" * 400,
    ],
)
def test_odd_names_are_drawn_as_they_are(tmp_path: Path, name: str) -> None:
    """Markup, mathematics, missing letters and long names neither raise nor warn nor inject."""
    path = tmp_path / "odd.svg"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        save_picture(picture_of(*a_schedule(5, name=name)), path)
    tags = {element.tag for element in ElementTree.fromstring(path.read_bytes()).iter()}
    assert "{http://www.w3.org/2000/svg}script" not in tags


@pytest.mark.parametrize("name", ["picture.jpg", "picture", "picture.png.txt", ".png"])
def test_another_suffix_is_refused_in_one_line(tmp_path: Path, name: str) -> None:
    """Only .svg, .png and .pdf are written; the message is one line and no file is left."""
    with pytest.raises(ValueError, match=r"\A.*expected a name with \.svg or \.png or \.pdf.*\Z"):
        save_picture(picture_of(*a_schedule(5)), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_drawn_is_refused() -> None:
    """Another instance's schedule and astronomic rounds raise ValueError."""
    instance, schedule = a_schedule(5)
    with pytest.raises(ValueError, match="another instance"):
        picture_of(a_schedule(6)[0], schedule)
    with pytest.raises(ValueError, match="too late to draw"):
        picture_of(instance, make_schedule(instance, [10**30] * 5, "late"))


def test_columns_over_seconds_show_the_most_of_their_rounds() -> None:
    """Rounds of a second, with a gap between them in which nothing is held and nothing runs."""
    instance = instance_of(9, (2, 2, 3), (3, 1, 1), (9, 4, 1), time_unit="second")
    # The rounds begin at 2, 3, 4 and, after a gap, 9; request 1 waits from 3 to 4.
    clock = Clock("unit", begins=((0, 2 * 10**9), (3, 9 * 10**9)))
    schedule = make_schedule(instance, [0, 2, 3], "test", clock=clock, tel=(3 + 2 + 1) * 10**9)
    assert check_schedule(instance, schedule).valid
    stack = _stacked(instance, schedule)
    assert stack.label == "time (seconds, from 2.000 s on)"
    second = [np.searchsorted(stack.edges, at) for at in (0.5, 1.5, 2.5, 5, 7.5)]
    # At the end of the rounds 3, 4 and 5 + 2 tokens are held, then 0, then 5.
    assert stack.tokens[second].tolist() == [3, 4, 7, 0, 5]
    assert stack.running[second].tolist() == [1, 1, 2, 0, 1]
    assert stack.waiting[second].tolist() == [0, 1, 0, 0, 0]
    figure = picture_of(instance, replace(schedule, attempts=(((1, 1),), (), ())))
    assert not figure.legends  # no attempt is drawn
    assert "TEL 6.000 s   AEL 2.000 s" in figure.axes[0].get_title(loc="left")
    assert figure.axes[1].get_xlabel() == stack.label
    above, below = pair_picture(instance, schedule, schedule).axes
    assert (above.get_xlim(), below.get_xlabel()) == ((0, 8), stack.label)


def test_resampling_keeps_the_peak_of_every_column() -> None:
    """Over a long horizon each column shows the time in it at which most tokens are held."""
    instance, schedule = a_schedule(2 * COLUMNS)
    profile = memory_profile(instance, schedule)
    end = profile.times[-1]
    edges, moments = _columns(profile, 0, end)
    held = np.interp(np.arange(end + 1), profile.times, profile.tokens)
    assert len(moments) == COLUMNS < end
    for left, right, moment in zip(edges, edges[1:], moments, strict=False):
        assert left < moment <= right
        assert held[moment] == held[left + 1 : right + 1].max()


@pytest.mark.parametrize("n", [4, 7, 40])
def test_who_runs_and_who_waits(n: int) -> None:
    """Counted request by request: who is there by t - 1 and not done runs then, or waits."""
    instance, schedule = a_schedule(n, seed=n)
    draw = random.Random(n)
    requests = tuple(
        Request(each.id, draw.randint(0, 5), each.prompt, each.output) for each in instance.requests
    )
    instance = Instance("late", instance.memory, requests)
    assert schedule.attempts is not None
    attempts = [[(start + 5, g) for start, g in each] for each in schedule.attempts]
    starts = [start + 40 for start in schedule.starts]
    schedule = make_schedule(instance, starts, "late", attempts=attempts)
    times = np.arange(1, max(p + r.output for p, r in zip(starts, requests, strict=True)) + 1)
    running, waiting = running_and_waiting(instance, schedule, times)
    for t, runs, waits in zip(times.tolist(), running, waiting, strict=True):
        busy = [
            any(p < t <= p + g for p, g in [*attempts[k], (starts[k], requests[k].output)])
            for k in range(n)
        ]
        there = [r.arrival < t <= starts[k] + r.output for k, r in enumerate(requests)]
        assert runs == sum(busy)
        assert waits == sum(a and not b for a, b in zip(there, busy, strict=True))


def test_bands_hold_what_all_requests_hold() -> None:
    """Of many requests the bands' heights sum to the tokens held in every column."""
    instance, schedule = a_schedule(400)
    stack = _stacked(instance, schedule)
    assert len(stack.areas) > MANY_AREAS
    held = np.zeros(len(stack.edges) - 1)
    for area in stack.areas:
        held[area.first : area.first + len(area.top)] += area.top - area.bottom
    memory = picture_of(instance, schedule).axes[0]
    (bands,) = memory.collections
    # The last outline is the highest: its roof is the whole, from left to right.
    tops = [np.asarray(path.vertices)[:-1, 1] for path in bands.get_paths()]
    assert len(tops) > 3
    assert tops[-1][: 2 * len(held) : 2].tolist() != held.tolist()
    assert tops[-1][2 * len(held) :][::-1][::2].tolist() == pytest.approx(held.tolist())


def test_two_schedules_share_their_axes() -> None:
    """One above the other: the same rounds and tokens at the same places, equal colours."""
    instance, first = a_schedule(5)
    second = make_schedule(instance, [start + 30 for start in first.starts], "later")
    above, below = pair_picture(instance, first, second).axes[:2]
    assert (above.get_xlim(), above.get_ylim()) == (below.get_xlim(), below.get_ylim())
    ends = [p + r.output for p, r in zip(second.starts, instance.requests, strict=True)]
    assert above.get_xlim() == (0, max(ends))
    # The request that was cancelled is hatched, so it is another collection above.
    assert len(above.collections) == 2
    colours = [np.array(axes.collections[0].get_facecolor()).tolist() for axes in (above, below)]
    assert len(colours[0]) == len(colours[1]) == 5
    assert colours[0] == colours[1]


def test_colours_are_the_same_on_a_dark_page(tmp_path: Path) -> None:
    """Only ink and ground change; nothing of the picture is inverted."""
    instance = instance_of(9, (0, 2, 3))
    path = tmp_path / "a.svg"
    save_picture(picture_of(instance, make_schedule(instance, [0], "x")), path)
    text = path.read_text()
    assert "filter" not in text.partition("</style>")[0]
    assert THEME in text
    assert "currentColor" in text
    assert _GROUND not in text
