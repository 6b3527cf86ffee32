"""What befalls NVMe drives of a virtual machine while they are measured."""

import json
from pathlib import Path

import pytest

from openpts.record.manifest import RunState
from openpts.record.reader import read_run
from tests.lab.machine import OPENPTS, in_lab, needs_lab

pytestmark = needs_lab


@pytest.mark.slow
def test_a_drive_that_goes_away_leaves_an_honest_record(tmp_path: Path) -> None:
    ended = in_lab(
        tmp_path,
        "--nvme",
        "512M",
        script=f"""
        {OPENPTS} run iops /dev/nvme0n1 --confirm-serial LABNVME0000 --step-seconds 1 --tc 1 --qd 4 \
            --precondition-passes 0.1 --no-report --out {tmp_path}/run \
            > {tmp_path}/log 2> {tmp_path}/complaint &
        until grep -q 'WIPC done' {tmp_path}/log; do sleep 0.2; done
        sleep 3
        lab-ctl unplug nvme0
        wait $!
        """,
    )
    assert ended.returncode == 7, ended.stdout + ended.stderr
    complaint = (tmp_path / "complaint").read_text()
    assert "failed in" in complaint
    assert "Traceback" not in complaint
    run = read_run(tmp_path / "run")
    assert run.manifest.state is RunState.FAILED
    assert run.steps[-1].sample.failure is not None


@pytest.mark.slow
@pytest.mark.parametrize("path", ["io_uring", "sync"])
def test_a_drive_that_hangs_is_told_while_it_hangs_and_can_be_left(tmp_path: Path, path: str) -> None:
    ended = in_lab(
        tmp_path,
        *("--nvme", "64M", "--dm-delay", "/dev/nvme0n1:1"),
        script=f"""
        {OPENPTS} io /dev/mapper/delay0 --seconds 120 --qd 4 --io-path {path} --json \
            > {tmp_path}/result 2> {tmp_path}/log &
        openpts=$!
        until grep -q '^ *2.0 ' {tmp_path}/log; do sleep 0.2; done
        dmsetup suspend --nolockfs --noflush delay0
        sleep 12
        cp {tmp_path}/log {tmp_path}/log-while-hanging
        kill -TERM $openpts
        sleep 4
        cp {tmp_path}/result {tmp_path}/result-while-hanging
        dmsetup resume delay0
        wait $openpts
        """,
    )
    assert ended.returncode == 130, ended.stdout + ended.stderr + (tmp_path / "log").read_text()
    assert "not been answered" in (tmp_path / "log-while-hanging").read_text()
    result = json.loads((tmp_path / "result-while-hanging").read_text())
    assert result["state"] == "interrupted"
    assert result["total"]["ios"] > 0
    reasons = [error["reason"] for error in result["errors"]]
    assert reasons
    assert all(reason.startswith("no answer within") for reason in reasons)


@pytest.mark.slow
def test_bad_sectors_are_counted_with_their_places(tmp_path: Path) -> None:
    read = f"{OPENPTS} io /dev/mapper/error0 --pattern sequential --bs 4k --qd 4 --fills 1"
    ended = in_lab(
        tmp_path,
        *("--nvme", "64M", "--dm-error", "/dev/nvme0n1:4096:64"),
        script=f"""
        {read} --max-errors 100 --json > {tmp_path}/counted
        [ $? = 0 ] || exit 10
        {read} --json > {tmp_path}/stopped
        [ $? = 7 ] || exit 11
        """,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    counted = json.loads((tmp_path / "counted").read_text())
    (errors,) = counted["errors"]
    assert (errors["operation"], errors["count"]) == ("read", 8)
    assert "Input/output error" in errors["reason"]
    assert sorted(errors["first_offsets_bytes"]) == [4096 * 512 + place * 4096 for place in range(8)]
    stopped = json.loads((tmp_path / "stopped").read_text())
    assert stopped["state"] == "failed"
    assert 4096 * 512 <= stopped["failure"]["offset_bytes"] < 4160 * 512
