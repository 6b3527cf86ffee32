"""A small run, and what a kill leaves of it."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from openpts.fields.conditions import at_time_scale
from openpts.procedures.registry import PROCEDURES
from openpts.record.reader import Run, read_run
from openpts.runner.events import Event, StepFinished
from openpts.runner.run import run_test
from openpts.runner.settings import RunSettings
from openpts.units import MIB
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.facts import People
from openpts.vocabulary.purge import Consent
from tests.support.oracle_presets import write_oracle
from tests.support.shortened_runs import SMALL
from tests.support.subject_files import with_subject

SCALES = {"hir": 0.01, "benchmarks": 0.01, "lifetime": 0.01, "thermal": 0.01}
FEWER = {"powercut": {"cycles": 5, "range_bytes": 16 * MIB}}
SAMPLED = {"tp", "thermal"}  # rounds in several cycles; readings of the log between steps


def ordered(test: str, folder: Path, target: str = SMALL) -> RunSettings:
    return RunSettings(
        target=target,
        drive_class=DriveClass.ENTERPRISE,
        adjust=lambda conditions: replace(
            at_time_scale(with_subject(conditions), SCALES.get(test, 0.004)), **FEWER.get(test, {})
        ),
        consent=Consent(),
        people=People(),
        command_line=("run", test, target),
        folder=folder,
        seed=5,
    )


class Killed:
    """Keeps what a kill would leave at a step that any of them is with the same chance, or at a moment."""

    def __init__(
        self, folder: Path, kept: Path, *, seed: str = "", at: Callable[[Event], bool] | None = None
    ):
        self._folder, self._kept, self._at = folder, kept, at
        self._random, self._steps = random.Random(seed), 0

    def on_event(self, event: Event) -> None:
        if self._at is not None:
            if self._at(event) and not self._kept.exists():
                shutil.copytree(self._folder, self._kept)
        elif isinstance(event, StepFinished):
            self._steps += 1
            if self._random.randrange(self._steps) == 0:
                shutil.rmtree(self._kept, ignore_errors=True)
                shutil.copytree(self._folder, self._kept)


def small(tmp_path: Path, test: str = "tp", errors: str = "") -> RunSettings:
    """A run of a second on a drive that follows a script; throughput has two cycles."""
    preset = write_oracle(tmp_path, [1000, 900.5, 950], every=3, extra=errors)
    settings = ordered(test, tmp_path / "whole", f"sim:{preset}?seed=42")
    return replace(settings, adjust=lambda conditions: at_time_scale(conditions, 1 / 500))


def nth(kind: type[Event], number: int) -> Callable[[Event], bool]:
    """When the event of a kind comes for the n-th time."""
    seen = 0

    def at(event: Event) -> bool:
        nonlocal seen
        seen += isinstance(event, kind)
        return isinstance(event, kind) and seen == number

    return at


def killed(tmp_path: Path, at: Callable[[Event], bool], test: str = "tp") -> tuple[Run, Run]:
    """The run that a kill at an event leaves, and the same one undisturbed."""
    settings, cut = small(tmp_path, test), tmp_path / "cut"
    run_test(PROCEDURES[test], settings, [Killed(tmp_path / "whole", cut, at=at).on_event])
    return read_run(cut), read_run(tmp_path / "whole", interval_histograms=True)
