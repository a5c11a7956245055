"""Figures of the docs are computed again here, or stand beside the commit that they are of."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from heuristics.predictions import PREDICTIONS
from instances import Instance, Request, read_instance
from instances.batch_time import parse_batch_time
from instances.ladder import SIZES, ladder
from instances.named import FOLDER, library_files
from kvopt.best_known import read_registry
from kvopt.places import PACKAGES
from kvopt.runs.compiled import UNITS
from kvopt.suites import read_suite
from kvopt.sweeps.plan import plan
from reports import html, markdown
from reports.nightly.rows import read_rows
from reports.pages.report_pages import MOST_LOSING
from serving import capacity as capacity_sweep
from serving.bounds.loads import not_covered
from serving.bounds.seconds import SMALL_SHARE, WINDOWS
from serving.commands.capacity import main as capacity_command
from serving.deployments import (
    _CACHE,
    _EFFICIENCY,
    _LAYER_US,
    _REQUEST_US,
    _ROUND_US,
    _WEIGHTS,
    GPUS,
    MODELS,
    coefficients,
)
from serving.kv_memory import LLAMA2_70B_2XA100
from serving.steadiness import LEAST, TOLERANCE
from serving.traces import records, table
from serving.waiting import HARDLY
from tests.docs.pages import PAGES, ROOT, shown

_WORDS = [
    "no",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
]
#: Pages whose figures are elsewhere: single runs with their day, and statements of papers, each
#: with a test of its own (papers/tests/).
_ELSEWHERE = {
    "docs/leads.md",
    "docs/measured.md",
    "docs/errata.md",
    "docs/other_simulators.md",
    "docs/papers.md",
    "README.md",
}


def open_instances() -> list[str]:
    """All that is open is run for ten minutes each, one after the other."""
    registry = read_registry()
    assert registry is not None
    tasks = plan(read_suite("open").sections)
    still = [entry for entry in registry.instances if entry.gap and not entry.on_ladder]
    assert len(tasks) == len(still)
    hours = sum(task.time_limit for task in tasks) / 3600
    return [f"all {len(still)} open instances", f"{hours:.1f} hours on two cores"]


def suite_sizes() -> list[str]:
    """The runs of the suite of all that is open and how long they take, and the ablation's."""
    tasks = plan(read_suite("open").sections)
    hours = sum(task.time_limit for task in tasks) / 3600
    ablation = len(plan(read_suite("ablation").sections))
    return [
        f"| {len(tasks)} | {hours:.1f} hours, `--jobs 1` |",
        f"[the page](../../reports/ablation/ABLATION.md) | {ablation} |",
    ]


def folders() -> list[str]:
    """Every folder of the library stands on the page, with its instances where it counts them."""
    library = [path.relative_to(FOLDER) for path in library_files().values()]
    count = Counter(path.parts[0] for path in library if len(path.parts) == 2)
    text = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    assert count.keys() <= set(re.findall(r"`instances/(\w+)/`", text))
    alone = len([path for path in library if len(path.parts) == 1 and path.stem != "example_3_1"])
    tiny = [name for name in library_files() if name.startswith("tiny_")]
    largest = max(len(read_instance(library_files()[name])) for name in tiny)
    assert count["am1"] == count["am2"]
    return [
        f"`instances/uniform_100.json` and {_WORDS[alone - 1]} siblings",
        f"{_WORDS[count['am1']]} draws each",
        f"n ≤ {largest}",
    ]


def on_ladder() -> list[str]:
    """The instances that are drawn by name, and their sizes."""
    return [f"{len(ladder())} more instances", f"sizes from {min(SIZES)} to {max(SIZES):,}"]


