"""A drive that udev looks into for a moment is not taken for one that somebody uses."""

import ast
import errno
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from openpts import programs
from openpts.device.block_device import BlockDevice
from openpts.device.guard import guard, rules
from openpts.device.guard import rules as signatures
from openpts.device.guard.claims import Claim, ClaimKind, Usage
from openpts.device.guard.guard import check_drive
from openpts.device.guard.rules import (
    QUIET_RULES,
    RULES_AT_THE_DOOR,
    SECURITY_RULE,
    SIGNATURE_RULE,
    SignatureSearchError,
    find_signatures,
    quiet_refusals,
    refuse,
    unconfirmed,
)
from openpts.device.guard.usage import read_usage
from openpts.device.targets.target import BlockTarget
from openpts.errors import RefusedError
from openpts.system_files import SystemRoots
from openpts.vocabulary.purge import Consent
from tests import ROOT
from tests.support.held_drive import give_node


@pytest.mark.parametrize(
    ("name", "rule_ids"),
    [
        ("nvme0n1", []),
        ("nvme1n1", ["mounted", "holder"]),
        ("nvme1n1p2", ["whole-disk", "holder"]),
        ("dm-0", ["mounted", "shared"]),
        ("sda", []),
        ("sdb", ["mounted"]),
        ("sdc", ["swap", "loop"]),
        ("sdd", ["open", "read-only"]),
    ],
)
def test_which_rules_are_against_a_drive(name, rule_ids, server) -> None:
    refusals = quiet_refusals(BlockDevice.of_name(name, server), read_usage(server))
    assert [refusal.rule_id for refusal in refusals] == rule_ids


def test_the_first_refusal_is_told_in_full_and_the_others_by_name(server) -> None:
    refusals = quiet_refusals(BlockDevice.of_name("sdc", server), read_usage(server))
    node = server.dev / "sdc2"
    with pytest.raises(RefusedError) as raised:
        refuse(refusals)
    assert str(raised.value) == (
        f"refused [swap]: {node} is in use as swap space; see cat /proc/swaps; take it out of use with "
        "swapoff (and further rules: loop)"
    )


def test_what_a_volume_above_is_used_for_is_told(server) -> None:
    refusals = quiet_refusals(BlockDevice.of_name("nvme1n1", server), read_usage(server))
    part, volume = server.dev / "nvme1n1p2", server.dev / "dm-0"
    assert refusals[1].evidence == f"{part} is part of dm-0 (vg0-root), and {volume} is mounted at /"


def test_a_drive_in_use_under_its_other_name_is_refused(server) -> None:
    one, other = (BlockDevice.of_name(name, server) for name in ("sda", "sdb"))
    for disk in (one, other):
        (disk.folder / "device/wwid").write_text("naa.5000c500a1b2c3d4")
    (refusal,) = quiet_refusals(one, read_usage(server))
    assert refusal.rule_id == "other-path"
    assert refusal.evidence == (
        f"{other.node} is the same drive (naa.5000c500a1b2c3d4), and {other.node} is mounted at /srv/my data"
    )


def test_a_drive_that_another_array_uses_as_well_is_refused(server) -> None:
    mapped = server.sys / "devices/virtual/block/dm-7"
    (mapped / "slaves").mkdir(parents=True)
    sda = BlockDevice.of_name("sda", server)
    (mapped / "slaves/sda").symlink_to(sda.folder)
    device = BlockDevice(mapped, server)
    assert quiet_refusals(device, read_usage(server)) == ()
    (sda.folder / "holders").mkdir()
    (sda.folder / "holders/dm-7").symlink_to(mapped)
    assert quiet_refusals(device, read_usage(server)) == ()
    (sda.folder / "holders/dm-0").symlink_to(server.sys / "devices/virtual/block/dm-0")
    (refusal,) = quiet_refusals(device, read_usage(server))
    assert refusal.evidence == f"{sda.node} beneath {device.node} is part of {server.dev}/dm-0 as well"


def test_a_process_that_cannot_be_asked_counts_against_every_drive(server) -> None:
    usage = Usage((), ("process 4242 (qemu)", "process 5 (x)", "process 6 (y)"))
    (refusal,) = quiet_refusals(BlockDevice.of_name("nvme0n1", server), usage)
    assert str(refusal).startswith(
        "refused [hidden-process]: what process 4242 (qemu) and 2 others may have open can't be seen; run as"
    )


