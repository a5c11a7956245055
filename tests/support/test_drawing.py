"""No setting of the user changes a figure, and a failure is one line."""

import re
from pathlib import Path

import matplotlib
import pytest

from reports.figures.figure_parts import Drawing, drawing, short_name, try_drawing
from schedules.schedule_picture import picture_of, save_picture
from support.output_checks import PICTURES, write_outputs
from tests.kvopt.sweep_tools import Capture
from tests.schedules.test_picture import a_schedule

#: Of a user without LaTeX, who likes large letters and tight pictures on black.
_USER = {
    "text.usetex": True,
    "savefig.bbox": "tight",
    "savefig.facecolor": "black",
    "font.family": "serif",
    "font.size": 30.0,
    "svg.hashsalt": "mine",
    "axes.linewidth": 9.0,
    "lines.markersize": 40.0,
}


def _drawing() -> Drawing:
    with drawing(4, 3) as made:
        axes = made.figure.subplots()
        axes.plot([1, 2, 3], [4, 5, 4], marker="o", label="a_b")
        axes.legend()
    return made


@pytest.mark.parametrize("suffix", PICTURES)
def test_settings_of_the_user_change_no_picture(tmp_path: Path, suffix: str) -> None:
    """The pictures of a schedule and of reports are the same, byte for byte, as without any."""
    path, made = tmp_path / f"picture{suffix}", []
    for settings in ({}, _USER):
        with matplotlib.rc_context(settings):
            before = dict(matplotlib.rcParams)
            save_picture(picture_of(*a_schedule(13)), path)
            made.append((path.read_bytes(), _drawing().image(suffix[1:])))
            assert dict(matplotlib.rcParams) == before
    assert made[0] == made[1]


def test_a_pdf_is_for_a_paper() -> None:
    """White, of the size that was asked for (4 by 3 inches of 72 points), without Type 3 fonts."""
    made = _drawing().image("pdf")
    assert made.startswith(b"%PDF")
    assert b"/MediaBox [ 0 0 288 216 ]" in made
    assert b"/Type3" not in made
    assert b"CreationDate" not in made


def test_what_fails_is_one_line_and_the_rest_is_written(tmp_path: Path, capsys: Capture) -> None:
    """An error of a library, whatever its kind, is told with the file, and the next is written."""

    def fails() -> Drawing:
        raise RuntimeError("latex could\nnot be found")

    path = tmp_path / "rows.csv"
    writers = {"--plot x.svg": fails, "--export rows.csv": lambda: path.write_text("n\n")}
    assert not write_outputs("kvopt rates", writers)
    assert path.is_file()
    assert try_drawing("figure gap-map", fails) is None
    told = "RuntimeError: latex could not be found"
    assert capsys.readouterr().err.splitlines() == [
        f"kvopt rates: --plot x.svg: could not be written: {told}",
        f"figure gap-map: could not be drawn: {told}",
    ]


def test_names_keep_their_parameters() -> None:
    """Long paths are cut in the middle; what distinguishes two runs of one file is all there."""
    called = "age-density(beta=0.5,tau=12) with bins(5)"
    shown = short_name(f"{called} [a/long/way/through/many/folders/age_density.py]")
    first, second, path = shown.split("\n")
    assert f"{first} {second}" == called
    assert re.fullmatch(r"\[a/long.*….*density\.py\]", path)
    assert short_name("svf") == "svf"
    # A hostile name takes no more room than four lines of about twice the width.
    assert len(short_name("W" * 400)) < 80
    assert len(short_name("w w, " * 400).split("\n")) == 4
