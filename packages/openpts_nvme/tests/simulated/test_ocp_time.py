"""How long the test of OCP's specification takes on 4 TB: its longest act on models, in virtual time."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from openpts.cli.main import cli
from openpts_nvme.dssd.plan import ACTS

CAPACITY_TB = 4
MOST_S = 8 * 3600
SPACE = "deallocated space"
WRITTEN = "io_size=2500g"
"""At random each time: a half of the drive, and an eighth."""
JOB = f"""
[global]
bs=128k
iodepth=1
[fill]
rw=write
size=100%
[in-use]
stonewall
rw=randwrite
size=100%
{WRITTEN}
[deallocate]
stonewall
rw=trim
bs=64m
offset=25%
size=75%
[deallocated]
stonewall
rw=randwrite
size=25%
{WRITTEN}
"""


@pytest.mark.parametrize("preset", ["enterprise-tlc", pytest.param("client-qlc", marks=pytest.mark.slow)])
def test_the_whole_pass_on_4_tb_takes_less_than_8_hours(tmp_path: Path, preset: str) -> None:
    (tmp_path / "space.fio").write_text(JOB)
    drive = f"sim:{preset}?capacity={CAPACITY_TB}TB&scale=1024&seed=1"
    done = CliRunner().invoke(cli, ["io", drive, "--fio", str(tmp_path / "space.fio"), "--json"])
    assert done.exit_code == 0, done.output
    steps = json.loads(done.stdout)["steps"]
    fill, in_use, _, deallocated = (step["elapsed_seconds"] for step in steps)
    assert fill > 1000  # 4 TB at 4 GB/s
    assert deallocated < in_use  # the benefit that TRIM-4 asks for
    space_s = sum(step["elapsed_seconds"] for step in steps)
    (plan,) = (act for act in ACTS if act.name == SPACE)
    assert space_s <= plan.seconds + CAPACITY_TB * plan.seconds_per_tb
    others_s = sum(act.seconds + CAPACITY_TB * act.seconds_per_tb for act in ACTS if act is not plan)
    assert space_s + others_s < MOST_S