def test_in_a_container_the_remedy_says_how_its_processes_can_be_seen(server, golden) -> None:
    usage = Usage((), ("the processes outside of this container",))
    (refusal,) = quiet_refusals(BlockDevice.of_name("nvme0n1", server), usage)
    assert refusal.evidence == "what the processes outside of this container may have open can't be seen"
    assert refusal.remedy == golden


def test_every_rule_has_a_name_of_its_own_and_says_what_to_do() -> None:
    rules = (*QUIET_RULES, SECURITY_RULE, SIGNATURE_RULE)
    assert len({*(rule.rule_id for rule in rules), *RULES_AT_THE_DOOR}) == len(rules) + len(RULES_AT_THE_DOOR)
    assert all("see " in rule.remedy for rule in rules)
    assert all(rule.remedy.format(node="/dev/sda", name="sda") for rule in rules)


def test_the_manual_has_the_table() -> None:
    rows = {
        rule.rule_id: rule.says for rule in (*QUIET_RULES, SECURITY_RULE, SIGNATURE_RULE)
    } | RULES_AT_THE_DOOR
    manual = ROOT / "docs/safety.md"
    table = [line for line in manual.read_text().splitlines() if line.startswith("| `")]
    assert table == [f"| `{rule_id}` | {says} |" for rule_id, says in rows.items()]


def test_no_refusal_has_an_id_that_the_table_lacks() -> None:
    known = {rule.rule_id for rule in (*QUIET_RULES, SECURITY_RULE, SIGNATURE_RULE)} | set(RULES_AT_THE_DOOR)
    used = set()
    for path in Path(rules.__file__).parents[1].rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            refusal = isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Refusal"
            if refusal and isinstance(node.args[0], ast.Constant):
                used.add(node.args[0].value)
    assert {"busy", "confirmation", "file-data", "locked"} <= used <= known


NVME = BlockTarget(Path("/dev/disk/by-id/nvme-samsung"))
VIRTIO = BlockTarget(Path("/dev/vdb"))


def test_without_a_confirmation_the_option_to_add_is_printed(server) -> None:
    refusal = unconfirmed(NVME, BlockDevice.of_name("nvme0n1", server), Consent())
    assert str(refusal) == (
        f"refused [confirmation]: all data on {server.dev}/nvme0n1 (3,841 GB, serial number S795NC0T100001) "
        "will be lost; to confirm that, add --confirm-serial S795NC0T100001"
    )


def test_the_serial_number_confirms(server) -> None:
    disk = BlockDevice.of_name("nvme0n1", server)
    assert unconfirmed(NVME, disk, Consent(confirm_serial="S795NC0T100001")) is None


@pytest.mark.parametrize("wrong", ["s795nc0t100001", "S795NC0T10000", "S795NC0T100001 ", "", "61A0A000T5MM"])
def test_any_other_text_does_not(wrong, server, golden) -> None:
    refusal = unconfirmed(NVME, BlockDevice.of_name("nvme0n1", server), Consent(confirm_serial=wrong))
    assert refusal.evidence == golden


def test_a_path_does_not_confirm_a_drive_that_has_a_serial_number(server, golden) -> None:
    consent = Consent(confirm_device_path=str(NVME.path))
    refusal = unconfirmed(NVME, BlockDevice.of_name("nvme0n1", server), consent)
    assert refusal.remedy == golden


def test_a_drive_without_one_is_confirmed_by_its_path(virtual_machine) -> None:
    disk = BlockDevice.of_name("vdb", virtual_machine)
    assert unconfirmed(VIRTIO, disk, Consent(confirm_device_path="/dev/vdb")) is None
    refusal = unconfirmed(VIRTIO, disk, Consent(confirm_serial="/dev/vdb"))
    assert refusal.remedy == "to confirm that, add --confirm-device-path /dev/vdb"
    assert unconfirmed(VIRTIO, disk, Consent(confirm_device_path="/dev/vdc")) is not None


