"""The waiting requests of an engine in the order of a policy, without the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from heuristics.policy import Ints, Known, ListPolicy
from heuristics.registry import policies
from heuristics.simulator import by_rank
from kvopt.methods.own import load_own
from support.text import find_name

_ADMISSIONS = ("look-ahead", "engine")
_NANOSECONDS = 10**9


class SettingsError(ValueError):
    """The settings in ``additional_config`` are wrong; the message is one line."""


class Request(Protocol):
    """What is read of a request of the engine."""

    num_prompt_tokens: int
    num_output_tokens: int
    num_output_placeholders: int
    max_tokens: int
    arrival_time: float
    sampling_params: Any


def predicted(request: Request) -> tuple[int, int]:
    """Return the least and the most tokens that a request is believed to make.

    They are ``output_lower`` and ``output_upper`` of its ``extra_args``.  Clients write these: what
    is no number of tokens up to ``max_tokens`` counts as not given.
    """
    given = getattr(request.sampling_params, "extra_args", None) or {}
    upper = _tokens(given.get("output_upper"), request.max_tokens)
    return _tokens(given.get("output_lower"), upper), upper


def _tokens(value: object, most: int) -> int:
    return value if type(value) is int and 1 <= value <= most else most


class LookAhead:
    """Whether all that run and one more can run to their believed ends in the blocks.

    A step that ends with j tokens made leaves s + j - 1 in the blocks, as in the engine; steps that
    are planned ahead find the blocks of a request taken so many steps after its last.
    """

    def __init__(self, blocks: int, block: int, planned_ahead: int) -> None:
        self._blocks, self._block, self._lag = blocks, block, planned_ahead

    def beside(self, running: Sequence[Request]) -> Callable[[Request], bool]:
        """Return what tells whether a request can start beside those; alone it always can."""
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
        """Return prompt, tokens made, all tokens to be made, and steps until the blocks are free.

        Tokens in flight are made; whoever outlives a prediction is believed to make one more.
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
        return np.where(steps <= left, blocks, 0).sum(axis=0)


class PolicyQueue:
    """A queue as vLLM's ``RequestQueue``, in the order of a policy.

    It says that it is empty while its head must wait, so that the engine admits nobody.  A
    preempted request takes its place by rank.
    """

    def __init__(
        self,
        rank: Callable[[Sequence[Any]], Iterable[int]],
        admission: Callable[[], Callable[[Any], bool]],
        first_fit: bool,
    ) -> None:
        self._rank, self._admission, self._first_fit = rank, admission, first_fit
        self._line: list[Any] = []
        #: The place of the request that was found to fit.
        self._head = 0
        self._stale = False

    def add_request(self, request: Any) -> None:
        """Take a request that arrives."""
        self._line.append(request)
        self._changed()

    def prepend_request(self, request: Any) -> None:
        """Take a request that was preempted."""
        self.add_request(request)

    def prepend_requests(self, requests: Iterable[Any]) -> None:
        """Take requests that the engine passed over."""
        self._line.extend(requests)
        self._changed()

    def peek_request(self) -> Any:
        """Return the request to be admitted next."""
        return self._sorted()[self._head]

    def pop_request(self) -> Any:
        """Remove and return the request to be admitted next."""
        request = self._sorted().pop(self._head)
        self._head = 0
        return request

    def remove_request(self, request: Any) -> None:
        """Remove a request that was aborted."""
        self.remove_requests([request])

    def remove_requests(self, requests: Iterable[Any]) -> None:
        """Remove requests that were aborted, or completed while they were preempted."""
        gone = set(map(id, requests))
        self._line = [each for each in self._line if id(each) not in gone]
        self._head = 0

    def __bool__(self) -> bool:
        """Tell whether a request may be admitted now, and find it."""
        line = self._sorted()
        tried = range(len(line) if self._first_fit else min(1, len(line)))
        allows = self._admission()
        found = next((place for place in tried if allows(line[place])), None)
        self._head = found or 0
        return found is not None

    def __len__(self) -> int:
        """Return how many wait, whether or not one may be admitted."""
        return len(self._line)

    def __iter__(self) -> Iterator[Any]:
        """Yield all that wait in the order of the policy."""
        return iter(self._sorted())

    def _changed(self) -> None:
        self._stale, self._head = True, 0

    def _sorted(self) -> list[Any]:
        if self._stale and self._line:
            self._line = [self._line[place] for place in self._rank(self._line)]
            self._stale = False
        return self._line


def make_queue(
    settings: Mapping[str, Any],
    blocks: int,
    block: int,
    planned_ahead: int,
    running: Callable[[], Sequence[Any]],
) -> PolicyQueue:
    """Return the queue that ``additional_config["kvopt"]`` asks for.

    Parameters
    ----------
    settings
        ``policy``, a name of kvopt or ``file:PATH``; ``values`` of its parameters; ``admission``,
        ``look-ahead`` or ``engine`` (vLLM's own, which preempts).
    blocks, block
        Blocks that hold tokens, and tokens of a block.
    planned_ahead
        Steps that are planned before the last one has ended: 1 if asynchronous, else 0.
    running
        Returns the requests that hold blocks.
    """
    unknown = set(settings) - {"policy", "values", "admission"}
    admission = settings.get("admission", _ADMISSIONS[0])
    if unknown or "policy" not in settings or admission not in _ADMISSIONS:
        raise SettingsError(
            'kvopt_vllm: expected additional_config {"kvopt": {"policy": NAME or "file:PATH", '
            f'"values": {{}}, "admission": {" or ".join(_ADMISSIONS)}}}}}, found {dict(settings)}'
        )
    policy = read_policy(settings["policy"])
    values = {each.name: each.default for each in policy.parameters}
    if set(settings.get("values", {})) - set(values):
        raise SettingsError(f"kvopt_vllm: {policy.name} has the parameters {sorted(values)}")
    values |= settings.get("values", {})

    def rank(requests: Sequence[Request]) -> Iterable[int]:
        lower, upper = np.array([predicted(each) for each in requests], dtype=np.int64).T
        known = Known(
            memory=blocks * block,
            arrivals=np.array([round(each.arrival_time * _NANOSECONDS) for each in requests]),
            prompts=np.array([each.num_prompt_tokens for each in requests], dtype=np.int64),
            lower=upper if policy.clairvoyant else lower,
            upper=upper,
            values=values,
            rng=np.random.default_rng(0),
            ticks=_NANOSECONDS,
        )
        return map(int, by_rank(known, policy.rank(known)))

    ahead = LookAhead(blocks, block, planned_ahead)
    if admission == "engine":
        return PolicyQueue(rank, lambda: lambda _: True, False)
    return PolicyQueue(rank, lambda: ahead.beside(running()), policy.first_fit)


def read_policy(text: str) -> ListPolicy:
    if text.startswith("file:"):
        policy: object = load_own(Path(text.removeprefix("file:")))
    else:
        policy = policies().get(find_name(text, policies()) or text)
    if not isinstance(policy, ListPolicy) or policy.offline or policy.randomised:
        raise SettingsError(
            f"kvopt_vllm: {text} ranks no requests one by one as they arrive: expected a "
            "ListPolicy that is neither offline nor randomised"
        )
    return policy
