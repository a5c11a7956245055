"""The sample of each format, written by hand, and what it holds for a memory of 100 tokens."""

from dataclasses import dataclass
from pathlib import Path

import pytest

SAMPLES = Path(__file__).with_name("samples")
MEMORY = 100


@dataclass(frozen=True)
class Case:
    """A sample with its requests (arrival, prompt, output) and what is skipped of it."""

    # ``skipped`` lists reason, rows and first row; ``order`` is a value of the file and what to put
    # in its place so that the row comes before the one above it, and ``row`` that row.
    file: str
    format: str
    requests: list[tuple[float, int, int]]
    skipped: list[tuple[str, int, int]]
    timed: bool = True
    order: tuple[str, str] = ("", "")
    row: int = 0
    time: tuple[str, str] = ("", "")

    @property
    def path(self) -> Path:
        return SAMPLES / self.file

    @property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")


_OUTPUT, _PROMPT = "no output tokens", "the prompt is empty"
_OVER, _FAILED = "prompt and output exceed the memory", "the request failed"
_NUMBER, _NEGATIVE = "a length is no whole number", "a length is negative"
_ANSWER, _TIMES = "no prompt with an answer", "its tokens have no times in order"
_WARM_UP = "it was sent to warm up"

CASES = [
    # 23:59:59.5000001 is 0; midnight is half a second later, 1.5 s after midnight 2 s later.  An
    # empty prompt is a request: 0 + 7 tokens.  90 + 20 exceed 100.
    Case("azure_2023.csv", "azure", [(0, 10, 4), (0.5, 30, 6), (2, 0, 7)],
         [(_OUTPUT, 1, 3), (_OVER, 1, 6)],
         order=("2023-11-17 00:00:00.0", "2023-11-16 00:00:00.0"), row=4,
         time=("2023-11-17 00:00:00.0000001", "1700179200")),
    # 02:00:02.5 two hours east of Greenwich is 00:00:02.5.
    Case("azure_2024.csv", "azure", [(0, 10, 4), (0.001163, 20, 5), (2.5, 30, 6)], [],
         order=("02:00:02.5", "01:00:02.5"), row=4,
         time=("2024-05-12 00:00:00.001163+00:00", "1.163")),
    Case("burstgpt.csv", "burstgpt", [(0, 47, 18), (105.5, 41, 5)], [(_FAILED, 1, 3)],
         order=("110.5", "44.9"), row=4, time=("45.0", "00:45")),
    # 95 + 6 exceed 100.
    Case("bailian.jsonl", "bailian", [(0, 40, 5), (2.864, 60, 7), (7.75, 10, 8)],
         [(_OVER, 1, 2), (_OUTPUT, 1, 4)],
         order=("4.5", "4.113"), row=4, time=("4.114", '"00:04"')),
    # 5,999 ms are 2.999 s after 3,000 ms; 95 + 7 exceed 100.
    Case("mooncake.jsonl", "mooncake", [(0, 50, 5), (2.999, 60, 6), (6, 7, 8)], [(_OVER, 1, 3)],
         order=("6000", "5998"), row=3, time=("5999", '"00:06"')),
    Case("vidur.csv", "vidur", [(0, 37, 4), (4.064579, 39, 10), (4.291877, 87, 5)], [],
         order=("4.541877", "4.314578"), row=4, time=("4.314579", "2023-11-16 18:15:46")),
    # 8.0 and 1e1 are whole numbers, 2.5 is none.
    Case("lengths.csv", "lengths", [(0, 72, 5), (0, 8, 10)],
         [(_NUMBER, 2, 3), (_NEGATIVE, 1, 4)], timed=False),
    Case("splitwise.csv", "splitwise", [(0, 40, 32), (2.25, 20, 8), (3, 20, 16)], [],
         order=(",4,1,20", ",3,1,20"), row=4, time=("3.25", "3s")),
    # The first two turns, whoever speaks; "conversations": and [é] are two words.
    Case("sharegpt.json", "sharegpt", [(0, 3, 2), (0, 2, 1)], [(_ANSWER, 1, 2)], timed=False),
    Case("lmsys.jsonl", "lmsys", [(0, 2, 3), (0, 4, 1)],
         [(_ANSWER, 1, 2), (_PROMPT, 1, 3)], timed=False),
    Case("vllm_custom.jsonl", "vllm-custom", [(0, 6, 10), (0, 3, 8)],
         [("output_tokens is missing", 1, 2)], timed=False),
    Case("vllm_bench.json", "vllm-bench", [(0, 12, 5), (1.5, 14, 7)], [(_FAILED, 1, 2)],
         time=("1000.5", '"soon"')),
    # The second arrives first; the third has no token, and 99 + 2 exceed 100.
    Case("llmservingsim.jsonl", "llmservingsim", [(0, 20, 1), (0.5, 10, 4)],
         [(_TIMES, 1, 3), (_OVER, 1, 4)], time=("1000.5", '"soon"')),
    # The second started last.
    Case("guidellm.json", "guidellm", [(0, 10, 1), (2.25, 20, 3)], [(_FAILED, 2, 3)],
         time=("1759813208.0", '"soon"')),
    Case("aiperf.jsonl", "aiperf", [(0, 10, 9), (2.25, 20, 3)],
         [(_WARM_UP, 1, 1), (_FAILED, 2, 4)], time=("1759813210250000000", '"soon"')),
]  # fmt: skip
BY_NAME = {case.file: case for case in CASES}
each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.file)