def units() -> list[str]:
    """Of the kernels; the names that an installed kvopt has; the imports that run up."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    inside = contracts["tool"]["importlinter"]["contracts"]
    (up,) = [each["ignore_imports"] for each in inside if each["name"].startswith("Inside kvopt")]
    return [
        f"in the {_WORDS[len(UNITS)]} units of `kvopt/runs/compiled.py`",
        f"An installed kvopt has {_WORDS[len(PACKAGES)]} top-level names",
        f"{_WORDS[len(up)].capitalize()} imports run up, each named in the contract",
    ]


def windows() -> list[str]:
    """Of the bound in seconds, and that a request of any length is covered."""
    small, large = WINDOWS
    any_length = Instance("any", 10**9, (Request(0, 0, 0, 10**9),))
    assert not not_covered(any_length, parse_batch_time("llama2-70b-2xa100"))
    return [
        f"more than {small} requests are cut",
        f"{100 * SMALL_SHARE:.0f} % of the time",
        f"more than {large:,}",
        f"up to {large:,} requests",
    ]


def night() -> list[str]:
    """The committed rows of the nightly suite."""
    rows = read_rows(ROOT / "reports" / "nightly" / "rows.csv")
    return [f"the page of the nightly suite, {len(rows):,} runs, is below 3 MB"]


def losing() -> list[str]:
    """How many policies a picture compares."""
    return [f"above that of up to {_WORDS[MOST_LOSING]} policies"]


def measured() -> list[str]:
    """The batch time that is measured, in milliseconds, and the memory that goes with it."""
    model = parse_batch_time("llama2-70b-2xa100")
    base, prefill, square, decode, read = (each / 1e9 for each in model.coefficients)
    assert model.range is not None
    assert (model.range.prefill, model.range.decoding) == (4096, 128)
    error = re.search(r"held-out error [\d.]+ %", model.origin)
    assert error is not None
    return [
        f"| {base:g} ms, {prefill:g} a prompt token, {square:.2e} a square, {decode:g} a decoding "
        f"request, {read:.2e} a token read | prompts of {model.range.prefill:,} tokens, "
        f"{model.range.decoding} decoding requests and {model.range.decoding} · 4,096 tokens read",
        error[0].replace("error", "error of"),
        f"{LLAMA2_70B_2XA100.memory.tokens:,} tokens",
    ]


def computed() -> list[str]:
    """Rounds of models and GPUs that are computed, beside those that others measured."""
    text = (ROOT / "docs" / "gpus.md").read_text(encoding="utf-8")
    for name in [*GPUS, *(name for name in MODELS if name.split("-")[0] in text)]:
        assert f"`{name}`" in text or f"`-{name.rpartition('-')[2]}`" in text, name
    rows = [("llama2-70b", "a100-80", 2), ("qwen3-14b", "h100-80", 1), ("qwen2.5-7b", "h100-80", 1)]
    rows += [("codellama-34b", "h100-80", 1), ("llama3.1-8b", "a100-80", 1)]
    rows += [("llama3.1-8b", "h100-80", 1), ("llama3.3-70b", "h100-80", 4)]
    lines = re.findall(r"^\| .*, \d?.?[AH]100 \| .*\|$", text, re.MULTILINE)
    assert len(lines) == len(rows)
    for line, (model, gpu, tp) in zip(lines, rows, strict=True):
        base, prefill, _, decode, read = coefficients(model, gpu, tp)
        cells = [cell.split("(")[0].strip() for cell in line.split("|")[1:-1]]
        assert cells[0] == f"{MODELS[model].name}, {f'{tp} ' if tp > 1 else ''}{gpu[:4].upper()}"
        picoseconds = (f"{base / 1e9:.1f}", f"{prefill / 1e6:.0f}", f"{decode / 1e6:.0f}")
        assert tuple(cells[1:4]) == picoseconds
        assert cells[4] in ("", f"{read / 1e3:.0f}")
    first = [each / 1e6 for each in parse_batch_time("llama2-70b-2xa100").coefficients]
    assert re.findall(r"\((.*?)\)", lines[0]) == [
        f"{first[0] / 1e3:.1f}",
        *(f"{each:.0f}" for each in (first[1], first[3], first[4] * 1e3)),
    ]
    return [
        f"weights at 1/{_WEIGHTS:.2f} of the bandwidth, the cache at 1/{_CACHE:.2f}",
        f"{_LAYER_US:.1f} µs a layer, {_REQUEST_US:.1f} a request, {_ROUND_US:.0f} a round",
        f"prompts at {_EFFICIENCY} of the operations",
        f"a memory of {LLAMA2_70B_2XA100.memory.tokens:,} tokens",
    ]


def capacity() -> list[str]:
    """Defaults of ``kvopt capacity``."""
    share, precision = (_default(name) for name in ("--share", "--precision"))
    tolerance = f"{100 * TOLERANCE:.0f} %"
    return [
        f"{capacity_sweep._FEWEST} requests",
        f"{LEAST} times the mean time",
        f"behind the arrivals there by {tolerance}",
        f"{tolerance} of the arrivals of a half",
        f"{capacity_sweep._LONG} times as long",
        f"{100 * share:.0f} % of the requests (`--share`)",
        f"{100 * precision:.0f} % above (`--precision`)",
    ]


def waiting() -> list[str]:
    """The share of the time below which requests do not count as waiting."""
    return [f"{100 * HARDLY:g} % of the time"]


def _default(name: str) -> float:
    """Return what an option of ``kvopt capacity`` is where it is not given."""
    (found,) = [each for each in capacity_command.params if name in each.opts]
    assert isinstance(found.default, float)
    return found.default


def blocks() -> list[str]:
    """Rows of a block."""
    return [f"({table._CHUNK:,} rows of a CSV, {records._CHUNK:,} of JSON)"]


def two_gpus() -> list[str]:
    """The memory of two GPUs."""
    a_token = 2 * 80 * 8 * 128 * 2
    read = parse_batch_time("llama2-70b-2xa100").coefficients[4] / 1e3
    return [
        f"20 GB / {8 * a_token:,} bytes = {20 * 10**9 // (8 * a_token):,} tokens, or "
        f"{20 * 2**30 // (8 * a_token):,} with GiB",
        f"it is {LLAMA2_70B_2XA100.memory.tokens:,}",
        # Two A100 read 2.039 TB/s each.
        f"A token read takes {read:.0f} ns",
        f"two A100 read {read * 2 * 2039 / 1e3:.0f} kB",
        f"{a_token / 1e3:.0f} kB with 8 KV heads and {8 * a_token / 1e3:,.0f} kB with 64",
    ]


def systems() -> list[str]:
    """Linux, with the versions of Python that CI runs and the package names."""
    ci = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    versions = re.findall(r'"(3\.\d+)"', ci.partition("matrix:")[2].partition("]")[0])
    assert set(re.findall(r"runs-on: (\w+)", ci)) == {"ubuntu"}
    package = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert package["requires-python"] == f">={versions[0]}"
    assert package["classifiers"] == [
        "Operating System :: POSIX :: Linux",
        *(f"Programming Language :: Python :: {version}" for version in versions),
    ]
    return [f"Python {versions[0]} to {versions[-1]}"]


def changes() -> list[str]:
    """What the changelog counts."""
    errata = (ROOT / "docs" / "errata.md").read_text(encoding="utf-8")
    items = len(re.findall(r"^## E\d+\.", errata, re.MULTILINE))
    (versions,) = systems()
    return [f"The errata, E1 to E{items}", f"Continuous integration on {versions}"]


def test_the_version_is_one() -> None:
    """That of the package and of the citation, and the changelog has it or is not released yet."""
    package = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\nversion: {package['version']}\n" in cited
    first = re.findall(r"^## \[?([\w.]+)", changes, re.MULTILINE)[0]
    assert first in ("Unreleased", package["version"])


def limits() -> list[str]:
    """How long tables of a page are."""
    return [f"tables up to {html.MOST_LINES} lines, Markdown up to {markdown.MOST_LINES}"]


def intervals() -> list[str]:
    """Every prediction with its parameters, a row each."""
    return [
        f"| `{name}{'(' + ', '.join(keys) + ')' if keys else ''}` |"
        for name, each in PREDICTIONS.items()
        for keys in [[parameter.name for parameter in each.parameters]]
    ]


#: The functions that return what a page says, with its figures computed.
COMPUTED: tuple[tuple[str, Callable[[], list[str]]], ...] = (
    ("README.md", systems),
    ("docs/architecture.md", systems),
    ("docs/architecture.md", units),
    ("docs/best_known.md", open_instances),
    ("docs/bounds_in_seconds.md", windows),
    ("docs/formats.md", folders),
    ("docs/policies.md", intervals),
    ("reports/METHOD.md", limits),
    ("docs/formats.md", on_ladder),
    ("docs/index.md", systems),
    ("docs/pages.md", losing),
    ("docs/pages.md", night),
    ("docs/real_time.md", measured),
    ("docs/rates.md", capacity),
    ("docs/serving.md", waiting),
    ("docs/gpus.md", computed),
    ("docs/gpus.md", two_gpus),
    ("docs/traces.md", blocks),
    ("kvopt/suites/README.md", suite_sizes),
)
#: Parts with figures that nothing measures: limits, defaults, rules and what others state.
STATED = {
    "docs/certificates.md": ("integers of at most 63 bits", "steps at most, some minutes"),
    "docs/policies.md": ("as on a GPU of 80 GB",),
    "docs/proofs/area.md": ("Prop. 3.1 of Kong",),
    "docs/proofs/index.md": ("`python -m tools.attack` draws 10,000 small ones",),
    "docs/proofs/tolerances.md": ("R·δ ≤ 0.01", "L = 0.01 / δ", "the limit is R = 10,000"),
    "docs/solving.md": (
        "It holds within a tenth and two seconds",
        "a line every five seconds",
        "Up to R = 10,000 (GLPK 1,000)",
    ),
    "docs/sweeps.md": ("more than 10,000 files or 1 GB",),
}


def _flat(text: str) -> str:
    return " ".join(text.split()).replace("e-0", "e-")


@pytest.mark.parametrize(("page", "made"), COMPUTED, ids=lambda each: getattr(each, "__name__", ""))
def test_a_figure_is_that_of_the_registry_the_rows_or_the_code(
    page: str, made: Callable[[], list[str]]
) -> None:
    """The sentence stands on the page with the figures of today."""
    text = _flat((ROOT / page).read_text(encoding="utf-8"))
    assert [each for each in made() if _flat(each) not in text] == []


#: A share, a duration or a size, a long number, a decimal that is no number of a section.
_FIGURE = re.compile(
    r"\d ?%"
    rf"|(?:\d|\b(?:{'|'.join(_WORDS[2:])}|half a)) "
    r"(?:s|ms|seconds?|minutes?|hours?|[kMG]B|gigabytes?)\b"
    r"|\d,\d{3}\b"
    r"|(?<![.^\d])\d+\.\d+(?![.\d])"
)
#: Numbers of sections and versions, no figures.
_NUMBERED = re.compile(
    r"\b(?:sections?|sec\.|App\.|Theorems?|Lemma|[Ee]xample|Python|HiGHS|Apache) ≥? ?\d+\.\d+"
)
#: Of what a figure is, where no test computes it: a commit, or a test that measures it.
_SOURCE = re.compile(r"commit\s+`?[0-9a-f]{7,}|tests/[\w/]+\.py")


def _parts(text: str) -> list[str]:
    """Return the paragraphs and points of a page; a table belongs to what stands above it."""
    text = re.sub(r"^ *```.*?^ *```$|<!--.*?-->", "", text, flags=re.MULTILINE | re.DOTALL)
    parts: list[str] = []
    for each in re.split(r"\n\s*\n|\n(?=- )", text):
        if each.startswith("|") and parts:
            parts[-1] += f"\n{each}"
        else:
            parts.append(each)
    return parts


def _unknown(text: str, known: Sequence[str]) -> list[str]:
    """Return the parts with a figure that no known sentence has and no commit is named of."""
    return [
        flat
        for flat in map(_flat, _parts(text))
        if _FIGURE.search(_NUMBERED.sub("", re.sub(r"`[^`]*`|\]\([^)]*\)", "", flat)))
        and not _SOURCE.search(flat)
        and not any(each in flat for each in known)
    ]


@pytest.mark.parametrize("page", PAGES, ids=shown)
def test_a_figure_is_computed_or_says_of_which_commit_it_is(page: Path) -> None:
    """Every part of a page with a figure, but for the limits and defaults that are listed."""
    name = shown(page)
    known = [_flat(each) for of, made in COMPUTED if of == name for each in made()]
    text = page.read_text(encoding="utf-8")
    stated = STATED.get(name, ())
    assert [each for each in stated if each not in _flat(text)] == []
    assert name in _ELSEWHERE or _unknown(text, [*known, *stated]) == []


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("It takes 3 s.", 1),
        ("It takes eight hours.", 1),
        ("- The gap is 3.2 %.\n- At commit `abcdef0` it was 3.2 %.", 1),
        ("Means:\n\n| a | b |\n|---|---|\n| x | 1.25 |", 1),
        ("Means at commit `abcdef0`:\n\n| a | b |\n|---|---|\n| x | 1.25 |", 0),
        ("The gap is 12 % today.", 0),
        ("Theorem 4.3 on Python 3.11, `--time-limit 60`, three policies.", 0),
    ],
)
def test_a_figure_is_seen(text: str, unknown: int) -> None:
    """With a unit, as a decimal, in a table; not as the number of a section or a version."""
    assert len(_unknown(text, ["is 12 % today"])) == unknown
