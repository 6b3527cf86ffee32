import ast
from pathlib import Path

import pytest

from openpts.device.block_device import BlockDevice
from openpts.device.guard import rules
from openpts.device.guard.rules import (
    QUIET_RULES,
    RULES_AT_THE_DOOR,
    SECURITY_RULE,
    SIGNATURE_RULE,
    quiet_refusals,
    refuse,
)
from openpts.device.guard.usage import Usage, read_usage
from openpts.errors import RefusedError
from openpts.system_files import SystemRoots
from tests.support.transcript import Golden


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
def test_which_rules_are_against_a_drive(name: str, rule_ids: list[str], server: SystemRoots) -> None:
    refusals = quiet_refusals(BlockDevice.of_name(name, server), read_usage(server))
    assert [refusal.rule_id for refusal in refusals] == rule_ids


def test_the_first_refusal_is_told_in_full_and_the_others_by_name(server: SystemRoots) -> None:
    refusals = quiet_refusals(BlockDevice.of_name("sdc", server), read_usage(server))
    node = server.dev / "sdc2"
    with pytest.raises(RefusedError) as raised:
        refuse(refusals)
    assert str(raised.value) == (
        f"refused [swap]: {node} is in use as swap space; see cat /proc/swaps; take it out of use with "
        "swapoff (and further rules: loop)"
    )


def test_nothing_against_it_is_no_refusal() -> None:
    refuse(())


def test_what_a_volume_above_is_used_for_is_told(server: SystemRoots) -> None:
    refusals = quiet_refusals(BlockDevice.of_name("nvme1n1", server), read_usage(server))
    part, volume = server.dev / "nvme1n1p2", server.dev / "dm-0"
    assert refusals[1].evidence == f"{part} is part of dm-0 (vg0-root), and {volume} is mounted at /"


def test_a_drive_in_use_under_its_other_name_is_refused(server: SystemRoots) -> None:
    one, other = (BlockDevice.of_name(name, server) for name in ("sda", "sdb"))
    for disk in (one, other):
        (disk.folder / "device/wwid").write_text("naa.5000c500a1b2c3d4")
    (refusal,) = quiet_refusals(one, read_usage(server))
    assert refusal.rule_id == "other-path"
    assert refusal.evidence == (
        f"{other.node} is the same drive (naa.5000c500a1b2c3d4), and {other.node} is mounted at /srv/my data"
    )


def test_a_drive_that_another_array_uses_as_well_is_refused(server: SystemRoots) -> None:
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


def test_a_process_that_cannot_be_asked_counts_against_every_drive(server: SystemRoots) -> None:
    usage = Usage((), ("process 4242 (qemu)", "process 5 (x)", "process 6 (y)"))
    (refusal,) = quiet_refusals(BlockDevice.of_name("nvme0n1", server), usage)
    assert str(refusal).startswith(
        "refused [hidden-process]: what process 4242 (qemu) and 2 others may have open can't be seen; run as"
    )


def test_in_a_container_the_remedy_says_how_its_processes_can_be_seen(
    server: SystemRoots, golden: Golden
) -> None:
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
    manual = Path(__file__).parents[3] / "docs/safety.md"
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
