"""What a run, and so its folder, is called after."""

import pytest

from openpts.runner.settings import _short_name
from openpts.vocabulary.facts import Fact, TargetFacts, TargetKind


@pytest.mark.parametrize(
    ("kind", "serial", "name"),
    [
        (TargetKind.BLOCK, "S795NC0T100001", "0001"),
        (TargetKind.BLOCK, None, "loop0"),
        (TargetKind.BLOCK, "1/..", "1___"),
        (TargetKind.FILE, None, "file"),
    ],
)
def test_a_run_has_the_end_of_the_serial_number_in_its_name(kind, serial, name) -> None:
    target = TargetFacts(kind, "loop0", "/dev/loop0", 10**9, 512)
    assert _short_name({"serial": Fact(serial, "VPD page 80h")}, target) == name
