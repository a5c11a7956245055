"""Ledgers of the engine with a policy's queue, against the simulation and against the queue."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from kvopt_vllm.queue import make_queue, read_policy

from heuristics.policy import Keys, Known
from heuristics.simulator import run_policy
from instances import Instance
from instances.instance import Request
from integrations.vllm.tests.conftest import LEDGERS, Seen

Ledger = dict[str, Any]


def ledgers(pattern: str) -> list[Ledger]:
    files = sorted(LEDGERS.glob(f"{pattern}.jsonl"))
    assert files
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


@pytest.mark.parametrize("name", ["svf", "mine", "svf-first-fit", "predicted"])
def test_the_engine_makes_the_schedule_that_is_simulated(name: str, own_policies: Path) -> None:
    """With blocks of one token, every start and completion is that of the policy's simulation."""
    del own_policies
    for ledger in ledgers(name):
        engine, given = ledger["engine"], ledger["instance"]["requests"]
        policy, _ = read_policy(engine["kvopt"]["policy"])

        def rank(known: Known, of: Callable[[Known], Keys] = policy.rank) -> Keys:
            return of(replace(known, prompts=known.prompts + 1))

        assert engine["block_size"] == 1
        # The engine on (s, o) is the problem's model on (s - 1, o) with one block less.
        shifted = [Request(**row | {"prompt": row["prompt"] - 1}) for row in given]
        instance = Instance("shifted", engine["num_blocks"] - 1, tuple(shifted))
        starts = run_policy(replace(policy, rank=rank), instance).starts
        begins = [step[0] for step in ledger["scheduled"]]
        assert [begins[row[1]] for row in ledger["requests"]] == list(starts)
        ends = [start + request.output for start, request in zip(starts, shifted, strict=True)]
        assert [row[4] for row in ledger["requests"]] == ends
        assert {row[5] for row in ledger["requests"]} == {0}
        assert any(s > r.arrival for s, r in zip(starts, shifted, strict=True))


@pytest.mark.parametrize("ledger", ledgers("*"), ids=lambda each: each["instance"]["name"])
def test_the_queue_admits_whom_the_engine_admitted(ledger: Ledger, own_policies: Path) -> None:
    """Asked when the engine planned a step, the queue names just the requests that it admitted."""
    del own_policies
    engine = ledger["engine"]
    ahead = engine["kvopt"].get("admission") != "engine"
    replay = Replay(ledger)
    for begin, *batch in ledger["scheduled"]:
        if not ahead:
            replay.preempt(dict(batch))
        new = [position for position, _ in batch if position not in replay.runs]
        assert replay.plan(begin, len(new)) == new
        full = len(replay.runs) == engine["max_num_seqs"]
        spent = sum(tokens for _, tokens in batch) == engine["max_num_batched_tokens"]
        assert not ahead or full or spent or not replay.queue
        replay.run(begin, batch)
    assert not replay.requests
    assert not len(replay.queue)
    assert not ahead or {row[5] for row in ledger["requests"]} == {0}


@dataclass(eq=False, kw_only=True)
class Served(Seen):
    """A request, and the computed tokens of its run."""

    position: int
    output: int
    computed: int = 0

    @property
    def over(self) -> bool:
        return self.num_output_tokens == self.output


@dataclass
class Replay:
    """The engine's knowledge at the plan of each step of a ledger."""

    ledger: Ledger
    runs: dict[int, Served] = field(default_factory=dict)
    begin: int = -1
    end: int = -1

    def __post_init__(self) -> None:
        engine, ahead = self.ledger["engine"], int(self.ledger["asynchronous"])
        blocks, size = engine["num_blocks"] - 1, engine["block_size"]
        self.queue = make_queue(engine["kvopt"], blocks, size, ahead, lambda: [*self.runs.values()])
        self.unit = 10**9 if self.ledger["instance"].get("time_unit") == "second" else 1
        self.requests = []
        for place, row in enumerate(self.ledger["instance"]["requests"]):
            most = row["output_upper"] if engine["stop_tokens"] else row["output"]
            seen = (row["prompt"], most, SimpleNamespace(extra_args=row))
            arrival = row["arrival"] * self.unit
            request = Served(*seen, arrival_time=arrival, position=place, output=row["output"])
            self.requests.append(request)
        self.requests.sort(key=lambda each: each.arrival_time)

    def preempt(self, batch: dict[int, int]) -> None:
        for place, each in reversed(list(self.runs.items())):
            if not each.over and batch.get(place) != 1:
                del self.runs[place]
                each.computed = 0
                self.queue.prepend_request(each)

    def plan(self, begin: int, count: int) -> list[int]:
        if self.ledger["asynchronous"] and begin == self.end:
            self.arrive(self.begin)
            if any(not each.over for each in self.runs.values()) or self.queue:
                return list(self.admit(count))
        # Nothing was in the plan: it is made again when the step before has ended.
        self.runs = {place: each for place, each in self.runs.items() if not each.over}
        self.arrive(begin)
        return list(self.admit(count))

    def arrive(self, until: int) -> None:
        while self.requests and self.requests[0].arrival_time <= until:
            self.queue.add_request(self.requests.pop(0))

    def admit(self, count: int) -> Iterator[int]:
        for _ in range(count):
            if not self.queue:
                return
            head = self.queue.peek_request()
            assert self.queue.pop_request() is head
            self.runs[head.position] = head
            yield head.position

    def run(self, begin: int, batch: list[list[int]]) -> None:
        # Requests that ended before the step hold nothing at the next plan.
        scheduled = [position for position, _ in batch]
        self.runs = {p: each for p, each in self.runs.items() if p in scheduled or not each.over}
        for position, tokens in batch:
            each = self.runs[position]
            each.computed += tokens
            before = each.num_prompt_tokens + each.num_output_tokens
            each.num_output_tokens += each.computed == before
        self.begin, self.end = begin, begin + self.unit
