"""Families of requests to a service: the published moments, arrivals, and the worst mix."""

import math
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import gamma, lognorm, norm

from instances.families import families
from instances.families import fitted_lengths as fit
from instances.families.worst_mix import apportioned, worst_mix
from tests.heuristics.contract import run
from tests.oracles.lemma_2 import lemma_2

LOGNORMAL = "mix80-20-lognormal"
Cdf = Callable[[NDArray[np.floating[Any]]], NDArray[np.float64]]
ARRIVING = sorted(
    name for name, each in families().items() if "cv" in each.generate.__annotations__
)


def shares_of(law: fit.Length) -> NDArray[np.float64]:
    """Return the probability of each length from 1 on: rounded, and what is outside at the ends."""
    longest = law.longest if isinstance(law, fit.Gamma) else fit.LONGEST
    ends = _cdf(law)(np.arange(1, longest + 1) + 0.5)
    ends[-1] = 1
    return np.diff(ends, prepend=0)


def _cdf(law: fit.Length) -> Cdf:
    if isinstance(law, fit.Gamma):
        return gamma(law.shape, scale=law.scale).cdf  # type: ignore[no-any-return]
    if isinstance(law, fit.Normal):
        return norm(law.mean, law.deviation).cdf  # type: ignore[no-any-return]
    deviation = math.sqrt(2 * math.log(law.mean / law.median))
    return lognorm(deviation, scale=law.median).cdf  # type: ignore[no-any-return]


def moments(shares: NDArray[np.float64]) -> tuple[float, float, int]:
    """Return mean, variance and median of lengths from 1 on."""
    lengths = np.arange(1, len(shares) + 1)
    mean = float(shares @ lengths)
    median = int(lengths[np.searchsorted(np.cumsum(shares), 0.5)])
    return mean, float(shares @ lengths**2 - mean**2), median


def mixed(chat: fit.Length, summary: fit.Length) -> NDArray[np.float64]:
    shares = 0.2 * shares_of(summary)
    share = shares_of(chat)
    shares[: len(share)] += 0.8 * share
    return shares


