"""Record ledgers of the scheduler of an installed vLLM, without model, GPU and kvopt.

``python record.py WHAT --limits JSON --out FILE`` appends a line for each ledger; WHAT is the file
of an instance, or GROUP:COUNT:SEED for drawn instances (README.md).
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import random
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ |= {"VLLM_TARGET_DEVICE": "cpu", "HF_HUB_OFFLINE": "1", "VLLM_LOGGING_LEVEL": "ERROR"}

import torch
import vllm
from vllm.engine.arg_utils import EngineArgs
from vllm.sampling_params import SamplingParams
from vllm.utils.hashing import sha256
from vllm.utils.import_utils import resolve_obj_by_qualname
from vllm.v1.core.kv_cache_utils import get_request_block_hasher, init_none_hash
from vllm.v1.core.sched.async_scheduler import AsyncScheduler
from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.engine.core import EngineCore
from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheConfig, KVCacheGroupSpec
from vllm.v1.outputs import ModelRunnerOutput
from vllm.v1.request import Request
from vllm.v1.structured_output import StructuredOutputManager

LIMITS = {
    "num_blocks": 1024,
    "block_size": 16,
    "max_num_seqs": 256,
    "max_num_batched_tokens": 2048,
    "enable_chunked_prefill": True,
    "watermark": 0.0,
    "long_prefill_token_threshold": 0,
    "prefix_caching": False,
    "policy": "fcfs",
    "stop_tokens": False,
    "asynchronous": False,
}
#: Of kvopt's batch time llama2-70b-2xa100, and of rounds of one second, picoseconds.
SECONDS, WHOLE = [54260000000, 311900000, 16300, 196300000, 144000], [10**12, 0, 0, 0, 0]
#: A token of an output, and one that ends it.
TOKEN, STOP = 5, 9
MODEL = str(Path(__file__).parent / "tiny_llama")
CONFIG = EngineArgs(
    model=MODEL, skip_tokenizer_init=True, load_format="dummy", enforce_eager=True
).create_engine_config()


@dataclass
class Outcome:
    """Outcome of a step: a future whose result moves the clock to the end of the step."""

    run: Run
    step: int
    end: int
    sampled: dict[str, list[int]]

    def result(self) -> ModelRunnerOutput:
        """Return the engine's view of the step."""
        self.run.time, self.run.returned = max(self.run.time, self.end), self.step
        places = {name: place for place, name in enumerate(self.sampled)}
        return ModelRunnerOutput(list(places), places, list(self.sampled.values()))


