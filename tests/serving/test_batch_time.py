"""Batch-time models: the texts that name them, their numbers, and fits to measured rounds."""

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from instances.batch_time import (
    Batch,
    BatchTime,
    BatchTimeError,
    EngineLimits,
    MeasuredRange,
    parse_batch_time,
)
from serving.batch_time import batch_times, read_batch_time
from serving.deployments import engine_limits
from support.project_root import ROOT
from tests.oracles.draws import instance_of

LLAMA = "llama2-70b-2xa100"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("unit", "unit"),
        ("affine(50,0.3)", "affine(base=50,token=0.3)"),
        ("affine(token=1e-1, base=5.0)", "affine(base=5,token=0.1)"),
        (LLAMA, LLAMA),
        ("llama2_70b_2xa100(scale=1.60)", f"{LLAMA}(scale=1.6)"),
        (f"{LLAMA}(1.0)", LLAMA),
        ("linear(54.26,square=1.63e-5)", "linear(base=54.26,square=0.0000163)"),
        ("linear()", "linear()"),
        ("linear(base=1.00000000000000000001)", "linear(base=1)"),
        # Half a picosecond goes to the even one.
        ("linear(square=0.0000035715,read=0.0000035725)",
         "linear(square=0.000003572,read=0.000003572)"),
        ("linear(1,read_to=5,decode_to=4,prefill_to=3)",
         "linear(base=1,prefill_to=3,decode_to=4,read_to=5)"),
    ],
)  # fmt: skip
def test_a_text_names_a_model_and_its_name_reads_back(text: str, name: str) -> None:
    """The canonical name says all that a schedule must know."""
    model = read_batch_time(text)
    assert model.name == name
    assert parse_batch_time(name) == model


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("uni", "unknown batch time 'uni'; did you mean unit"),
        ("", "unknown batch time ''"),
        # A search that tries all ends of the blanks takes minutes.
        (f"affine with{' ' * 3981})", "unknown batch time 'affine with"),
        ("unit(3)", "takes no options, found '3'"),
        ("affine(1", r"expected affine\(...\)"),
        ("affine(base=1,base=2)", "base occurs twice"),
        ("linear(base=-1)", "expected a decimal number of at least 0, found '-1'"),
        ("linear(base=1e99)", r"expected at most 10\^9 ms"),
        ("linear(base=1e999999999)", "expected a decimal number"),
        ("linear(prefill_to=3)", "expected prefill_to, decode_to, read_to together"),
        (f"unit with running={'9' * 30}", r"running: expected an integer from 0 to 10\^18 - 1"),
        (f"{LLAMA}(scale=0)", "expected a scale of 0.001 to 1000"),
        (f"{LLAMA}(scale=1.0000000000001)", "at most 12 decimals"),
    ],
)
def test_a_text_that_is_wrong_gets_one_line(text: str, complaint: str) -> None:
    """Whatever is wrong is said in one line, and nothing is guessed."""
    for read in (read_batch_time, parse_batch_time):
        with pytest.raises(BatchTimeError, match=complaint) as caught:
            read(text)
        assert "\n" not in str(caught.value)


def test_every_kind_tells_of_itself() -> None:
    """The listing has a line for each file in the folder of kinds."""
    kinds = batch_times()
    files = (ROOT / "serving/batch_time/kinds").glob("[a-z]*.py")
    assert sorted(kinds) == sorted(file.stem.replace("_", "-") for file in files)
    assert all(kind.summary.endswith(".") for kind in kinds.values())


