"""The arguments of ``kvopt solve``, and the method that they name."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

from instances.named import INSTANCE_HELP, find_instance, hides
from instances.outputs import check_apart, check_outputs
from instances.traces.arguments import add_trace_options
from instances.usage import Parser, UsageError, complain
from kvopt.commands.in_seconds import add_serving
from kvopt.methods.engines import default_engine, named_engines
from kvopt.methods.grammar import (
    FORM,
    every_policy,
    read_formulation,
    read_method,
    with_prediction,
)
from kvopt.methods.method import Method
from kvopt.ranges import read_count, read_gigabytes, read_seconds, read_seed

#: What --solver takes; the rest of a method has options of its own.
PLAIN_NAME = re.compile(r"[A-Za-z0-9_.+-]+")
#: The method where none is named, and the solver whose model is written then.
DEFAULT_METHOD, DEFAULT_WRITER = "auto", "highs"

_EPILOG = """\
A method file:PATH.py is a program with the rights of whoever runs it: read it first.

exit codes:
  0  a checked schedule was produced, optimal or not (or the listing, or the model file)
  2  bad usage or bad input: one line on standard error; also where a checked schedule or a
     bound contradicts the known_optimum that the instance's file states (the schedule is
     reported and written all the same)
  3  the instance is infeasible: a request's prompt + output exceeds the memory
  4  no schedule within the limits
  5  the checker refused the method's own schedule, or a bound exceeds a checked schedule: a
     bug, please report it