def test_the_path_may_be_the_link_or_what_it_leads_to(virtual_machine, tmp_path) -> None:
    disk = BlockDevice.of_name("vdb", virtual_machine)
    link = tmp_path / "scratch"
    link.symlink_to("/dev/vdb")
    target = BlockTarget(link)
    assert unconfirmed(target, disk, Consent(confirm_device_path=str(link))) is None
    assert unconfirmed(target, disk, Consent(confirm_device_path="/dev/vdb")) is None


def test_a_serial_number_with_blanks_is_quoted_for_the_shell(virtual_machine) -> None:
    refusal = unconfirmed(VIRTIO, BlockDevice.of_name("vdc", virtual_machine), Consent())
    assert refusal.remedy.endswith("--confirm-serial 'scratch disk 3'")


def _give_serial(disk: BlockDevice, serial: str) -> None:
    (disk.folder / "device/serial").write_text(serial)


def test_a_serial_number_of_two_drives_is_not_enough(server, golden) -> None:
    one, other = (BlockDevice.of_name(name, server) for name in ("nvme0n1", "nvme1n1"))
    _give_serial(other, "S795NC0T100001")
    target = BlockTarget(one.node)
    refusal = unconfirmed(target, one, Consent(confirm_serial="S795NC0T100001"))
    assert refusal.evidence == golden
    assert refusal.remedy == f"to confirm that, add --confirm-device-path {one.node}"
    by_both = Consent(confirm_serial="S795NC0T100001", confirm_device_path=str(one.node))
    assert unconfirmed(target, one, by_both) is None
    by_path = Consent(confirm_device_path=str(one.node))
    assert str(unconfirmed(target, one, by_path)) == golden
    of_the_other = Consent(confirm_serial="S795NC0T100001", confirm_device_path=str(other.node))
    assert str(unconfirmed(target, one, of_the_other)) == golden


def test_a_serial_number_that_cannot_be_typed_gives_way_to_the_path(server) -> None:
    disk = BlockDevice.of_name("nvme0n1", server)
    _give_serial(disk, "S\x1b[2J\x07795")
    target = BlockTarget(disk.node)
    refusal = unconfirmed(target, disk, Consent())
    assert "\x1b" not in str(refusal)
    assert refusal.remedy == f"to confirm that, add --confirm-device-path {disk.node}"
    assert unconfirmed(target, disk, Consent(confirm_device_path=str(disk.node))) is None


def test_a_drive_that_has_another_name_now_is_pointed_to(server) -> None:
    meant = Consent(confirm_serial="223344800001")
    refusal = unconfirmed(NVME, BlockDevice.of_name("nvme0n1", server), meant)
    assert refusal.remedy.endswith(f"; that number is now {server.dev}/nvme1n1")


@pytest.fixture
def device(server: SystemRoots, monkeypatch) -> BlockDevice:
    """A drive with nothing on it, which has no TCG."""
    for name in ("SECURITY_RULE", "SIGNATURE_RULE"):
        blank = replace(getattr(guard, name), evidence=lambda _device, _usage: None)
        monkeypatch.setattr(guard, name, blank)
    return give_node(BlockDevice.of_name("nvme0n1", server))


@pytest.fixture
def claimed_for(monkeypatch, device: BlockDevice) -> Callable[[float], None]:
    """Let somebody else have claimed the drive for some seconds from now; ours are no real ones."""
    now_s = 0.0
    really = os.open

    def sleep(seconds: float) -> None:
        nonlocal now_s
        now_s += seconds

    def claim(seconds: float) -> None:
        def open_late(path: str, flags: int, *rest: int) -> int:
            if path == device.node and now_s < seconds:
                raise OSError(errno.EBUSY, "Device or resource busy")
            return really(path, flags, *rest)

        monkeypatch.setattr(os, "open", open_late)
        monkeypatch.setattr(time, "monotonic", lambda: now_s)
        monkeypatch.setattr(time, "sleep", sleep)

    return claim


def test_a_claim_that_ends_at_once_is_waited_for(device, claimed_for) -> None:
    claimed_for(4.5)
    assert check_drive(device, Usage(())) == ()


def test_a_claim_that_stays_is_a_refusal(device, claimed_for) -> None:
    claimed_for(1e9)
    (refusal,) = check_drive(device, Usage(()))
    assert refusal.rule_id == "busy"
    assert 5 <= time.monotonic() < 5.5


