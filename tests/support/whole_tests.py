"""Whole tests at the specification's full length, in virtual time."""

from pathlib import Path
from typing import Any

import pytest

from openpts.procedures.registry import PROCEDURES
from openpts.record.reader import Run, read_run
from openpts.runner.run import run_test
from openpts.runner.settings import Adjust, RunSettings
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.facts import People
from openpts.vocabulary.purge import Consent, PurgeChoice

DRIVES = {DriveClass.ENTERPRISE: "sim:enterprise-tlc", DriveClass.CLIENT: "sim:client-qlc?capacity=256GB"}


def classes(sampled: DriveClass) -> list[Any]:
    """Both, of which a sample takes one."""
    return [each if each is sampled else pytest.param(each, marks=pytest.mark.slow) for each in DriveClass]


def run_whole(
    test: str,
    drive_class: DriveClass,
    folder: Path,
    adjust: Adjust = lambda conditions: conditions,
    target: str | None = None,
    purge: PurgeChoice = PurgeChoice.AUTO,
) -> Run:
    """Run a test on the simulated drive of the profile, as the specification has it unless adjusted."""
    drive = target or DRIVES[drive_class]
    settings = RunSettings(
        target=drive,
        drive_class=drive_class,
        adjust=adjust,
        consent=Consent(),
        purge=str(purge),
        people=People(),
        command_line=("run", test, drive),
        folder=folder,
        seed=5,
    )
    return read_run(run_test(PROCEDURES[test], settings, []).folder)
