"""Look-ahead rows: what running requests pay now for the tokens that they are about to hold."""

from dataclasses import dataclass

from instances import Instance


@dataclass(frozen=True)
class LookAheadRow:
    """A row Σ pay ≤ M over what runs at one time; valid at every time, of every feasible schedule.

    A request that holds w tokens and has r rounds left pays

        max(0, w + y·ℓ − κ·(ℓ − r)⁺),    y = 1 in the core, else min(1, c·w/M),
        κ = c + Σ_{i in the core} (1 − min(1, c·(s_i + 1)/M)).

    ``share`` is c and ``rounds`` is ℓ, both at least 0; ``core`` lists positions of requests.

    Proof: docs/proofs/look_ahead_rows.md (P14).
    """

    share: int
    rounds: int
    core: tuple[int, ...]

    def weight(self, instance: Instance) -> int:
        """Return M·κ, an integer."""
        memory = instance.memory
        prompts = (instance.requests[i].prompt for i in self.core)
        own = sum(memory - min(memory, self.share * (prompt + 1)) for prompt in prompts)
        return self.share * memory + own
