"""The command ``solve.py``: one instance, one method, a checked schedule and a summary."""

from __future__ import annotations

import argparse
import math
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import psutil

from formulations.bounds.volume import volume_bound
from formulations.choice import default_formulation
from formulations.registry import Formulation, formulations
from formulations.spec import (
    FormulationError,
    Options,
    describe_option,
    format_formulation,
    read_formulation,
)
from formulations.windows import start_windows
from heuristics.policy import NotApplicableError
from heuristics.predictions import PREDICTIONS
from heuristics.registry import policies
from heuristics.rounds import EndlessLoopError
from heuristics.simulator import AdviceError, run_policy
from heuristics.spec import SpecError, describe_parameter
from instances import InfeasibleInstanceError, Instance, InstanceFileError, read_instance
from runs.alarm import TimeLimitError
from runs.auto import solve_auto
from runs.exact import (
    Progress,
    UnavailableSolverError,
    final_status,
    solve_exactly,
    warm_start_policies,
)
from runs.job import Event, Job
from runs.policies_table import policies_table
from runs.policy import read_policy_call, run_policy_call
from runs.process import Outcome, run_job
from runs.provenance import provenance, usable_cores
from runs.terminal import ProgressLines, summary
from schedules import Schedule, check_schedule, make_schedule, write_schedule
from schedules.model import KEEPS_TOKENS_NOTE

EXIT_OK = 0
EXIT_BAD_INPUT = 2
EXIT_INFEASIBLE = 3
EXIT_NO_SCHEDULE = 4
EXIT_REFUSED = 5

DEFAULT_SOLVER = "auto"
#: Seconds kept back for the last checks and for writing files.
RESERVE_SECONDS = 0.3

_EPILOG = """\
exit codes:
  0  a checked schedule was produced, optimal or not (or the listing, or the model file)
  2  bad usage or bad input: one line on standard error; also where a checked schedule or a
     bound contradicts the known_optimum that the instance's file states (the schedule is
     reported and written all the same)
  3  the instance is infeasible: a request's prompt + output exceeds the memory
  4  no schedule within the limits
  5  the checker refused the method's own schedule: a bug, please report it
"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise _BadInputError(message)


class _BadInputError(Exception):
    """Bad usage or bad input; the message is one line."""


def main(arguments: Sequence[str]) -> int:
    """Run the command and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        # File names and request names may hold what the terminal cannot show.
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        return _run(arguments, _process_start())
    except (
        _BadInputError,
        FormulationError,
        SpecError,
        InstanceFileError,
        UnavailableSolverError,
    ) as error:
        print(f"solve.py: {error}", file=sys.stderr)
        return EXIT_BAD_INPUT
    except InfeasibleInstanceError as error:
        print(f"solve.py: {error}", file=sys.stderr)
        return EXIT_INFEASIBLE
    except KeyboardInterrupt:
        print("solve.py: interrupted before there was a schedule", file=sys.stderr)
        return EXIT_NO_SCHEDULE
    except BrokenPipeError:
        # The reader of the output has gone; Python would complain again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_OK


def _process_start() -> float:
    """Return when this process began, on the clock of ``time.monotonic``.

    The time limit counts from there, so that importing is part of it.
    """
    age = time.time() - psutil.Process().create_time()
    # A clock that was set back or forth since then tells nothing.
    return time.monotonic() - (age if 0 <= age < 10 else 0.0)


def _interrupt(signum: int, frame: object) -> NoReturn:
    del signum, frame
    raise KeyboardInterrupt