def test_llama_takes_the_time_that_its_five_numbers_give() -> None:
    """A batch of a prompt of 1,000 tokens, a second chunk and 30 decoding requests, by hand."""
    batch = Batch(prefills=((0, 1000), (512, 256)), decoding=30, kv_read=9000)
    # In milliseconds.
    numbers = map(Fraction, ("54.26", "0.3119", "1.63e-5", "0.1963", "1.44e-4"))
    factors = 1, 1256, 1000**2 + 768**2 - 512**2, 30, 9000
    expected = sum(a * b for a, b in zip(numbers, factors, strict=True)) * 10**6
    found = read_batch_time(LLAMA).nanoseconds(batch)
    assert found == -(-expected.numerator // expected.denominator)
    # PAPERS.md has decode-only rounds at 55 to 85 ms, and a prefill of 4k tokens at about 1.5 s.
    assert 55e6 < read_batch_time(LLAMA).time_of(0, 0, 30, 9000) < 85e6
    assert 1.4e9 < read_batch_time(LLAMA).time_of(4096, 4096**2, 0, 0) < 1.7e9


def test_time_is_rounded_up_and_never_zero() -> None:
    """Picoseconds are rounded up to nanoseconds, and a round takes one at least."""
    model = parse_batch_time("linear(decode=0.000000001)")  # one picosecond a request
    assert model.time_of(0, 0, 1000, 0) == 1
    assert model.time_of(0, 0, 1001, 0) == 2
    assert model.time_of(0, 0, 0, 0) == 1


def _rounds(path: Path, columns: tuple[str, ...], noise: float, wrong: dict[int, float]) -> None:
    """Write 60 rounds, some with a wrong number of seconds."""
    rng = np.random.default_rng(3)
    lines = [",".join(columns)]
    for k in range(60):
        prefill, decode = int(rng.integers(0, 4000)), int(rng.integers(1, 100))
        kv, square = decode * int(rng.integers(10, 900)), prefill**2
        seconds = 0.05 + 3e-4 * prefill + 2e-8 * square + 1e-4 * decode + 1e-7 * kv
        row: dict[str, float] = {"prefill": prefill, "decode": decode, "kv": kv, "square": square}
        row["seconds"] = wrong.get(k, seconds * (1 + noise * rng.standard_normal()))
        lines.append(",".join(str(row[name]) for name in columns))
    path.write_text("\n".join(lines) + "\n")


def _fitted(folder: Path, rows: Iterable[tuple[float, ...]]) -> BatchTime:
    """Return what is fitted to rounds of prefill, decode, kv and seconds."""
    lines = [",".join(map(str, row)) for row in rows]
    (path := folder / "rounds.csv").write_text("\n".join(["prefill,decode,kv,seconds", *lines]))
    return read_batch_time(f"fitted({path})")


def test_a_fit_finds_the_numbers_that_made_the_rounds(tmp_path: Path) -> None:
    """Rounds without noise give their coefficients back, named so that no file is needed."""
    path = tmp_path / "rounds (1), measured.csv"
    _rounds(path, ("seconds", "kv", "prefill", "decode", "square"), 0, {})
    model = read_batch_time(f"fitted({path})")
    found = np.array(model.coefficients) / 1e12
    assert found == pytest.approx([0.05, 3e-4, 2e-8, 1e-4, 1e-7], rel=1e-4)
    assert model.name.startswith("linear(base=")
    assert model.origin == "fitted to 60 rows, held-out error 0.0 %"
    assert parse_batch_time(model.name) == model
    assert isinstance(model.range, MeasuredRange)
    assert model.range.prefill < 4000
    # Whoever checks a schedule must not depend on files that its text names.
    with pytest.raises(BatchTimeError, match="names a file, expected its numbers"):
        parse_batch_time(f"fitted({path})")


def test_a_fit_tells_its_held_out_error_and_is_never_negative(tmp_path: Path) -> None:
    """Noise of ten percent shows up as such, and without squares their coefficient is 0."""
    path = tmp_path / "rounds.csv"
    _rounds(path, ("prefill", "decode", "kv", "seconds"), 0.1, {})
    model = read_batch_time(f"fitted({path})")
    assert model.per_square == 0
    assert min(model.coefficients) >= 0
    error = float(model.origin.rpartition("error ")[2].removesuffix(" %"))
    assert 3 < error < 20


def test_the_error_is_that_of_the_model_that_is_told(tmp_path: Path) -> None:
    """Also where the rows that are not held out are too few for two stages."""
    model = _fitted(tmp_path, [(0, 1, 0, 0.1), (500, 0, 0, 0.05)] * 5)
    assert model.origin.endswith("held-out error 0.0 %")
    assert model.time_of(500, 0, 0, 0) == pytest.approx(50e6, rel=0.01)


def test_a_fit_that_no_row_can_judge_is_refused(tmp_path: Path) -> None:
    """All that are held out are slow, and left out."""
    rows = [(0, d, 40 * d, 0.9 if d in (5, 10) else 0.05 + 2e-4 * d) for d in range(1, 11)]
    with pytest.raises(BatchTimeError, match="no batch time fits"):
        _fitted(tmp_path, rows)


@pytest.mark.parametrize("noise", [0.0, 0.1])
@pytest.mark.parametrize("places", [range(2), range(12), range(5, 60, 7)])
@pytest.mark.parametrize("seconds", [50.0, 1e-3])
def test_outliers_move_no_fit(tmp_path: Path, noise: float, places: range, seconds: float) -> None:
    """Rounds far slower or faster than their batch are left out, at the beginning or anywhere."""
    path = tmp_path / "rounds.csv"
    columns = ("prefill", "decode", "kv", "square", "seconds")
    _rounds(path, columns, noise, dict.fromkeys(places, seconds))
    model = read_batch_time(f"fitted({path})")
    # By hand as in _rounds: 0.05 + 3e-4 · 2000 + 2e-8 · 2000² + 1e-4 · 50 + 1e-7 · 20000.
    batch = Batch(((0, 2000),), 50, 20_000)
    assert model.nanoseconds(batch) / 1e9 == pytest.approx(0.737, rel=1e-6 + noise / 2)
    assert noise or model.origin.startswith(f"fitted to {60 - len(places)} of 60 rows, ")


def test_rounds_of_prompts_do_not_move_those_that_decode(tmp_path: Path) -> None:
    """Prompts that take longer than any line says leave what a decoding round takes as it is."""
    decodes = [(0, d, k * d, 0.02 + 1e-4 * d + 1e-7 * k * d) for d in (1, 9, 30) for k in (50, 700)]
    sizes = product((16, 64, 256, 1024, 4096), (0, 8, 64, 256))
    grid = [(p, d, 900 * d, max(0.02, 2e-4 * p) + 3e-7 * 900 * d) for p, d in sizes]
    found = np.array(_fitted(tmp_path, decodes + grid).coefficients) / 1e12
    base, prefill, _, decode, read = found
    assert [base, decode, read] == pytest.approx([0.02, 1e-4, 1e-7], rel=1e-6)
    assert 1e-4 < prefill < 3e-4


def test_rows_without_prompts_are_told(tmp_path: Path) -> None:
    """A log of decode rounds alone says nothing of prompts, whose time is then 0."""
    model = _fitted(tmp_path, [(0, d, 100 * d, 0.01 + 1e-4 * d) for d in range(1, 31)])
    assert model.per_prefill == 0
    assert model.origin.endswith("; prompts in 0 rows only")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "found an empty file"),
        ("prefill,decode,kv\n1,2,3\n", "row 1: expected a column seconds"),
        ("prefill,decode,kv,seconds\n1,2,3,4\n", "at least 10 rows, found 1"),
        ("prefill,decode,kv,seconds\n1,2,3,4\n1,x,3,4\n", "row 3: expected a number.*'x'"),
        ("prefill,decode,kv,seconds\n1,2,3\n", "row 2: expected 4 fields, found 3"),
        ("prefill,decode,kv,seconds,seconds\n1,2,3,4,5\n", "column seconds stands 2 times"),
        ("prefill,decode,kv,seconds\n1,2,1_0,4\n", "row 2: .*'1_0'"),
        ("prefill,decode,kv,seconds\n" + 10 * "1,2,3,1e-300\n", "take picoseconds at least"),
        ("prefill,decode,kv,seconds\n1,2,3,-4\n", "row 2: .*'-4'"),
        ("prefill,decode,kv,seconds\n1,2,3,0\n", "row 2: expected more than 0 seconds"),
    ],
)
def test_a_file_that_is_wrong_gets_one_line(tmp_path: Path, text: str, complaint: str) -> None:
    """The line of the file is named, and no traceback is shown."""
    path = tmp_path / "rounds.csv"
    path.write_text(text)
    with pytest.raises(BatchTimeError, match=complaint):
        read_batch_time(f"fitted({path})")


