"""openpts is killed at random points of each test, OPENPTS_CRASH_ROUNDS times; a failure names its seed."""

import os
import shutil
from collections.abc import Callable
from random import Random
from typing import Any
from zlib import crc32

import pytest

from tests.crash.trial import CASES, FILE_CASES, Case, Trial

_ROUNDS = int(os.environ.get("OPENPTS_CRASH_ROUNDS", "1"))
_MOST_KILLS = 5
_QUICK = {"tp", "lat", "thermal", "benchmarks", "hdd", "fill"}


def _trials() -> list[Any]:
    """All cases once, then all again: a sample takes the quick ones of the first round."""
    return [
        pytest.param(
            case,
            seed,
            id="-".join((*case.arguments[:2], *case.accepts, str(seed))),
            marks=() if seed == 0 and case.arguments[0] in _QUICK else pytest.mark.slow,
        )
        for seed in range(_ROUNDS)
        for case in (*CASES, *FILE_CASES)
    ]


@pytest.mark.parametrize(("case", "seed"), _trials())
def test_a_run_that_is_killed_again_and_again_loses_nothing(
    case: Case, seed: int, record_property: Callable[[str, object], None]
) -> None:
    random = Random(crc32(repr((case, seed)).encode()))
    trial = Trial(case, random)
    record_property("kills", trial.go(_MOST_KILLS, reports=random.random() < 0.2))
    shutil.rmtree(trial.place)
