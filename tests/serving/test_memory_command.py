"""``kvopt memory``: M of a model and its GPUs, and what the papers' formula gives."""

from fractions import Fraction

import pytest

from serving.batch_time import DEFAULT, read_batch_time
from serving.commands.memory_command import main
from serving.kv_memory import GB, GIB, LLAMA2_70B_2XA100, KvMemory, llama2_70b, on_the_published
from tests.kvopt.conftest import Refused

DEPLOYED = ["--gpu", "h100-80", "--model", "llama3.1-8b"]
LLAMA = ["--layers", "80", "--kv-heads", "64", "--head-size", "128", "--gpus", "2"]


@pytest.mark.parametrize(
    ("kv_heads", "unit", "tokens"),
    # 20 GB / 2,621,440 = 7,629.39; 20 GiB / 2.5 MiB = 8,192; an eighth of the bytes: 61,035.2.
    [(64, GB, 7_629), (64, GIB, 8_192), (8, GB, 61_035)],
)
def test_the_papers_setting(kv_heads: int, unit: int, tokens: int) -> None:
    assert llama2_70b(kv_heads, unit).tokens == tokens
    shown = "\n".join(on_the_published(llama2_70b(8, GB)))
    # 16,492 · 2,621,440 bytes = 43.2 GB.
    assert f"{tokens:,}" in shown
    assert "16,492 such tokens take 43.2 GB" in shown


def test_the_default_batch_time_has_its_own_memory() -> None:
    """One name for both: rounds and memory of Llama-2-70B with its 8 KV heads.

    A token read takes 144 ns in the fit.  Two A100 read 2 · 2,039 GB/s, so 587 kB in it: more than
    a token's 328 kB with 8 KV heads, less than its 2,621 kB with 64.
    """
    model = read_batch_time(DEFAULT)
    assert model.served is not None
    assert str(model.served) == "Llama-2-70B on 2 A100"
    assert (model.served.memory.kv_heads, model.served.memory.tokens) == (8, 61_035)
    read_bytes = model.per_read * 2 * 2_039 / 1000
    assert llama2_70b(8, GB).token_bytes < read_bytes < llama2_70b(64, GB).token_bytes
    assert read_batch_time(f"{DEFAULT}(scale=1.6)").served == model.served
    assert read_batch_time("affine(base=50,token=0.3)").served is None
    assert any("61,035 belongs" in line for line in on_the_published(llama2_70b(8, GB)))


@pytest.mark.parametrize(
    ("memory", "expected"),
    [(61_035, ""), (1_000, ""), (61_036, "61,036 tokens, Llama-2-70B on 2 A100, whose"),
     (16_492, "16,492 tokens is the papers' number, where J1 counts 64 KV heads")],
)  # fmt: skip
def test_a_memory_that_does_not_go_with_the_batch_time(memory: int, expected: str) -> None:
    """More than there is, and the papers' number; less may be what somebody wants to know."""
    told = LLAMA2_70B_2XA100.mismatch(memory)
    assert expected in told
    assert bool(told) == bool(expected)


@pytest.mark.parametrize(
    ("name", "same"),
    [("meta-llama/Llama-2-70b-hf", True), ("meta-llama/Llama-2-70b-chat-hf", True),
     ("llama2_70B", True), ("meta-llama/Llama-2-7b-hf", False), ("Qwen/Qwen3-8B", False)],
)  # fmt: skip
def test_a_models_name(name: str, same: bool) -> None:
    """As vllm bench writes it, whatever signs stand between."""
    assert LLAMA2_70B_2XA100.is_of(name) == same


def test_every_step_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """2 · 80 · 64 · 128 · 2 bytes a token; 0.9 of 160 GB less 140 GB leaves 4 GB: 1,525 tokens.

    A size as nvidia-smi prints it: 81,559 · 2^20 bytes of two times 1 · 1 · 1 numbers of two bytes.
    """
    arguments = ["--gpu-memory", "80GB", "--weights", "140 GB", "--utilization", "0.9"]
    assert main([*LLAMA, *arguments]) == 0
    told = capsys.readouterr().out
    for step in ("= 2,621,440", "= 144,000,000,000 bytes", "4,000,000,000 bytes", "= 1,525 tokens"):
        assert step in told
    assert "16,492" in told
    tiny = ["--layers", "1", "--kv-heads", "1", "--head-size", "1", "--gpu-memory", "81559 MiB"]
    assert main([*tiny, "--quiet"]) == 0
    assert int(capsys.readouterr().out) == 81_559 * 2**20 // 4


@pytest.mark.parametrize(
    ("asked", "last"),
    [("--layers 32 --kv-heads 8 --head-size 128 --gpu-memory 80GB", "M "),
     ("--gpu a100-80 --model llama3.3-70b --tp 4", "vLLM takes"),
     ("--gpu a100-80 --model llama3-70b --tp 2", "vLLM takes"),
     ("--gpu a100-80 --model llama2-70b --tp 2", "The batch time llama2-70b")],
)  # fmt: skip
def test_the_papers_number_is_told_of_its_pair_only(
    asked: str, last: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who asks for another model or other GPUs reads of these alone."""
    assert main(asked.split()) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith(last)


def test_values_replace_those_of_a_deployment(capsys: pytest.CaptureFixture[str]) -> None:
    """80 GiB · 0.9 less 16,059,990,016 bytes, by 131,072; the batch time stays that of 16 bits."""
    tokens = {"": 467_296, "--utilization 0.95": 500_064, "--gpu-memory 79.6GiB": 464_346}
    for more, expected in (tokens | {"--bytes 1": 934_592, "--weights 8GB": 528_788}).items():
        assert main([*DEPLOYED, *more.split()]) == 0
        told = capsys.readouterr().out
        assert f"rounded down = {expected:,} tokens\n" in told
        assert ("16-bit weights and cache" in told) == (more not in tokens)
        # The row of docs/gpus.md, and what a run of vLLM had less.
        assert "7.3 ms, 20 µs a prompt token, 19 µs a decoding request, 76 ns a token read" in told
        assert "M is less, on an RTX 4090 by 1.7 GB" in told


def test_half_bytes_are_exact() -> None:
    """One head of one number in one layer at half a byte: 2 · 0.5 = 1 byte a token."""
    assert KvMemory(1, 1, 1, Fraction(1, 2), 7).tokens == 7
    # A third of three bytes, though 1/3 is no double.
    assert KvMemory(1, 1, 1, Fraction(1), 6, utilization=Fraction(1, 3)).tokens == 1


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], "expected --layers, or --gpu and --model, found none"),
        ([*LLAMA], "expected --gpu-memory, or --gpu and --model, found none"),
        ([*LLAMA, "--gpu-memory", "80TB"], "expected a size as in 80GB, 80GiB or 81559MiB, found"),
        ([*LLAMA, "--gpu-memory", "80", "--weights", "160"], "expected memory for one token"),
        ([*LLAMA, "--gpu-memory", "80", "--utilization", "1.1"], "above 0, at most 1"),
        ([*LLAMA, "--gpu-memory", "80", "--bytes", "0.1"], "a number from 0.5 to 8"),
        (["--layers", "0"], "expected an integer from 1"),
        ([*DEPLOYED, "--gpus", "2"], "--gpus: --gpu, --model and --tp state it, leave it out"),
        ([*DEPLOYED, "--kv-heads", "2"], "--kv-heads: --gpu, --model and --tp state it"),
    ],
)
def test_every_mistake_is_one_line(arguments: list[str], expected: str, refused: Refused) -> None:
    assert expected in refused(main, *arguments)
