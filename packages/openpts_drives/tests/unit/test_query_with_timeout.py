import os
import time
from collections.abc import Iterator
from pathlib import Path

from openpts_drives.listing import ChildReply, ask_each


def test_each_is_answered_in_its_place_and_the_last_answer_counts() -> None:
    def answers(number: int) -> Iterator[str]:
        yield "early"
        yield str(number) * 100_000

    assert ask_each([1, 2], answers, 30.0) == [
        ChildReply("1" * 100_000, True),
        ChildReply("2" * 100_000, True),
    ]


def test_one_that_hangs_costs_its_own_answer_only() -> None:
    def answers(name: str) -> Iterator[str]:
        yield name
        if name == "dead":
            time.sleep(600)
        yield name.upper()

    begun_s = time.monotonic()
    assert ask_each(["dead", "well"], answers, 1.0) == [ChildReply("dead", False), ChildReply("WELL", True)]
    assert time.monotonic() - begun_s < 60


def test_a_child_that_is_killed_leaves_what_it_said() -> None:
    def answers(_name: str) -> Iterator[str]:
        yield "so far"
        os.kill(os.getpid(), 9)

    assert ask_each(["x"], answers, 30.0) == [ChildReply("so far", False)]


def test_it_runs_beside_this_process_and_leaves_none_behind() -> None:
    def answers(_name: str) -> Iterator[int]:
        yield os.getpid()

    (reply,) = ask_each(["x"], answers, 30.0)
    assert reply.answer not in {None, os.getpid()}
    assert not Path(f"/proc/{reply.answer}").exists()


def test_no_question_no_answer() -> None:
    assert ask_each([], lambda _: iter(()), 1.0) == []
