from collections import Counter
from collections.abc import Sequence

import pytest

from openpts.device.block_device import BlockDevice
from openpts.device.purge.methods import capabilities, methods
from openpts.device.purge.purge import Discard
from openpts.programs import Reply


@pytest.mark.parametrize(("name", "program"), [("nvme0n1", "nvme"), ("sda", "hdparm"), ("sdb", "sg_opcodes")])
def test_a_drive_is_asked_the_same_question_once_by_all_methods(name, program, server) -> None:
    asked: Counter[tuple[str, ...]] = Counter()

    def run(command: Sequence[str], _timeout_s: float, *, to_the_end: bool = False) -> Reply:
        asked[tuple(command)] += 1
        return Reply(tuple(command), 1, "", "no such device", 1)

    found = capabilities(BlockDevice.of_name(name, server), run)
    assert program in {command[0] for command in asked}
    assert set(asked.values()) == {1}
    assert [method for method, _ in found] == list(methods())


def test_a_drive_that_is_set_read_only_has_no_discard(server) -> None:
    device = BlockDevice.of_name("nvme0n1", server)
    assert Discard().capability(device).supported
    (device.folder / "ro").write_text("1\n")
    capability = Discard().capability(device)
    assert not capability.supported
    assert capability.reason.startswith("is set read-only")
