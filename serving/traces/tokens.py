"""Token counts of a text: whitespace words, or a tokenizer that the user names."""

from __future__ import annotations

import os
from collections.abc import Callable

from serving.traces.options import TraceOptionError
from support.inputs import read_whole
from support.text import one_line

#: Counts the tokens of a text; None where the tokenizer fails.
TokenCount = Callable[[str], int | None]
#: What a report says where no tokenizer is named.
WORDS_NOTE = "lengths are whitespace words, not tokens: --tokenizer counts tokens"


def token_count(name: str | None) -> TokenCount:
    """Return what counts the tokens of a text, special tokens left out.

    The name is the path of a ``tokenizer.json``, or one of the Hugging Face hub, which is then
    asked; None is for whitespace words.
    """
    if name is None:
        return lambda text: len(text.split())
    try:
        from tokenizers import Tokenizer  # an extra, needed for nothing else
    except ImportError:
        raise TraceOptionError(
            f"tokenizer {name}: expected the package tokenizers (the extra kvopt[tokenizers]), "
            "found none"
        ) from None
    try:
        there = os.path.exists(name)
        tokenizer = (
            Tokenizer.from_buffer(read_whole(name)) if there else Tokenizer.from_pretrained(name)
        )
    except Exception as error:  # the package raises Exception itself
        raise TraceOptionError(f"tokenizer {name}: cannot be read: {one_line(error)}") from None

    def count(text: str) -> int | None:
        # JSON can hold half of a surrogate pair, UTF-8 cannot: it counts as U+FFFD.
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        try:
            return len(tokenizer.encode(text, add_special_tokens=False).ids)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # the package raises Exception itself, and a panic is none
            return None

    return count
