"""Checks of one line: what they look at, how they end, and how their loops are unrolled."""

import pytest

from openpts_nvme.dssd import descriptors, structures
from openpts_nvme.dssd.answers import Answers, CommandResult
from openpts_nvme.dssd.judge import RequirementVerdict, asked_sources, judge, lines
from openpts_nvme.dssd.rules import RequirementKind, State, checks, requirements, sources, unrolled

PAGE = bytes(range(256)) * 2
ANSWERS: Answers = {
    "LC0": CommandResult(PAGE),
    "LC0'": CommandResult(bytes(512)),
    "LC1": CommandResult(status=0x109),
    "FD0": CommandResult(status=2),
    "CAP": CommandResult((3 << 46).to_bytes(8, "little")),
    "TCG0203": CommandResult(PAGE),
    "M.slow_s": CommandResult(b"3.5"),
}


@pytest.mark.parametrize(
    ("line", "state"),
    [
        ("LC0[2:3] == 0302h", State.MET),
        ("LC0[2:3] == 770", State.MET),
        ("TCG0203[2:3]be == 0203h", State.MET),
        ("LC0[3].1-0 == 3", State.MET),
        ("CAP.47-46 == 3", State.MET),
        ("CAP.48 == 1", State.NOT_MET),
        ("LC0[4] in 0,2..4", State.MET),
        ("LC0[5] in 0,2..4", State.NOT_MET),
        ("LC0[5] in 0,5..", State.MET),
        ("LC0[48:49] ~ 0\\d", State.MET),
        ("LC0[1] + LC0[2] * 128 <= 257", State.MET),
        ("LC0'[9] >= LC0[9]", State.NOT_MET),
        ("M.slow_s <= 3.5", State.MET),
        ("M.slow_s < 3", State.NOT_MET),
        ("M.never_s < 3", State.NOT_CHECKED),
        ("FD0 refused 2", State.MET),
        ("FD0 answers", State.NOT_MET),
        ("LC1[2] == 0", State.NOT_MET),
        ("LC0[600] == 0", State.NOT_MET),
        ("LC0[0] == 1 if LC0[1] == 0", State.NOT_APPLICABLE),
        ("LC0[0] == 1 if LC0[1] == 1", State.NOT_MET),
        ("LC0[0] == 1 if LC1[1] == 1", State.NOT_APPLICABLE),
        ("LC0[0] == 1 if LC7[1] == 1", State.NOT_CHECKED),
    ],
)
def test_a_line_ends_as_its_bytes_say(line, state) -> None:
    assert [each.outcome(ANSWERS).state for each in checks(line)] == [state]


def test_loops_and_sources() -> None:
    line = "for b 0..1 k 0..1: LC3[{210-6b+2k}] == 0 if LC3[{36+16b+4k}] == 0"
    assert unrolled(line)[3] == "LC3[206] == 0 if LC3[56] == 0"
    assert sources("LC0[1] + L02[2] * 2 <= A1[3] if FC2.0 == 1 and CAP.3 == 0") == {
        "LC0",
        "L02",
        "A1",
        "FC2",
        "CAP",
    }


def test_a_requirement_is_checked_if_and_only_if_it_is_placed_so() -> None:
    hosts = {each.identifier for each in requirements().values() if each.kind is RequirementKind.HOST}
    assert set(lines()) <= hosts
    assert sum(len(checks(line)) for texts in lines().values() for line in texts) >= 1000
    nothing = {
        each.requirement.identifier for each in judge({}) if each.verdict is RequirementVerdict.NOT_CHECKED
    }
    assert nothing == hosts
    assert len(hosts) >= 700


def test_what_the_drive_lists_is_shown_as_that_and_held_against_what_it_does() -> None:
    listed = b"".join(name.encode().ljust(16, b"\0") for name in ("EYE-1", "NVMe-CFG-9", "SMART-27"))
    log = (3).to_bytes(2, "little").ljust(16, b"\0") + listed.ljust(4048, b"\0") + bytes(32)
    judged = {each.requirement.identifier: each for each in judge({**ANSWERS, "LC5": CommandResult(log)})}
    assert judged["EYE-1"].verdict is RequirementVerdict.DECLARED
    assert judged["NVMe-CFG-9"].verdict is RequirementVerdict.DECLARED
    assert judged["NVMe-CFG-9"].contradicts
    assert not judged["SMART-27"].contradicts


def test_all_sources_have_names() -> None:
    from openpts_nvme.dssd.answers import title  # noqa: PLC0415

    assert all(title(source) for source in asked_sources())


@pytest.mark.parametrize("source", sorted(structures.SOURCES | descriptors.SOURCES))
@pytest.mark.parametrize("size", [1, 30, 64, 263, 500, 2050, 4095])
def test_an_answer_that_was_cut_off_is_judged_as_far_as_it_goes(source, size) -> None:
    whole = {name: CommandResult(b"\x01" * 4096) for name in structures.SOURCES | descriptors.SOURCES}
    judged = judge({**whole, source: CommandResult(b"\x01" * size)})
    assert len(judged) == len(requirements())