"""


def read_arguments(arguments: Sequence[str], program: str) -> argparse.Namespace:
    """Return the options, as far as they can be judged without the instance.

    ``instance`` is a file that was found by its name, ``program`` the name of the command.

    Raises
    ------
    UsageError, OutputError, MethodError, InstanceFileError
        With one line.
    """
    options = _parse(arguments, program)
    if options.list:
        return options
    if options.instance is None:
        raise UsageError("expected INSTANCE, found none (see --help)")
    if hidden := hides(options.instance):
        complain(program, hidden)
    options.instance = find_instance(options.instance)
    check_outputs(outputs_of(options), [options.instance])
    _refuse_unknown_suffix(options.plot, "--plot", (".png", ".svg"))
    _refuse_unknown_suffix(options.write_model, "--write-model", (".mps", ".lp"))
    _refuse_unknown_suffix(options.requests, "--requests", (".csv", ".parquet"))
    if options.policy == "all" and (options.out or options.plot or options.requests):
        raise UsageError("--policy all prints a table, it has no single schedule to write")
    if options.policy == "all":
        every_policy(options.predict)  # refuses a prediction that there is not
    return options


def named_method(options: argparse.Namespace) -> Method:
    """Return the method that the options name; the formulation is left to the size by default.

    Options that name it in parts are put together and read as one text.

    Raises
    ------
    UsageError, MethodError
        If there is no such method, on this machine, or its parts do not go together.
    OutputError
        If an output would replace the file of the method.
    """
    method = _read_named(options)
    if method.path is not None:
        check_apart(outputs_of(options), [method.path])
    return method


def outputs_of(options: argparse.Namespace) -> dict[str, str | None]:
    """Return the files that are to be written, by the options that name them."""
    return {
        "--out": options.out,
        "--plot": options.plot,
        "--requests": options.requests,
        "--write-model": options.write_model,
    }


def _read_named(options: argparse.Namespace) -> Method:
    if options.method is not None:
        return read_method(options.method)
    if options.policy is not None:
        return read_method(with_prediction(options.policy, options.predict), among="policy")
    if options.solver is None:
        return read_method(_default_solver(options))
    if not PLAIN_NAME.fullmatch(options.solver.strip()):
        raise UsageError(
            f"--solver {options.solver}: expected a solver's name, found more (--method takes all)"
        )
    formulation = f":{options.formulation}" if options.formulation else ""
    return read_method(options.solver + formulation, among="solver")


def _default_solver(options: argparse.Namespace) -> str:
    """Return the method that the other options make when no solver is named."""
    if options.formulation is not None:
        kind = read_formulation(options.formulation)[0].kind
        return f"{default_engine(kind).name}:{options.formulation}"
    return DEFAULT_WRITER if options.write_model else DEFAULT_METHOD


def _parse(arguments: Sequence[str], program: str) -> argparse.Namespace:
    parser = Parser(
        prog=program,
        description=(
            "Solve one instance of LLM-inference scheduling under a KV-cache limit: minimise the "
            "total end-to-end latency (TEL).  Every schedule is re-checked independently."
        ),
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("instance", nargs="?", metavar="INSTANCE", help=INSTANCE_HELP)
    _add_method(parser)
    _add_limits(parser)
    add_serving(parser)
    add_trace_options(parser)
    parser.add_argument("--out", metavar="FILE", help="write the schedule (kvopt.schedule/1)")
    parser.add_argument("--plot", metavar="FILE", help="draw the schedule (.png or .svg)")
    parser.add_argument(
        "--write-model", metavar="FILE", help="write the MIP (.mps or .lp) and solve nothing"
    )
    parser.add_argument("--quiet", action="store_true", help="print the summary only")
    parser.add_argument(
        "--list", action="store_true", help="list solvers, formulations, policies and predictions"
    )
    parser.set_defaults(program=program)
    options = parser.parse_args(arguments)
    _refuse_loose_parts(options)
    return options


def _add_method(parser: argparse.ArgumentParser) -> None:
    """Add what names the method, whole or in parts."""
    method = parser.add_mutually_exclusive_group()
    method.add_argument(
        "--method",
        metavar="TEXT",
        help=f'a method of --list: {FORM}, as in "highs:ilp-strong(fixing=yes)" '
        f"(default: {DEFAULT_METHOD})",
    )
    method.add_argument(
        "--solver",
        metavar="NAME",
        help=f"{', '.join(named_engines())}, or any solver that Pyomo lists and finds on this "
        "machine; with --formulation F, which is the same as --method NAME:F, the solver alone, "
        "without it a solver of models has what auto runs beside it",
    )
    method.add_argument(
        "--policy",
        metavar="SPEC",
        help='a policy of --list with parameters, as in "alpha-beta(alpha=0.2,beta=0.1)", or '
        'all for a table of all of them; --policy P --predict Q is --method "P with Q"',
    )
    parser.add_argument(
        "--predict",
        metavar="SPEC",
        help='what policies that are not clairvoyant are told, as in "interval(1,1000)" '
        "(default: the instance's own intervals, exact where it has none)",
    )
    parser.add_argument(
        "--formulation",
        metavar="NAME",
        help='a formulation of --list with options, as in "cpsat-strong(groups=no,equal=no)" '
        "(default: by size)",
    )


def _add_limits(parser: argparse.ArgumentParser) -> None:
    """Add what the method may take, and its seed."""
    parser.add_argument(
        "--time-limit",
        type=read_seconds,
        default=60.0,
        metavar="S",
        help="seconds of wall clock for reading, building and solving together, up to 1e9 "
        "(default: 60)",
    )
    parser.add_argument(
        "--memory-limit",
        type=read_gigabytes,
        metavar="GB",
        help="resident memory of the method's processes, gigabytes, up to 1e6, what they share "
        "counted once, shared memory that none of them maps not at all (default: what the machine "
        "has)",
    )
    parser.add_argument(
        "--threads", type=read_count, metavar="N", help="threads of the method (default: all cores)"
    )
    parser.add_argument(
        "--seed",
        type=read_seed,
        default=0,
        metavar="K",
        help="seed of the engine, the policy and the prediction (default: 0)",
    )


def _refuse_loose_parts(options: argparse.Namespace) -> None:
    """Refuse a part of a method that would be left out without a word."""
    if options.formulation is not None and options.policy is not None:
        raise UsageError("--formulation goes with --solver, not with --policy")
    if options.write_model is not None and options.policy is not None:
        raise UsageError("--write-model goes with a MIP formulation, not with --policy")
    if options.formulation is not None and options.method is not None:
        raise UsageError("--method says all: write SOLVER:FORMULATION in place of --formulation")
    if options.predict is not None and options.method is not None:
        raise UsageError('--method says all: write "POLICY with PREDICTION" in place of --predict')
    if options.predict is not None and options.policy is None:
        raise UsageError("--predict goes with --policy")


def _refuse_unknown_suffix(path: str | None, option: str, suffixes: Sequence[str]) -> None:
    if path is not None and Path(path).suffix.lower() not in suffixes:
        expected = " or ".join(suffixes)
        raise UsageError(f"{option}: expected a name with {expected}, found {path}")
