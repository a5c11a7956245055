"""Figures of the docs are computed again here, or stand next to the commit of their run."""

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path

import pytest

from formulations.dp import backward, counts, forward
from heuristics.predictions import PREDICTIONS
from instances import Instance, Request, read_instance
from instances.batch_time import parse_batch_time
from instances.instance_names import FOLDER, library_files
from instances.ladder import SIZES, read_ladder
from kvopt.best_known import read_registry
from kvopt.best_known.registry_entry import LADDER_FILE
from kvopt.engines import auto
from kvopt.engines.parts import node_counting
from kvopt.project_paths import PACKAGES
from kvopt.runs.kernel_compilation import UNITS
from kvopt.suites import read_suite
from kvopt.sweeps.plan import plan
from reports import html, markdown
from reports.nightly.night_rows import read_rows
from reports.pages.report_pages import MOST_LOSING
from serving import capacity_search as capacity_sweep
from serving import deployments
from serving.bounds.loads import not_covered
from serving.bounds.seconds import SMALL_SHARE, WINDOWS
from serving.commands.capacity_command import main as capacity_command
from serving.deployments import GPUS, MODELS, coefficients
from serving.kv_memory import LLAMA2_70B_2XA100
from serving.sustained_runs import LEAST, LONG, TOLERANCE
from serving.traces import csv_reader, json_readers
from serving.waiting_requests import HARDLY
from tests.docs.pages import PAGES, ROOT, shown

_WORDS = [
    *("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve"),
]
#: Pages whose figures are elsewhere: single runs with their day, and statements of papers, each
#: with a separate test (papers/tests/).
_ELSEWHERE = {
    *("docs/leads.md", "docs/measured.md", "docs/errata.md", "docs/other_simulators.md"),
    *("docs/papers.md", "docs/predictions.md", "docs/speed.md", "README.md"),
}
_MEASURED = "llama2-70b-2xa100"
_TOKENS = LLAMA2_70B_2XA100.memory.tokens


def _settings() -> dict[str, object]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def _versions() -> list[object]:
    """The versions of Python that CI runs, as the package declares them."""
    ci = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    versions = re.findall(r'"(3\.\d+)"', ci.partition("matrix:")[2].partition("]")[0])
    assert set(re.findall(r"runs-on: (\w+)", ci)) == {"ubuntu"}
    package: dict[str, object] = _settings()["project"]  # type: ignore[assignment]
    assert package["requires-python"] == f">={versions[0]}"
    named = [f"Programming Language :: Python :: {version}" for version in versions]
    assert package["classifiers"] == ["Operating System :: POSIX :: Linux", *named]
    return [versions[0], versions[-1]]


def _imports_up() -> list[object]:
    contracts = _settings()["tool"]["importlinter"]["contracts"]  # type: ignore[index]
    return [len(e["ignore_imports"]) for e in contracts if e["name"].startswith("Inside kvopt")]


def _open_hours() -> list[object]:
    """All that is open is run for ten minutes each, one after the other."""
    registry = read_registry()
    assert registry is not None
    tasks = plan(read_suite("open").sections)
    assert len(tasks) == sum(
        bool(each.gap) and each.file != LADDER_FILE for each in registry.instances
    )
    return [len(tasks), sum(task.time_limit for task in tasks) / 3600]


def _library(folder: str) -> list[object]:
    """The instances in a folder of the library, or at its top without the papers' example."""
    paths = [path.relative_to(FOLDER) for path in library_files().values()]
    counts = Counter(path.parts[0] if len(path.parts) == 2 else "" for path in paths)
    assert counts["am1"] == counts["am2"]
    return [counts[folder] - 2 if not folder else counts[folder]]


def _largest_tiny() -> list[object]:
    tiny = [path for name, path in library_files().items() if name.startswith("tiny_")]
    return [max(len(read_instance(path)) for path in tiny)]


def _measured() -> list[object]:
    """The batch time that is measured, in milliseconds, and its range."""
    model = parse_batch_time(_MEASURED)
    assert model.range is not None
    reach = (model.range.prefill, model.range.decoding, model.range.decoding)
    return [*(each / 1e9 for each in model.coefficients), *reach]


def _relaxation_first() -> list[object]:
    """The constant of the engine's file, which loads HiGHS."""
    text = (ROOT / "kvopt" / "engines" / "highs.py").read_text(encoding="utf-8")
    return re.findall(r"^RELAXATION_FIRST_FROM = ([\d_]+)$", text.replace("_000", "000"), re.M)


