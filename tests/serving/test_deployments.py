"""Models and GPUs: sizes against what is published, computed rounds against measured ones."""

import pytest

from instances.batch_time import BatchTimeError, EngineLimits, parse_batch_time
from serving import deployments
from serving.batch_time import read_batch_time
from serving.deployments import GPUS, MODELS, Gpu, coefficients, deployment, engine_limits

#: Weights that the models' pages state, in 10^9.
PUBLISHED = {
    **dict.fromkeys(("llama3-8b", "llama3.1-8b"), 8.03),
    **dict.fromkeys(("llama3-70b", "llama3.1-70b", "llama3.3-70b"), 70.55),
    **dict.fromkeys(("qwen2.5-14b", "qwen3-14b"), 14.77),
    "llama2-7b": 6.74,
    "llama2-13b": 13.02,
    "llama2-70b": 68.98,
    "codellama-34b": 33.74,
    "mistral-nemo-12b": 12.25,
    "qwen2.5-7b": 7.62,
    "qwen2.5-32b": 32.76,
    "qwen2.5-72b": 72.71,
}


def test_the_sizes_make_the_published_number_of_weights() -> None:
    billions = {name: each.weights / 1e9 for name, each in MODELS.items()}
    assert billions == pytest.approx(PUBLISHED, rel=0.002)


def test_computed_rounds_are_near_those_that_were_measured() -> None:
    """Llama-2-70B on two A100: base, prompt, decoding requests and tokens read within 20 %."""
    measured = parse_batch_time("llama2-70b-2xa100").coefficients
    computed = coefficients("llama2-70b", "a100-80", 2)
    for place in (0, 1, 3, 4):
        assert computed[place] == pytest.approx(measured[place], rel=0.2)


def test_the_numbers_of_a_text_stay() -> None:
    """A stored schedule names them by model and GPU."""
    model = read_batch_time("computed(Llama3-8b, tp=2, gpu=h100-80)")
    assert model.name == "computed(model=llama3-8b,gpu=h100-80,tp=2)"
    assert parse_batch_time(model.name) == model
    # 1.36252915 · 2 · (8.03e9 − 0.525e9) / (2 · 3.35e12) s and (32 · 32.095 + 126.02) µs of base.
    assert model.coefficients == (4205412871, 10076261, 189, 11470227, 38091)
    assert model.served is not None
    assert model.served.is_of("meta-llama/Meta-Llama-3-8B-Instruct")


def test_memory_and_batch_time_come_together() -> None:
    """0.9 · 80 GiB less 16.06 GB, by 131,072 bytes a token; or the measured pair."""
    found = deployment("llama3-8b", "h100-80")
    assert found.served.memory.tokens == (9 * 80 * 2**30 // 10 - 2 * 8_029_995_008) // 131_072
    assert str(found.served) == "Llama-3-8B on 1 H100-80GB"
    pair = deployment("Llama2-70B", "A100-80", 2)
    assert pair.batch_time == "llama2-70b-2xa100"
    assert pair.served.memory.tokens == 61_035


def test_the_engines_limits_follow_the_gpu() -> None:
    """8,192 and 1,024 from 70 GiB on, but not on an A100 (vllm/engine/arg_utils.py)."""
    large = [name for name in GPUS if engine_limits(name) == EngineLimits(8192, 16384, 1024)]
    small = [name for name in GPUS if engine_limits(name) == EngineLimits(2048, 8192, 256)]
    assert large == ["h100-80", "h200-141", "rtx-pro-6000-96"]
    assert small == ["a100-40", "a100-80", "l40s-48", "rtx-4090-24"]
    assert Gpu("B200", 180, 1.0, 1.0).engine_limits == EngineLimits(16384, 16384, 1024)
    assert engine_limits("") == engine_limits("a100-80")


@pytest.mark.parametrize(
    ("model", "gpu", "tp", "says"),
    [
        ("llama3-9b", "h100-80", 1, "unknown model 'llama3-9b'; did you mean llama3-8b"),
        ("llama3-8b", "h100", 1, "unknown GPU 'h100'; did you mean h100-80"),
        ("llama3-8b", "h100-80", 3, "expected tp from 1 to 64 that divides the 32 heads"),
        ("llama3-70b", "h100-80", 1, "Llama-3-70B does not fit on 1 H100-80GB"),
    ],
)
def test_what_is_refused(model: str, gpu: str, tp: int, says: str) -> None:
    """In one line, by the table and by the text of the batch time."""
    with pytest.raises(deployments.DeploymentError, match=says):
        _ = deployment(model, gpu, tp).served
    with pytest.raises(BatchTimeError, match=says):
        read_batch_time(f"computed({model},{gpu},{tp})")
