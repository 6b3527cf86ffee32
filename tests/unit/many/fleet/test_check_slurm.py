"""What `scontrol` of Slurm 22.05 printed of a cluster that is right, and of one with many mistakes."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from openpts.errors import FleetError
from openpts.programs import Answer, ProgramMissingError, Run
from openpts_many.fleet.check.finding import Finding, Severity
from openpts_many.fleet.check.slurm import jobs_by_host, slurm_findings
from openpts_many.fleet.configuration import Fleet, parse_fleet

RECORDINGS = Path(__file__).parents[3] / "data/slurm"
SLOTS = 'slots = { s00 = "/dev/disk/by-path/a", s01 = "/dev/disk/by-path/b" }'
FLEET = "".join(f"[hosts.{name}]\n{SLOTS}\n" for name in ("h1", "h2", "h3"))


def fleet(text: str = FLEET) -> Fleet:
    return parse_fleet(f'backend = "slurm"\n{text}'.encode(), "fleet.toml")


def recorded(kind: str, folder: Path, *changes: tuple[str, str]) -> Run:
    """scontrol as it answered, with its files in ``folder``."""

    def run(command: Sequence[str], timeout_s: float, *, to_the_end: bool = False) -> Answer:
        text = (RECORDINGS / f"{kind}-{command[-1]}.txt").read_text().replace("/etc/slurm", str(folder))
        for old, new in changes:
            text = text.replace(old, new)
        return Answer(tuple(command), 0, text, "", 0)

    return run


def subjects(findings: Sequence[Finding]) -> list[tuple[str, str]]:
    return [(one.where, one.subject) for one in findings]


CGROUP = ("proctrack/linuxproc", "proctrack/cgroup")


def test_a_cluster_as_the_manual_has_it_is_right(tmp_path: Path) -> None:
    (tmp_path / "gres.conf").write_text("Name=slot Type=s00 Count=1\nName=slot Type=s01 Count=1\n")
    assert slurm_findings(fleet(), recorded("good", tmp_path, CGROUP)) == ()
    assert subjects(slurm_findings(fleet(), recorded("good", tmp_path))) == [("cluster", "ProctrackType")]


def test_each_mistake_is_named_with_its_reason_and_remedy(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    (tmp_path / "gres.conf").write_text(
        "Name=slot Type=s00 Count=1\nName=slot Type=S3R1AL Count=1 # a drive\n"
    )
    given = FLEET.replace("[hosts.h2]\n", '[hosts.h2]\nhousekeeping = "0-1"\n')
    found = slurm_findings(fleet(f"{given}[hosts.h4]\n{SLOTS}\n"), recorded("bad", tmp_path))
    assert [
        f"{one.severity} {one.where}, {one.subject}: {one.found}\n  {one.reason}\n  {one.remedy}"
        for one in found
    ] == snapshot


@pytest.mark.parametrize(
    ("old", "new", "where", "subject"),
    [
        ("SlurmdTimeout           = 0", "SlurmdTimeout           = 30", "cluster", "SlurmdTimeout"),
        ("KillWait                = 60", "KillWait                = 59", "cluster", "KillWait"),
        ("bf_interval=5,bf_continue", "bf_continue", "cluster", "SchedulerParameters"),
        ("bf_interval=5,bf_continue", "bf_interval=5", "cluster", "SchedulerParameters"),
        ("GresTypes               = slot", "GresTypes               = gpu", "cluster", "GresTypes"),
        ("jobcomp/filetxt", "jobcomp/none", "cluster", "JobCompType"),
        ("Default=YES", "Default=NO", "cluster", "PartitionName"),
        ("MaxTime=UNLIMITED", "MaxTime=1-00:00:00", "cluster", "MaxTime"),
        ("NodeName=h2 ", "NodeName=x2 ", "h2", "NodeName"),
        ("State=IDLE", "State=IDLE*", "h1", "State"),
        ("Gres=slot:s00:1,slot:s01:1", "Gres=slot:s00:1,slot:s01:1,slot:s02:1", "h1", "Gres"),
        ("Gres=slot:s00:1,slot:s01:1", "Gres=slot:s00:1,slot:s01:2", "h1", "Gres"),
        ("Gres=slot:s00:1,slot:s01:1", "Gres=slot:2", "h1", "Gres"),
        ("Gres=slot:s00:1,slot:s01:1", "Gres=(null)", "h1", "Gres"),
        ("State=IDLE", "CPUSpecList=0-1 State=IDLE", "h1", "housekeeping"),
    ],
)
def test_a_single_mistake_is_all_that_is_found(
    tmp_path: Path, old: str, new: str, where: str, subject: str
) -> None:
    found = slurm_findings(fleet(), recorded("good", tmp_path, CGROUP, (old, new)))
    of_host = [one for one in subjects(found) if one[0] in {where, "cluster"}]
    assert of_host == [(where, subject)]


def test_processors_that_are_kept_by_both_sides_are_right(tmp_path: Path) -> None:
    given = FLEET.replace("[hosts.h1]\n", '[hosts.h1]\nhousekeeping = "0,1"\n')
    kept = ("NodeName=h1 ", "NodeName=h1 CPUSpecList=0-1 ")
    assert slurm_findings(fleet(given), recorded("good", tmp_path, CGROUP, kept)) == ()
    found = slurm_findings(fleet(given), recorded("good", tmp_path, CGROUP))
    assert [(one.where, one.subject, one.severity) for one in found] == [
        ("h1", "CpuSpecList", Severity.WARNING)
    ]


def test_a_silent_slurm_is_an_error() -> None:
    def missing(command: Sequence[str], timeout_s: float, *, to_the_end: bool = False) -> Answer:
        raise ProgramMissingError("the program scontrol is missing: install the package scontrol")

    def silent(command: Sequence[str], timeout_s: float, *, to_the_end: bool = False) -> Answer:
        text = "slurm_load_ctl_conf error: Unable to contact slurm controller (connect failure)"
        return Answer(tuple(command), 1, "", text, 0)

    with pytest.raises(FleetError, match="scontrol is missing"):
        slurm_findings(fleet(), missing)
    with pytest.raises(FleetError, match=r"scontrol failed: .*Unable to contact"):
        slurm_findings(fleet(), silent)


def test_jobs_are_told_by_their_hosts() -> None:
    def squeue(command: Sequence[str], timeout_s: float, *, to_the_end: bool = False) -> Answer:
        return Answer(tuple(command), 0, "h1|a\nh2|b\nh1|c\n", "", 0)

    assert jobs_by_host(squeue) == {"h1": "a c", "h2": "b"}
