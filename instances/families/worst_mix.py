"""The mix of outputs that is worst for A_min, all with the prediction [1, u].

Source: chen2025 Corollary 1 and figure 1, which state: without prompts, and with predictions [1,
u] for all, the ratio of A_min to shortest first tends to x'Ax / x'Bx, where x_o is the share of
requests with output o and, with m = min(i, j), a_ij = m²/(ij)·((i+j)²/2 − m²) and b_ij = m².  The
figure shows its maximum over x.  Both matrices are positive definite (Lemma 3), so the maximum
over all vectors is the largest eigenvalue of B⁻¹A, at its eigenvector; that has no negative entry
for the u that are drawn here, which is looked at, so it is a mix.  Its requests are counted off,
not drawn: output o has n·x_o of them, rounded down, and those that are left go to the largest
remainders.

On it the TEL of shortest first is that of the formula, n²/(2M)·x'Bx.  That of ``a-min`` is not
n²/(2M)·x'Ax but more, and more so the larger u is: for u = 20, n = 16,000 and M = 1,600 the ratio
is 3.7 where 1.91 is stated.  The fault is in the formula (docs/errata.md, E16).
"""

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from instances.arrivals import Rate, Variation, add_arrivals
from instances.families.draws import Draws
from instances.families.shared import Count, Memory, Seed, Within, at_least, numbered, ranged
from instances.instance import Instance


@ranged
def generate(
    seed: Seed = 0,
    n: Count = 1000,
    memory: Memory = 1000,
    upper: Annotated[int, Within(1, 500)] = 20,
    rate: Rate = None,
    cv: Variation = 1.0,
    seconds: bool = False,
) -> Instance:
    """Count off the mix up to u = ``upper`` tokens; only the order is drawn.

    Of few requests the long outputs are missing; the ratio is that of large M and n.
    """
    at_least(upper, memory=memory)
    draws = Draws(seed)
    counts = apportioned(worst_mix(upper)[0], n)
    outputs = [output for output, count in enumerate(counts, start=1) for _ in range(count)]
    instance = Instance(
        name=f"worst_mix_n{n}_u{upper}_seed{seed}",
        family="worst-mix",
        source="chen2025 Corollary 1, figure 1",
        seed=seed,
        memory=memory,
        requests=numbered(
            ((0, 0, output) for output in draws.shuffled(outputs)), prediction=(1, upper)
        ),
    )
    return add_arrivals(instance, draws, rate, cv, seconds)


def worst_mix(upper: int) -> tuple[NDArray[np.float64], float]:
    """Return the worst shares of the outputs 1..u, shape (u,), and the ratio that they tend to.

    It is the largest eigenvalue of B⁻¹A; raises ArithmeticError if its vector is no mix.
    """
    from scipy.linalg import eigh  # only where a mix is asked for

    values, vectors = eigh(*forms(upper), subset_by_index=[upper - 1, upper - 1])
    shares = vectors[:, 0] / vectors[:, 0].sum()
    if shares.min() < 0:
        raise ArithmeticError(f"expected a mix for u = {upper}, found {shares.min()}")
    return shares, float(values[0])


def forms(upper: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return A and B for the outputs 1..u, shape (u, u) each."""
    i = np.arange(1, upper + 1, dtype=float)
    least = np.minimum.outer(i, i)
    return least**2 / np.outer(i, i) * (np.add.outer(i, i) ** 2 / 2 - least**2), least**2


def apportioned(shares: NDArray[np.float64], n: int) -> list[int]:
    """Return n divided by shares: rounded down, the rest to the largest remainders.

    Equal remainders go to the shorter output; the last bits of the shares count for nothing.
    """
    wanted = np.round(shares * n, 9)
    counts = np.floor(wanted)
    order = np.argsort(counts - wanted, kind="stable")
    counts[order[: n - int(counts.sum())]] += 1
    return [int(count) for count in counts]
