"""One request that fills the memory for a round, and 21 small ones that share it for two.

Source: wang2025 Example 3.1: M = 64, one (s, o) = (63, 1), twenty-one (1, 2), all at round 0;
shortest-output-first gives 64, Sorted-F 45.

45 is the optimum.  The large request holds all memory in the round p + 1 after its start p, so a
small one, which runs for two rounds, is over by p or starts at p + 1 or later.  If p <= 1 no
small one is over by p, so all complete at p + 3 or later: TEL >= p + 1 + 21(p + 3) >= 64.  If
p >= 2 the large one completes at 3 or later and each small one at 2 or later: TEL >= 3 + 42 = 45,
which p = 2 attains, since 21 small requests together need 63 tokens.
"""

from instances.families.shared import Seed, numbered, ranged
from instances.instance import Instance


@ranged
def generate(seed: Seed = 0) -> Instance:
    """Build the example; nothing is drawn."""
    del seed
    return Instance(
        name="example_3_1",
        family="example-3-1",
        source="wang2025 Example 3.1",
        memory=64,
        requests=numbered([(0, 63, 1)] + [(0, 1, 2)] * 21),
        known_optimum=45,
        known_optimum_reason=(
            "the large request fills a round alone: before the small ones TEL is at least 64, "
            "after them at least 3 + 21 * 2"
        ),
    )