def test_a_file_that_is_no_text_or_not_there_gets_one_line(tmp_path: Path) -> None:
    """Neither a missing file nor bytes that are no UTF-8 raise anything else."""
    binary = tmp_path / "rounds.csv"
    binary.write_bytes(b"prefill,decode,kv,seconds\n\xff\xfe,1,1,1\n")
    for path in (binary, tmp_path / "none.csv", "\x00"):
        with pytest.raises(BatchTimeError, match=r"cannot be read|found byte 0xff"):
            read_batch_time(f"fitted({path})")


def test_numbers_may_name_their_gpu(tmp_path: Path) -> None:
    """Behind them; a file's too, whatever its path has, and none that has one already."""
    path = tmp_path / "rounds on x.csv"
    _rounds(path, ("prefill", "decode", "kv", "seconds"), 0, {})
    for text in (f"fitted({path}) on H100-80", "unit on h100_80", "computed(gpu=h100-80)"):
        model = read_batch_time(text)
        assert (model.gpu, parse_batch_time(model.name).gpu) == ("h100-80", "h100-80")
    assert read_batch_time(f"fitted({path})").gpu == ""
    with pytest.raises(BatchTimeError, match="is that of a100-80: leave out on h100-80"):
        read_batch_time("llama2-70b-2xa100 on h100-80")
    with pytest.raises(BatchTimeError, match="unknown GPU 'h100'; did you mean h100-80"):
        read_batch_time("unit on h100")


