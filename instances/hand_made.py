"""Hand-made instances of at most six requests, each with one thing that goes wrong easily.

They are small enough for an exhaustive search over all starts: at most 20 tokens of memory, and
outputs and last arrival that add up to at most 30 rounds.
"""

from instances.families.shared import numbered
from instances.instance import Instance, Request

#: Name, memory (tokens), requests as (arrival, prompt, output), what it is about.
_Row = tuple[str, int, list[tuple[int, int, int]], str]

_ROWS: list[_Row] = [
    ("one_token", 1, [(0, 0, 1)], "the smallest instance: one request, one token, no prompt"),
    ("one_request_fills_memory", 9, [(0, 4, 5)], "n = 1 and s + o = M"),
    ("one_request_late", 9, [(7, 3, 5)], "n = 1 and nothing to do before round 7"),
    ("one_request_no_prompt", 12, [(0, 0, 12)], "n = 1, s = 0 and o = M"),
    ("all_fit_at_once", 20, [(0, 1, 1), (0, 2, 3), (0, 1, 4), (0, 3, 2)], "peaks sum below M"),
    ("all_fit_exactly", 14, [(0, 1, 3), (0, 2, 3), (0, 2, 3)], "peaks in one round sum to M"),
    ("one_token_too_many", 13, [(0, 1, 3), (0, 2, 3), (0, 2, 3)], "peaks sum to M + 1"),
    ("peaks_apart", 8, [(0, 1, 2), (0, 1, 5)], "peaks sum to 9, but never at one time"),
    ("equal_pair", 7, [(0, 1, 4), (0, 1, 4)], "two equal requests that overlap only in part"),
    ("equal_four", 8, [(0, 1, 3)] * 4, "two equal requests at a time, in step or staggered"),
    ("equal_five_staggered", 9, [(0, 1, 4)] * 5, "never two in step: one by one 60, staggered 38"),
    ("equal_six", 9, [(0, 2, 2)] * 6, "two at a time, with one token of memory to spare"),
    ("equal_no_prompt", 7, [(0, 0, 4)] * 5, "s = 0: only the growth takes memory"),
    ("equal_one_token", 6, [(0, 1, 1)] * 6, "o = 1: three in each round"),
    ("one_token_outputs", 10, [(0, 2, 1), (0, 4, 1), (0, 6, 1), (0, 3, 1)], "o = 1: bin packing"),
    ("one_token_no_prompt", 2, [(0, 0, 1)] * 5, "s = 0 and o = 1: two in each round"),
    ("no_prompts", 9, [(0, 0, 1), (0, 0, 3), (0, 0, 5), (0, 0, 8)], "s = 0 throughout"),
    ("no_prompt_beside_long", 10, [(0, 8, 2), (0, 0, 4), (0, 0, 6)], "s = 0 among others"),
    ("one_fills_memory", 10, [(0, 7, 3), (0, 1, 2), (0, 2, 2), (0, 1, 1)], "one has peak M"),
    ("every_one_fills_memory", 6, [(0, 5, 1), (0, 3, 3), (0, 1, 5), (0, 0, 6)], "all have peak M"),
    ("handover", 8, [(0, 2, 6), (6, 5, 3)], "a start in the very round of a completion"),
    ("handover_ramp", 5, [(0, 1, 4), (0, 1, 4), (0, 1, 4)], "memory full at each handover"),
    ("gap_between_arrivals", 9, [(0, 2, 3), (0, 3, 2), (12, 2, 4), (12, 4, 2)], "idle rounds"),
    ("nothing_at_round_0", 9, [(5, 2, 3), (6, 3, 4), (8, 1, 2)], "first arrival at round 5"),
    ("tied_arrivals", 9, [(2, 2, 4), (2, 3, 1), (4, 1, 5), (4, 4, 2), (4, 2, 2)], "two ties"),
    ("burst_on_a_busy_machine", 10, [(0, 2, 8)] + [(3, 1, 1)] * 5, "short ones meet a long one"),
    ("two_bursts", 8, [(0, 1, 3)] * 3 + [(4, 1, 2)] * 3, "the first burst is not yet over"),
    ("one_arrival_a_round", 8, [(i, 1 + i % 3, 2 + i % 2) for i in range(6)], "steady arrivals"),
    ("worth_waiting", 10, [(0, 1, 9)] + [(6, 1, 1)] * 5, "at once: 26, optimum: 20"),
    ("not_worth_waiting", 10, [(0, 1, 3), (4, 5, 5), (4, 1, 1)], "waiting helps nobody"),
    ("unsorted_arrivals", 9, [(6, 1, 2), (0, 2, 5), (3, 3, 1), (0, 1, 6)], "not by arrival"),
    ("shortest_first_not_optimal", 5, [(0, 1, 1), (0, 1, 1), (0, 1, 3), (0, 1, 3)],
     "equal prompts, yet shortest first gives 13 and 12 is possible (jaillet2025_v1 Theorem 4.2)"),
    ("horizon", 13, [(0, 3, 4), (0, 3, 1), (0, 3, 2), (0, 2, 9)],
     "the optimum ends later than the shortest heuristic schedule"),
    ("long_prompt_short_output", 12, [(0, 11, 1), (0, 1, 2), (0, 1, 2), (0, 1, 2), (0, 1, 2)],
     "shortest output first gives 13, last 11"),
    ("prefix_stops", 12, [(0, 2, 2), (0, 9, 3), (0, 1, 4), (0, 1, 4)],
     "stopping at the first that does not fit differs from trying all"),
    ("three_partition_yes", 20, [(0, x, 1) for x in (5, 6, 7, 5, 6, 5)],
     "T = 17, yes: 5 + 5 + 7 and 5 + 6 + 6"),
    ("three_partition_no", 19, [(0, x, 1) for x in (5, 5, 5, 5, 5, 7)],
     "T = 16, no: three odd numbers never sum to 16"),
]  # fmt: skip


def hand_made_instances() -> list[Instance]:
    """Return the hand-made instances; those with custom ids or predictions come last."""
    plain = [
        _tiny(name, memory, numbered(rows), f"hand-made: {about}")
        for name, memory, rows, about in _ROWS
    ]
    return [
        *plain,
        _tiny(
            "ids_with_gaps",
            9,
            (Request(70, 0, 2, 4), Request(3, 1, 1, 3), Request(12, 0, 4, 2)),
            "hand-made: ids are neither contiguous nor sorted",
        ),
        _tiny(
            "prediction_example_1",
            10,
            numbered([(0, 1, 1)] * 5, prediction=(1, 4)),
            "chen2025 Example 1: reserving the upper end gives 9, knowing the outputs 5",
        ),
        _tiny(
            "predictions_of_two_classes",
            14,
            (
                Request(0, 0, 1, 2, 1, 3),
                Request(1, 0, 1, 3, 1, 3),
                Request(2, 0, 2, 4, 4, 8),
                Request(3, 2, 1, 8, 4, 8),
            ),
            "hand-made: one prediction for short and one for long outputs",
        ),
        _tiny(
            "some_predictions",
            10,
            (Request(0, 0, 2, 5, 5, 5), Request(1, 0, 1, 4), Request(2, 0, 3, 1)),
            "hand-made: only one request has a prediction, and it is exact",
        ),
    ]


def _tiny(name: str, memory: int, requests: tuple[Request, ...], source: str) -> Instance:
    return Instance(f"tiny_{name}", memory, requests, family="tiny", source=source)
