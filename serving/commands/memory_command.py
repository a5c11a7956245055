"""``kvopt memory``: M of a model and its GPUs, step by step, and the origin of 16,492."""

import re
from collections.abc import Callable
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any

import click

from serving.batch_time import read_batch_time
from serving.commands.deployment_arguments import DEPLOYMENT_OPTIONS, named_deployment
from serving.deployments import engine_limits
from serving.kv_memory import GB, GIB, LLAMA2_70B_2XA100, KvMemory, on_the_published
from support.click_command import Command, CommandOptions, option
from support.usage_errors import UsageError, read_integer

_SIZE = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)\s*(GB|GiB|MiB)?", re.ASCII)
_UNITS = {None: GB, "GB": GB, "GiB": GIB, "MiB": GIB // 1024}
_NUMBER = re.compile(r"\d{1,9}(?:\.\d{1,9})?", re.ASCII)


def _size(text: str) -> int:
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"expected a size as in 80GB, 80GiB or 81559MiB, found {text!r}")
    return int(Fraction(match[1]) * _UNITS[match[2]])


def _between(least: Fraction, largest: int, expected: str) -> Callable[[str], Fraction]:
    def read(text: str) -> Fraction:
        value = Fraction(text) if _NUMBER.fullmatch(text) else Fraction(0)
        if not least <= value <= largest:
            raise ValueError(f"expected {expected}, found {text!r}")
        return value

    return read


_BYTES = _between(Fraction(1, 2), 8, "a number from 0.5 to 8")
_SHARE = _between(Fraction(1, 10**9), 1, "a number above 0, at most 1")
_COUNT: dict[str, Any] = {"type": lambda text: read_integer(text, 1, 10**6), "metavar": "N"}
_USED = "share of the GPUs' memory that is used (default: 1, or of the --gpu)"
_WEIGHTS = "memory of the model, all GPUs together (default: 0, or of the --model)"
_WIDTH = "bytes of a number of the cache, 0.5 to 8 (default: 2)"


@click.command(
    "kvopt memory",
    cls=Command,
    fails={2: (ValueError,)},
    examples=(
        "--gpu h100-80 --model llama3.1-8b",
        "--layers 80 --kv-heads 8 --head-size 128 --gpu-memory 80GB --gpus 2 --weights 138GB",
        "--layers 32 --kv-heads 8 --head-size 128 --gpu-memory 24GiB --utilization 0.9 --quiet",
    ),
    codes="0 computed; 2 bad usage",
)
@option("--layers", **_COUNT, help="layers of the model")
@option("--kv-heads", **_COUNT, help="heads with separate keys and values")
@option("--head-size", **_COUNT, help="hidden size / heads")
@option("--bytes", "B", _WIDTH, _BYTES, dest="number_bytes")
@option("--gpu-memory", "SIZE", "memory of one GPU", _size, dest="gpu_bytes")
@option("--gpus", **_COUNT, help="GPUs that share the model (default: 1)")
@option("--weights", "SIZE", _WEIGHTS, _size, dest="weight_bytes")
@option("--utilization", "U", _USED, _SHARE)
@DEPLOYMENT_OPTIONS
@option("--quiet", is_flag=True, help="print M and nothing else")
def main(options: CommandOptions) -> int:
    """Compute how many tokens of keys and values the memory of the GPUs holds, step by step.

    SIZE is a number with GB (10^9 bytes, the default), GiB (2^30) or MiB (2^20, as nvidia-smi has).
    With --gpu and --model, --bytes, --gpu-memory, --weights and --utilization replace their values.
    """
    deployment = named_deployment(options)
    values = {each.name: vars(options)[each.name] for each in fields(KvMemory)}
    given = {name: value for name, value in values.items() if value is not None}
    found = _of_sizes(given) if deployment is None else _changed(deployment.served.memory, given)
    if options.quiet:
        print(found.tokens)
        return 0
    rows = found.steps()
    if deployment is not None:
        bits = "  (16-bit weights and cache)" if {"number_bytes", "weight_bytes"} & {*given} else ""
        base, prefill, _, decode, read = read_batch_time(deployment.batch_time).coefficients
        less = f"{1_700_000_000 // found.token_bytes:,} tokens here"
        rows += [
            ("in vLLM", f"M is less, on an RTX 4090 by 1.7 GB, {less}"),
            ("batch time", deployment.batch_time + bits),
            ("a round", f"{base / 1e9:.1f} ms, {prefill / 1e6:.0f} µs a prompt token, "
             f"{decode / 1e6:.0f} µs a decoding request, {read / 1e3:.0f} ns a token read"),
            ("vLLM takes", str(engine_limits(deployment.gpu))),
        ]  # fmt: skip
    for label, text in rows:
        print(f"{label:<13}  {text}")
    asked = found.gpus == 2 and (deployment is None or deployment.served is LLAMA2_70B_2XA100)
    if asked and (lines := on_the_published(found)):
        print("", *lines, sep="\n")
    return 0


def _of_sizes(given: dict[str, Any]) -> KvMemory:
    for name in ("layers", "kv-heads", "head-size", "gpu-memory"):
        if name.replace("-memory", "-bytes").replace("-", "_") not in given:
            raise UsageError(f"expected --{name}, or --gpu and --model, found none (see --help)")
    return KvMemory(**{"number_bytes": Fraction(2), **given})


def _changed(memory: KvMemory, given: dict[str, Any]) -> KvMemory:
    for name in ("layers", "kv-heads", "head-size", "gpus"):
        if name.replace("-", "_") in given:
            raise UsageError(f"--{name}: --gpu, --model and --tp state it, leave it out")
    return replace(memory, **given)
