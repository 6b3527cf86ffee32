"""A run on a file that was cut off goes on: from its purge, or inside its rounds where that is accepted."""

import platform
import shutil
import sqlite3
import struct
from collections.abc import Callable
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest
from msgspec.structs import replace

from openpts.errors import InterruptedRunError, TargetError
from openpts.fields.conditions import Conditions
from openpts.procedures.registry import PROCEDURES
from openpts.record.manifest import RunState
from openpts.record.reader import Run, read_run
from openpts.record.writer import DATABASE_NAME
from openpts.runner.events import Event, PurgeFinished, RunStarted, StepFinished
from openpts.runner.resumed_run import Resumption
from openpts.runner.run import run_test
from openpts.runner.settings import RunSettings
from openpts.units import KIB
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.facts import People
from openpts.vocabulary.purge import Consent
from openpts.vocabulary.sample import Phase
from openpts_practice.lifetime import LifetimeConditions
from openpts_pts.iops import IopsConditions
from openpts_pts.iops.script import TRACKING

SIZE_BYTES = 32 * 2**20
SECTOR_BYTES = 512
OF_A_ROUND = 4


def _small(conditions: Conditions) -> Conditions:
    if isinstance(conditions, LifetimeConditions):
        return replace(conditions, drive_cycles=3)
    assert isinstance(conditions, IopsConditions)
    return replace(
        conditions,
        read_pcts=(100, 0),
        block_sizes_bytes=(128 * KIB, 4 * KIB),
        tracking=TRACKING[:1],
        max_rounds=5,
        minute_ns=20_000_000,
        precondition_passes=1,
    )


def _order(test: str, folder: Path, target: Path) -> RunSettings:
    return RunSettings(
        target=f"file:{target}?size=32MiB",
        drive_class=DriveClass.CLIENT,
        adjust=_small,
        consent=Consent(overwrite_file=True),
        people=People(),
        command_line=("run", test),
        folder=folder,
        seed=5,
        telemetry_period_s=None,  # on a busy host it makes an entry in the ledger
    )


def _at_step(number: int) -> Callable[[Event], bool]:
    """When so many steps are finished."""
    left = number

    def at(event: Event) -> bool:
        nonlocal left
        is_finished = isinstance(event, StepFinished)
        left -= is_finished
        return is_finished and left == 0

    return at


def cut_off(tmp_path: Path, at: Callable[[Event], bool], test: str = "iops", *, killed: bool = True) -> Run:
    """A run that ended at an event: as a kill leaves it, or Ctrl-C."""
    folder, left = tmp_path / "stopped", tmp_path / "killed"

    def stop(event: Event) -> None:
        if at(event) and not left.exists():
            shutil.copytree(folder, left)
            raise KeyboardInterrupt

    with pytest.raises(InterruptedRunError):
        run_test(PROCEDURES[test], _order(test, folder, tmp_path / "x"), [stop])
    return read_run(left if killed else folder)


def resumed(run: Run, heard: list[Event] | None = None, **accepted: bool) -> Run:
    settings = RunSettings.to_resume(Resumption(run, **accepted), Consent())
    listener = (lambda _: None) if heard is None else heard.append
    run_test(PROCEDURES[run.manifest.conditions.test], settings, [listener])
    return read_run(run.folder)


def _of_rounds(run: Run) -> list[tuple[int, int]]:
    return [(step.place.number, step.place.position) for step in run.phase(Phase.ROUND)]


def _states(folder: Path) -> list[str]:
    with closing(sqlite3.connect(folder / DATABASE_NAME)) as connection:
        return [state for (state,) in connection.execute("SELECT state FROM step ORDER BY step_id")]


def _assert_one_clock(run: Run) -> None:
    """Over all attempts. What was set aside came before the gap of the step that was next."""
    for before, after in pairwise(step.sample for step in run.steps):
        assert after.gap_ns is not None
        assert 0 <= after.gap_ns <= after.started_ns - (before.started_ns + before.elapsed_ns)


@pytest.mark.needs("files")
def test_it_begins_again_from_the_purge_and_keeps_what_was_measured(tmp_path: Path) -> None:
    cut = cut_off(tmp_path, _at_step(1 + OF_A_ROUND + 2))
    heard: list[Event] = []
    run = resumed(cut, heard)
    assert (run.manifest.state, _of_rounds(run)) == (RunState.COMPLETE, _whole())
    first, second = run.manifest.attempts
    assert (first.end, first.set_aside, second.went_on_at) == (
        RunState.RUNNING,
        cut.manifest.purges,
        "the purge of cycle 1",
    )
    assert (second.steps, second.host) == (len(cut.steps), platform.node())
    assert len(run.manifest.purges) == len(run.manifest.cycles) == 1
    states = _states(run.folder)
    assert states[: len(cut.steps)] == ["repeated"] * len(cut.steps)
    assert set(states[len(cut.steps) :]) == {"complete"}
    asked, kept = ([entry for entry in of.ledger if not entry.steps] for of in (cut, run))
    assert kept == asked  # what steps add depends on how busy the machine is
    (started,) = (event for event in heard if isinstance(event, RunStarted))
    assert started.resumes_at == "the purge of cycle 1: 0 steps are kept"
    _assert_one_clock(run)


