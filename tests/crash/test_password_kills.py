"""openpts is killed while it has a password on a drive: the drive is never left locked for good."""

import json
import os
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest

from tests import ROOT
from tests.lab.machine import in_lab, needs_lab
from tests.support.ata_security_drive import CONFORMANT_MANNERS, Manners

pytestmark = [needs_lab, pytest.mark.slow]

_KILLS = int(os.environ.get("OPENPTS_PASSWORD_KILLS", "10"))
_SEED = int(os.environ.get("OPENPTS_CRASH_SEED", "17"))
_MANNERS = [each for each in CONFORMANT_MANNERS if not each.frozen_at_start]


@pytest.mark.parametrize("manners", _MANNERS, ids=str)
def test_the_next_openpts_frees_a_drive_of_the_password_of_one_that_was_killed(
    manners: Manners, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """Behind real hdparm and the kernel's own SCSI layer, whose drive is a process of the machine."""
    result = tmp_path / "result.json"
    seed = _SEED + _MANNERS.index(manners)
    arguments = f"{seed} {_KILLS} '{json.dumps(asdict(manners))}' {result}"
    script = f"""
    cd {ROOT}
    export PYTHONPATH={os.environ.get("PYTHONPATH", "")}
    exec {sys.executable} -m tests.crash.locked_drive {arguments}
    """
    ended = in_lab(tmp_path, script=script, timeout_s=300 + 60 * _KILLS)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    seen = json.loads(result.read_text())
    assert seen["kills with a password left"], seen
    record_property("kills", seen["kills"] + seen["kills of an unlock"])
    record_property("password", seen)
