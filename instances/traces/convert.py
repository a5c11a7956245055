"""Command: write a trace as an instance file, ``kvopt convert TRACE --memory M --out FILE``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from instances.files import InstanceFileError, format_instance
from instances.generate import write_out
from instances.outputs import OutputError, check_apart, check_outputs
from instances.streams import steadily
from instances.traces.arguments import add_trace_options, trace_options
from instances.traces.formats import formats
from instances.traces.reading import read_trace
from instances.usage import Parser, UsageError, complain


def main(
    arguments: Sequence[str] | None = None, program: str = "python -m instances.traces.convert"
) -> int:
    """Run the command, by the name it was called, and return its exit code.

    It is 0, or 2 for bad usage or a trace that cannot be read (one line on stderr).
    """
    return steadily(program, lambda: _main(arguments, program))


def _main(arguments: Sequence[str] | None, program: str) -> int:
    parser = Parser(
        prog=program,
        description="Write a trace as an instance file; what was skipped is told on standard "
        "error.",
        epilog="exit code: 0 written, 2 bad usage or bad input",
    )
    parser.add_argument("trace", metavar="TRACE", nargs="?", help="file of a format of --list")
    add_trace_options(parser)
    parser.add_argument("--out", metavar="FILE", help="file to write (default: stdout)")
    parser.add_argument("--quiet", action="store_true", help="print nothing of what was skipped")
    parser.add_argument("--list", action="store_true", help="name the formats, then stop")
    try:
        options = parser.parse_args(arguments)
        if options.list:
            sys.stdout.write(_listing())
            return 0
        if options.trace is None:
            raise UsageError("expected a TRACE, found none (--list names the formats)")
        check_outputs({"--out": options.out}, [options.trace])
        instance, report = read_trace(options.trace, trace_options(options))
        for line in report.told(quiet=options.quiet):
            print(line, file=sys.stderr)
        check_apart({"--out": options.out})
        write_out(options.out, format_instance(instance))
    except (UsageError, OutputError, InstanceFileError) as error:
        complain(parser.prog, error)
        return 2
    return 0


def _listing() -> str:
    width = max(map(len, formats()))
    return "".join(
        f"{name:<{width}}  {each.summary}\n{'':<{width}}  {', '.join(each.reader.expects)}\n"
        for name, each in formats().items()
    )


if __name__ == "__main__":
    sys.exit(main())