@pytest.mark.needs("files")
def test_it_goes_on_inside_its_rounds_where_that_is_accepted(tmp_path: Path) -> None:
    cut = cut_off(tmp_path, _at_step(1 + OF_A_ROUND + 2))
    run = resumed(cut, accept_interruption=True)
    stand = 1 + OF_A_ROUND
    assert run.steps[:stand] == cut.steps[:stand]
    assert _of_rounds(run) == _whole()
    assert run.manifest.purges == cut.manifest.purges
    # a busy machine makes entries of its own
    (entry,) = [entry for entry in set(run.ledger) - set(cut.ledger) if entry.rule_id == "PTS-PRE-05"]
    assert entry.used.startswith("interrupted for ")
    assert entry.used.endswith(" s before round 2 of cycle 1, drive idle, an unknown number of power cycles")
    second = run.manifest.attempts[1]
    first_gap_ns, idle_ns = run.steps[stand].sample.gap_ns, second.idle_ns
    assert first_gap_ns is not None
    assert idle_ns is not None
    assert first_gap_ns >= idle_ns > 0
    longest = max(run.with_gaps, key=lambda step: step.sample.gap_ns or 0)
    assert longest == run.steps[stand]
    _assert_one_clock(run)


def _whole() -> list[tuple[int, int]]:
    return [(number, position) for number in range(1, 6) for position in range(OF_A_ROUND)]


@pytest.mark.slow
@pytest.mark.needs("files")
def test_one_that_is_cut_off_again_and_again_comes_to_its_end(tmp_path: Path) -> None:
    """By Ctrl-C before its first step, then in preconditioning, then in a round."""
    run = cut_off(tmp_path, lambda event: isinstance(event, PurgeFinished), killed=False)
    assert (run.manifest.state, len(run.steps)) == (RunState.INTERRUPTED, 0)
    for steps in (1, 1 + OF_A_ROUND + 1):
        at = _at_step(steps)

        def stop(event: Event, at: Callable[[Event], bool] = at) -> None:
            if at(event):
                raise KeyboardInterrupt

        with pytest.raises(InterruptedRunError):
            run_test(PROCEDURES["iops"], RunSettings.to_resume(Resumption(run), Consent()), [stop])
        run = read_run(run.folder)
    run = resumed(run, accept_interruption=True)
    assert (run.manifest.state, _of_rounds(run)) == (RunState.COMPLETE, _whole())
    ends = [attempt.end for attempt in run.manifest.attempts]
    assert ends == [RunState.INTERRUPTED] * 3 + [None]
    assert [attempt.idle_ns is None for attempt in run.manifest.attempts] == [True, True, False, False]
    assert [entry.rule_id for entry in run.ledger].count("PTS-PRE-05") == 1
    _assert_one_clock(run)


@pytest.mark.needs("files")
def test_lifetime_goes_on_in_its_cycle_without_an_entry(tmp_path: Path) -> None:
    """Sectors have their LBA and the number of the pass that wrote them: nothing was left out or doubled."""
    cut = cut_off(tmp_path, _at_step(3), "lifetime")
    run = resumed(cut)
    assert run.manifest.attempts[1].went_on_at == "drive cycle 2 of cycle 1"
    assert not [entry for entry in run.ledger if entry.rule_id == "PTS-PRE-05"]
    assert run.steps[:2] == cut.steps[:2]
    moved = [(step.sample.write.bytes, step.sample.read.bytes) for step in run.phase(Phase.DRIVE_CYCLE)]
    assert moved == [(SIZE_BYTES, 0), (0, SIZE_BYTES)] * 3
    content = (tmp_path / "x").read_bytes()
    passes = {struct.unpack_from("<QQ", content, at + 16) for at in range(0, SIZE_BYTES, SECTOR_BYTES)}
    assert {lba for lba, _ in passes} == set(range(SIZE_BYTES // SECTOR_BYTES))
    assert len({number for _, number in passes}) == 1


@pytest.mark.needs("files")
def test_another_file_is_refused_and_nothing_of_the_run_changes(tmp_path: Path) -> None:
    cut = cut_off(tmp_path, _at_step(3))
    other = f"file:{tmp_path / 'y'}?size=64MiB"
    with pytest.raises(TargetError, match="capacity"):
        run_test(PROCEDURES["iops"], RunSettings.to_resume(Resumption(cut), Consent(), other), [])
    assert read_run(cut.folder) == cut
    (tmp_path / "x").rename(tmp_path / "z")
    moved = f"file:{tmp_path / 'z'}?size=32MiB"
    run_test(PROCEDURES["iops"], RunSettings.to_resume(Resumption(cut), Consent(), moved), [])
    assert read_run(cut.folder).manifest.state is RunState.COMPLETE
