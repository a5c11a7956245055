"""The queue by itself: its look-ahead against brute force, what it believes, and wrong settings."""

import random
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from kvopt_vllm.queue import LookAhead, SettingsError, make_queue, predicted

from integrations.vllm.tests.conftest import Seen
from kvopt.methods.custom_python import OwnMethodError
from kvopt.methods.syntax import MethodError


def request(prompt: int, most: int, made: int = 0, **given: Any) -> Seen:
    told = SimpleNamespace(extra_args=given or None)
    return Seen(prompt, most, told, made // 2, made - made // 2)


def fits(requests: Sequence[Any], blocks: int, block: int, planned_ahead: int) -> bool:
    """Let step after step pass, count the blocks in each, and keep those of who has ended."""
    made = [each.num_output_tokens + each.num_output_placeholders for each in requests]
    for step in range(1, 60):
        used = 0
        for each, before in zip(requests, made, strict=True):
            output = min(max(predicted(each)[1], before + 1), each.max_tokens)
            if before + step <= output + planned_ahead:
                held = each.num_prompt_tokens + min(before + step, output) - 1
                used += -(-held // block)
        if used > blocks:
            return False
    return True


@pytest.mark.parametrize("planned_ahead", [0, 1])
def test_look_ahead_against_every_step(planned_ahead: int) -> None:
    """It allows a request just where no later step needs more blocks than there are."""
    draws, found = random.Random(planned_ahead), {True: 0, False: 0}
    for _ in range(3000):
        block, blocks = draws.choice([1, 3, 16]), draws.randint(4, 30)
        running = [
            request(
                *(draws.randint(1, 12), most := draws.randint(1, 20)),
                made=draws.randint(0, most - 1 + planned_ahead),
                **({"output_upper": draws.randint(1, 20)} if draws.random() < 0.5 else {}),
            )
            for _ in range(draws.randint(1, 4))
        ]
        if not fits(running, blocks, block, planned_ahead):
            continue
        new = request(draws.randint(1, 12), draws.randint(1, 20))
        allowed = LookAhead(blocks, block, planned_ahead).check_with(running)(new)
        assert allowed == fits([*running, new], blocks, block, planned_ahead)
        found[allowed] += 1
    assert min(found.values()) > 200


def test_a_request_alone_is_always_admitted() -> None:
    """What asks for more than there is does not stop the queue for ever."""
    queue = make_queue({"policy": "svf"}, 4, 1, 1, list)
    queue.add_request(request(3, 100))
    assert queue


@pytest.mark.parametrize("wrong", ["120", 0, -3, 101, 2.5, True, [5], None])
def test_predictions_that_are_none_are_left_out(wrong: object) -> None:
    """A client cannot stop the engine by its predictions."""
    assert predicted(request(5, 100, output_upper=wrong)) == (100, 100)
    assert predicted(request(5, 100, output_lower=wrong, output_upper=40)) == (40, 40)
    assert predicted(request(5, 100, output_lower=7, output_upper=40)) == (7, 40)


def test_a_removed_request_is_gone_and_a_preempted_one_has_its_rank() -> None:
    """An aborted request is not admitted; ties go by who was added first, preempted or not."""
    queue = make_queue({"policy": "mc-sf", "admission": "engine"}, 100, 1, 0, list)
    long, early, late, short = (request(1, most) for most in (9, 5, 5, 2))
    for each in (long, early, late, short):
        queue.add_request(each)
    assert queue.pop_request() is short
    assert queue.pop_request() is early
    queue.prepend_request(short)
    queue.prepend_requests([early])
    assert list(queue) == [short, early, late, long]
    queue.remove_request(early)
    queue.remove_requests([long, short])
    assert queue.peek_request() is late
    queue.remove_request(late)
    assert (len(queue), bool(queue), list(queue)) == (0, False, [])


def test_values_of_parameters_reach_the_policy(tmp_path: Path) -> None:
    """A file's policy ranks by the values in its text, else by its defaults."""
    path = tmp_path / "mine.py"
    path.write_text(
        "from heuristics.policy import ListPolicy, Parameter\n"
        "POLICY = ListPolicy('mine', rank=lambda k: (k.values['sign'] * k.prompts,),\n"
        "    parameters=(Parameter('sign', 1, -1, 1, ''),))\n"
    )
    for given, first in (("", 3), ("(sign=-1)", 8)):
        queue = make_queue({"policy": f'file:"{path}"{given}'}, 50, 1, 0, list)
        queue.prepend_requests([request(3, 1), request(8, 1)])
        assert queue.peek_request().num_prompt_tokens == first


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("svf", "expected additional_config"),
        ({"policy": "svf", "order": 1}, "expected additional_config"),
        ({"policy": "svf", "admission": "none"}, "expected additional_config"),
        ({"policy": "svf(beta=1)"}, "svf takes no options"),
        ({"policy": "h-sf with deciles"}, "predictions come with the requests"),
        ({"policy": "nothing"}, "nothing ranks no requests"),
        ({"policy": "vllm-v1"}, "vllm-v1 ranks no requests"),
        ({"policy": "a-random"}, "a-random ranks no requests"),
        ({"policy": "file:nowhere.py"}, "nowhere.py"),
    ],
)
def test_wrong_settings_end_in_one_line(settings: object, message: str) -> None:
    """The server ends when it starts, with one line, and not in the middle of a request."""
    with pytest.raises((SettingsError, MethodError, OwnMethodError), match=message) as caught:
        make_queue(settings, 50, 1, 0, list)
    assert "\n" not in str(caught.value)