def _held_out() -> list[object]:
    found = re.search(r"held-out error ([\d.]+) %", parse_batch_time(_MEASURED).origin)
    assert found is not None
    return [found[1]]


def _default(name: str) -> list[object]:
    (found,) = [each for each in capacity_command.params if name in each.opts]
    assert isinstance(found.default, float)
    return [100 * found.default]


def _factors() -> list[object]:
    names = ("_WEIGHTS", "_CACHE", "_LAYER_US", "_REQUEST_US", "_ROUND_US", "_EFFICIENCY")
    return [getattr(deployments, name) for name in names]


def _two_gpus() -> list[object]:
    heads = 8 * 2 * 80 * 8 * 128 * 2
    return [heads, 20 * 10**9 // heads, 20 * 2**30 // heads]


def _token_read() -> list[object]:
    a_token = 2 * 80 * 8 * 128 * 2
    read = parse_batch_time(_MEASURED).coefficients[4] / 1e3
    return [read, read * 2 * 2039 / 1e3, a_token / 1e3, 8 * a_token / 1e3]


def _millions_of_steps() -> list[object]:
    return [auto.PATTERN_WORK_UP_TO / 1e6, auto.START_WORK_UP_TO / 1e6]


#: A page, a pattern whose groups are its figures, and a function that computes these.
COMPUTED: tuple[tuple[str, str, Callable[[], Sequence[object]]], ...] = (
    ("README.md", r"Python (3\.\d+) to (3\.\d+)", _versions),
    ("docs/index.md", r"Python (3\.\d+) to (3\.\d+)", _versions),
    ("docs/architecture.md", r"Python (3\.\d+) to (3\.\d+)", _versions),
    ("docs/architecture.md", r"(\w+) units of `kvopt/runs/kernel_", lambda: [len(UNITS)]),
    ("docs/architecture.md", r"(\w+) top-level names", lambda: [len(PACKAGES)]),
    ("docs/architecture.md", r"(\w+) imports run up", _imports_up),
    ("docs/best_known.md", r"all (\d+) open instances of .*?, ([\d.]+) hours on", _open_hours),
    ("docs/bounds_in_seconds.md", r"more than (\d+) requests are cut", lambda: WINDOWS[:1]),
    ("docs/bounds_in_seconds.md", r"windows get (\d+) % of the time", lambda: [100 * SMALL_SHARE]),
    ("docs/bounds_in_seconds.md", r"more than ([\d,]+) are cut anew", lambda: WINDOWS[1:]),
    ("docs/bounds_in_seconds.md", r"up to ([\d,]+) requests begins", lambda: WINDOWS[1:]),
    ("docs/formats.md", r"uniform_100\.json` and (\w+) siblings", lambda: _library("")),
    ("docs/formats.md", r"(\w+) draws each of the two arrival", lambda: _library("am1")),
    ("docs/formats.md", r"n ≤ (\d+), every corner", _largest_tiny),
    ("docs/formats.md", r"(\d+) more instances", lambda: [len(read_ladder())]),
    ("docs/formats.md", r"sizes from (\d+) to ([\d,]+)", lambda: [min(SIZES), max(SIZES)]),
    ("docs/pages.md", r"up to (\w+) policies", lambda: [MOST_LOSING]),
    ("docs/pages.md", r"nightly suite, ([\d,]+) runs", lambda: [_night()]),
    (
        "docs/real_time.md",
        r"\| ([\d.]+) ms, ([\d.]+) a prompt token, (\S+) a square, ([\d.]+) a decoding request, "
        r"(\S+) a token read \| prompts of ([\d,]+) tokens, (\d+) decoding requests and (\d+) ·",
        _measured,
    ),
    ("docs/real_time.md", r"held-out error of ([\d.]+) %", _held_out),
    ("docs/real_time.md", r"its memory is ([\d,]+) tokens", lambda: [_TOKENS]),
    ("docs/rates.md", r"at least ([\d,]+) requests", lambda: [capacity_sweep._FEWEST]),
    ("docs/rates.md", r"(\d+) times the mean time", lambda: [LEAST]),
    ("docs/rates.md", r"at most (\d+) % fewer than the arrivals", lambda: [100 * TOLERANCE]),
    ("docs/rates.md", r"(\d+) % of the arrivals of a half", lambda: [100 * TOLERANCE]),
    ("docs/rates.md", r"(\d+) times as long", lambda: [LONG]),
    ("docs/rates.md", r"(\d+) % of the requests \(`--share`\)", lambda: _default("--share")),
    ("docs/rates.md", r"(\d+) % above \(`--precision`\)", lambda: _default("--precision")),
    ("docs/serving.md", r"under (\d+) % of total latency", lambda: [100 * HARDLY]),
    (
        "docs/gpus.md",
        r"at 1/([\d.]+) of the bandwidth, the cache at 1/([\d.]+), .*? ([\d.]+) µs per layer, "
        r"([\d.]+) µs per decoding request and (\d+) µs per round\. .*?"
        r" prompts at ([\d.]+) of the operations",
        _factors,
    ),
    ("docs/gpus.md", r"\*\*a memory of ([\d,]+) tokens", lambda: [_TOKENS]),
    ("docs/gpus.md", r"8 KV heads the result is ([\d,]+)", lambda: [_TOKENS]),
    ("docs/gpus.md", r"/ ([\d,]+) bytes = ([\d,]+) tokens, or ([\d,]+) with GiB", _two_gpus),
    (
        "docs/gpus.md",
        r"a token read takes (\d+) ns.*? read (\d+) kB in "
        r".*?A token has (\d+) kB .*?([\d,]+) kB with",
        _token_read,
    ),
    (
        "docs/solving.md",
        r"estimated rounds is at most ([\d,]+)",
        lambda: [node_counting.AT_ONCE_UP_TO],
    ),
    ("docs/solving.md", r"alone up to (\d+) requests", lambda: [auto.BIDIRECTIONAL_UP_TO]),
    ("docs/solving.md", r"(\d+) million steps, .*? most (\d+) million", _millions_of_steps),
    ("docs/solving.md", r"From ([\d,]+) columns on", _relaxation_first),
    (
        "docs/solving.md",
        r"Both take up to (\d+) requests\. .*? up to ([\d,]+) requests.*? up to ([\d,]+)\.",
        lambda: [each.REQUESTS_UP_TO for each in (forward, backward, counts)],
    ),
    ("docs/traces.md", r"([\d,]+) rows of a CSV", lambda: [csv_reader._CHUNK]),
    ("docs/traces.md", r"([\d,]+) of JSON", lambda: [json_readers._CHUNK]),
    ("kvopt/suites/README.md", r"\| (\d+) \| ([\d.]+) hours, `--jobs 1` \|", _open_hours),
    (
        "kvopt/suites/README.md",
        r"ABLATION\.md\) \| (\d+)",
        lambda: [len(plan(read_suite("ablation").sections))],
    ),
    (
        "reports/METHOD.md",
        r"tables up to (\d+) lines, Markdown up to (\d+)",
        lambda: [html.MOST_LINES, markdown.MOST_LINES],
    ),
)
#: Parts with figures that nothing measures: limits, defaults, rules and statements of others.
STATED = {
    "docs/certificates.md": ("integers of at most 63 bits", "steps at most, some minutes"),
    "docs/policies.md": ("as on a GPU of 80 GB", "3.5 degrees of freedom"),
    "docs/proofs/area.md": ("Prop. 3.1 of Kong",),
    "docs/proofs/overestimates.md": ("Theorem 3.2 of Kong",),
    "docs/proofs/index.md": ("`python -m tools.attack` draws 10,000 small ones",),
    "docs/proofs/tolerances.md": ("R·δ ≤ 0.01", "L = 0.01 / δ", "the limit is R = 10,000"),
    "docs/solving.md": (
        "at most 10 % plus two seconds late",
        "gets one every five seconds",
        "Up to R = 10,000 (GLPK 1,000)",
    ),
    "docs/sweeps.md": ("more than 10,000 files or 1 GB",),
}


def _night() -> int:
    return len(read_rows(ROOT / "reports" / "nightly" / "rows.csv"))


def _flat(page: str) -> str:
    return " ".join((ROOT / page).read_text(encoding="utf-8").split())


def _number(text: object) -> Decimal:
    word = str(text).lower()
    return Decimal(_WORDS.index(word) if word in _WORDS else word.replace(",", ""))


@pytest.mark.parametrize(("page", "pattern", "compute"), COMPUTED)
def test_a_figure_is_that_of_the_registry_the_rows_or_the_code(
    page: str, pattern: str, compute: Callable[[], Sequence[object]]
) -> None:
    found = re.search(pattern, _flat(page))
    assert found is not None
    for text, value in zip(map(_number, found.groups()), map(_number, compute()), strict=True):
        # Half a unit of the last digit.
        assert abs(text - value) <= Decimal(5).scaleb(int(text.as_tuple().exponent) - 1)


def test_pages_name_all_that_they_list() -> None:
    """Folders of the library, predictions, models and GPUs; and the measured GPU has a bound."""
    folders = {path.relative_to(FOLDER).parts[0] for path in library_files().values()}
    folders = {name for name in folders if not name.endswith(".json")}
    assert folders <= set(re.findall(r"`instances/(\w+)/`", _flat("docs/formats.md")))
    policies = _flat("docs/policies.md")
    for name, each in PREDICTIONS.items():
        keys = ", ".join(parameter.name for parameter in each.parameters)
        assert f"| `{name}{f'({keys})' if keys else ''}` |" in policies
    text = _flat("docs/gpus.md")
    for name in [*GPUS, *(name for name in MODELS if name.split("-")[0] in text)]:
        assert f"`{name}`" in text or f"`-{name.rpartition('-')[2]}`" in text, name
    any_length = Instance("any", 10**9, (Request(0, 0, 0, 10**9),))
    assert not not_covered(any_length, parse_batch_time(_MEASURED))


def test_the_computed_rounds_of_gpus() -> None:
    """Each line of the table: base, prefill, decoding and read tokens of a model on GPUs."""
    rows = [("llama2-70b", "a100-80", 2), ("qwen3-14b", "h100-80", 1), ("qwen2.5-7b", "h100-80", 1)]
    rows += [("codellama-34b", "h100-80", 1), ("llama3.1-8b", "a100-80", 1)]
    rows += [("llama3.1-8b", "h100-80", 1), ("llama3.3-70b", "h100-80", 4)]
    text = (ROOT / "docs" / "gpus.md").read_text(encoding="utf-8")
    lines = re.findall(r"^\| .*, \d?.?[AH]100 \| .*\|$", text, re.MULTILINE)
    for line, (model, gpu, tp) in zip(lines, rows, strict=True):
        base, prefill, _, decode, read = coefficients(model, gpu, tp)
        cells = [cell.split("(")[0].strip() for cell in line.split("|")[1:-1]]
        assert cells[0] == f"{MODELS[model].name}, {f'{tp} ' if tp > 1 else ''}{gpu[:4].upper()}"
        wanted = [f"{base / 1e9:.1f}", f"{prefill / 1e6:.0f}", f"{decode / 1e6:.0f}"]
        assert cells[1:4] == wanted
        assert cells[4] in ("", f"{read / 1e3:.0f}")
    first = parse_batch_time(_MEASURED).coefficients
    ends = (first[1] / 1e6, first[3] / 1e6, first[4] / 1e3)
    wanted = [f"{first[0] / 1e9:.1f}", *(f"{each:.0f}" for each in ends)]
    assert re.findall(r"\((.*?)\)", lines[0]) == wanted


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
    r"\b(?:sections?|sec\.|App\.|Theorems?|Lemma|[Ee]xample|Python|HiGHS|Apache|arXiv) ≥? ?\d+\.\d+"
)
#: The source of a figure that no test computes: a commit, or a test that measures it.
_SOURCE = re.compile(r"commit\s+`?[0-9a-f]{7,}|tests/[\w/]+\.py")


