"""Command: the lengths of LMSYS-Chat-1M, ``python -m instances.traces.lmsys_lengths``.

The data set is gated: whoever has accepted its licence agreement downloads its Parquet files, and
this command writes the lengths of the first question and answer of each conversation, which is the
format ``lengths``.  No text is written.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from instances.traces.reader import TokenCount
from instances.traces.records import first_exchange
from instances.traces.tokens import WORDS_NOTE, token_count
from support.command import QUIET_OPTION, Command, Options, argument, option
from support.jsonfile import write_text
from support.outputs import OutputError, check_outputs
from support.progress import telling
from support.text import csv_text, one_line
from support.usage import UsageError

_COLUMN = "conversation"
_BATCH = 1000


@click.command(
    "python -m instances.traces.lmsys_lengths",
    cls=Command,
    fails={2: (OutputError, OSError)},
    examples=("data/*.parquet --out lengths.csv", "data/*.parquet --tokenizer t.json --out l.csv"),
    codes="0 written; 2 bad usage or input",
)
@argument("files", nargs=-1, required=True, metavar="PARQUET...")
@option("--out", required=True, metavar="FILE", help="CSV to write")
@option("--tokenizer", metavar="NAME", help="counts tokens, else words between white space")
@QUIET_OPTION
def main(options: Options) -> int:
    """Write the lengths of the conversations of LMSYS-Chat-1M, from its Parquet files."""
    check_outputs({"--out": options.out}, options.files)
    count = token_count(options.tokenizer)
    rows = list(telling(lengths(options.files, count), "conversations read"))
    kept = [row for row in rows if row is not None]
    write_text(options.out, csv_text(("num_prefill_tokens", "num_decode_tokens"), kept))
    if not options.quiet:
        told = f"{len(kept)} of {len(rows)} conversations have an answer"
        print(f"{options.out}: {told}", file=sys.stderr)
        if options.tokenizer is None:
            print(f"{options.out}: {WORDS_NOTE}", file=sys.stderr)
    return 0


def lengths(files: Sequence[str | Path], count: TokenCount) -> Iterator[tuple[int, int] | None]:
    """Yield the lengths of the first question and answer of each conversation, None without both.

    Raises
    ------
    UsageError
        If a file is no Parquet file with a column ``conversation``.
    """
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    for file in files:
        try:
            batches = ParquetFile(file).iter_batches(_BATCH, columns=[_COLUMN])
            for batch in batches:
                for turns in batch.column(_COLUMN).to_pylist():
                    found = first_exchange(turns, "content", "role", ("user", "assistant"))
                    prompt, output = (None, None) if found is None else map(count, found)
                    yield None if prompt is None or output is None else (prompt, output)
        except (ArrowException, KeyError) as error:
            raise UsageError(
                f"{file}: expected a Parquet file with {_COLUMN}: {one_line(error)}"
            ) from None


if __name__ == "__main__":
    sys.exit(main())
