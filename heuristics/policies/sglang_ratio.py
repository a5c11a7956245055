"""SGLang's scheduler: reserves a decaying share of the tokens still to come (sgl-project/sglang).

Read in the engine's ``PrefillAdder`` and ``ScheduleBatch.retract_decode``, versions of 2025 and
2026, and put into rounds:

- Admission takes requests in queue order while the prompt and the whole ``max_new`` of each new
  one fit into M minus the tokens now held minus, for each running request, ``ratio`` times
  min(max_new − made, 4096).  The first that does not fit ends the round, and nothing is tried
  again until a request ends or is retracted: the engine marks its batch as full.
- The ratio begins at min(0.7 · conservativeness, 1) and falls by the same step in each of 600
  decode rounds to 14 % of that.  An idle engine starts again at the top.
- If the running requests would hold more than M at the next time, those with the fewest output
  tokens are retracted (ties: longer prompt, then later admission) until the rest fits.  They keep
  their tokens, which are prefilled again, and join the queue anew: under ``fcfs`` at the tail.  The
  ratio becomes the share of their ``max_new``, plus 1, that the remaining requests will have made
  in 20 rounds, at most 1.  Such a round admits nothing.

``docs/policies.md`` has the queue orders, what differs from the engine, and how prompts are cut.

Guarantee: none is claimed.  It always ends.  Proof: docs/proofs/termination.md (P11).
"""

from fractions import Fraction
from heapq import heappop, heappush
from math import floor, inf

from heuristics.arrival_queue import exact_fraction
from heuristics.policy import Choice, Known, Parameter, RoundPolicy, Rules, State

#: The engine's defaults: first ratio, its last value as a share of the first, rounds between
#: them, tokens of one request that a reservation never exceeds, and rounds that the new ratio
#: looks ahead after a retraction.
FIRST_RATIO = Fraction(7, 10)
LAST_SHARE = Fraction(14, 100)
DECAY_ROUNDS = 600
LARGEST_RESERVATION = 4096
ROUNDS_AHEAD = 20
#: Prompt tokens of a round on a GPU of 80 GB.
ENGINE_CHUNK = 8192
#: Requests that wait when ``hrrn`` no longer sorts them.
MOST_SORTED = 128
_ORDERS = ("fcfs", "lof", "shortest-prefill-first", "hrrn", "random")
_CHUNK = f"most prompt tokens a round, 0: all (-1: in seconds the engine's {ENGINE_CHUNK}, else 0)"
#: More than any prompt.
_NO_LIMIT = 1 << 60


class ReservationRatio:
    """The share of the tokens to come that is reserved, as it falls and is raised again."""

    def __init__(self, conservativeness: Fraction) -> None:
        self._first = min(FIRST_RATIO * conservativeness, Fraction(1))
        self._last = LAST_SHARE * self._first
        self._step = (self._first - self._last) / DECAY_ROUNDS
        self._begin = self._first
        self._rounds = 0

    def value(self) -> Fraction:
        """Return the ratio of this round."""
        if self._rounds == 0:
            return self._begin
        return max(self._last, self._begin - self._rounds * self._step)

    def decode(self, rounds: int) -> None:
        """Let some decode rounds pass."""
        self._rounds += rounds

    def idle(self) -> None:
        """Start again at the top."""
        self._begin, self._rounds = self._first, 0

    def retract(self, made: int, requests: int, max_new: int) -> None:
        """Set the ratio after a retraction, from sums over the requests that remain (tokens)."""
        self._begin = min(Fraction(1), Fraction(made + ROUNDS_AHEAD * requests, max_new + 1))
        self._rounds = 0


