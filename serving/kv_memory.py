"""M from a model and its GPUs: the tokens of keys and values that the memory holds.

A token's cache is a key and a value in every layer, for every KV head, head_size numbers each:
2 · layers · kv_heads · head_size · bytes.  The used share of the GPUs' memory, less the weights,
holds it.  jaillet2025_v1 section 7 (J1) counts 64 KV heads and states 16,492 tokens, which its
numbers do not give; jaillet2025_v2 Appendix C (J2) calls that number observed in real experiments.
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

    ``number_bytes`` are of a number of the cache, ``gpu_bytes`` of one GPU, ``weight_bytes`` of the
    model on all GPUs; ``utilization`` is the used share of their memory.
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
        """Check if layers and heads are as of another."""
        own, others = ((m.layers, m.kv_heads, m.head_size) for m in (self, other))
        return own == others

    @property
    def token_bytes(self) -> int:
        """Bytes of the keys and values of one token, rounded up."""
        exact = 2 * self.layers * self.kv_heads * self.head_size * self.number_bytes
        return -(-exact.numerator // exact.denominator)

    @property
    def used_bytes(self) -> int:
        """Used bytes of all GPUs, rounded down."""
        return int(self.gpus * self.gpu_bytes * self.utilization)

    @property
    def left_bytes(self) -> int:
        """Bytes left for the cache."""
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
    """Return J1's setting, which counts 64 KV heads; the model has 8."""
    return KvMemory(80, kv_heads, 128, Fraction(2), 80 * unit, 2, 140 * unit)


@dataclass(frozen=True)
class ServedModel:
    """A model on its GPUs, as ``Llama-2-70B`` and ``2 A100``, with the memory for the cache."""

    model: str
    gpus: str
    memory: KvMemory

    def __str__(self) -> str:
        return f"{self.model} on {self.gpus}"

    def is_of(self, name: str) -> bool:
        """Check if a name, as ``meta-llama/Llama-2-70b-chat-hf``, is the model's."""
        own, other = (
            "".join(each for each in text.casefold() if each.isalnum())
            for text in (self.model, name)
        )
        return own in other

    def mismatch(self, memory: int) -> str:
        """Return why a memory (tokens) does not go with the model and its GPUs; empty if it may."""
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


#: Deployment of the batch time ``llama2-70b-2xa100``: grouped queries, J1's two GPUs.
LLAMA2_70B_2XA100 = ServedModel("Llama-2-70B", "2 A100", llama2_70b(8, GB))


def on_the_published(asked: KvMemory) -> list[str]:
    """Return lines on the papers' 16,492 tokens for a user of that model; none for others."""
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


def _shown(size: int) -> str:
    for unit, name in ((GB, "GB"), (GIB, "GiB")):
        if size % unit == 0:
            return f"{size // unit:,} {name}"
    return f"{size / GB:g} GB"
