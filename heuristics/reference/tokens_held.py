"""The one sum that every look-ahead tests: the tokens held at a time (J2 (5), W sec. 3, C (3))."""

from collections.abc import Mapping, Sequence

from instances import Instance


def held(instance: Instance, p: Mapping[int, int], o: Sequence[int], time: int) -> int:
    """Return the tokens that requests hold at a time, Σ (s_i + t' − p_i)·1{o_i ≥ t' − p_i}.

    ``p`` are start rounds; ``o`` are the outputs of all requests, true or believed (tokens).
    """
    return sum(
        instance.requests[i].prompt + time - start
        for i, start in p.items()
        if start < time <= start + o[i]
    )


def within_at_ends(instance: Instance, p: Mapping[int, int], o: Sequence[int]) -> bool:
    """Return whether at most M tokens are held at p_j + o_j for each j, where the sum can peak."""
    return all(held(instance, p, o, p[j] + o[j]) <= instance.memory for j in p)


def within_always(instance: Instance, p: Mapping[int, int], o: Sequence[int], now: int) -> bool:
    """Return whether at most M tokens are held at every time after ``now``."""
    last = max(p[j] + o[j] for j in p)
    return all(held(instance, p, o, time) <= instance.memory for time in range(now + 1, last + 1))


def outputs_of(instance: Instance) -> list[int]:
    """Return the true outputs (tokens)."""
    return [request.output for request in instance.requests]