class Run:
    """One run of the engine's loop, with itself as the executor of the steps."""

    def __init__(self, instance: dict[str, Any], limits: dict[str, Any]) -> None:
        seconds = instance.get("time_unit") == "second"
        self.instance, self.rows, self.limits = instance, instance["requests"], dict(limits)
        self.batch_time = self.limits.pop("batch_time", SECONDS if seconds else None)
        self.asynchronous = self.limits.pop("asynchronous")
        instance["memory"] = limits["num_blocks"] * limits["block_size"]
        self.arrivals = [round(row["arrival"] * (10**9 if seconds else 1)) for row in self.rows]
        self.to_come = deque(sorted(range(len(self.rows)), key=self.arrivals.__getitem__))
        self.time = self.free = self.returned = 0
        self.steps: list[list[Any]] = []
        self.requests: dict[str, Request] = {}
        #: Tokens made, preemptions when the prompt was complete, and the ledger's entries of each.
        self.made, self.decodes = dict[str, int](), dict[str, int]()
        self.start, self.first = dict[str, int](), dict[str, int]()
        self.done: dict[str, tuple[int, int]] = {}
        self.engine = self.make_engine()

    def make_engine(self) -> EngineCore:
        """Return the engine's core around its scheduler, without a model."""
        limits, block = self.limits, self.limits["block_size"]
        for name in limits.keys() & vars(CONFIG.scheduler_config).keys():
            setattr(CONFIG.scheduler_config, name, limits[name])
        CONFIG.scheduler_config.async_scheduling = self.asynchronous
        CONFIG.model_config.max_model_len = 1 << 20
        CONFIG.cache_config.num_gpu_blocks = limits["num_blocks"]
        CONFIG.cache_config.enable_prefix_caching = limits["prefix_caching"]
        CONFIG.additional_config = {"kvopt": limits.get("kvopt")}
        self.hasher = None
        if limits["prefix_caching"]:
            init_none_hash(sha256)
            self.hasher = get_request_block_hasher(block, sha256)
        spec = FullAttentionSpec(block_size=block, num_kv_heads=1, head_size=1, dtype=torch.float32)
        made = AsyncScheduler if self.asynchronous else Scheduler
        if "kvopt" in limits:
            made = resolve_obj_by_qualname("kvopt_vllm.Scheduler")
        core = object.__new__(EngineCore)
        core.vllm_config, core.model_executor, core.log_stats = CONFIG, self, False
        groups = [KVCacheGroupSpec(["layer"], spec)]
        core.scheduler = made(
            vllm_config=CONFIG,
            kv_cache_config=KVCacheConfig(limits["num_blocks"], [], groups),
            structured_output_manager=StructuredOutputManager(CONFIG),
            block_size=block,
        )
        core.batch_queue_size, core.batch_queue = 2, deque(maxlen=2)
        core.is_mm_encoder_only = core.is_pooling_model = core.check_for_draft_tokens = False
        core.aborts_queue, core._weight_version = queue.Queue(), "default"
        return core

    def execute_model(self, planned: Any, non_block: bool) -> Outcome:
        """Begin a step as soon as the one before has ended."""
        del non_block
        begin, took = max(self.time, self.free), 0
        sampled: dict[str, list[int]] = {}
        base, prefill, square, decode, read = self.batch_time or (1000, 0, 0, 0, 0)
        for name, tokens in planned.num_scheduled_tokens.items():
            request = self.requests[name]
            before = request.num_computed_tokens - tokens
            # A run begins with a prefill, and a preemption begins another run.
            if self.decodes.get(name) == request.num_preemptions:
                took += decode + read * (before + 1)
            else:
                took += prefill * tokens + square * tokens * (2 * before + tokens)
            sampled[name] = []
            if not request.is_prefill_chunk:
                self.decodes[name] = request.num_preemptions
                self.made[name] = self.made.get(name, 0) + 1
                last = self.made[name] == self.rows[int(name)]["output"]
                sampled[name] = [STOP if last else TOKEN]
            self.start.setdefault(name, len(self.steps))
        self.outcome = Outcome(self, len(self.steps), self.time, sampled)
        if sampled:
            self.free = self.outcome.end = begin + max(1, -(-(base + took) // 1000))
            batch = [[int(name), each] for name, each in planned.num_scheduled_tokens.items()]
            self.steps.append([begin, *batch])
        return self.outcome

    def sample_tokens(self, grammar: Any, non_block: bool) -> Outcome:
        """Return the outcome of the step that began last."""
        del grammar, non_block
        return self.outcome

    def add_arrivals(self) -> None:
        """Give the engine all requests that have arrived."""
        while self.to_come and self.arrivals[self.to_come[0]] <= self.time:
            place = self.to_come.popleft()
            row, name = self.rows[place], str(place)
            stops = self.limits["stop_tokens"]
            params = SamplingParams(
                max_tokens=row["output_upper"] if stops else row["output"],
                stop_token_ids=[STOP] if stops else [],
                ignore_eos=True,
                extra_args={key: row[key] for key in row.keys() & {"output_lower", "output_upper"}},
            )
            # Prompts differ, so that no request finds another's blocks.
            self.requests[name] = Request(
                *(name, [1000 * place + 7] * row["prompt"], params, None),
                arrival_time=float(row["arrival"]),
                priority=row.get("output_upper", 0),
                block_hasher=self.hasher,
            )
            self.engine.scheduler.add_request(self.requests[name])

    def drive(self) -> bool:
        """Run all requests; return whether the engine is stuck."""
        core, idle = self.engine, 0
        step = core.step_with_batch_queue if self.asynchronous else core.step
        while len(self.done) < len(self.rows):
            self.add_arrivals()
            if idle > 4 or not (core.scheduler.has_requests() or core.batch_queue):
                if not self.to_come:
                    return True
                self.time, idle = max(self.time, self.arrivals[self.to_come[0]]), 0
                continue
            outputs, executed = step()
            made = [each for group in (outputs or {}).values() for each in group.outputs]
            idle = 0 if executed or made else idle + 1
            for each in made:
                if each.new_token_ids:
                    self.first.setdefault(each.request_id, self.returned)
                if each.finish_reason is not None:
                    self.done[each.request_id] = self.returned, self.time
        return False

    def ledger(self) -> dict[str, Any]:
        """Return the ledger of the run (format ``vllm-ledger/1``)."""
        stuck = self.drive()
        rows = []
        for place, name in enumerate(map(str, range(len(self.rows)))):
            ends = self.done.get(name, (None, None))
            gone = self.requests[name].num_preemptions if name in self.requests else 0
            rows.append([place, self.start.get(name), self.first.get(name), *ends, gone])
        kind = type(self.engine.scheduler)
        return {
            "format": "vllm-ledger/1",
            "vllm": f"{vllm.__version__}, {kind.__module__}.{kind.__qualname__}",
            "asynchronous": self.asynchronous,
            "engine": self.limits,
            "batch_time_picoseconds": self.batch_time or "rounds: every step takes 1",
            "steps": len(self.steps),
            "stuck": stuck,
            "requests": rows,
            "scheduled": self.steps,
            "instance": self.instance,
        }


def draw(group: str, number: int, seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Draw an instance and the limits of a group, a string of letters (README)."""
    rng = random.Random(f"{group} {number} {seed}")
    block, blocks = rng.choice([1, 16]), rng.randint(4, 80)
    peak = (blocks - 1) * block
    longest_prompt, longest_output = rng.randint(1, peak), rng.randint(1, min(peak, 60))
    rows: list[dict[str, Any]] = []
    arrival, gap = 0, rng.choice([0, 0, 1, 2, 4, 8])
    for position in range(rng.randint(5, 30)):
        prompt = rng.randint(1, longest_prompt)
        output = rng.randint(1, min(longest_output, peak - prompt + 1))
        times: dict[str, Any] = {"arrival": arrival / 1000 if "t" in group else arrival}
        rows.append({"id": position, **times, "prompt": prompt, "output": output})
        if set("ye") & set(group):
            upper = min(rng.randint(output, 2 * output), peak - prompt + 1)
            rows[-1] |= {"output_lower": rng.randint(1, output), "output_upper": upper}
        arrival += rng.randint(0, gap) * (rng.randint(20, 100) if "t" in group else 1)
    most = max(row["prompt"] + row["output"] for row in rows)
    unchunked: dict[str, Any] = {"enable_chunked_prefill": False}
    chosen: dict[str, dict[str, Any]] = {
        "s": {"max_num_seqs": rng.choice([1, 2, 3, 4, 6, 8])},
        "w": {"watermark": rng.choice([0.01, 0.02, 0.05, 0.1, 0.2])},
        "c": {"max_num_batched_tokens": rng.choice([4, 7, 8, 16, 32, 64, 128])},
        "l": {"long_prefill_token_threshold": rng.choice([2, 4, 8, 16, 32])},
        "n": {"max_num_batched_tokens": rng.randint(most, 2 * most)} | unchunked,
        "k": {"prefix_caching": True},
        "y": {"policy": "priority"},
        "e": {"stop_tokens": True},
        "a": {"asynchronous": True},
    }
    limits: dict[str, Any] = {"num_blocks": blocks, "block_size": block}
    limits["max_num_batched_tokens"] = 1 << 20
    for letter in group:
        limits |= chosen.get(letter, {})
    name = f"{group}_{number}_{seed}"
    instance: dict[str, Any] = {"schema": "kvopt.instance/1", "name": name, "requests": rows}
    if set(group) & set("ctnl"):
        # kvopt cuts prompts in seconds only, so that a round is a second.
        instance["time_unit"] = "second"
        if "t" not in group:
            limits["batch_time"] = WHOLE
    return instance, limits


def main() -> None:
    """Record the ledgers of the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", help="the file of an instance, or GROUP:COUNT:SEED")
    parser.add_argument("--limits", type=json.loads, default={}, help='as {"num_blocks": 1024}')
    parser.add_argument("--out", type=Path, required=True, help="the file of ledgers")
    asked = parser.parse_args()
    if asked.what.count(":") == 2:
        group, count, seed = asked.what.split(":")
        drawn = [draw(group, number, int(seed)) for number in range(int(count))]
    else:
        drawn = [(json.loads(Path(asked.what).read_text()), {})]
    with asked.out.open("a") as file:
        for instance, limits in drawn:
            run = Run(instance, LIMITS | limits | asked.limits)
            file.write(json.dumps(run.ledger(), separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
