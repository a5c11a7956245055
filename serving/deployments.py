"""Common open models and GPUs: the memory left for the cache, and the time of a round.

This project measures none of it.  A model's numbers are in its ``config.json`` on the Hugging Face
hub, a GPU's in its maker's data sheet (dense 16-bit operations, bandwidth).  A round follows from
them with five published factors:

- a round reads the weights at 1 / 1.36 of the bandwidth, and the tokens of decoding requests at
  1 / 1.95; a layer takes 32.1 µs more, a decoding request 4.4 and a round 126.  BLIS fitted these
  corrections to rounds of vLLM on H100 (inference-sim/inference-sim, defaults.yaml of August 2026,
  ``trained_physics_coefficients``);
- prompts are computed at 0.7 of the GPU's operations a second, as in the profiles of Llama-2-70B
  on two A100 (``llama2-70b-2xa100``: 0.72).

Tensor parallelism divides all but the layers' and the round's time.  Its communication, and
memory for activations, are left out, so the memory may be a third more than vLLM states at its
start (``GPU KV cache size``).  docs/gpus.md compares the result with measured rounds.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from instances.batch_time import EngineLimits
from serving.kv_memory import GIB, LLAMA2_70B_2XA100, KvMemory, ServedModel
from support.message_text import find_name, unknown_name

#: Of 16-bit weights and of the cache.
_BYTES = 2
#: Share of the memory that vLLM uses by default.
_UTILIZATION = Fraction(9, 10)
#: Of BLIS: the factors on the time to read weights and cache, then microseconds.
_WEIGHTS, _CACHE = 1.36252915, 1.94710771
_LAYER_US, _REQUEST_US, _ROUND_US = 32.09546717, 4.41684444, 126.024825
#: Share of the operations a second that prompts are computed with.
_EFFICIENCY = 0.7
_PICOSECONDS = 10**12
_LARGEST_TP = 64


class DeploymentError(ValueError):
    """There is no such model or GPU, or the model does not fit; the message is one line."""


@dataclass(frozen=True)
class TransformerModel:
    """A dense transformer with gated layers: its name, and the sizes of its ``config.json``."""

    name: str
    hidden: int
    inner: int
    layers: int
    heads: int
    kv_heads: int
    head_size: int
    vocabulary: int

    @property
    def layer_weights(self) -> int:
        """Weights of all layers."""
        attention = 2 * self.hidden * self.head_size * (self.heads + self.kv_heads)
        return self.layers * (attention + 3 * self.hidden * self.inner)

    @property
    def weights(self) -> int:
        """All weights, with the embeddings of input and output."""
        return self.layer_weights + 2 * self.vocabulary * self.hidden


@dataclass(frozen=True)
class RecordedSettings:
    """Settings of the engine that a file was measured with; None or empty if not stated.

    The ``blocks`` are ``num_gpu_blocks`` with the null block, of ``block`` tokens each; ``running``
    is ``max_num_seqs``, ``budget`` ``max_num_batched_tokens``; ``replicas`` share the requests.
    """

    blocks: int | None = None
    block: int | None = None
    running: int | None = None
    budget: int | None = None
    replicas: int | None = None
    gpu: str = ""
    model: str = ""


UNSTATED = RecordedSettings()


@dataclass(frozen=True)
class Gpu:
    """A GPU by its data sheet: GiB, 10^12 dense 16-bit operations and bytes a second."""

    name: str
    memory: int
    teraflops: float
    bandwidth: float

    @property
    def engine_limits(self) -> EngineLimits:
        """The limits of vLLM here, by the memory and by the kind of GPU."""
        if self.memory >= 160:
            return EngineLimits(16384, 16384, 1024)
        if self.memory >= 70 and not self.name.startswith("A100"):
            return EngineLimits(8192, 16384, 1024)
        return EngineLimits()


MODELS = {
    "llama2-7b": TransformerModel("Llama-2-7B", 4096, 11008, 32, 32, 32, 128, 32000),
    "llama2-13b": TransformerModel("Llama-2-13B", 5120, 13824, 40, 40, 40, 128, 32000),
    "llama2-70b": TransformerModel("Llama-2-70B", 8192, 28672, 80, 64, 8, 128, 32000),
    "llama3-8b": TransformerModel("Llama-3-8B", 4096, 14336, 32, 32, 8, 128, 128256),
    "llama3-70b": TransformerModel("Llama-3-70B", 8192, 28672, 80, 64, 8, 128, 128256),
    "llama3.1-8b": TransformerModel("Llama-3.1-8B", 4096, 14336, 32, 32, 8, 128, 128256),
    "llama3.1-70b": TransformerModel("Llama-3.1-70B", 8192, 28672, 80, 64, 8, 128, 128256),
    "llama3.3-70b": TransformerModel("Llama-3.3-70B", 8192, 28672, 80, 64, 8, 128, 128256),
    "codellama-34b": TransformerModel("CodeLlama-34B", 8192, 22016, 48, 64, 8, 128, 32000),
    "mistral-nemo-12b": TransformerModel("Mistral-Nemo", 5120, 14336, 40, 32, 8, 128, 131072),
    "qwen2.5-7b": TransformerModel("Qwen2.5-7B", 3584, 18944, 28, 28, 4, 128, 152064),
    "qwen2.5-14b": TransformerModel("Qwen2.5-14B", 5120, 13824, 48, 40, 8, 128, 152064),
    "qwen2.5-32b": TransformerModel("Qwen2.5-32B", 5120, 27648, 64, 40, 8, 128, 152064),
    "qwen2.5-72b": TransformerModel("Qwen2.5-72B", 8192, 29568, 80, 64, 8, 128, 152064),
    "qwen3-14b": TransformerModel("Qwen3-14B", 5120, 17408, 40, 40, 8, 128, 151936),
}
GPUS = {
    "a100-40": Gpu("A100-40GB", 40, 312.0, 1.555),
    "a100-80": Gpu("A100-80GB", 80, 312.0, 2.039),
    "h100-80": Gpu("H100-80GB", 80, 989.5, 3.35),
    "h200-141": Gpu("H200-141GB", 141, 989.5, 4.8),
    "l40s-48": Gpu("L40S-48GB", 48, 362.05, 0.864),
    "rtx-4090-24": Gpu("RTX-4090-24GB", 24, 165.2, 1.008),
    "rtx-pro-6000-96": Gpu("RTX-PRO-6000-Blackwell-96GB", 96, 503.8, 1.792),
}
#: The GPU of the default batch time, and of one that names none.
DEFAULT_GPU = "a100-80"


def engine_limits(gpu: str) -> EngineLimits:
    """Return vLLM's limits on a GPU of the table; without a name on an A100."""
    return GPUS[gpu or DEFAULT_GPU].engine_limits