@pytest.mark.parametrize(
    ("shares", "family", "stated"),
    [
        (shares_of(fit.CHAT_PROMPT), "chat", ("40.9", "4,621", "12")),
        (shares_of(fit.CHAT_OUTPUT), "chat", ("84.9", "9,638", "51")),
        (shares_of(fit.SUMMARY_PROMPT), "summarize", ("2,531", "", "2,546")),
        (shares_of(fit.SUMMARY_OUTPUT), "summarize", ("293", "", "161")),
        (mixed(fit.CHAT_PROMPT, fit.SUMMARY_PROMPT), "mix80-20", ("539.0", "", "25")),
        (mixed(fit.CHAT_OUTPUT, fit.SUMMARY_OUTPUT), "mix80-20", ("126.5", "", "")),
        (mixed(fit.LOGNORMAL_PROMPT, fit.SUMMARY_PROMPT), LOGNORMAL, ("538.5", "", "18")),
        (mixed(fit.LOGNORMAL_OUTPUT, fit.SUMMARY_OUTPUT), LOGNORMAL, ("126.8", "", "")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_docstring_tells_the_moments(
    shares: NDArray[np.float64], family: str, stated: tuple[str, str, str]
) -> None:
    """Mean, variance and median of the law as it is drawn, from its distribution function."""
    module = import_module(f"instances.families.{family.replace('-', '_')}")
    page = " ".join(str(module.__doc__).split())
    for value, text in zip(moments(shares), stated, strict=True):
        if text:
            digits = len(text.partition(".")[2])
            assert f"{value:,.{digits}f}" == text
            assert text in page


@pytest.mark.parametrize(
    ("law", "mean", "variance"), [(fit.CHAT_PROMPT, 41, 4961), (fit.CHAT_OUTPUT, 85, 9702)]
)
def test_chat_has_the_published_moments(law: fit.Gamma, mean: float, variance: float) -> None:
    """chen2025 section 6: the gamma law to 1 %, and with its tail cut the variance to 7 %."""
    assert law.shape * law.scale == pytest.approx(mean, rel=0.01)
    assert law.shape * law.scale**2 == pytest.approx(variance, rel=0.01)
    found = moments(shares_of(law))
    assert found[0] == pytest.approx(mean, rel=0.01)
    assert found[1] == pytest.approx(variance, rel=0.07)


@pytest.mark.parametrize(
    ("name", "prompt", "output"),
    [
        ("chat", fit.CHAT_PROMPT, fit.CHAT_OUTPUT),
        ("chat-lognormal", fit.LOGNORMAL_PROMPT, fit.LOGNORMAL_OUTPUT),
        ("summarize", fit.SUMMARY_PROMPT, fit.SUMMARY_OUTPUT),
    ],
)
def test_draws_follow_the_law(name: str, prompt: fit.Length, output: fit.Length) -> None:
    """20,000 draws: no share of lengths up to any is further off than 2.2 / √n (Kolmogorov)."""
    # Under the law that is exceeded once in 8,000 times: 2·exp(−2·2.2²).
    instance = families()[name].generate(seed=0, n=20_000)
    for lengths, law in ((instance.prompts, prompt), (instance.outputs, output)):
        shares = shares_of(law)
        counted = np.bincount(lengths, minlength=len(shares) + 1)
        assert (counted[0], len(counted)) == (0, len(shares) + 1)
        off = np.abs(np.cumsum(counted[1:]) / len(lengths) - np.cumsum(shares)).max()
        assert off < 2.2 / math.sqrt(len(lengths))


@pytest.mark.parametrize("name", ARRIVING)
def test_arrivals_change_no_length(name: str) -> None:
    """Poisson or in bursts, in rounds or seconds, at any rate: lengths are those of the burst."""
    generate = families()[name].generate
    plain = generate(seed=1, n=50)
    assert not plain.arrivals.any()
    timed = generate(seed=1, n=50, seconds=True)
    assert (timed.name, timed.time_unit) == (f"{plain.name}_seconds", "second")
    assert timed.requests == plain.requests
    for arguments in ({"rate": 0.5}, {"rate": 50.0, "seconds": True}, {"rate": 2.0, "cv": 4.0}):
        found = generate(seed=1, n=50, **arguments)
        assert found.prompts.tolist() == plain.prompts.tolist()
        assert found.outputs.tolist() == plain.outputs.tolist()
        assert found.name != plain.name
        arrivals = [request.arrival for request in found.requests]
        assert arrivals == sorted(arrivals)
        assert arrivals[0] == 0 < arrivals[-1]
        assert found.time_unit == ("second" if "seconds" in arguments else "round")


@pytest.mark.parametrize("upper", [1, 2, 5, 20, 100, 500])
def test_the_worst_mix_is_a_maximum(upper: int) -> None:
    """By the paper's Lemma 2, with s = 0 and ℓ = 1, no other mix that is tried is worse."""
    shares, ratio = worst_mix(upper)
    assert shares.min() >= 0
    assert shares.sum() == pytest.approx(1)
    assert lemma_2(shares) == pytest.approx(ratio)
    draws = np.random.default_rng(0)
    for _ in range(30):
        other = np.abs(shares * draws.normal(1, 0.5, upper)) + draws.choice([0, 1e-3]) / upper
        assert lemma_2(other / other.sum()) <= ratio + 1e-9
    if upper >= 20:
        assert ratio == pytest.approx(0.2555 * math.log(upper + 0.2793) + 1.1587, rel=0.011)


def test_the_worst_mix_is_counted_off() -> None:
    """Shares 1/2, 1/3, 1/6 of 10: 5, 3, 1 and one left, for the remainder 2/3 against 1/3."""
    assert apportioned(np.array([1 / 2, 1 / 3, 1 / 6]), 10) == [5, 3, 2]
    assert apportioned(np.array([0.5, 0.5]), 3) == [2, 1]
    instance = families()["worst-mix"].generate(n=500, upper=20)
    counts = np.bincount(instance.outputs, minlength=21)[1:]
    assert np.abs(counts - worst_mix(20)[0] * 500).max() < 1
    assert counts.sum() == 500
    assert {(each.output_lower, each.output_upper) for each in instance.requests} == {(1, 20)}


def test_shortest_first_on_the_worst_mix_is_the_formula() -> None:
    """TEL of H-SF against n²/(2M)·x'Bx of the paper, within 5 % for n = 4,000 and M = 400."""
    # x'Bx is the sum over pairs of min(i, j)².
    n, memory, upper = 4000, 400, 20
    instance = families()["worst-mix"].generate(n=n, memory=memory, upper=upper)
    share = np.bincount(instance.outputs, minlength=upper + 1)[1:] / n
    i = np.arange(1, upper + 1)
    formula = n**2 / (2 * memory) * share @ np.minimum.outer(i, i) ** 2 @ share
    schedule = run("h-sf", instance)
    assert schedule is not None
    assert schedule.tel == pytest.approx(formula, rel=0.05)
