"""Log pages of a served drive behind the kernel's own driver: what nvme-cli prints, and what openpts reads.

Runs inside the lab's machine, by tests/lab/test_served_logs.py.
"""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from openpts_nvme.logs.page import LogReader, declared_logs
from openpts_nvme.tests.unit.test_nvme_cli_decoding import SMART, SMART_EXTENDED, SWAPPED_2_3, check
from openpts_nvme.tests.unit.test_served_logs import DELAYS_MS, ORACLE
from tests.lab.guest.connected_drive import connected

_THRESHOLDS = {
    f"active_threshold_{letter}_ms": ms for letter, ms in zip("abcd", (5, 30, 100, 235), strict=True)
}


pytestmark = pytest.mark.skipif(os.environ.get("LAB") != "1", reason="needs a virtual machine (LAB=1)")


@pytest.fixture(scope="module")
def node(disk_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The drive's node."""
    # what the kernel reads when it finds a drive comes before the planted delays
    text = ORACLE.replace("io = ", "io = 100")
    with connected(disk_path_factory.mktemp("preset") / "slow.toml", text) as found:
        yield found


@pytest.fixture
def reader(node: Path) -> Iterator[LogReader]:
    fd = os.open(node, os.O_RDONLY)
    yield LogReader(fd)
    os.close(fd)


def printed(node: Path, words: str) -> Any:
    """What nvme-cli prints as JSON."""
    command = ["nvme", *words.split(), str(node).removesuffix("n1"), "-o", "json"]
    return json.loads(subprocess.run(command, capture_output=True, check=True, timeout=60).stdout)


def test_all_pages_of_the_drive_are_read_by_the_index_of_ocp(reader: LogReader) -> None:
    assert reader.uuid_index == 1
    logs = [log for log in declared_logs().values() if not log.is_feature]
    for log in (log for log in logs if not log.name.startswith("fdp-")):
        read = reader.read(log)
        assert read.refused == ""
        assert read.page is not None
        assert read.page.impossible == {}
        assert read.uuid_index == (1 if log.ocp else 0)


def test_nvme_cli_prints_the_same_of_health(node: Path, reader: LogReader) -> None:
    for name, words, names in (
        ("smart-extended", "ocp smart-add-log", SMART_EXTENDED | SWAPPED_2_3),
        ("smart", "smart-log", SMART),
    ):
        page = reader.read(declared_logs()[name]).page
        assert page is not None
        check(name, names, page.values, printed(node, words), raw=True)


def test_planted_delays_are_counted_behind_the_kernels_driver(node: Path, reader: LogReader) -> None:
    feature = declared_logs()["latency-monitor-feature"]
    assert reader.configure(feature, {"enable": 1} | _THRESHOLDS) == 1
    subprocess.run(
        ["dd", f"if={node}", "of=/dev/null", "bs=4k", f"count={1010 + len(DELAYS_MS)}", "iflag=direct"],
        check=True,
        capture_output=True,
        timeout=120,
    )
    page = reader.read(declared_logs()["latency-monitor"]).page
    assert page is not None
    assert page.values["active_reads"] == [2, 1, 0, 1]
    assert page.values["active_read_stamp"][0]["origin"] == 1
