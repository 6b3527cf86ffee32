"""Answers of smartctl from practice: what was written is told only where its unit is known."""

import json

import pytest

from openpts_drives.health.ata_health import SmartctlAnswer, ata_health
from tests import DATA

CASES = DATA / "cases/p-smartctl"


@pytest.mark.parametrize(
    ("name", "values", "doubts"),
    [
        ("zozt", {"host_write_bytes": 841_269_219_840.0}, []),
        ("hk4r", {"percentage_used_pct": 3.0}, []),
        ("lexar", {"power_on_hours": 3211.0, "host_write_bytes": 33_498_991_113_216.0}, []),
        (
            "contradiction",
            {},
            ["percentage_used_pct left out: device statistics 255 but SMART attributes 99"],
        ),
    ],
)
def test_values_and_doubts(name, values, doubts) -> None:
    found = ata_health(SmartctlAnswer(json.loads((CASES / f"{name}.json").read_text())))
    assert (found.values, list(found.doubts)) == (values, doubts)