def _parts(text: str) -> list[str]:
    """Return the paragraphs and points of a page; a table belongs to the part above it."""
    text = re.sub(r"^ *```.*?^ *```$|<!--.*?-->", "", text, flags=re.MULTILINE | re.DOTALL)
    parts: list[str] = []
    for each in re.split(r"\n\s*\n|\n(?=- )", text):
        if each.startswith("|") and parts:
            parts[-1] += f"\n{each}"
        else:
            parts.append(each)
    return parts


def _unknown(text: str, known: Sequence[str]) -> list[str]:
    """Return the parts with a figure that match no known pattern and name no commit."""
    return [
        flat
        for flat in (" ".join(each.split()) for each in _parts(text))
        if _FIGURE.search(_NUMBERED.sub("", re.sub(r"`[^`]*`|\]\([^)]*\)", "", flat)))
        and not _SOURCE.search(flat)
        and not any(re.search(each, flat) for each in known)
    ]


@pytest.mark.parametrize("page", PAGES, ids=shown)
def test_a_figure_is_computed_or_says_of_which_commit_it_is(page: Path) -> None:
    """Every part of a page with a figure, except the limits and defaults that are listed."""
    name = shown(page)
    stated = STATED.get(name, ())
    assert [each for each in stated if each not in _flat(name)] == []
    known = [pattern for of, pattern, _ in COMPUTED if of == name] + list(map(re.escape, stated))
    text = page.read_text(encoding="utf-8")
    assert name in _ELSEWHERE or _unknown(text, known) == []


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
    assert len(_unknown(text, [r"is (\d+) % today"])) == unknown
