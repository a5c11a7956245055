"""What all simulators are given alike (traces, memory, limits, batch time), and what they say."""

from __future__ import annotations

import csv
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from instances.families import families
from support.jsonfile import write_text

FOLDER = Path(__file__).parent
TRACES = FOLDER / "traces"
#: Seconds that one run of another simulator may take.
LIMIT = 600

KVOPT = "kvopt"
SARATHI = "vidur-sarathi"
VLLM = "vidur-vllm"
BLIS = "blis"
#: The simulators in the order of the tables, with what they are there.
SIMULATORS = {
    KVOPT: "kvopt, `vllm-v1(chunk=yes)`",
    SARATHI: "Vidur, scheduler `sarathi`",
    VLLM: "Vidur, scheduler `vllm`",
    BLIS: "BLIS, its only batch formation",
}


@dataclass(frozen=True)
class Machine:
    """Memory and limits of the worker, and the batch time.

    Attributes
    ----------
    blocks, block
        Number of blocks of memory, and tokens of each.
    budget
        Most tokens that a round processes.
    running
        Most requests that run at a time.
    coefficients
        Of the batch time, picoseconds: base, per prompt token, per square, per decoding request,
        per token read (``instances.batch_time``).
    """

    blocks: int
    block: int
    budget: int
    running: int
    coefficients: tuple[int, int, int, int, int]

    @property
    def memory(self) -> int:
        """Return M, tokens."""
        return self.blocks * self.block


@dataclass(frozen=True)
class Scenario:
    """One trace on one machine, and which simulators can run it."""

    name: str
    trace: str
    machine: Machine
    simulators: tuple[str, ...]
    about: str


def _batch_time(square: int) -> tuple[int, int, int, int, int]:
    # llama2-70b-2xa100, with or without its term for squares.
    return (54_260_000_000, 311_900_000, square, 196_300_000, 144_000)


_LINEAR = _batch_time(0)
_WHOLE = _batch_time(16_300)
SCENARIOS = (
    Scenario(
        "calm",
        "chat_10",
        Machine(1024, 16, 8192, 256, _LINEAR),
        (KVOPT, SARATHI, VLLM, BLIS),
        "chat at 10 requests a second, for which the memory suffices",
    ),
    Scenario(
        "congested",
        "chat_50",
        Machine(1024, 16, 8192, 256, _LINEAR),
        (KVOPT, SARATHI, VLLM, BLIS),
        "chat at 50 requests a second, for which it does not",
    ),
    Scenario(
        "cut",
        "mixed_08",
        Machine(1024, 16, 512, 256, _LINEAR),
        (KVOPT, SARATHI, BLIS),
        "chat and summaries at 0.8 requests a second, 512 tokens a round",
    ),
    Scenario(
        "squares",
        "mixed_08",
        Machine(1024, 16, 512, 256, _WHOLE),
        (KVOPT, SARATHI),
        "the same with the term for the squares of prompts",
    ),
)

#: Arrival (ns), prompt, output.
Row = tuple[int, int, int]


class ServedRequest(NamedTuple):
    """When its first token came and when it completed (ns), and how often it was evicted."""

    first_token: int
    completion: int
    evictions: int


class SimulatorError(Exception):
    """Another simulator cannot be run or answers what is not understood; one line."""


def run_program(name: str, command: list[str], made: Path) -> str:
    """Run another simulator, which makes a file, and return what it tells on standard error.

    Raises
    ------
    SimulatorError
        If it does not run to its end.
    """
    try:
        ended = subprocess.run(
            command, cwd=made.parent, capture_output=True, text=True, timeout=LIMIT
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SimulatorError(f"{name}: {error}") from error
    if ended.returncode or not made.exists():
        last = (ended.stderr.strip().splitlines() or ["no word"])[-1]
        raise SimulatorError(f"{name} ended with {ended.returncode}: {last}")
    return ended.stderr


#: Family and mean arrivals a second of each trace.
DRAWN = {"chat_10": ("chat", 10.0), "chat_50": ("chat", 50.0), "mixed_08": ("mix80-20", 0.8)}


def draw_trace(name: str) -> list[Row]:
    """Return a trace as its family draws it."""
    family, rate = DRAWN[name]
    instance = families()[family].generate(n=1000, rate=rate, seconds=True)
    return [
        (arrival, request.prompt, request.output)
        for arrival, request in zip(instance.arrival_times.tolist(), instance.requests, strict=True)
    ]


def write_trace(name: str) -> None:
    """Draw a trace and write it in Vidur's format, to the nanosecond."""
    lines = ["arrived_at,num_prefill_tokens,num_decode_tokens"]
    for arrival, prompt, output in draw_trace(name):
        lines.append(f"{arrival // 10**9}.{arrival % 10**9:09d},{prompt},{output}")
    write_text(TRACES / f"{name}.csv", "\n".join([*lines, ""]))


def read_trace(name: str) -> list[Row]:
    """Return (arrival in ns, prompt, output) of each request, in order of arrival."""
    with (TRACES / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return [
            (
                _nanoseconds(row["arrived_at"]),
                int(row["num_prefill_tokens"]),
                int(row["num_decode_tokens"]),
            )
            for row in csv.DictReader(file)
        ]


def _nanoseconds(seconds: str) -> int:
    whole, _, part = seconds.partition(".")
    return int(whole) * 10**9 + int(part[:9].ljust(9, "0"))
