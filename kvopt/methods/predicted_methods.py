"""Methods with predictions: a policy that takes them stands once for each value."""

from collections.abc import Iterable
from dataclasses import replace

from heuristics.policy_registry import policies
from kvopt.methods.grammar import read_methods, read_prediction, unique_methods, with_prediction
from kvopt.methods.method import Method
from kvopt.methods.parameter_ranges import expand_ranges
from kvopt.methods.syntax import MethodError, split_methods

#: Methods by default: policies with predictions, without outputs, with outputs, and the optimum.
_DEFAULT = (
    *("a-min", "mc-sf-predicted", "sorted-f-amin", "srpt-predicted", "tie", "vllm-priority"),
    *("alpha-beta", "las", "vllm-v1"),
    *("fcfs", "mc-sf", "output-peak", "srpt", "svf", "swf"),
)


def read_predicted(predictions: Iterable[str], methods: Iterable[str]) -> tuple[Method, ...]:
    """Return methods, or the default ones, where those that take predictions have each of these.

    Ranges stand for each of their values.  Raises a MethodError for a wrong method or prediction.
    """
    pieces = [piece for text in predictions for piece in split_methods(text)]
    wanted = [read_prediction(each)[-1] for piece in pieces for each in expand_ranges(piece)]
    if not wanted:
        raise MethodError("expected a prediction (see --list), found none")
    named = [piece for text in methods for piece in split_methods(text)]
    default = [*(each for each in _DEFAULT if each in policies()), "auto"]
    found: list[Method] = []
    for name in named or default:
        try:
            found += read_methods(with_prediction(name, each) for each in wanted)
        except MethodError:  # it knows the outputs, nothing of them, or another prediction
            found += read_methods([name])
    return unique_methods(found if named else (replace(each, grouped=True) for each in found))