class _ReservingRules(Rules):
    def __init__(self, known: Known) -> None:
        chunk = known.values["chunk"]
        if chunk < 0:
            # In rounds a tick is a round.
            chunk = ENGINE_CHUNK if known.ticks > 1 else 0
        self.cuts_prompts = chunk > 0
        self._max_new: list[int] = known.upper.tolist()
        self._prompts: list[int] = known.prompts.tolist()
        self._ratio = ReservationRatio(exact_fraction(known.values["conservativeness"]))
        self._order, self._draw = known.values["order"], known.rng.random
        #: A heap: key of each request, and what breaks ties.
        self._queue: list[tuple[float, int | str, int]] = []
        self._entries = 0
        #: Tokens prefilled so far, now and when each request entered the queue.
        self._prefilled = 0
        self._stamps: dict[int, int] = {}
        #: Tokens of this round that the prompt on its way leaves to shorter ones.
        self._left_to_shorter = 0
        self._full = False
        self._retracted = False
        self._most_prefilled = chunk or _NO_LIMIT
        #: Prefills of this round: request, tokens.
        self._cut: list[tuple[int, int]] = []
        self._last_round = self._running = 0

    def arrive(self, request: int) -> None:
        self._enter(request, 0)

    def _enter(self, request: int, kept: int) -> None:
        heappush(self._queue, (self._key(request, kept), self._entries, request))
        self._entries += 1
        self._stamps[request] = self._prefilled

    def finish(self, request: int, output: int) -> None:
        del request, output
        self._full = False

    def evict(self, state: State) -> list[int]:
        # Sorting is stable and pops from the end, so the last admitted of equals goes first.
        remaining = sorted(
            state.starts, key=lambda i: (state.made(i), -self._prompts[i]), reverse=True
        )
        tokens_next = state.tokens_next + self._growth(state)
        retracted = []
        # Of several one is left; alone it fits, unless it is not alone.
        while tokens_next > state.memory and len(remaining) > 1:
            request = remaining.pop()
            tokens_next -= self._prompts[request] + state.made(request) + 1
            self._enter(request, state.made(request))
            retracted.append(request)
        if tokens_next > state.memory:
            (request,) = state.prefilling
            self._enter(request, state.kept(request))
            retracted.append(request)
        self._ratio.retract(
            sum(map(state.made, remaining)),
            len(remaining),
            sum(self._max_new[request] for request in remaining),
        )
        self._retracted = True
        return retracted

    def admit(self, state: State) -> list[int]:
        # The simulator skips rounds in which nothing can change; the ratio falls in them too.
        skipped = state.now - self._last_round - 1
        if self._running and skipped > 0 and not self._retracted:
            self._ratio.decode(skipped)
        admitted: list[int] = []
        self._cut = [(request, self._next_chunk(state, request)) for request in state.prefilling]
        if self._retracted:
            self._retracted = self._full = False
        else:
            if not self._full or state.prefilling:
                admitted = self._fill(state)
            if state.starts:
                self._ratio.decode(1)
            elif not admitted and not state.prefilling:
                self._ratio.idle()
        self._prefilled += sum(tokens for _, tokens in self._cut)
        self._last_round = state.now
        self._running = len(state.starts) + len(state.prefilling) + len(admitted)
        return admitted

    def chunks(self, state: State) -> list[tuple[int, int]]:
        del state
        return self._cut

    def next_eviction(self, state: State) -> int | None:
        self._left_to_shorter = self._shorter(state)
        return state.now if state.tokens_next + self._growth(state) > state.memory else None

    def quiet(self) -> bool:
        return self._full

    def _key(self, request: int, kept: int) -> float:
        if self._order == "lof":
            return -self._max_new[request]
        if self._order == "shortest-prefill-first":
            return max(1, self._prompts[request] + kept)
        if self._order == "hrrn":
            return inf  # behind the last sorted
        return self._draw() if self._order == "random" else 0

    def _sort_by_ratio(self) -> None:
        """Sort by the largest ratio of the tokens prefilled since the entry to the prompt's."""
        self._queue = sorted(
            (
                -(self._prefilled - self._stamps[i]) / s if (s := self._prompts[i]) else -inf,
                str(i),
                i,
            )
            for *_, i in self._queue
        )

    def _shorter(self, state: State) -> int:
        """Return the tokens of waiting prompts shorter than the rest of the one on its way."""
        found, queue = 0, list(self._queue)
        if self._order == "shortest-prefill-first" and state.prefilling:
            rest = max(self._to_prefill(state, request) for request in state.prefilling)
            while queue and (tokens := int(heappop(queue)[0])) < rest:
                if found + tokens >= self._most_prefilled:
                    break
                found += tokens
        return found

    def _fill(self, state: State) -> list[int]:
        held = state.tokens_next - len(state.starts)
        to_come = sum(
            min(self._max_new[request] - state.made(request), LARGEST_RESERVATION)
            for request in state.starts
        )
        room = floor(state.memory - held - self._ratio.value() * to_come)
        free_next = state.memory - state.tokens_next - self._growth(state)
        left, unfinished = self._most_prefilled, False
        for request, tokens in self._cut:
            left -= tokens
            room -= tokens
            unfinished = tokens < self._to_prefill(state, request)
            if not unfinished:
                room -= self._reserved(state, request)
        if self._order == "hrrn" and len(self._queue) <= MOST_SORTED:
            self._sort_by_ratio()
        admitted: list[int] = []
        while self._queue and left > 0:
            request = self._queue[0][2]
            whole = self._to_prefill(state, request)
            tokens = min(whole, left)
            if unfinished and tokens < whole:
                break
            if whole + self._reserved(state, request) > room or whole + 1 > free_next:
                self._full = True
                break
            left -= tokens
            room -= tokens + (self._reserved(state, request) if tokens == whole else 0)
            free_next -= tokens + (tokens == whole)
            self._cut.append((request, tokens))
            admitted.append(heappop(self._queue)[2])
        return admitted

    def _reserved(self, state: State, request: int) -> int:
        """Return the charge for the output of a request that starts (tokens)."""
        return min(self._max_new[request] - state.kept(request), LARGEST_RESERVATION)

    def _to_prefill(self, state: State, request: int) -> int:
        """Return the tokens of a request that are still to be prefilled."""
        return self._prompts[request] + state.kept(request) - state.prefilling.get(request, 0)

    def _next_chunk(self, state: State, request: int) -> int:
        most = self._most_prefilled - self._left_to_shorter
        return min(self._to_prefill(state, request), most)

    def _growth(self, state: State) -> int:
        """Return what the prompt on its way adds at the next time, its first token included."""
        growth = 0
        for request in state.prefilling:
            tokens = self._next_chunk(state, request)
            growth += tokens + (tokens == self._to_prefill(state, request))
        return growth


POLICY = RoundPolicy(
    "sglang-ratio",
    clairvoyant=False,
    randomised=True,
    keeps_tokens=True,
    parameters=(
        Choice("order", _ORDERS, "order of the waiting queue"),
        Parameter("conservativeness", 1.0, 0.0, 10.0, "factor on the first ratio"),
        Parameter("chunk", -1, -1, 1e9, _CHUNK, True),
    ),
    rules=_ReservingRules,
)
