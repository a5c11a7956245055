"""M from a model and its GPUs: how many tokens of keys and values the memory holds.

A token's cache is a key and a value in every layer, for every KV head, head_size numbers each:
2 · layers · kv_heads · head_size · bytes.  What the GPUs have, times the share that is used, less
the weights, is left for it.  jaillet2025_v1 section 7 (J1) computes so with the hidden size 8,192
for kv_heads · head_size, as if every one of 64 heads had keys and values of its own, and states
16,492 tokens, which its numbers do not give; jaillet2025_v2 Appendix C (J2) calls the same number
observed in real experiments.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

#: The memory of the papers' experiments with Llama-2-70B on two A100, tokens.
PUBLISHED = 16_492
GB, GIB = 10**9, 2**30


@dataclass(frozen=True)
class KvMemory:
    """A model and the GPUs that serve it together; a ValueError if not one token fits.

    KV heads are fewer than heads under grouped-query attention.  ``number_bytes`` are of a number
    of the cache, ``gpu_bytes`` of one GPU, ``weight_bytes`` of the model on all of them, and
    ``utilization`` is the share of the GPUs' memory that is used.
    """

    layers: int
    kv_heads: int
    head_size: int
    number_bytes: Fraction
    gpu_bytes: int
    gpus: int = 1
    weight_bytes: int = 0
    utilization: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        if self.tokens < 1:
            raise ValueError(
                f"expected memory for one token, {self.token_bytes:,} bytes, found "
                f"{self.left_bytes:,} bytes besides the weights"
            )

    def is_model_of(self, other: KvMemory) -> bool:
        """Tell whether layers and heads are those of another."""
        own, others = ((m.layers, m.kv_heads, m.head_size) for m in (self, other))
        return own == others

    @property
    def token_bytes(self) -> int:
        """Bytes of the keys and values of one token, rounded up."""
        exact = 2 * self.layers * self.kv_heads * self.head_size * self.number_bytes
        return -(-exact.numerator // exact.denominator)

    @property
    def used_bytes(self) -> int:
        """Bytes of all GPUs that are used, rounded down."""
        return int(self.gpus * self.gpu_bytes * self.utilization)

    @property
    def left_bytes(self) -> int:
        """Bytes that are left for the cache."""
        return self.used_bytes - self.weight_bytes

    @property
    def tokens(self) -> int:
        """M, rounded down."""
        return self.left_bytes // self.token_bytes

    def steps(self) -> list[tuple[str, str]]:
        """Return label and text of each step of the computation."""
        factors = (
            f"2 (key and value) x {self.layers} layers x {self.kv_heads} KV heads x "
            f"{self.head_size} numbers x {float(self.number_bytes):g} bytes"
        )
        gpus = f"{self.gpus} x {_shown(self.gpu_bytes)} x {float(self.utilization):g} used"
        quotient = f"{self.left_bytes:,} / {self.token_bytes:,}, rounded down"
        return [
            ("bytes a token", f"{factors} = {self.token_bytes:,}"),
            ("memory", f"{gpus} = {self.used_bytes:,} bytes"),
            ("weights", f"{_shown(self.weight_bytes)} = {self.weight_bytes:,} bytes"),
            ("left", f"{self.left_bytes:,} bytes"),
            ("M", f"{quotient} = {self.tokens:,} tokens"),
        ]


def llama2_70b(kv_heads: int, unit: int) -> KvMemory:
    """Return J1's setting: 80 layers, two GPUs of 80 GB or GiB, weights of 140.

    J1 counts 64 KV heads; the model has 8.
    """
    return KvMemory(80, kv_heads, 128, Fraction(2), 80 * unit, 2, 140 * unit)


@dataclass(frozen=True)
class Served:
    """A model on its GPUs: one name for a batch time and the memory that goes with it.

    As in ``Llama-2-70B`` and ``2 A100``; the memory is what these hold beside the model.
    """

    model: str
    gpus: str
    memory: KvMemory

    def __str__(self) -> str:
        return f"{self.model} on {self.gpus}"

    def is_of(self, name: str) -> bool:
        """Tell whether a name, as ``meta-llama/Llama-2-70b-chat-hf``, is the model's."""
        return _letters(self.model) in _letters(name)

    def mismatch(self, memory: int) -> str:
        """Return why a memory (tokens) is not that of the model on its GPUs; empty if it may be.

        Less than they hold may be what was left of it, or what somebody wants to know; more
        cannot be, and the papers' number is that of another count of KV heads.
        """
        held, heads = self.memory.tokens, self.memory.kv_heads
        of_papers = self.memory.is_model_of(llama2_70b(8, GB))
        if of_papers and memory == PUBLISHED and memory != held:
            return (
                f"memory: {memory:,} tokens is the papers' number, where J1 counts 64 KV heads; "
                f"the batch time is that of {heads}, with which {self} holds {held:,}"
            )
        if memory > held:
            return f"memory: {memory:,} tokens, {self}, whose batch time this is, holds {held:,}"
        return ""


#: What the batch time ``llama2-70b-2xa100`` was measured with: grouped queries, J1's two GPUs.
LLAMA2_70B_2XA100 = Served("Llama-2-70B", "2 A100", llama2_70b(8, GB))


def on_the_published(asked: KvMemory) -> list[str]:
    """Return lines on where 16,492 tokens do not come from, to who asks for that model; or none."""
    all_heads, grouped = llama2_70b(64, GB), llama2_70b(8, GB)
    if not any(asked.is_model_of(each) for each in (all_heads, grouped)):
        return []
    needed = PUBLISHED * all_heads.token_bytes / GB
    return [
        f"{PUBLISHED:,} tokens is the papers' M for Llama-2-70B on two A100.  J1 computes it as",
        f"(160 - 140) GB / {all_heads.token_bytes:,} bytes, which is {all_heads.tokens:,} with "
        f"GB and {llama2_70b(64, GIB).tokens:,} with GiB;",
        f"{PUBLISHED:,} such tokens take {needed:.1f} GB.  The model groups its queries on 8 KV "
        "heads, with",
        f"which the same memory holds {grouped.tokens:,}.  J2 calls {PUBLISHED:,} observed in real "
        "experiments.",
        f"The batch time llama2-70b-2xa100 is that of 8: to it {grouped.tokens:,} belongs.",
    ]


def _letters(name: str) -> str:
    return "".join(each for each in name.casefold() if each.isalnum())


def _shown(size: int) -> str:
    for unit, name in ((GB, "GB"), (GIB, "GiB")):
        if size % unit == 0:
            return f"{size // unit:,} {name}"
    return f"{size / GB:g} GB"
