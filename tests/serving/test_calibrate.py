"""``kvopt calibrate`` finds the batch time that made the tokens of a run, and its error."""

import json
import re
from pathlib import Path

import pytest

from instances import Instance
from instances.batch_time import BatchTime, parse_batch_time
from kvopt.methods.grammar import read_method
from serving.calibration import simulate
from serving.commands.calibrate import main
from tests.oracles.draws import instance_of

POLICY = "vllm-v1(block=16,budget=256,running=8)"
BATCH_TIME = "linear(base=20,prefill=0.1,square=0.0001,decode=0.5,read=0.001)"


def drawn(n: int) -> Instance:
    """Return requests that are soon more than run at a time, lengths mixed by a fixed rule."""
    rows = ((i // 3 / 4 + i % 3 / 32, 20 + i * 53 % 190, 2 + i * 29 % 60) for i in range(n))
    return instance_of(1600, *rows, time_unit="second")


def measured(tmp_path: Path, instance: Instance, scale: float = 1.0) -> Path:
    """Write a run of the scheduler with that batch time, as LLMServingSim records one."""
    call = read_method(POLICY).call
    assert call is not None
    found = simulate(instance, call, parse_batch_time(BATCH_TIME))
    lines = []
    columns = (found.arrivals, found.first_tokens, found.completions)
    rows = zip(instance.requests, *(each.tolist() for each in columns), strict=True)
    for request, arrival, first, last in rows:
        if request.id % 2:  # a run in which every second request is slower
            last = first + round((last - first) * scale)
        record = {"input_toks": request.prompt, "output_toks": request.output}
        times = (arrival, arrival, first, last)
        names = ("arrival_time", "queued_ts", "first_token_ts", "last_token_ts")
        record |= {name: time / 1e9 for name, time in zip(names, times, strict=True)}
        lines.append(json.dumps(record))
    meta = {
        "engine_kwargs": {"max_num_seqs": 8, "max_num_batched_tokens": 256},
        "kv_cache": {"num_gpu_blocks": 100, "block_size": 16},
    }
    (tmp_path / "requests.jsonl").write_text("\n".join(lines))
    (tmp_path / "meta.json").write_text(json.dumps(meta))
    return tmp_path


def told(out: str) -> tuple[BatchTime, dict[str, list[float]]]:
    """Return the batch time that was printed, and the errors of each metric (%)."""
    lines = out.splitlines()
    text = lines[1].removeprefix("--batch-time  ").strip('"')
    errors = {line.split()[0]: re.findall(r"[+-]\d+\.\d+ %", line) for line in lines[-3:]}
    return parse_batch_time(text), {
        name: [float(each.removesuffix(" %")) for each in found] for name, found in errors.items()
    }


def test_the_true_numbers_are_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Limits and memory are those of the file; what was not fitted is predicted."""
    assert main([str(measured(tmp_path, drawn(120)))]) == 0
    out, err = capsys.readouterr()
    assert out.startswith(f'--policy      "{POLICY}"\n')
    assert "the fit is off" not in err
    assert "60 requests that were not fitted" in out
    found, errors = told(out)
    made = parse_batch_time(BATCH_TIME)
    for batch, error in (((0, 0, 8, 1000), 0.01), ((200, 40_000, 6, 800), 0.02)):
        assert found.time_of(*batch) == pytest.approx(made.time_of(*batch), rel=error)
    assert list(errors) == ["TTFT", "TPOT", "E2EL"]
    assert all(len(each) == 4 and max(map(abs, each)) <= 1 for each in errors.values())


def test_the_error_is_of_other_requests(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where every second one took twice as long as its rounds, so is the error."""
    assert main([str(measured(tmp_path, drawn(120), scale=2.0))]) == 0
    shown = capsys.readouterr()
    _, errors = told(shown.out)
    assert errors["TPOT"][0] == pytest.approx(-50, abs=1)
    *_, line = shown.err.splitlines()
    assert f"the fit is off, mean TPOT {errors['TPOT'][0]} %, mean E2EL -" in line
    assert shown.out.splitlines()[2].startswith("limits        vllm-v1: 2,048 tokens a round, ")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["RUN", "--rate", "2"], "expected a result with times of first and last tokens"),
        (["tiny_two_bursts"], "expected a result with times of first and last tokens"),
        (["RUN", "--limit", "12"], "expected 10 requests with two tokens to fit, found 6"),
        (["RUN", "--policy", "sorted-lp"], "expected a published policy without an LP"),
        (["RUN", "--policy", "highs"], "expected a published policy without an LP"),
        (["RUN", "--policy", "svff"], "unknown method 'svff'"),
        (["RUN", "--policy", "vllm-v1(block=4096)"], "alone needs more than the 0 blocks"),
        (["RUN", "--policy", "a-min with interval(1,2)"], "expected intervals that hold"),
        (["RUN", "--memory", "300", "--policy", "alpha-greedy(alpha=0)"], "loops for ever"),
    ],
)
def test_what_cannot_be_calibrated_gets_one_line(
    arguments: list[str], complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Drawn arrivals, an instance, too few requests, methods that do not serve: exit code 2."""
    run = str(measured(tmp_path, drawn(30)))
    assert main([run if each == "RUN" else each for each in arguments]) == 2
    lines = [each for each in capsys.readouterr().err.splitlines() if complaint in each]
    assert len(lines) == 1


def test_spans_of_years_get_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = measured(tmp_path, drawn(30))
    file = run / "requests.jsonl"
    records = [json.loads(each) for each in file.read_text().splitlines()]
    for each in records:
        each["last_token_ts"] = each["first_token_ts"] + 3e9
    file.write_text("\n".join(map(json.dumps, records)))
    assert main([str(run)]) == 2
    assert "expected coefficients of 0 to 10^9 ms" in capsys.readouterr().err.splitlines()[-1]
