"""The latency monitor of a served drive: set for a run, read, held against its host, and put back."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

import pytest
from msgspec.structs import replace

from openpts.device.block_device import BlockDevice
from openpts.journal import Journal
from openpts.programs import run_program
from openpts.record.health import HealthRecord, ReadingPoint
from openpts.record.reader import StepRecord
from openpts.system_files import SystemRoots
from openpts.units import NS_PER_MS, NS_PER_S
from openpts.vocabulary.facts import HealthReading
from openpts.vocabulary.sample import Phase, StepPlace
from openpts_nvme.logs import page as drive
from openpts_nvme.outliers import drive_monitor
from openpts_nvme.outliers.causes import MonitorInterval, comparisons_of
from openpts_nvme.outliers.drive_monitor import LATENCY_MONITOR, monitor_set, monitor_values, put_back_monitor
from openpts_nvme.tests.unit.test_log_reader import Bridge
from openpts_nvme.tests.unit.test_outliers import AT_DRIVE
from openpts_nvme.tests.unit.test_served_logs import DELAYS_MS, ORACLE, page, set_monitor
from openpts_testbench.overrides import read_overrides
from openpts_testbench.served_drive import Faults
from tests.support.interval_samples import step_of
from tests.support.nvme_machine import add_namespace
from tests.support.nvme_tcp_host import Host
from tests.support.served_drive import both, pattern, served

FOUND = {
    "active_bucket_timer_threshold_min": 15,
    "active_threshold_a_ms": 20,
    "active_threshold_b_ms": 40,
    "active_threshold_c_ms": 60,
    "active_threshold_d_ms": 80,
    "active_latency_minimum_window_ms": 300,
    "active_read_keeps_largest": [True, False, True, False],
    "active_write_keeps_largest": [False] * 4,
    "active_deallocate_keeps_largest": [True] * 4,
    "debug_trigger_read": [False, False, False, True],
    "debug_trigger_write": [True, False, False, False],
    "debug_trigger_deallocate": [False] * 4,
}
"""As the operator had set it."""

ARMED = {"active_bucket_timer_threshold_min": 0, "active_latency_minimum_window_ms": 100} | {
    f"active_threshold_{letter}_ms": ms for letter, ms in zip("abcd", (5, 10, 50, 250), strict=True)
}
SEEN_BY_HOST_MS = tuple(ms + 0.2 for ms in DELAYS_MS)
"""The planted delays as a host has them, with a way of 0.2 ms."""


@pytest.fixture
def device(tmp_path) -> BlockDevice:
    return add_namespace(SystemRoots(sys=tmp_path / "sys", dev=tmp_path / "dev"), "nvme0n1")


@contextmanager
def hosts(folder: Path, monkeypatch, lies: str = "") -> Iterator[tuple[Host, Host]]:
    """An admin queue, by which LogReader asks, and an I/O queue of a drive that answers by ``lies``."""
    (folder / "slow.toml").write_text(ORACLE)
    (folder / "lies.toml").write_text(lies)
    faults = Faults(overrides=read_overrides(folder / "lies.toml"))
    with served(str(folder / "slow.toml"), faults) as target, both(target) as (admin, io):
        bridge = Bridge(admin)
        for name in ("identify_controller", "identify_uuid_list", "read_log", "set_feature"):
            monkeypatch.setattr(drive, name, getattr(bridge, name))
        yield admin, io


def holds(host: Host, values: dict[str, object]) -> bool:
    """Whether the monitor is set to these."""
    now = page(host, "latency-monitor").values
    return now["is_enabled"] is True and {name: now[name] for name in values} == values


def reading(t_s: int, values: dict[str, float]) -> HealthRecord:
    occasion = ReadingPoint.DURING
    return HealthRecord(occasion, 1, None, None, "", t_s * NS_PER_S, HealthReading("log", values))


def compared(io: Host) -> MonitorInterval:
    """Writes with planted delays between two readings of the log, and an engine that saw 0.2 ms more."""
    before = monitor_values(0)
    for number in range(len(DELAYS_MS)):
        assert io.write(number, pattern(512)).status == 0
    latencies_ns = [round(ms * NS_PER_MS) for ms in SEEN_BY_HOST_MS]
    step = StepRecord(StepPlace(1, Phase.ROUND, 1, 0), step_of([latencies_ns]))
    (found,) = comparisons_of([reading(0, before), reading(2, monitor_values(0))], [step])
    return found


def test_it_is_set_for_the_block_and_put_back(tmp_path, device, monkeypatch) -> None:
    journal = Journal(tmp_path / "journal")
    with hosts(tmp_path, monkeypatch) as (host, io):
        assert set_monitor(host, **FOUND) == 0
        with suppress(KeyboardInterrupt), monitor_set(0, device, journal) as is_set:
            assert is_set
            assert holds(host, ARMED | dict.fromkeys(FOUND.keys() & {"debug_trigger_read"}, [False] * 4))
            assert [entry.kind for entry in journal.entries()] == [LATENCY_MONITOR]
            found = compared(io)
            raise KeyboardInterrupt
        # 4.9 ms in the drive are 5.1 at the host
        assert (found.drive["write"], found.host["write"]) == ((4, 3, 1, 0), (5, 3, 1, 0))
        assert holds(host, FOUND)
        assert journal.entries() == ()


def test_what_a_killed_run_leaves_is_put_back_by_its_entry(tmp_path, device, monkeypatch) -> None:
    journal = Journal(tmp_path / "journal")
    monkeypatch.setattr(drive_monitor, "find_drive", lambda *_: device)
    monkeypatch.setattr(drive_monitor, "open_to_ask", lambda _: nullcontext(0))
    with hosts(tmp_path, monkeypatch) as (host, _):
        assert set_monitor(host, **FOUND, enable=0) == 0
        with monitor_set(0, device, journal):
            (entry,) = journal.entries()
            put_back_monitor(entry, device.roots, run_program)
            now = page(host, "latency-monitor").values
        assert {name: now[name] for name in FOUND} == FOUND
        assert not now["is_enabled"]


def test_a_debug_log_that_was_there_stays(tmp_path, device, monkeypatch) -> None:
    with hosts(tmp_path, monkeypatch) as (host, io):
        first = {"debug_trigger_read": [True] * 4}
        assert set_monitor(host, **first) == 0
        for number in range(len(DELAYS_MS)):
            assert io.read(number, 512).status == 0
        kept = page(host, "latency-monitor").values["debug_log_stamp"]
        assert kept is not None
        with monitor_set(0, device, Journal(tmp_path / "journal")):
            assert page(host, "latency-monitor").values["debug_log_stamp"] == kept


def test_a_drive_that_refuses_it_is_left_alone(tmp_path, device, monkeypatch) -> None:
    journal = Journal(tmp_path / "journal")
    lies = "[[override]]\nlog = 0xC3\nstatus = 9\n"
    with hosts(tmp_path, monkeypatch, lies), monitor_set(0, device, journal) as is_set:
        assert not is_set
        assert journal.entries() == ()
        assert monitor_values(0) == {}


@pytest.mark.parametrize(
    ("counts", "hidden"), [((0, 0, 0, 0), 3), ((0, 1, 0, 0), 2), ((0, 2, 1, 0), 0), ((1, 2, 1, 0), 0)]
)
def test_a_drive_that_counts_fewer_than_it_had_alone_hides_them(
    counts, hidden, tmp_path, device, monkeypatch
) -> None:
    # the host can't be sure of 5.0 ms, as it saw 5.2
    lies = "".join(
        f"[[override]]\nlog = 0xC3\nat = {40 + 16 * bucket}\nbytes = '{count:02x}000000'\nafter = 2\n"
        for bucket, count in enumerate(counts)
    )
    with hosts(tmp_path, monkeypatch, lies) as (_, io), monitor_set(0, device, Journal(tmp_path / "journal")):
        found = compared(io)
    times_ns = [round(ms * NS_PER_MS) for ms in SEEN_BY_HOST_MS]
    alone = [replace(AT_DRIVE, latency_ns=time_ns, silence_ns=time_ns) for time_ns in times_ns]
    assert found.lacking(alone) == hidden
