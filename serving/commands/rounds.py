"""``kvopt rounds``: the rounds of a log of vLLM as a CSV, and the batch time fitted to them."""

import click

from instances.batch_time import BatchTimeError
from serving.batch_time import read_batch_time
from serving.batch_time.kinds.fitted import UnfitError
from serving.batch_time.vllm_log import read_log
from support.click_command import Command, CommandOptions, argument, option
from support.json_files import write_text
from support.message_text import plural
from support.output_checks import OutputError, check_outputs


@click.command(
    "kvopt rounds",
    cls=Command,
    fails={1: (UnfitError,), 2: (BatchTimeError, OutputError)},
    examples=("vllm.log --out rounds.csv", "/var/log/vllm.log --out results/rounds.csv"),
    codes="0 written; 1 written, but no batch time fits the rounds; 2 bad usage or input",
)
@argument("log", metavar="LOG")
@option("--out", "FILE", "write one row a round (.csv)", required=True)
def main(options: CommandOptions) -> int:
    """Read the rounds that vLLM has logged, and fit a batch time to them.

    vllm serve --enable-logging-iteration-details writes the log, under load.
    """
    check_outputs({"--out": options.out}, [options.log])
    found = read_log(options.log)
    try:
        write_text(options.out, found.csv)
    except OSError as error:
        raise OutputError(f"--out {options.out}: {error.strerror}") from None
    model = read_batch_time(f"fitted({options.out})")
    rows = [("rounds", plural(len(found.rows), "round"))]
    rows += [("skipped", f"{plural(n, 'line')}: {why}") for why, n in found.skipped.items()]
    if found.memory is not None:
        rows.append(("--memory", f"{found.memory}  (GPU KV cache size)"))
    rows += [("--batch-time", f'"{model.name}"'), ("fit", model.origin)]
    if not found.holds:
        rows.append(("note", "the log does not say what the cache holds: reading it has no time"))
    print("\n".join(f"{label:<12}  {value}" for label, value in rows))  # too long to wrap
    return 0
