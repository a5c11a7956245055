"""``kvopt memory``: M of a model and its GPUs, step by step, and where 16,492 comes from."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from fractions import Fraction

from instances.kv_memory import GB, GIB, KvMemory, on_the_published
from instances.streams import steadily
from instances.usage import Parser, UsageError, complain, read_integer

EXIT_OK = 0
EXIT_BAD_USAGE = 2
_SIZE = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)\s*(GB|GiB)?", re.ASCII)
_NUMBER = re.compile(r"\d{1,9}(?:\.\d{1,9})?", re.ASCII)


def main(arguments: Sequence[str] | None = None, program: str = "kvopt memory") -> int:
    """Run the command and return its exit code: 0, or 2 for bad usage (one line)."""
    return steadily(program, lambda: _main(arguments, program))


def _main(arguments: Sequence[str] | None, program: str) -> int:
    try:
        options = _parse(arguments, program)
        found = KvMemory(
            layers=options.layers,
            kv_heads=options.kv_heads,
            head_size=options.head_size,
            number_bytes=options.bytes,
            gpu_bytes=options.gpu_memory,
            gpus=options.gpus,
            weight_bytes=options.weights,
            utilization=options.utilization,
        )
    except (UsageError, ValueError) as error:
        complain(program, error)
        return EXIT_BAD_USAGE
    if options.quiet:
        print(found.tokens)
        return EXIT_OK
    for label, text in found.steps():
        print(f"{label:<13}  {text}")
    if lines := on_the_published(found):
        print("", *lines, sep="\n")
    return EXIT_OK


def _parse(arguments: Sequence[str] | None, program: str) -> argparse.Namespace:
    parser = Parser(
        prog=program,
        description="Compute how many tokens of keys and values the memory of the GPUs holds, and "
        "say how.",
        epilog="SIZE is a number with GB (10^9 bytes, the default) or GiB (2^30).  exit code: 0 "
        "computed, 2 bad usage",
    )
    for option, text in (
        ("--layers", "layers of the model"),
        ("--kv-heads", "heads with keys and values of their own; under grouped-query attention "
         "fewer than heads"),
        ("--head-size", "numbers of a head's key, hidden size / heads"),
    ):  # fmt: skip
        parser.add_argument(option, type=_count, required=True, metavar="N", help=text)
    parser.add_argument(
        "--bytes", type=_bytes, default=Fraction(2), metavar="B",
        help="bytes of a number of the cache, 0.5 to 8 (default: 2, as of bfloat16)",
    )  # fmt: skip
    parser.add_argument(
        "--gpu-memory", type=_size, required=True, metavar="SIZE", help="memory of one GPU"
    )
    parser.add_argument(
        "--gpus", type=_count, default=1, metavar="N", help="GPUs that share the model (default: 1)"
    )
    parser.add_argument(
        "--weights", type=_size, default=0, metavar="SIZE",
        help="memory of the model itself, all GPUs together (default: 0)",
    )  # fmt: skip
    parser.add_argument(
        "--utilization", type=_share, default=Fraction(1), metavar="U",
        help="share of the GPUs' memory that is used, above 0 to 1 (default: 1)",
    )  # fmt: skip
    parser.add_argument("--quiet", action="store_true", help="print M and nothing else")
    return parser.parse_args(arguments)


def _count(text: str) -> int:
    return read_integer(text, 1, 10**6)


def _size(text: str) -> int:
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise argparse.ArgumentTypeError(f"expected a size as in 80GB or 80GiB, found {text!r}")
    return int(Fraction(match[1]) * (GIB if match[2] == "GiB" else GB))


def _bytes(text: str) -> Fraction:
    return _between(text, Fraction(1, 2), Fraction(8), "a number from 0.5 to 8")


def _share(text: str) -> Fraction:
    return _between(text, Fraction(1, 10**9), Fraction(1), "a number above 0, at most 1")


def _between(text: str, least: Fraction, largest: Fraction, expected: str) -> Fraction:
    value = Fraction(text) if _NUMBER.fullmatch(text) else Fraction(0)
    if not least <= value <= largest:
        raise argparse.ArgumentTypeError(f"expected {expected}, found {text!r}")
    return value
