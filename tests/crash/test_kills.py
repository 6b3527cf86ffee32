"""openpts is killed at random points of each test, OPENPTS_CRASH_ROUNDS times; a failure names its seed."""

import os
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any
from zlib import crc32

import pytest

from openpts.record.batch import is_batch
from openpts.record.reader import read_run
from openpts.record.writer import DATABASE_NAME
from tests.crash.trial import (
    CASES,
    FILE_CASES,
    SIGKILL,
    Case,
    Trial,
    drawn,
    figures_of,
    new_place,
    stored_steps,
)
from tests.crash.victim import Ended, Reported, openpts

_ROUNDS = int(os.environ.get("OPENPTS_CRASH_ROUNDS", "1"))
_MOST_KILLS = 5
_QUICK = {"tp", "lat", "thermal", "benchmarks", "fill"}


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


_SUITE = "suite"
_RUN_SUITE = (
    *("run", "all", "sim:enterprise-tlc?capacity=4GB", "--tests", "tp,xsr", "--time-scale", "0.004"),
    *("--seed", "5", "--no-report", "--out", _SUITE),
)


@cache
def undisturbed_suite() -> tuple[Ended, list[object]]:
    """A suite to its end, and the figures of its runs."""
    place = new_place()
    ran = openpts(*_RUN_SUITE, cwd=place)
    assert ran.code == 0, ran.output
    return ran, _figures_in(place / _SUITE)


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=pytest.mark.slow) for seed in range(_ROUNDS)])
def test_a_suite_that_is_killed_again_and_again_loses_nothing(
    seed: int, record_property: Callable[[str, object], None]
) -> None:
    random, place, kills, told = Random(seed), new_place(), 0, list[Reported]()
    like, figures = undisturbed_suite()
    folder, command = place / _SUITE, _RUN_SUITE
    for _ in range(random.randint(1, _MOST_KILLS)):
        ended = openpts(*command, cwd=place, blow=drawn(random, like))
        told += ended.told
        if ended.code != SIGKILL:
            break
        kills += 1
        stored = {step for run in _runs_in(folder) for step in stored_steps(run)}
        assert {(one.cycle, one.phase, one.started_ns) for one in told} <= stored
        if is_batch(folder):
            command = ("resume", _SUITE, "--no-report")
        else:
            assert not told
            shutil.rmtree(folder, ignore_errors=True)
    else:
        ended = openpts(*command, cwd=place)
    assert ended.code == 0 or "no test is left to resume" in ended.output, ended.output
    assert _figures_in(folder) == figures
    assert openpts("report", _SUITE, "--no-html", "--no-pdf", cwd=place).code == 0
    assert openpts("verify", _SUITE, cwd=place).code == 0
    assert not list(place.rglob(".openpts-*")), "drafts of files are left"
    record_property("kills", kills)


def _runs_in(suite: Path) -> list[Path]:
    return sorted(path.parent for path in suite.glob(f"*/{DATABASE_NAME}"))


def _figures_in(suite: Path) -> list[object]:
    return [figures_of(read_run(folder)) for folder in _runs_in(suite)]
