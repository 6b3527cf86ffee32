"""The IOPS test with one test point instead of 56, so that a step of the drive's script is a round."""

from pathlib import Path

from msgspec.structs import replace

from openpts.fields.conditions import Conditions
from openpts.runner.events import Listener
from openpts.runner.run import FinishedRun, run_test
from openpts.runner.settings import RunSettings
from openpts.units import KIB, NS_PER_S
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.facts import People
from openpts.vocabulary.purge import Consent, PurgeChoice
from openpts.vocabulary.verdict import TrackingVariable
from openpts_pts.conformance.catalogue import PTS
from openpts_pts.iops import IopsConditions
from openpts_pts.iops.script import TRACKING

POINT = TRACKING[0]
"""RND 4 KiB 0/100."""

STEPS_BEFORE_ROUNDS = 1
"""Steps with I/O between purge and first round: preconditioning."""


def run_one_point(
    preset: Path | str,
    folder: Path,
    *,
    max_rounds: int = 25,
    step_s: float = 60,
    point: TrackingVariable = POINT,
    purge: PurgeChoice = PurgeChoice.AUTO,
    seed: int = 7,
    drive_class: DriveClass = DriveClass.ENTERPRISE,
    listeners: tuple[Listener, ...] = (),
) -> FinishedRun:
    """The run with the runner that any device has."""

    def adjust(conditions: Conditions) -> Conditions:
        assert isinstance(conditions, IopsConditions)
        return replace(
            conditions,
            read_pcts=(point.read_pct,),
            block_sizes_bytes=(point.block_size_bytes,),
            tracking=(point,),
            max_rounds=max_rounds,
            minute_ns=round(step_s * NS_PER_S),
            precondition_block_size_bytes=128 * KIB,
        )

    settings = RunSettings(
        target=f"sim:{preset}",
        drive_class=drive_class,
        adjust=adjust,
        consent=Consent(),
        purge=str(purge),
        people=People(),
        command_line=("run", "iops", f"sim:{preset}"),
        folder=folder,
        seed=seed,
    )
    return run_test(PTS["iops"], settings, listeners)
