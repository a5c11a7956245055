"""Short and long outputs behind one wide prediction: reserving the upper end wastes the memory.

Source: chen2025 Theorem 2 (proof): s = 0, M = ℓu, N_ℓ = a·u requests with o = ℓ and N_u = b·ℓ with
o = u, a/b about √(ℓ/u), both large, every request with the prediction [ℓ, u].  Here a is given and
b = √(a²u/ℓ), rounded down.  The order is random, since the policy of the theorem chooses at random.

The ratio that the theorem states is wrong (errata E19); the sums of its proof give
(1 + √α)²/(√α(1 + α + 2α√α)), α = ℓ/u.
"""

from math import isqrt

from instances.families.draws import Draws
from instances.families.shared import Count, Length, Seed, at_least, not_too_many, numbered, ranged
from instances.instance import Instance


@ranged
def generate(
    seed: Seed = 0, lower: Length = 2, upper: Length = 8, short_batches: Count = 10
) -> Instance:
    """Build the trap with ℓ, u and a = ``short_batches``; only the order is drawn."""
    at_least(lower, upper=upper)
    long_batches = isqrt(short_batches**2 * upper // lower)
    not_too_many(short_batches * upper + long_batches * lower)
    outputs = [lower] * (short_batches * upper) + [upper] * (long_batches * lower)
    return Instance(
        name=f"amax_trap_l{lower}_u{upper}_a{short_batches}_seed{seed}",
        family="amax-trap",
        source="chen2025 Theorem 2",
        seed=seed,
        memory=lower * upper,
        requests=numbered(
            ((0, 0, output) for output in Draws(seed).shuffled(outputs)),
            prediction=(lower, upper),
        ),
    )
