"""Rounds as vLLM logs them: what is read, what is skipped, and the batch time of them."""

import gzip
from pathlib import Path

import pytest

from instances.batch_time import BatchTimeError, parse_batch_time
from kvopt.commands.main import main
from serving.batch_time.vllm_log import read_log

PREFIX = "(EngineCore_DP0 pid=7) INFO 11-24 12:53:55 [core.py:359] "
SIZE = "(EngineCore_DP0 pid=7) INFO 11-24 12:50:00 [kv.py:1] GPU KV cache size: 20,000 tokens\n"


def _line(place: int, prefill: int, decode: int, ms: float, more: str = "") -> str:
    return (
        f"{PREFIX}Iteration({place}): {min(prefill, 1)} context requests, {prefill} context "
        f"tokens, {decode} generation requests, {decode} generation tokens, iteration elapsed "
        f"time: {ms:.2f} ms{more}\n"
    )


def _log(path: Path, *lines: str) -> Path:
    path.write_text("".join(["INFO vLLM API server\n", *lines]), encoding="utf-8")
    return path


def test_a_row_a_round(tmp_path: Path) -> None:
    """Of 20,000 tokens 10 % are in use, 300 of them of this round's prompt: 1,700 are read."""
    usage = ", GPU KV cache usage: 10.0%"
    log = _log(
        tmp_path / "vllm.log",
        SIZE,
        _line(0, 300, 0, 60.5, usage),
        _line(1, 300, 5, 60.5, usage),
        _line(2, 0, 0, 3, " (dummy)" + usage),
        _line(3, 0, 4, 20.25, usage).replace("4 generation tokens", "9 generation tokens"),
        f"{PREFIX}Iteration(4): something else\n",
    )
    found = read_log(log)
    assert found.rows == ((300, 0, 0, 60.5), (300, 5, 1700, 60.5))
    assert (found.memory, found.holds) == (20_000, True)
    assert dict(found.skipped) == {
        "a round of nothing": 1,
        "several tokens of a request in a round": 1,
        "a line of another form": 1,
    }
    assert found.csv.splitlines()[2] == "300,5,1700,0.060500000"


def test_a_log_that_does_not_say_what_is_held(tmp_path: Path) -> None:
    """Earlier versions state no usage: then no round has tokens held, also where one does."""
    usage = ", GPU KV cache usage: 10.0%"
    log = _log(tmp_path / "vllm.log", SIZE, _line(0, 0, 5, 20, usage), _line(1, 0, 6, 21))
    found = read_log(log)
    assert ([row[2] for row in found.rows], found.holds) == ([0, 0], False)


def test_a_log_without_rounds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The message names the option of the server, in one line; nothing is written."""
    log = _log(tmp_path / "vllm.log", SIZE)
    with pytest.raises(BatchTimeError, match="--enable-logging-iteration-details, found none"):
        read_log(log)
    out = tmp_path / "rounds.csv"
    assert main(["rounds", str(log), "--out", str(out)]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert not out.exists()


def test_the_command_finds_the_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rounds of 5 ms, 0.02 a prompt token and 0.1 a decoding request."""
    rounds = [(p, d) for p in (0, 100, 400, 1000) for d in (1, 5, 20)]
    lines = [_line(k, p, d, 5 + 0.02 * p + 0.1 * d) for k, (p, d) in enumerate(rounds)]
    out = tmp_path / "rounds.csv"
    log = _log(tmp_path / "vllm.log", SIZE, *lines)
    assert main(["rounds", str(log), "--out", str(out)]) == 0
    told = dict(line.split("  ", 1) for line in capsys.readouterr().out.splitlines())
    assert told["--memory"].strip().startswith("20000")
    model = parse_batch_time(told["--batch-time"].strip().strip('"'))
    base, prefill, _, decode, read = model.coefficients
    assert (base, prefill, decode) == pytest.approx((5e9, 0.02e9, 0.1e9), rel=1e-3)
    assert read == 0


def test_warm_up_rounds_are_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two slow rounds of 60 move nothing, also in a compressed log; the farther is named first."""
    rounds = [(37 * k % 400 * (k % 4 == 0), 1 + 7 * k % 20) for k in range(60)]
    times = [5 + 0.02 * p + 0.1 * d for p, d in rounds]
    times[0], times[1] = times[0] + 2500, times[1] + 900
    lines = [_line(k, p, d, ms) for k, ((p, d), ms) in enumerate(zip(rounds, times, strict=True))]
    log = _log(tmp_path / "vllm.log", SIZE, *lines)
    log.write_bytes(gzip.compress(log.read_bytes()))
    assert main(["rounds", str(log), "--out", str(tmp_path / "rounds.csv")]) == 0
    told = dict(line.split("  ", 1) for line in capsys.readouterr().out.splitlines())
    model = parse_batch_time(told["--batch-time"].strip().strip('"'))
    base, prefill, _, decode, _ = model.coefficients
    assert (base, prefill, decode) == pytest.approx((5e9, 0.02e9, 0.1e9), rel=1e-2)
    assert "58 of 60 rows" in told["fit"]
    assert told["fit"].index("row 1 (2505.1 ms") < told["fit"].index("row 2 (905.8 ms")
    log.write_bytes(log.read_bytes()[:100])
    with pytest.raises(BatchTimeError, match="gzip stream is torn"):
        read_log(log)


def test_rounds_that_no_batch_time_fits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every third round takes four times as long: the rows are written, without a batch time."""
    lines = [_line(k, 0, 1 + k % 9, 5 * (4 if k % 3 == 0 else 1)) for k in range(60)]
    out = tmp_path / "rounds.csv"
    assert main(["rounds", str(_log(tmp_path / "vllm.log", SIZE, *lines)), "--out", str(out)]) == 1
    told = capsys.readouterr()
    assert "no batch time fits" in told.err
    assert "linear(" not in told.out
    assert len(out.read_text().splitlines()) == 61
