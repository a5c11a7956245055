"""The waiting requests of an engine in the order of a policy, without the engine."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import numpy as np

from heuristics.policy import Forecast, Ints, Known, ListPolicy, Values
from heuristics.policy_registry import policies
from heuristics.simulator import order_by_keys
from kvopt.methods.custom_python import load_own
from kvopt.methods.option_values import read_values
from kvopt.methods.syntax import parse_method
from support.message_text import find_name

#: Ranks requests by their places; returns the check that a request may start now.
Rank = Callable[[Sequence[Any]], Iterable[int]]
Admission = Callable[[], Callable[[Any], bool]]
_ADMISSIONS = ("look-ahead", "engine")
_NANOSECONDS = 10**9


class SettingsError(ValueError):
    """The settings in ``additional_config`` are wrong; the message is one line."""


class Request(Protocol):
    """The attributes of a request of the engine that the queue reads."""

    num_prompt_tokens: int
    num_output_tokens: int
    num_output_placeholders: int
    max_tokens: int
    arrival_time: float
    sampling_params: Any


def predicted(request: Request) -> tuple[int, int]:
    """Return the predicted least and most output tokens of a request.

    They are ``output_lower`` and ``output_upper`` of its ``extra_args``, which clients write: what
    is no number of tokens up to ``max_tokens`` is ignored.
    """
    given = getattr(request.sampling_params, "extra_args", None) or {}
    lower = upper = request.max_tokens
    if type(most := given.get("output_upper")) is int and 1 <= most <= upper:
        lower = upper = most
    if type(least := given.get("output_lower")) is int and 1 <= least <= upper:
        lower = least
    return lower, upper


class LookAhead:
    """Check that running requests and one more fit the blocks to their predicted ends.

    A step that ends with j tokens made leaves s + j - 1 in the blocks, as in the engine; a plan
    ahead finds the blocks of a request taken so many steps after its last.
    """

    def __init__(self, blocks: int, block: int, planned_ahead: int) -> None:
        self._blocks, self._block, self._lag = blocks, block, planned_ahead

    def check_with(self, running: Sequence[Request]) -> Callable[[Request], bool]:
        """Return the check that a request can start with these; alone it always can."""
        if not running:
            return lambda _: True
        active = self._rows(running)
        # Blocks in use only grow until those of a request are free.
        ends = np.unique(active[:, 3])
        used = self._used(active, ends)

        def allows(request: Request) -> bool:
            row = self._rows([request])
            last = row[:, 3]
            before = ends < last
            return bool(
                (used[before] + self._used(row, ends[before]) <= self._blocks).all()
                and (self._used(active, last) + self._used(row, last) <= self._blocks).all()
            )

        return allows

    def _rows(self, requests: Sequence[Request]) -> Ints:
        """Return prompt, tokens made, all output tokens, and steps until the blocks are free.

        Tokens in flight are made; a request beyond its prediction makes one more.
        """
        rows = []
        for each in requests:
            made = each.num_output_tokens + each.num_output_placeholders
            output = min(max(predicted(each)[1], made + 1), each.max_tokens)
            rows.append((each.num_prompt_tokens, made, output, output - made + self._lag))
        return np.array(rows, dtype=np.int64)

    def _used(self, rows: Ints, steps: Ints) -> Ints:
        """Return the blocks that requests hold so many steps from now, shape of ``steps``."""
        prompts, made, outputs, left = (column[:, None] for column in rows.T)
        blocks: Ints = -(-(prompts + np.minimum(made + steps, outputs) - 1) // self._block)
        used: Ints = np.where(steps <= left, blocks, 0).sum(axis=0)
        return used


class PolicyQueue:
    """The methods of vLLM's ``RequestQueue``, in the order of a policy.

    It seems empty while its head must wait, so that the engine admits no request.  Ties go by
    arrival, then by addition; a preempted request takes its place by rank.
    """

    def __init__(self, rank: Rank, admission: Admission, first_fit: bool) -> None:
        self._rank, self._admission, self._first_fit = rank, admission, first_fit
        self._line: list[Any] = []
        self._numbers, self._number_of = count(), WeakKeyDictionary[Any, int]()
        #: The place of the fitting request, and True for an unsorted line.
        self._head, self._stale = 0, False

    def add_request(self, request: Any) -> None:
        self._number_of.setdefault(request, next(self._numbers))
        self._line.append(request)
        self._head, self._stale = 0, True

    prepend_request = add_request

    def prepend_requests(self, requests: Iterable[Any]) -> None:
        for each in requests:
            self.add_request(each)

    def peek_request(self) -> Any:
        return self._sorted()[self._head]

    def pop_request(self) -> Any:
        request = self._sorted().pop(self._head)
        self._head = 0
        return request

    def remove_request(self, request: Any) -> None:
        self.remove_requests([request])

    def remove_requests(self, requests: Iterable[Any]) -> None:
        gone = set(requests)
        self._line = [each for each in self._line if each not in gone]
        self._head = 0

    def __bool__(self) -> bool:
        line = self._sorted()
        tried = range(len(line) if self._first_fit else min(1, len(line)))
        allows = self._admission()
        found = next((place for place in tried if allows(line[place])), None)
        self._head = found or 0
        return found is not None

    def __len__(self) -> int:
        return len(self._line)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._sorted())

    def _sorted(self) -> list[Any]:
        if self._stale and self._line:
            self._line.sort(key=self._number_of.__getitem__)
            self._line = [self._line[place] for place in self._rank(self._line)]
            self._stale = False
        return self._line


def make_queue(
    settings: Any, blocks: int, block: int, planned_ahead: int, running: Callable[[], Sequence[Any]]
) -> PolicyQueue:
    """Return the queue of the settings ``additional_config["kvopt"]`` (docs/vllm.md).

    There are ``blocks`` of ``block`` tokens.  ``planned_ahead``: steps in the plan before the last
    has ended, 1 if asynchronous.  ``running`` returns the requests that hold blocks.
    """
    given = {"admission": "look-ahead"} | (settings if type(settings) is dict else {})
    if given.keys() != {"policy", "admission"} or given["admission"] not in _ADMISSIONS:
        raise SettingsError(
            'kvopt_vllm: expected additional_config {"kvopt": {"policy": NAME or "file:PATH", '
            f'"admission": {" or ".join(_ADMISSIONS)}}}}}, found {settings!r}'
        )
    policy, values = read_policy(str(given["policy"]))

    def rank(requests: Sequence[Request]) -> Iterable[int]:
        lower, upper = np.array([predicted(each) for each in requests], dtype=np.int64).T
        known = Known(
            memory=blocks * block,
            arrivals=np.array([round(each.arrival_time * _NANOSECONDS) for each in requests]),
            prompts=np.array([each.num_prompt_tokens for each in requests], dtype=np.int64),
            forecast=Forecast(upper if policy.clairvoyant else lower, upper),
            values=values,
            rng=np.random.default_rng(0),
            ticks=_NANOSECONDS,
        )
        return map(int, order_by_keys(known, policy.rank(known)))

    if given["admission"] == "engine":
        return PolicyQueue(rank, lambda: lambda _: True, False)
    ahead = LookAhead(blocks, block, planned_ahead)
    return PolicyQueue(rank, lambda: ahead.check_with(running()), policy.first_fit)


def read_policy(text: str) -> tuple[ListPolicy, Values]:
    """Return a policy of kvopt or of a file and its values, or raise SettingsError."""
    parsed = parse_method(text)
    known = policies().get(find_name(parsed.name, policies()) or "")
    policy: object = load_own(Path(parsed.path)) if parsed.path else known
    if not isinstance(policy, ListPolicy) or policy.offline or policy.randomised:
        raise SettingsError(
            f"kvopt_vllm: {text} ranks no requests one by one as they arrive: expected a "
            "ListPolicy that is neither offline nor randomised"
        )
    if parsed.prediction is not None or parsed.formulation is not None:
        raise SettingsError(f"kvopt_vllm: {text}: predictions come with the requests")
    return policy, read_values(policy.name, parsed.arguments, policy.parameters)
