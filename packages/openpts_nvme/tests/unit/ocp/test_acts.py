"""What openpts does to a drive shows how it behaves: delays and refusals that are planted are found."""

import time
from hashlib import sha256
from types import SimpleNamespace
from typing import Final

import pytest
from msgspec.structs import replace

from openpts.vocabulary.drive_class import DriveClass
from openpts_nvme.drivers.dssd import contents
from openpts_nvme.drivers.dssd.acts import RUN
from openpts_nvme.drivers.dssd.ask import Asker
from openpts_nvme.drivers.dssd.driver import read_sources
from openpts_nvme.dssd.answers import Answers
from openpts_nvme.dssd.judge import RequirementVerdict, judge
from openpts_nvme.dssd.plan import ACTS, ASK, Look
from openpts_nvme.ocp.script import script, standard_conditions
from openpts_testbench.overrides import Override
from openpts_testbench.served_drive import Faults
from tests.support.nvme_tcp_door import TcpDoor
from tests.support.ocp_drive import OcpDrive
from tests.support.served_drive import SMALL, served

DATASET_MANAGEMENT, COMMIT = 0x09, 0x10
STATUS_REGISTER: Final = 0x1C
NUSE_AT, REVISION_AT = 16, 64


def ocp_drive(*, with_counters: bool = True) -> tuple[object, ...]:
    """What is served; the drive's own is what acts change: blocks in use, firmware, counters."""
    drive = OcpDrive(3)
    own = {(("identify", 0), NUSE_AT), (("identify", 1), REVISION_AT)}
    drive.patches = [patch for patch in drive.patches if patch[:2] not in own]
    if not with_counters:
        del drive.pages["log", 0xC0]
    return drive.overrides()


def signed(revision: bytes) -> bytes:
    """An image as the served drive takes it."""
    image = b"openpts firmware" + revision.ljust(8) + bytes(300_000)
    return image + sha256(image).digest()


def verdicts(
    act: str, *changes: Override, image: bytes = b"", drive: tuple[object, ...] = ()
) -> dict[str, RequirementVerdict]:
    overrides = (*(drive or ocp_drive()), *(each.ordered() for each in changes))
    with served(SMALL, faults=Faults(overrides=overrides)) as served_drive:
        door = TcpDoor.open(served_drive)
        try:
            asker, answers = Asker(door), Answers()
            if act in {"settings", "firmware"}:
                read_sources(asker, answers, ASK)
            read_sources(asker, answers, act, image)
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
        ("settings", "LMDS-3", Override(log=0xC3, at=7, bytes="0a", after=1)),
        ("settings", "DSSDPSS-1", Override(feature=0x02, at=0, bytes="1f", after=1)),
        ("shutdowns", "TTR-19", Override(log=0x02, at=112, bytes="ff" * 8, after=1)),
        ("shutdowns", "TTR-19", Override(log=0x02, at=144, bytes="01", after=1)),
        ("shutdowns", "SMART-15", Override(log=0xC0, at=112, bytes="ffffff", after=1)),
        ("shutdowns", "TTR-1", Override(identify=1, delay_ms=1100)),
        ("shutdowns", "TTR-16", Override(identify=1, status=6)),
        pytest.param(
            "shutdowns", "TTR-6", Override(property=STATUS_REGISTER, at=0, bytes="05"), marks=pytest.mark.slow
        ),
        ("deallocation", "NUSE-1", Override(identify=0, at=NUSE_AT, bytes="00" * 8)),
        ("formats", "NUSE-1", Override(identify=0, at=NUSE_AT, bytes="01")),
    ],
)
def test_a_planted_behavior_is_found(act, requirement, change, monkeypatch) -> None:
    # for what changes contents a second of rest, or of reads, is a fifth of one
    fast = SimpleNamespace(monotonic=lambda: 5 * time.monotonic(), sleep=lambda for_s: time.sleep(for_s / 5))
    monkeypatch.setattr(contents, "time", fast)
    assert verdicts(act, change)[requirement] is RequirementVerdict.NOT_MET


@pytest.mark.parametrize(
    ("requirement", "change"),
    [
        ("FWUP-24", Override(command=COMMIT, page="00")),
        ("FWUP-3", Override(command=COMMIT, page="00")),
        ("FWUP-32", Override(log=3, at=16, bytes="41", after=2)),
        ("FWUP-21", Override(log=3, at=0, bytes="02", after=2)),
        ("FWUP-30", Override(command=COMMIT, delay_ms=1100)),
        ("FWUP-31", Override(identify=1, status=6, after=3)),
        pytest.param("FWUP-26", Override(identify=1, delay_ms=5100, after=5), marks=pytest.mark.slow),
        ("FWUP-11", Override(feature=0xC6, at=0, bytes="63", after=2)),
    ],
)
@pytest.mark.long("each commit of firmware takes longer than it may")
def test_planted_behavior_of_firmware_is_found(requirement, change) -> None:
    assert verdicts("firmware", change, image=signed(b"2.0"))[requirement] is RequirementVerdict.NOT_MET


FIRMWARE_CHECKED: Final = {f"FWUP-{number}" for number in (3, 10, 11, 21, 24, 26, 30, 31, 32)}


def test_firmware_that_is_as_asked_for_meets_all_and_none_is_checked_without_an_image() -> None:
    found = verdicts("firmware", image=signed(b"2.0"))
    assert {each for each in FIRMWARE_CHECKED if found[each] is not RequirementVerdict.MET} == set()
    without = verdicts("questions")
    assert {without[each] for each in FIRMWARE_CHECKED} == {RequirementVerdict.NOT_CHECKED}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ((), RequirementVerdict.MET),
        ((Override(log=0xC0, at=0, bytes="ffffffffffff", after=3),), RequirementVerdict.NOT_MET),
    ],
)
def test_deallocated_space_is_room_to_write_in(changes, verdict) -> None:
    """A drive whose counter of written media rises as before, or faster, does not use it so."""
    assert verdicts("deallocated space", *changes, drive=ocp_drive(with_counters=False))["TRIM-4"] is verdict


@pytest.mark.parametrize("act", ["questions", "reset", "formats", "shutdowns"])
def test_a_drive_that_behaves_has_no_violation(act) -> None:
    found = verdicts(act)
    assert [
        identifier for identifier, verdict in found.items() if verdict is RequirementVerdict.NOT_MET
    ] == []
    assert sum(verdict is RequirementVerdict.MET for verdict in found.values()) >= 3


def test_each_act_of_the_plan_can_be_carried_out() -> None:
    assert [act.name for act in ACTS] == list(RUN)


def test_the_whole_pass_of_a_4_tb_drive_takes_less_than_8_hours_at_the_limits() -> None:
    """By the specification's own limits and what the acts wait for: a drive that meets them is faster."""
    assert sum(act.seconds + 4 * act.seconds_per_tb for act in ACTS) < 8 * 3600


def test_firmware_takes_an_image_and_leave_to_write() -> None:
    without = standard_conditions(DriveClass.ENTERPRISE, 1)
    conditions = replace(without, firmware="/vendor/image.bin")
    images = [
        [request.image for request in script(each, 10**12) if isinstance(request, Look) and request.image]
        for each in (conditions, without)
    ]
    assert images == [["/vendor/image.bin"], []]
    assert list(conditions.contradictions(())) == []
    (found,) = replace(conditions, read_only=True).contradictions(())
    assert found[0] == ("read_only", "firmware")