@dataclass(frozen=True)
class Deployment:
    """A model on some GPUs of a kind, and the text of its batch time, measured or computed."""

    gpu: str
    batch_time: str
    served: ServedModel


def deployment(model: str, gpu: str, tp: int = 1) -> Deployment:
    """Return a model on ``tp`` GPUs, or raise a DeploymentError."""
    model, gpu = known("model", model, MODELS), known("GPU", gpu, GPUS)
    if (model, gpu, tp) == ("llama2-70b", DEFAULT_GPU, 2):
        return Deployment(gpu, "llama2-70b-2xa100", LLAMA2_70B_2XA100)
    name = f"computed(model={model},gpu={gpu},tp={tp})"
    return Deployment(gpu, name, served_by(model, gpu, tp))


def known(what: str, name: str, table: Mapping[str, TransformerModel | Gpu]) -> str:
    """Return a name as the table has it, or raise a DeploymentError."""
    found = find_name(name.strip(), table)
    if found is None:
        raise DeploymentError(unknown_name(what, name.strip()[:60], table))
    return found


def served_by(model: str, gpu: str, tp: int) -> ServedModel:
    """Return a model on GPUs, as the tables name them, or raise a DeploymentError."""
    of_model, of_gpu = MODELS[model], GPUS[gpu]
    if not 1 <= tp <= _LARGEST_TP or of_model.heads % tp:
        raise DeploymentError(
            f"expected tp from 1 to {_LARGEST_TP} that divides the {of_model.heads} heads of "
            f"{of_model.name}, found {tp}"
        )
    # Each GPU has one KV head at least.
    sizes = of_model.layers, max(of_model.kv_heads, tp), of_model.head_size, Fraction(_BYTES)
    weights = _BYTES * of_model.weights
    try:
        memory = KvMemory(*sizes, of_gpu.memory * GIB, tp, weights, _UTILIZATION)
    except ValueError as error:
        unfit = f"{of_model.name} does not fit on {tp} {of_gpu.name}: {error}"
        raise DeploymentError(unfit) from None
    return ServedModel(of_model.name, f"{tp} {of_gpu.name}", memory)


def coefficients(model: str, gpu: str, tp: int) -> tuple[int, int, int, int, int]:
    """Return base, per prefilled token, per square, per decoding request, per token read (ps).

    A prompt of p tokens attends to p²/2 pairs, of four operations for each head and its size.  A
    decoding request's operations take the GPU's full speed: they hide behind reading the weights.
    """
    of_model, of_gpu = MODELS[model], GPUS[gpu]
    bandwidth = tp * of_gpu.bandwidth * 1e12
    operations = tp * of_gpu.teraflops * 1e12
    token = 2 * of_model.layer_weights / operations
    pair = 2 * of_model.layers * of_model.heads * of_model.head_size / operations
    reading = _BYTES * (of_model.weights - of_model.vocabulary * of_model.hidden) / bandwidth
    fixed = (_LAYER_US * of_model.layers + _ROUND_US) * 1e-6
    cache = served_by(model, gpu, tp).memory.token_bytes / bandwidth
    seconds = (
        _WEIGHTS * reading + fixed,
        token / _EFFICIENCY,
        pair / _EFFICIENCY,
        token + _REQUEST_US * 1e-6,
        _CACHE * cache,
    )
    base, prefill, square, decode, read = (round(_PICOSECONDS * each) for each in seconds)
    return base, prefill, square, decode, read