def test_limits_of_the_engine_stand_behind(tmp_path: Path) -> None:
    """In one order in the name, before or behind nothing else; what is not stated is the GPU's."""
    path = tmp_path / "rounds with x=1.csv"
    _rounds(path, ("prefill", "decode", "kv", "seconds"), 0, {})
    assert read_batch_time(f"fitted({path})").running == 0
    model = read_batch_time(f"fitted({path}) on h100-80 with budget=64, running=3")
    assert model.name.endswith(") on h100-80 with running=3,budget=64")
    assert parse_batch_time(model.name) == model
    assert model.engine_limits == EngineLimits(64, 64, 3)
    few = read_batch_time("unit with running=5")
    assert few.engine_limits == replace(engine_limits(""), running=5)
    assert few.coefficients == read_batch_time("unit").coefficients
    for text in ("running=0.5", "seats=1", "running=1,running=2"):
        with pytest.raises(BatchTimeError, match="running"):
            read_batch_time(f"unit with {text}")


def test_arrivals_in_seconds_become_integers_once() -> None:
    """Arrivals are rounded to nanoseconds, half to even, and integers stay exact."""
    times = [0, 3, 0.1, 1.5e-9, 2.5e-9, 1_700_000_000]
    instance = instance_of(10, *((each, 1, 1) for each in times), time_unit="second")
    assert instance.arrival_times.tolist() == [0, 3 * 10**9, 10**8, 2, 2, 17 * 10**17]
    assert instance.arrival_times.dtype == np.int64


def test_arrivals_that_have_no_nanoseconds_are_refused() -> None:
    """Rounds have no length, and times beyond 64 bits no number."""
    with pytest.raises(ValueError, match="in rounds, not in seconds"):
        _ = instance_of(10, (0, 1, 1)).arrival_times
    with pytest.raises(ValueError, match="request id 1 arrives at 100000000000"):
        _ = instance_of(10, (0, 1, 1), (1e11, 1, 1), time_unit="second").arrival_times
