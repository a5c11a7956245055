"""Token counts of a text: whitespace words, or a tokenizer by name."""

from __future__ import annotations

import os
from collections.abc import Callable

from serving.traces.options import TraceOptionError
from support.inputs import read_whole
from support.text import one_line

#: Counts the tokens of a text; None if the tokenizer fails.
TokenCount = Callable[[str], int | None]
#: Note of a report on words.
WORDS_NOTE = "lengths are whitespace words, not tokens: --tokenizer counts tokens"


def token_count(name: str | None) -> TokenCount:
    """Return the function that counts a text's tokens, without special ones.

    The name is the path of a ``tokenizer.json`` or a name of the Hugging Face hub, which is then
    asked; None counts whitespace words.
    """
    if name is None:
        return lambda text: len(text.split())
    try:
        from tokenizers import Tokenizer  # an extra
    except ImportError:
        raise TraceOptionError(
            f"tokenizer {name}: expected the package tokenizers (the extra kvopt[tokenizers]), "
            "found none"
        ) from None
    try:
        file = os.path.exists(name)
        read = Tokenizer.from_buffer if file else Tokenizer.from_pretrained
        tokenizer = read(read_whole(name) if file else name)
    except Exception as error:  # the package raises Exception itself
        raise TraceOptionError(f"tokenizer {name}: cannot be read: {one_line(error)}") from None

    def count(text: str) -> int | None:
        # JSON can hold half of a surrogate pair, UTF-8 cannot: it counts as U+FFFD.
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        try:
            return len(tokenizer.encode(text, add_special_tokens=False).ids)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # a panic of the package is no Exception
            return None

    return count
