"""Declaration of a custom file, read in a separate process and sent as JSON."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

from formulations.formulation_registry import FormulationOption
from heuristics.policy import Choice, Parameter, Values
from heuristics.predictions import PredictionModel
from kvopt.methods.option_values import Declared, KeywordParameter
from kvopt.runs.events import DocumentSent
from kvopt.runs.process import call_in_process

#: Seconds that the import of a file may take; a slower file is a method without parameters.
ASK_SECONDS = 10.0
_KINDS = {each.__name__: each for each in (Parameter, Choice, FormulationOption, KeywordParameter)}


@dataclass(frozen=True)
class Described:
    """Declaration of a custom file: its :class:`heuristics.policy.Policy`, or its ``solve``.

    An ``advised`` policy needs a solved relaxation; a ``solve`` with a seed is randomised.
    """

    name: str
    is_policy: bool
    parameters: tuple[Declared, ...] = ()
    clairvoyant: bool = False
    blind: bool = False
    offline: bool = False
    randomised: bool = False
    advised: bool = False

    def document(self) -> dict[str, Any]:
        """Return it as JSON."""
        parameters = [{"kind": type(each).__name__, **asdict(each)} for each in self.parameters]
        return {**asdict(self), "parameters": parameters}


@dataclass(frozen=True)
class OwnCall:
    """A custom file with its parameters, and the prediction that its policy receives."""

    policy: Described
    values: Values = field(default_factory=dict)
    prediction: PredictionModel | None = None
    prediction_values: Values = field(default_factory=dict)


def described_of(document: Mapping[str, Any]) -> Described:
    """Return the declaration that :meth:`Described.document` wrote."""
    parameters = []
    for each in document["parameters"]:
        given: dict[str, Any] = {
            key: tuple(v) if isinstance(v, list) else v for key, v in each.items()
        }
        parameters.append(_KINDS[given.pop("kind")](**given))
    found = Described(**{**document, "parameters": tuple(parameters)})
    # A file may write any answer.
    words = isinstance(found.name, str) and found.name.isprintable()
    truths = (getattr(found, each.name) for each in fields(Described) if each.type == "bool")
    known = all(isinstance(each.default, bool | int | float | str) for each in found.parameters)
    if not (words and known and all(isinstance(each, bool) for each in truths)):
        raise TypeError("expected a name, truth values and parameters")
    return found


@lru_cache(maxsize=256)
def described(path: Path, digest: str) -> tuple[Described | None, str]:
    """Return the declaration of a file of this digest, or None and the reason in one line."""
    del digest
    try:
        outcome, events = call_in_process(
            "kvopt.methods.declaration_process:describe", json.dumps(str(path)), ASK_SECONDS
        )
        ending = outcome.ending
        if ending == "interrupted":
            raise KeyboardInterrupt
        if ending == "time_limit":
            return None, f"{path.name}: importing it takes more than {ASK_SECONDS:g} s"
        (answer,) = (each.document for each in events if isinstance(each, DocumentSent))
        if "fault" in answer:
            return None, str(answer["fault"])
        return described_of(answer), ""
    except OSError as error:
        return None, f"{path.name}: no process could be started: {error.strerror}"
    except (ValueError, KeyError, TypeError, AttributeError):
        return None, f"{path.name}: the process that imports it ends without an answer"
