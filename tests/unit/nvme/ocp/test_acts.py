"""What openpts does to a drive shows how it behaves: delays and refusals that are planted are found."""

import pytest

from openpts_nvme.ocp.acts import ACTS
from openpts_nvme.ocp.answers import Answers
from openpts_nvme.ocp.ask import Asker
from openpts_nvme.ocp.driver import look
from openpts_nvme.ocp.judge import Verdict, judge
from openpts_nvme.ocp.script import ASK
from openpts_serve.overrides import Override
from openpts_serve.served_drive import Faults
from tests.support.nvme_tcp_door import TcpDoor
from tests.support.ocp_drive import OcpDrive
from tests.support.served_drive import SMALL, served

IDENTIFY, READ = 0x06, 2


def verdicts(act: str, *changes: Override) -> dict[str, Verdict]:
    overrides = (*OcpDrive(3).overrides(), *(each.ordered() for each in changes))
    with served(SMALL, faults=Faults(overrides=overrides)) as drive:
        door = TcpDoor.open(drive)
        try:
            asker, answers = Asker(door), Answers()
            if act == "settings":
                look(asker, answers, ASK)
            look(asker, answers, act)
        finally:
            door.close()
    return {each.requirement.identifier: each.verdict for each in judge(answers)}


@pytest.mark.parametrize(
    ("act", "requirement", "change"),
    [
        ("questions", "NVMe-AD-11", Override(command=0x08, page="00")),
        ("questions", "UUID-5", Override(log=0xC0, status=0x109)),
        ("questions", "UUID-3", Override(feature=0xC2, status=2)),
        ("reset", "TTR-1", Override(identify=1, delay_ms=1100)),
        ("reset", "NVMe-OPT-4", Override(feature=0x0E, at=10, bytes="00", after=1)),
        ("sanitize", "GLP-ACC-1", Override(log=0xC4, status=0x1D)),
        ("sanitize", "STD-LOG-26", Override(log=0x03, status=0x1D)),
        ("formats", "STD-LOG-23", Override(log=0x02, at=32, bytes="00" * 160, after=1)),
        ("settings", "LMLOG-11", Override(command=0x09, page="00")),
        ("settings", "ERRI-5", Override(command=0x09, page="00")),
    ],
)
def test_a_planted_behavior_is_found(act: str, requirement: str, change: Override) -> None:
    assert verdicts(act, change)[requirement] is Verdict.NOT_MET


@pytest.mark.parametrize("act", ["questions", "reset", "formats"])
def test_a_drive_that_behaves_has_no_violation(act: str) -> None:
    found = verdicts(act)
    assert [identifier for identifier, verdict in found.items() if verdict is Verdict.NOT_MET] == []
    assert sum(verdict is Verdict.MET for verdict in found.values()) >= 3


def test_the_whole_pass_of_a_4_tb_drive_takes_less_than_8_hours_at_the_limits() -> None:
    """By the specification's own limits and what the acts wait for: a drive that meets them is faster."""
    assert sum(act.seconds + 4 * act.seconds_per_tb for act in ACTS) < 8 * 3600
