"""OCP's specification held against a served drive behind the kernel's own nvme-tcp, in the device lab.

The drive conforms in what it answers; a second one is served with violations. OPENPTS_LAB names the lab's
program.
"""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from openpts.record.manifest import RunState
from openpts.record.reader import read_run
from openpts_nvme.dssd.answers import kept
from openpts_nvme.dssd.judge import Judged, RequirementVerdict, judge
from tests.lab.machine import OPENPTS, ROOT, in_lab, needs_lab
from tests.support.ocp_drive import OcpDrive

pytestmark = [needs_lab, pytest.mark.slow]

SERIAL = "OCPDRIVE0001"
PLANTED = {"SMART-27": ("log", 0xC0, 494, "0500"), "GETF-5": ("feature", 0xC6, 0, "04000000")}


def answers(*planted: tuple[str, int, int, str]) -> str:
    """A file for ``--answers`` of the testbench, without another size of the namespace than the drive has."""
    drive = OcpDrive(7)
    tables = [f'{_named(*key)}\npage = "{page.hex()}"' for key, page in drive.pages.items()]
    for key, at, data in drive.patches:
        if key != ("identify", 0) or at not in {0, 8, 128}:
            tables.append(f'{_named(*key)}\nat = {at}\nbytes = "{data.hex()}"')
    tables += [
        f'{_named(kind, number, 3 if kind == "feature" else 0)}\nat = {at}\nbytes = "{text}"'
        for kind, number, at, text in planted
    ]
    tables.append("command = 8\nstatus = 2")
    return "".join(f"[[override]]\n{table}\n" for table in tables)


def _named(kind: str, number: int, select: int = 0) -> str:
    if kind == "feature":
        return f"feature = {number & 0xFF}\nselect = {number >> 8 or select}"
    return f"{kind} = {number}"


def _failed(judged: Sequence[Judged]) -> set[str]:
    return {each.requirement.identifier for each in judged if each.verdict is RequirementVerdict.NOT_MET}


def test_violations_are_found_through_the_kernel_and_told_to_other_programs(tmp_path: Path) -> None:
    (tmp_path / "answers.toml").write_text(answers(*PLANTED.values()))
    ended = in_lab(
        tmp_path,
        timeout_s=900,
        script=f"""
        exec 2> {tmp_path}/errors.log
        set -x; export PYTHONFAULTHANDLER=1
        export PYTHONPATH={ROOT}:{os.environ.get("PYTHONPATH", "")}
        modprobe nvme-tcp || exit 10
        mkfifo /tmp/end; exec 7<>/tmp/end
        {sys.executable} {ROOT}/tests/lab/guest/served_drives.py {SERIAL},none,0,0,{tmp_path}/answers.toml \
          < /tmp/end > /tmp/served &
        until [ -s /tmp/served ]; do kill -0 $! || exit 12; sleep 0.2; done
        nqn=$(sed 's/.*"nqn": "\\([^"]*\\)".*/\\1/' /tmp/served)
        nvme connect -t tcp -a 127.0.0.1 -s 4420 -n $nqn || exit 11
        until [ -b /dev/nvme0n1 ]; do sleep 0.2; done
        {OPENPTS} run ocp /dev/nvme0n1 --confirm-serial {SERIAL} --read-only --no-report \
          --ocp-diag {tmp_path}/diag.jsonl --out {tmp_path}/run
        echo $? > {tmp_path}/status
        nvme disconnect-all
        """,
    )
    assert (tmp_path / "status").exists(), ended.stderr + (tmp_path / "errors.log").read_text()[-5000:]
    assert (tmp_path / "status").read_text().strip() == "10"
    assert read_run(tmp_path / "run").manifest.state is RunState.COMPLETE
    judged = judge(kept(tmp_path / "run"))
    assert set(PLANTED) <= _failed(judged)
    # telemetry has a copy of the version; times of an emulated machine, and a small capacity, may fail
    assert _failed(judged) <= {*PLANTED, "SPLPI-10", "TELDF-68", "SECTOR-5", "SLOG-6", "LMLOG-4", "TEL-5"}
    assert sum(each.verdict is RequirementVerdict.MET for each in judged) > 500
    told = [json.loads(line) for line in (tmp_path / "diag.jsonl").read_text().splitlines()]
    diagnoses = [each["testStepArtifact"].get("diagnosis") for each in told if "testStepArtifact" in each]
    for kind, verdict in (("FAIL", RequirementVerdict.NOT_MET), ("PASS", RequirementVerdict.MET)):
        found = {each["message"].split()[0] for each in diagnoses if each and each["type"] == kind}
        wanted = {f"ocp.{each.requirement.identifier}" for each in judged if each.verdict is verdict}
        assert wanted <= found
