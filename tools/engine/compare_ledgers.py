"""vLLM's policies against ledgers of vLLM's scheduler, step by step.

``python -m tools.engine.compare_ledgers LEDGER...`` reads files of the format ``vllm-ledger/1``,
one JSON object or one a line, and runs ``vllm-v1`` or ``vllm-priority`` with the limits that each
states. In an identical ledger every step has the same requests, tokens and beginning, every request
has the same start, first token, completion and number of preemptions, and the checker accepts the
schedule.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import click

from heuristics.policies import vllm_priority, vllm_v1
from heuristics.policy import Forecast, Known, NotApplicableError, Rules
from heuristics.simulator import RunSetting, run_policy
from instances.instance_files import parse_instance
from schedules import check_schedule
from schedules.clock.request_runs import runs_of
from schedules.clock.timeline import make_timeline
from serving.batch_time.kinds.linear import linear
from support.click_command import Command, CommandOptions, argument
from support.json_files import FileError

FORMAT = "vllm-ledger/1"
#: A round of a ledger in rounds is a second (picoseconds; nanoseconds).
_ROUND, _SECOND = (10**12, 0, 0, 0, 0), 10**9


def ledgers(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield name and content of each ledger of a file; raise FileError for other content."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        texts = lines if path.suffix == ".jsonl" else ["\n".join(lines)]
        for number, text in enumerate(texts, 1):
            found = json.loads(text)
            if not isinstance(found, dict) or found.get("format") != FORMAT:
                raise FileError(f"{path}: expected a ledger of format {FORMAT} in line {number}")
            yield (f"{path}:{number}" if len(texts) > 1 else str(path)), found
    except (OSError, ValueError) as error:
        raise FileError(str(error) if str(path) in str(error) else f"{path}: {error}") from None


def difference(ledger: dict[str, Any]) -> str:
    """Return the first difference between a ledger and our run of it; empty if there is none."""
    engine = ledger["engine"]
    by_priority = engine.get("policy") == "priority"
    policy = (vllm_priority if by_priority else vllm_v1).POLICY
    instance = parse_instance(ledger["instance"])
    instance = replace(instance, memory=engine["num_blocks"] * engine["block_size"])
    coefficients, tick = ledger["batch_time_picoseconds"], 1
    if isinstance(coefficients, str):
        instance, coefficients, tick = replace(instance, time_unit="second"), _ROUND, _SECOND
    preempted: Counter[int] = Counter()

    def recorded(known: Known) -> Rules:
        """Return the rules, which count preemptions of requests that end all the same, too."""
        # The recorder gave the engine the upper end as priority.
        told = Forecast(known.lower, known.upper, known.upper)
        rules: Any = policy.rules(replace(known, forecast=told))
        preempt = rules._preempt

        def count(state: Any, request: int) -> None:
            preempted[request] += 1
            preempt(state, request)

        rules._preempt = count
        found: Rules = rules
        return found

    setting = RunSetting(_values(ledger), batch_time=linear(tuple(coefficients)))
    try:
        schedule = run_policy(replace(policy, rules=recorded), instance, setting)
    except NotApplicableError as error:
        return str(error)
    verdict = check_schedule(instance, schedule)
    if not verdict.valid:
        return f"the checker: {verdict}"
    times, ids = make_timeline(instance, schedule), [each.id for each in instance.requests]
    steps: list[dict[int, int]] = [{} for _ in range(len(times.rounds))]
    rows = []
    for position, runs in enumerate(runs_of(instance, schedule)):
        for run in runs:
            for step, tokens in enumerate(run.chunks, run.first_chunk):
                steps[step][ids[position]] = tokens
            for step in range(run.last_chunk + 1, run.end):
                steps[step][ids[position]] = 1
        first = next(run.last_chunk for run in runs if run.made)
        ended = int(times.completions[position]) // tick
        row = [ids[position], runs[0].first_chunk, first, runs[-1].end - 1, ended]
        rows.append([*row, preempted[position]])
    begins = (times.rounds.begins // tick).tolist()
    ours = [[begin, batch] for begin, batch in zip(begins, steps, strict=True)]
    theirs = [[begin, dict(batch)] for begin, *batch in ledger["scheduled"]]
    for step, (mine, other) in enumerate(zip_longest(ours, theirs)):
        if mine != other:
            return f"step {step}: the engine has {other}, {policy.name} {mine}"
    for mine, other in zip(rows, ledger["requests"], strict=True):
        if mine != other:
            return f"request: the engine has {other}, {policy.name} {mine}"
    return ""


def _values(ledger: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of ``vllm-v1`` that a ledger states."""
    engine = ledger["engine"]
    return {
        "accounting": "engine",
        "asynchronous": "yes" if ledger["asynchronous"] else "no",
        "chunk": "yes" if engine.get("enable_chunked_prefill", True) else "no",
        "block": engine["block_size"],
        "budget": engine["max_num_batched_tokens"],
        "running": engine["max_num_seqs"],
        "watermark": engine.get("watermark", 0.0),
        "long_prefill": engine.get("long_prefill_token_threshold", 0),
        "resume": "cached" if engine.get("prefix_caching") else "recomputed",
    }


@click.command(
    "python -m tools.engine.compare_ledgers",
    cls=Command,
    fails={2: (FileError,)},
    examples=("tests/heuristics/engine/*.json",),
    codes="0 all identical; 1 some differ; 2 bad usage or a bad file",
)
@argument("files", nargs=-1, required=True, metavar="LEDGER...", type=Path)
def main(options: CommandOptions) -> int:
    """Compare vllm-v1 with ledgers of the engine, step by step."""
    identical = count = 0
    for path in options.files:
        for name, ledger in ledgers(path):
            if ledger.get("stuck"):
                print(f"{name}: left out, the engine never ends")
                continue
            found = difference(ledger)
            count, identical = count + 1, identical + (not found)
            if found:
                print(f"{name}: {found}")
    print(f"identical: {identical:,} of {count:,}")
    return 0 if identical == count else 1


if __name__ == "__main__":
    sys.exit(main())
