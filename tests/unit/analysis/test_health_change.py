"""What two readings of a log say together."""

import pytest

from openpts.analysis.health_change import change, write_amplification
from openpts.units import GIB

BEFORE = {"host_write_bytes": 10e9, "nand_write_bytes": 30e9}


def test_a_counter_that_went_back_tells_nothing() -> None:
    assert change({"power_cycles": 3}, {"power_cycles": 2}, "power_cycles") is None
    assert change({"power_cycles": 2}, {}, "power_cycles") is None


def test_write_amplification_is_flash_by_host() -> None:
    after = {"host_write_bytes": 12e9, "nand_write_bytes": 35e9}
    assert write_amplification(BEFORE, after) == 2.5
    assert write_amplification(BEFORE, BEFORE) is None
    assert write_amplification({}, after) is None


@pytest.mark.parametrize(("steps", "known"), [(49, False), (50, True)])
@pytest.mark.parametrize("coarse", ["host", "nand"])
def test_a_counter_in_gigabytes_must_have_gone_far_enough(coarse: str, steps: int, known: bool) -> None:
    after = {name: value + 1000 * GIB for name, value in BEFORE.items()}
    after[f"{coarse}_write_bytes"] = BEFORE[f"{coarse}_write_bytes"] + steps * GIB
    after[f"{coarse}_write_unit_bytes"] = GIB
    assert (write_amplification(BEFORE, after) is not None) == known
