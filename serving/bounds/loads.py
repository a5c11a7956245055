"""Loads of requests on a worker in real time: the time alone, the work; in integers.

The load of a token is its part of a round, in picoseconds.  With s prompt tokens the first takes
per_prefill·s + per_square·s² (chunks of a prompt add up to the same), the j-th per_decode +
per_read·(s + j − 1).

*Schedules.*  A request may be cancelled and start anew, wait while it holds memory, or have its
prompt cut: take for each token the last time it is made, and for a prompt the chunks of that time.
Where a request keeps tokens over an eviction, its next token j comes from prefilling s + j − 1
tokens anew instead.  :func:`not_covered` names when that could be cheaper.
"""

import heapq
from dataclasses import dataclass

from instances import Instance, Request
from instances.batch_time import BatchTime

PICOSECONDS = 1000


@dataclass(frozen=True)
class RoundRoom:
    """Room of a round: the sum of :meth:`held` over its requests is at most :attr:`size`.

    A request that makes token j holds s + j tokens at the end, or s + j − 1 as an engine counts,
    which stores a token in the round after it was made.  So s + j − 1 of M covers both.  With at
    most R requests in a round, each counts ``seat`` tokens more, of R · seat.  ``memory`` is M
    (tokens), ``running`` R; both others are 0 without that limit.
    """

    memory: int
    running: int = 0
    seat: int = 0

    @property
    def size(self) -> int:
        """Tokens, with all seats."""
        return self.memory + self.running * self.seat

    def held(self, prompt: int, token: int) -> int:
        """Return the tokens of a request in the round of a token; the first is number 1."""
        return prompt + token - 1 + self.seat


def least_decode_load(instance: Instance, batch_time: BatchTime) -> int:
    """Return the least load of a token after the first (picoseconds); 0 if there is none."""
    prompts = [request.prompt for request in instance.requests if request.output > 1]
    return batch_time.decode_load(min(prompts) + 1) if prompts else 0


def not_covered(instance: Instance, batch_time: BatchTime) -> str:
    """Return one line on schedules that the bounds in seconds do not cover; or nothing.

    Proof.  Let a request that kept j − 1 tokens prefill H = s + j − 1 of them anew, in chunks or
    whole, instead of one decode step with H tokens held.  Let x(H) be how much more load that is.
    Where x ≥ 0 a round charges it no less than for the decode step, which counts H tokens as well
    (:class:`RoundRoom`), and the time alone is no less.  x is convex and x(0) ≤ 0, so x ≥ 0 at the
    least H that occurs is x ≥ 0 at every larger one.
    """
    tokens = 1 + min((each.prompt for each in instance.requests if each.output > 1), default=0)
    if batch_time.prefill_load(tokens) >= least_decode_load(instance, batch_time):
        return ""
    return (
        "it does not carry over to schedules that keep tokens over an eviction: prefilling "
        f"{tokens} tokens anew takes less than a decode step"
    )


def alone(request: Request, batch_time: BatchTime) -> int:
    """Return the least latency of a request (nanoseconds), as if it were alone.

    Proof.  Its o tokens end in o different rounds, one after the other.  A round takes no less than
    with this request alone, rounded up to nanoseconds; and rounding up the parts of a prompt that
    is cut adds up to no less than rounding up once, with one base instead of several.
    """
    prompt, tokens = request.prompt, request.output - 1
    first = max(1, -(-(batch_time.base + batch_time.prefill_load(prompt)) // PICOSECONDS))
    step = batch_time.base + batch_time.decode_load(prompt + 1)
    # A round in which nothing costs anything takes a nanosecond, too.
    others = floor_sum(tokens, batch_time.per_read, max(step, 1) + PICOSECONDS - 1, PICOSECONDS)
    return first + others


def floor_sum(count: int, slope: int, start: int, modulus: int) -> int:
    """Return Σ ⌊(slope·k + start) / modulus⌋ over k = 0..count − 1, all of them 0 or more.

    Proof.  Whole multiples of the modulus in slope and start come out as closed sums.  What is left
    counts the pairs (k, i), i ≥ 1, with i·modulus ≤ slope·k + start; counted by i instead of k they
    are a sum of the same form with slope and modulus exchanged, as in Euclid's algorithm.
    """
    total = 0
    while count > 0:
        total += count * (count - 1) // 2 * (slope // modulus) + count * (start // modulus)
        slope, start = slope % modulus, start % modulus
        end = slope * count + start
        count, start, slope, modulus = end // modulus, end % modulus, modulus, slope
    return total


def alone_bound(instance: Instance, batch_time: BatchTime) -> int:
    """Return Σ :func:`alone` over all requests (nanoseconds)."""
    return sum(alone(request, batch_time) for request in instance.requests)


def work(request: Request, room: RoundRoom, batch_time: BatchTime) -> int:
    """Return loads and share of the bases of a request (picoseconds), times the room's size."""
    prompt, steps = request.prompt, request.output - 1
    loads = batch_time.prefill_load(prompt) + batch_time.decode_load(prompt + 1, steps)
    held = request.volume + (room.seat - 1) * request.output
    return batch_time.base * held + room.size * loads


def work_bound(instance: Instance, batch_time: BatchTime, room: RoundRoom | None = None) -> int:
    """Return a lower bound on the total latency (nanoseconds) from the work of each request.

    Proof.  Let a round charge each request its share of the room, as a share of the base, and its
    load; a chunk of a prompt with the share f of its load has f·s ≤ h tokens, h those held at the
    end.  The charges of a round add up to no more than the time it takes.  Spread them evenly over
    the round: a machine of speed 1 works on all requests at once, never on one before its arrival,
    and has done :func:`work` of a request by its completion.  Least remaining work first is optimal
    for the sum of completions on one preemptive machine with release dates (Schrage, 1968), also
    among schedules that work on several at once.  All times are multiplied by the room's size and
    1000, so that they are integers.  The default room has M tokens.
    """
    room = room or RoundRoom(instance.memory)
    unit = room.size * PICOSECONDS
    times = instance.arrival_times.tolist()
    order = sorted(range(len(instance)), key=times.__getitem__)
    left: list[tuple[int, int]] = []
    now = total = position = 0
    while left or position < len(order):
        if not left:
            now = max(now, times[order[position]] * unit)
        while position < len(order) and times[order[position]] * unit <= now:
            request = instance.requests[order[position]]
            amount = work(request, room, batch_time)
            heapq.heappush(left, (amount, times[order[position]] * unit))
            position += 1
        amount, arrival = left[0]
        until = times[order[position]] * unit if position < len(order) else now + amount
        if now + amount <= until:
            heapq.heappop(left)
            now += amount
            total += now - arrival
        else:
            heapq.heapreplace(left, (amount - (until - now), arrival))
            now = until
    return -(-total // unit)
