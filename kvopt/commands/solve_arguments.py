"""Arguments of ``kvopt solve``, and the method that they name."""

import re

from instances.instance_names import describe_hidden, find_instance
from kvopt.checked_numbers import TIME_LIMIT, read_count, read_gigabytes, read_seconds, read_seed
from kvopt.commands import completion
from kvopt.methods.engine_table import default_engine, named_engines
from kvopt.methods.grammar import every_policy, read_method, with_prediction
from kvopt.methods.method import Method
from kvopt.methods.option_values import read_formulation
from serving.commands.deployment_arguments import SERVING_OPTIONS
from serving.traces.trace_arguments import TRACE_OPTIONS
from support.click_command import (
    CommandOptions,
    argument,
    join_options,
    option,
    refuse_both,
    refuse_suffixes,
)
from support.output_checks import PICTURES, check_outputs
from support.usage_errors import UsageError, complain

#: Values of --solver; the rest of a method has other options.
PLAIN_NAME = re.compile(r"[A-Za-z0-9_.+-]+")
#: Default method, and default solver of --write-model.
DEFAULT_METHOD, DEFAULT_WRITER = "auto", "highs"
#: Suffixes of outputs.
_SUFFIXES = {"plot": PICTURES, "write_model": (".mps", ".lp"), "requests": (".csv", ".parquet")}


def judge_options(options: CommandOptions) -> None:
    """Judge the options as far as possible without the instance, and find its file."""
    _refuse_loose_parts(options)
    if options.instance is None:
        raise UsageError("expected INSTANCE, found none (see --help)")
    if hidden := describe_hidden(options.instance):
        complain(options.program, hidden)
    options.instance = find_instance(options.instance)
    names = ("out", "plot", "requests", "write_model")
    outputs = {f"--{name.replace('_', '-')}": getattr(options, name) for name in names}
    check_outputs(outputs, [options.instance])
    refuse_suffixes(options, _SUFFIXES)
    if options.policy == "all" and (options.out or options.plot or options.requests):
        raise UsageError("--policy all prints a table, it has no single schedule to write")
    if options.policy == "all":
        every_policy(options.predict)  # refuses a prediction that there is not


def named_method(options: CommandOptions) -> Method:
    """Return the method that the options name, whole or in parts, or raise a one-line error."""
    if options.method is not None:
        return read_method(options.method)
    if options.policy is not None:
        return read_method(with_prediction(options.policy, options.predict), among="policy")
    if options.solver is None:
        if options.formulation is None:
            return read_method(DEFAULT_WRITER if options.write_model else DEFAULT_METHOD)
        kind = read_formulation(options.formulation)[0].kind
        return read_method(f"{default_engine(kind).name}:{options.formulation}")
    if not PLAIN_NAME.fullmatch(options.solver.strip()):
        raise UsageError(
            f"--solver {options.solver}: expected a solver's name, found more (--method takes all)"
        )
    formulation = f":{options.formulation}" if options.formulation else ""
    return read_method(options.solver + formulation, among="solver")


_METHOD = "of --list, or file:PATH, a program with your rights"
_SOLVER = f"{', '.join(named_engines())}, or one that Pyomo finds"
_FORMULATION = "solve this formulation alone (default: chosen by size)"
_POLICY = "a policy of --list, file:PATH, or all for a table of all"
_PREDICT = "predictions of outputs (default: the instance's)"
#: Options that name the method, whole or in parts.
_PARTS = join_options(
    option("--method", "TEXT", _METHOD, completion.methods),
    option("--solver", "NAME", _SOLVER, completion.solvers),
    option("--formulation", "NAME", _FORMULATION, completion.formulation_names),
    option("--policy", "SPEC", _POLICY, completion.policies),
    option("--predict", "SPEC", _PREDICT, completion.predictions),
)

_TIME = f"seconds for all together (default: {TIME_LIMIT:g})"
_MEMORY = "resident memory of its processes (default: no limit)"
#: Limits of the method, and its seed.
_LIMITS = join_options(
    option("--time-limit", "S", _TIME, read_seconds, TIME_LIMIT),
    option("--memory-limit", "GB", _MEMORY, read_gigabytes),
    option("--threads", "N", "threads of the method (default: all cores)", read_count),
    option("--seed", "K", "seed of the method and the prediction (default: 0)", read_seed, 0),
)

OPTIONS = join_options(
    argument("instance", required=False, metavar="INSTANCE", type=completion.instances),
    _PARTS,
    _LIMITS,
    SERVING_OPTIONS,
    option("--out", "FILE", "write the schedule (kvopt.schedule/1)"),
    option("--plot", "FILE", "draw the schedule (.svg, .png or .pdf)"),
    option("--write-model", "FILE", "write the MIP (.mps or .lp), solve nothing"),
    option("--quiet", is_flag=True, help="print the summary only"),
    option("--list", is_flag=True, help="list solvers, formulations, policies, predictions"),
    TRACE_OPTIONS,
)


#: Options that do not go together, and why.
_LOOSE = (
    ("formulation", "policy", "--formulation goes with --solver, not with --policy"),
    ("write_model", "policy", "--write-model goes with a MIP formulation, not with --policy"),
    ("formulation", "method", "--method says all: write SOLVER:FORMULATION"),
    ("predict", "method", '--method says all: write "POLICY with PREDICTION"'),
)


def _refuse_loose_parts(options: CommandOptions) -> None:
    """Refuse a part of a method that would be ignored."""
    refuse_both(options, "--method", "--solver", "--policy")
    for one, other, reason in _LOOSE:
        if getattr(options, one) is not None and getattr(options, other) is not None:
            raise UsageError(reason)
    if options.predict is not None and options.policy is None:
        raise UsageError("--predict goes with --policy")
