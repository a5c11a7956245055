"""Computed for a model and GPUs from sizes, bandwidth and operations a second; not measured.

The factors are in ``serving.deployments`` and never change: a stored schedule names only model, GPU
and tp.
"""

from instances.batch_time import BatchTime, BatchTimeError
from serving.batch_time.batch_time_kind import BatchTimeKind, BatchTimeOption, whole
from serving.deployments import GPUS, MODELS, DeploymentError, coefficients, known, served_by

_NAME = "computed"
_ORIGIN = "computed from sizes, bandwidth and operations a second (docs/gpus.md), not measured"


def _build(options: dict[str, str]) -> BatchTime:
    tp = whole(f"{_NAME}, tp", options["tp"])
    try:
        model, gpu = known("model", options["model"], MODELS), known("GPU", options["gpu"], GPUS)
        served = served_by(model, gpu, tp)
    except DeploymentError as error:
        raise BatchTimeError(f"{_NAME}: {error}") from None
    name = f"{_NAME}(model={model},gpu={gpu},tp={tp})"
    return BatchTime(name, *coefficients(model, gpu, tp), origin=_ORIGIN, served=served, gpu=gpu)


KIND = BatchTimeKind(
    _NAME,
    _build,
    options=(
        BatchTimeOption("model", "llama3.1-8b", ", ".join(MODELS)),
        BatchTimeOption("gpu", "h100-80", ", ".join(GPUS)),
        BatchTimeOption("tp", "1", "GPUs that share the model"),
    ),
)
