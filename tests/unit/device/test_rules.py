import pytest

from openpts.device.block_device import BlockDevice
from openpts.device.rules import QUIET_RULES, SIGNATURE_RULE, quiet_refusals, refuse
from openpts.device.usage import read_usage
from openpts.errors import RefusedError
from openpts.system_files import SystemRoots


@pytest.mark.parametrize(
    ("name", "rule_ids"),
    [
        ("nvme0n1", []),
        ("nvme1n1", ["mounted", "holder"]),
        ("nvme1n1p2", ["whole-disk", "holder"]),
        ("dm-0", ["mounted"]),
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


def test_every_rule_has_a_name_of_its_own_and_says_what_to_do() -> None:
    rules = (*QUIET_RULES, SIGNATURE_RULE)
    assert len({rule.rule_id for rule in rules}) == len(rules)
    assert all("see " in rule.remedy for rule in rules)
    assert all(rule.remedy.format(node="/dev/sda", name="sda") for rule in rules)