def test_drives_that_are_open_for_a_moment_are_looked_at_together(server, monkeypatch) -> None:
    """However many there are, /proc is not walked more often."""
    drives = [BlockDevice.of_name(name, server) for name in ("nvme0n1", "sdb")]
    first, second = (Claim(ClaimKind.OPEN, "is open in process 1 (fio)", name=one.name) for one in drives)
    looks = iter([Usage((second,)), Usage(())])
    monkeypatch.setattr(guard, "read_usage", lambda _roots: next(looks))
    monkeypatch.setattr(time, "sleep", lambda _seconds: None)
    assert guard.settled(Usage((first, second)), drives) == Usage(())
    assert next(looks, None) is None


def test_a_drive_that_stays_open_is_a_refusal(server, monkeypatch) -> None:
    drive = BlockDevice.of_name("nvme0n1", server)
    held = Usage((Claim(ClaimKind.OPEN, "is open in process 1 (fio)", name=drive.name),))
    waited_s: list[float] = []
    monkeypatch.setattr(guard, "read_usage", lambda _roots: held)
    monkeypatch.setattr(time, "sleep", waited_s.append)
    assert [refusal.rule_id for refusal in check_drive(drive, held)] == ["open"]
    assert 1 < sum(waited_s) < 2


NODE = Path("/dev/made-up")
FOUND = """\
{"signatures": [{"offset": "0x200", "type": "gpt", "label": null},
                {"offset": "0x438", "type": "ext4", "label": "my \\u001b[31mdisk"}]}"""


@pytest.fixture
def wipefs(tmp_path, monkeypatch) -> Path:
    """Where to put the program; nothing else is found."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(programs, "_SYSTEM_PROGRAM_FOLDERS", str(tmp_path))
    return tmp_path / "wipefs"


def _install(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_signatures_are_told_with_their_places(wipefs) -> None:
    _install(wipefs, f"/bin/cat <<'END'\n{FOUND}\nEND")
    assert find_signatures(NODE) == (
        "gpt at 0x200",
        "ext4 labeled my \N{REPLACEMENT CHARACTER}[31mdisk at 0x438",
    )


@pytest.mark.parametrize("answer", ["", "\n", '{"signatures": []}'])
def test_none_may_be_told_in_several_ways(answer, wipefs) -> None:
    _install(wipefs, f"printf '%s' '{answer}'")
    assert find_signatures(NODE) == ()


def test_it_only_looks(wipefs, tmp_path) -> None:
    _install(wipefs, f'echo "$LC_ALL" "$@" > {tmp_path}/called')
    find_signatures(NODE)
    called = (tmp_path / "called").read_text()
    assert called == "C --no-act --noheadings --json --output OFFSET,TYPE,LABEL /dev/made-up\n"


def test_a_missing_program_is_no_answer(wipefs) -> None:
    with pytest.raises(SignatureSearchError, match="install the package util-linux"):
        find_signatures(NODE)


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("echo 'probing failed' >&2; exit 1", "could not read /dev/made-up: probing failed"),
        ("kill -9 $$", "could not read"),
        ("echo 'no json'", "can't parse the output of wipefs"),
        ("echo '[]'", "can't parse"),
        ("""echo '{"signatures": [{"type": "gpt"}]}'""", "can't parse"),
        ("""echo '{"signatures": null}'""", "can't parse"),
        ("printf '\\377'", "can't parse"),
        ("/bin/sleep 60", "could not read"),
    ],
)
def test_a_program_that_fails_is_no_answer(script, says, wipefs, monkeypatch) -> None:
    monkeypatch.setattr(signatures, "_TIMEOUT_S", 0.5)
    _install(wipefs, f"exec {script}" if script.startswith("/bin/sleep") else script)
    with pytest.raises(SignatureSearchError, match=says):
        find_signatures(NODE)


def test_a_file_that_cannot_run_is_no_answer(wipefs) -> None:
    wipefs.write_bytes(b"\x7fELF nothing")
    wipefs.chmod(0o755)
    with pytest.raises(SignatureSearchError, match="could not read"):
        find_signatures(NODE)