def _run(arguments: Sequence[str], started: float) -> int:
    options = _parse(arguments)
    if options.list:
        print(_listing())
        return EXIT_OK
    if options.instance is None:
        raise _BadInputError("expected INSTANCE, found none (see --help)")
    for path in (options.out, options.plot, options.write_model):
        _refuse_unwritable(path)
    _refuse_unknown_suffix(options.plot, "--plot", (".png", ".svg"))
    _refuse_unknown_suffix(options.write_model, "--write-model", (".mps", ".lp"))
    if options.policy not in (None, "all"):
        read_policy_call(options.policy, options.predict)
    if options.formulation is not None:
        read_formulation(options.formulation)
    if options.policy == "all" and (options.out or options.plot):
        raise _BadInputError("--policy all prints a table, it has no single schedule to write")
    instance = read_instance(options.instance)
    if instance.time_unit != "round":
        raise _BadInputError(
            f"{options.instance}: expected arrivals in rounds, found time_unit "
            f"{instance.time_unit!r}"
        )
    if not options.quiet:
        print(f"{instance.name}: {len(instance)} requests, {instance.memory} tokens", flush=True)
    if options.policy == "all":
        table, accepted, misstated = policies_table(
            instance,
            prediction=options.predict,
            seed=options.seed,
            deadline=started + options.time_limit,
            threads=options.threads or usable_cores(),
        )
        print(table)
        if misstated:
            print(f"solve.py: {instance.name}: {misstated}", file=sys.stderr)
        if not accepted:
            return EXIT_REFUSED
        return EXIT_BAD_INPUT if misstated else EXIT_OK
    if options.policy is not None:
        return _solve_with_policy(instance, options, started)
    solver = options.solver or _default_solver(options)
    if solver == "auto":
        return _solve_with_auto(instance, options, started)
    formulation, switches = _named_formulation(options.formulation, solver, instance)
    if options.write_model is not None:
        return _write_model(instance, formulation, switches, options)
    return _solve_with_engine(instance, solver, formulation, switches, options, started)


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = _Parser(
        prog="solve.py",
        description=(
            "Solve one instance of LLM-inference scheduling under a KV-cache limit: minimise the "
            "total end-to-end latency (TEL).  Every schedule is re-checked independently."
        ),
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("instance", nargs="?", metavar="INSTANCE", help="a kvopt.instance/1 file")
    method = parser.add_mutually_exclusive_group()
    method.add_argument(
        "--solver",
        metavar="NAME",
        help="auto, highs, cpsat, bound, or any solver that Pyomo finds on this machine "
        f"(default: {DEFAULT_SOLVER})",
    )
    method.add_argument(
        "--policy",
        metavar="SPEC",
        help='a policy of --list with parameters, as in "alpha-beta(alpha=0.2,beta=0.1)", or '
        "all for a table of all of them",
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
    parser.add_argument(
        "--time-limit",
        type=_seconds,
        default=60.0,
        metavar="S",
        help="seconds of wall clock for building and solving together (default: 60)",
    )
    parser.add_argument(
        "--memory-limit",
        type=_seconds,
        metavar="GB",
        help="resident memory of the engine, gigabytes (default: what the machine has)",
    )
    parser.add_argument(
        "--threads", type=_count, metavar="N", help="threads of the engine (default: all cores)"
    )
    parser.add_argument(
        "--seed",
        type=_seed,
        default=0,
        metavar="K",
        help="seed of the engine, the policy and the prediction (default: 0)",
    )
    parser.add_argument("--out", metavar="FILE", help="write the schedule (kvopt.schedule/1)")
    parser.add_argument("--plot", metavar="FILE", help="draw the schedule (.png or .svg)")
    parser.add_argument(
        "--write-model", metavar="FILE", help="write the MIP (.mps or .lp) and solve nothing"
    )
    parser.add_argument("--quiet", action="store_true", help="print the summary only")
    parser.add_argument(
        "--list", action="store_true", help="list solvers, formulations and policies"
    )
    options = parser.parse_args(arguments)
    if options.formulation is not None and options.policy is not None:
        raise _BadInputError("--formulation goes with --solver, not with --policy")
    if options.write_model is not None and options.policy is not None:
        raise _BadInputError("--write-model goes with a MIP formulation, not with --policy")
    if options.formulation is not None and options.solver == "auto":
        raise _BadInputError("--formulation goes with another --solver, auto chooses its own")
    return options


def _seconds(text: str) -> float:
    value = float(text)
    if not (math.isfinite(value) and value > 0):
        raise argparse.ArgumentTypeError(f"expected a number above 0, found {text}")
    return value


def _count(text: str) -> int:
    value = int(text)
    if not 1 <= value <= 1024:
        raise argparse.ArgumentTypeError(f"expected 1 to 1024, found {text}")
    return value


def _seed(text: str) -> int:
    value = int(text)
    if not 0 <= value <= 2**31 - 1:
        raise argparse.ArgumentTypeError(f"expected 0 to {2**31 - 1}, found {text}")
    return value


def _refuse_unwritable(path: str | None) -> None:
    """Find out before the run, not after it, that a result cannot be written."""
    if path is None:
        return
    target = Path(path)
    if target.is_dir():
        raise _BadInputError(f"{path}: expected a file to write, found a directory")
    if not target.absolute().parent.is_dir():
        raise _BadInputError(f"{path}: there is no such folder to write to")
    writable = target if target.exists() else target.absolute().parent
    if not os.access(writable, os.W_OK):
        raise _BadInputError(f"{path}: no permission to write")


def _refuse_unknown_suffix(path: str | None, option: str, suffixes: Sequence[str]) -> None:
    if path is not None and Path(path).suffix.lower() not in suffixes:
        expected = " or ".join(suffixes)
        raise _BadInputError(f"{option}: expected a name with {expected}, found {path}")


def _named_formulation(
    text: str | None, solver: str, instance: Instance
) -> tuple[Formulation, Options]:
    if text is None:
        text = default_formulation(solver, instance, start_windows(instance))
    formulation, switches = read_formulation(text)
    kind = {"cpsat": "cp", "bound": "bound", "search": "search"}.get(solver, "mip")
    if formulation.kind != kind:
        fitting = ", ".join(each.name for each in formulations().values() if each.kind == kind)
        raise _BadInputError(f"{solver} cannot solve {formulation.name!r}, it takes {fitting}")
    return formulation, switches


def _listing() -> str:
    sections = [
        "solvers",
        "  auto    bound, local search and exact engine side by side, by size (the default)",
        "  highs   HiGHS on a Pyomo model: MIP and LP relaxations",
        "  cpsat   OR-tools' CP-SAT",
        "  bound   lower bounds from memory prices or volumes, certified in integers",
        "  search  our own search over sets of started requests, up to 63 requests",
        "  NAME    any other solver that Pyomo's solver interface finds on this machine",
        "",
        "formulations",
    ]
    width = max(len(name) for name in [*formulations(), *policies()])
    for formulation in formulations().values():
        kind = f"[{formulation.kind}]"
        sections.append(f"  {formulation.name:<{width}}  {kind:<8} {formulation.summary}")
        for option in formulation.options:
            sections.append(f"  {'':<{width}}  {'':<8}   {describe_option(option)}")
    sections += ["", "policies"]
    for policy in policies().values():
        sections.append(f"  {policy.name:<{width}}  {policy.summary}")
        for parameter in policy.parameters:
            sections.append(f"  {'':<{width}}    {describe_parameter(parameter)}")
    sections += ["", "predictions (for policies that are not clairvoyant)"]
    for prediction in PREDICTIONS.values():
        sections.append(f"  {prediction.name:<{width}}  {prediction.summary}")
        for parameter in prediction.parameters:
            sections.append(f"  {'':<{width}}    {describe_parameter(parameter)}")
    return "\n".join(sections)


def _solve_with_policy(instance: Instance, options: argparse.Namespace, started: float) -> int:
    call = read_policy_call(options.policy, options.predict)
    progress = Progress(instance)
    progress.raise_bound(volume_bound(instance), "volumes")
    try:
        schedule = run_policy_call(
            call,
            instance,
            seed=options.seed,
            deadline=started + options.time_limit - RESERVE_SECONDS,
            threads=options.threads or usable_cores(),
            memory_limit=options.memory_limit,
        )
    except (EndlessLoopError, NotApplicableError, AdviceError, TimeLimitError) as error:
        progress.notes.append(str(error))
    else:
        progress.offer(schedule, f"policy {call.policy.name}")
    return _finish(progress, None, call.method, options, started)


def _default_solver(options: argparse.Namespace) -> str:
    """Return the solver that goes with the other options when none is named."""
    if options.formulation is not None:
        kind = read_formulation(options.formulation)[0].kind
        return {"cp": "cpsat", "bound": "bound", "search": "search"}.get(kind, "highs")
    return "highs" if options.write_model else DEFAULT_SOLVER


def _solve_with_auto(instance: Instance, options: argparse.Namespace, started: float) -> int:
    progress, outcome = solve_auto(
        instance,
        deadline=started + options.time_limit - RESERVE_SECONDS,
        threads=options.threads or usable_cores(),
        seed=options.seed,
        memory_limit=options.memory_limit,
        on_progress=ProgressLines(sys.stdout, started, options.quiet),
    )
    return _finish(progress, outcome, "auto", options, started)


def _solve_with_engine(
    instance: Instance,
    solver: str,
    formulation: Formulation,
    switches: Options,
    options: argparse.Namespace,
    started: float,
) -> int:
    lines = ProgressLines(sys.stdout, started, options.quiet)
    progress, outcome = solve_exactly(
        instance,
        solver,
        formulation,
        deadline=started + options.time_limit - RESERVE_SECONDS,
        threads=options.threads or usable_cores(),
        seed=options.seed,
        memory_limit=options.memory_limit,
        on_progress=lines,
        options=switches,
    )
    method = f"{solver} {format_formulation(formulation, switches)}"
    return _finish(progress, outcome, method, options, started)


def _write_model(
    instance: Instance, formulation: Formulation, switches: Options, options: argparse.Namespace
) -> int:
    if formulation.kind != "mip":
        raise _BadInputError(f"--write-model: {formulation.name!r} is not a MIP formulation")
    best = min((run_policy(policy, instance) for policy in warm_start_policies()), key=_tel)
    events: list[Event] = []
    job = Job(
        instance=instance,
        solver="export",
        module=formulation.module,
        relaxation=formulation.relaxation,
        seconds=options.time_limit,
        threads=1,
        seed=options.seed,
        warm_start=list(best.starts),
        upper_bound=best.tel,
        memory_limit=options.memory_limit,
        path=str(Path(options.write_model).absolute()),
        options=switches,
    )
    outcome = run_job(job, events.append)
    by_kind = {event.kind: event.data for event in events}
    if "done" not in by_kind:
        reason = by_kind.get("too_large") or by_kind.get("error") or {"text": outcome.ending}
        raise _BadInputError(f"{options.write_model}: not written: {reason['text']}")
    built = by_kind["built"]
    name = format_formulation(formulation, switches)
    print(f"wrote {options.write_model}: {name}, {built['columns']} columns, {built['rows']} rows")
    return EXIT_OK


def _tel(schedule: Schedule) -> int:
    return schedule.tel


def _finish(
    progress: Progress,
    outcome: Outcome | None,
    method: str,
    options: argparse.Namespace,
    started: float,
) -> int:
    """Write what was asked for, print the summary, and return the exit code."""
    misstated = progress.close()
    status = final_status(progress, outcome)
    seconds = time.monotonic() - started
    schedule, upper = progress.schedule, progress.upper_bound
    code = EXIT_OK
    if schedule is not None:
        if schedule.keeps_tokens:
            progress.notes.append(KEEPS_TOKENS_NOTE)
        schedule = make_schedule(
            progress.instance,
            schedule.starts,
            method,
            # None where the bound is not about this schedule, or one of the two is wrong.
            lower_bound=None if upper is None or status == "error" else progress.lower_bound,
            status=status if status == "optimal" else "feasible",
            attempts=schedule.attempts,
            kept=schedule.kept,
            provenance=_provenance(progress, outcome, options, seconds),
        )
        verdict = check_schedule(progress.instance, schedule)
        if verdict.valid:
            code = _write_results(progress.instance, schedule, options)
        else:
            progress.refused.append(verdict.reason)
    else:
        code = EXIT_NO_SCHEDULE
    if progress.refused or status == "error":
        code = EXIT_REFUSED
    elif misstated:
        code = EXIT_BAD_INPUT
    print(summary(_summary_rows(progress, schedule, method, status, seconds)))
    for line in progress.refused:
        print(f"solve.py: THE CHECKER REFUSED A SCHEDULE, this is a bug: {line}", file=sys.stderr)
    if misstated:
        print(f"solve.py: {progress.instance.name}: {misstated}", file=sys.stderr)
    if status == "error":
        print(
            f"solve.py: LOWER BOUND {progress.lower_bound} ({progress.bound_source}) EXCEEDS A "
            "CHECKED SCHEDULE, this is a bug",
            file=sys.stderr,
        )
    return code


def _provenance(
    progress: Progress, outcome: Outcome | None, options: argparse.Namespace, seconds: float
) -> dict[str, object]:
    return provenance(
        solver=progress.engine.get("solver"),
        outcome=progress.engine.get("outcome") or (outcome.ending if outcome else None),
        nodes=progress.engine.get("nodes"),
        model=progress.model or None,
        found_by=progress.found_by,
        bound_source=progress.bound_source,
        relaxation=progress.relaxation,
        peak_memory_mb=round(outcome.peak_memory / 1e6) if outcome else None,
        seed=options.seed,
        threads=options.threads or usable_cores(),
        time_limit_seconds=options.time_limit,
        limit_kind="wall clock",
        seconds=round(seconds, 3),
        notes=progress.notes,
    )


def _write_results(instance: Instance, schedule: Schedule, options: argparse.Namespace) -> int:
    try:
        if options.out is not None:
            write_schedule(schedule, options.out)
        if options.plot is not None:
            from schedules.picture import draw_schedule  # loads matplotlib: half a second

            draw_schedule(instance, schedule, options.plot)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        print(f"solve.py: a result could not be written: {reason}", file=sys.stderr)
        return EXIT_BAD_INPUT
    return EXIT_OK


def _summary_rows(
    progress: Progress, schedule: Schedule | None, method: str, status: str, seconds: float
) -> list[tuple[str, str]]:
    instance = progress.instance
    rows = [
        ("instance", instance.name),
        ("n", str(len(instance))),
        ("M", f"{instance.memory} tokens"),
        ("method", method),
        ("status", status),
    ]
    if schedule is not None:
        rows += [
            ("TEL", f"{schedule.tel}  (from {progress.found_by})"),
            ("AEL", f"{schedule.tel / len(instance):.3f}"),
        ]
    rows.append(("lower bound", f"{progress.lower_bound}  (from {progress.bound_source})"))
    if progress.gap is not None:
        rows.append(("gap %", f"{100 * progress.gap:.3f}"))
    if instance.known_optimum is not None:
        ratio = f", ratio {schedule.tel / instance.known_optimum:.4f}" if schedule else ""
        rows.append(("known optimum", f"{instance.known_optimum}{ratio}"))
    if progress.relaxation is not None:
        rows.append(("LP relaxation", f"{progress.relaxation:.6f}"))
    rows.append(("seconds", f"{seconds:.2f}"))
    if progress.refused:
        rows.append(("checker", "REFUSED"))
    else:
        rows.append(("checker", "valid" if schedule is not None else "nothing to check"))
    rows += [("note", note) for note in progress.notes]
    return rows
