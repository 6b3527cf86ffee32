"""The latency monitor of an OCP drive (log C3h, feature C5h): set for a run, read, left as it was found."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Final

from openpts.device.block_device import BlockDevice
from openpts.device.journalled_drive import drive_subject, drive_text, find_drive
from openpts.device.kernel_calls import open_to_ask
from openpts.device.nvme_admin import NvmeCommandError
from openpts.errors import TargetError
from openpts.journal import Entry, Journal
from openpts.programs import ProgramRunner
from openpts.system_files import SystemRoots
from openpts_nvme.logs.page import LogError, LogReader, Value, declared_logs
from openpts_nvme.outliers.causes import BUCKETS, OPERATIONS, PREFIX

LATENCY_MONITOR: Final = "latency monitor"
"""The kind of its entries in the undo journal."""
_LETTERS: Final = "abcd"
_FOUND: Final = "feature"
_OPERATIONS: Final = ("read", "write", "deallocate")
_LARGEST: Final = tuple(f"active_{operation}_keeps_largest" for operation in _OPERATIONS)
_TRIGGERS: Final = tuple(f"debug_trigger_{operation}" for operation in _OPERATIONS)
# From the lowest threshold that there is; decades apart, as the slowest of a day are what matters. The counts
# stay in their buckets for as long as the run takes. A debug log that the drive has is its owner's: it is
# kept, and no other is triggered.
_SETTING: Final[Mapping[str, Value]] = {
    "active_bucket_timer_threshold_min": 0,
    "active_threshold_a_ms": 5,
    "active_threshold_b_ms": 10,
    "active_threshold_c_ms": 50,
    "active_threshold_d_ms": 250,
    "active_latency_minimum_window_ms": 100,
    "enable": 1,
    **dict.fromkeys(_TRIGGERS, (False,) * BUCKETS),
}


def monitor_values(fd: int) -> dict[str, float]:
    """Counts and thresholds of a monitor that is on, for the record; empty without one. Never raises."""
    try:
        page = _page(LogReader(fd))
    except (NvmeCommandError, LogError):
        return {}
    if not page.get("is_enabled"):
        return {}
    values = {
        f"{PREFIX}threshold_{bucket}_ms": page[f"active_threshold_{letter}_ms"]
        for bucket, letter in enumerate(_LETTERS)
    }
    for words in OPERATIONS.values():
        counts = page[f"active_{words}"]
        values |= {f"{PREFIX}{words}_{bucket}": counts[bucket] for bucket in range(BUCKETS)}
    return {name: float(value) for name, value in values.items()}


@contextmanager
def monitor_set(fd: int, device: BlockDevice, journal: Journal) -> Iterator[bool]:
    """The monitor counts from 5 ms on while the block runs, and is then as it was found, but for its counts.

    False for a drive that has none or refuses. What was found is in the journal before.
    """
    entry = None
    try:
        reader = LogReader(fd)
        found = _setting_of(_page(reader))
        entry = journal.add(LATENCY_MONITOR, drive_subject(device), {_FOUND: json.dumps(found)})
        reader.configure(_FEATURE, {**found, **_SETTING})
    except (NvmeCommandError, LogError):
        if entry is not None:
            journal.remove(entry)
        yield False
        return
    try:
        yield True
    finally:
        with suppress(NvmeCommandError):  # the next run on the drive tries again
            reader.configure(_FEATURE, found)
            journal.remove(entry)


def put_back_monitor(entry: Entry, roots: SystemRoots, run: ProgramRunner) -> str:  # noqa: ARG001 no program does it
    """Set the monitor as a run that was killed had found it; see openpts.hooks.Healer.

    Raises TargetError if the drive is not there or doesn't take it.
    """
    device = find_drive(entry.subject, roots)
    try:
        with open_to_ask(device) as fd:
            LogReader(fd).configure(_FEATURE, json.loads(entry.found[_FOUND]))
    except (OSError, NvmeCommandError, LogError) as error:
        raise TargetError(f"{device.node} does not accept its latency monitor's setting: {error}") from error
    return f"the latency monitor of {drive_text(entry.subject)} is set again as it was found"


def _page(reader: LogReader) -> Mapping[str, Value]:
    """Raises NvmeCommandError, LogError."""
    if not reader.uuid_index:
        raise LogError("the drive has no pages of OCP")
    read = reader.read(_LOG)
    if read.page is None:
        raise LogError(read.refused)
    return read.page.values


def _setting_of(page: Mapping[str, Value]) -> dict[str, Value]:
    """What of the page the feature sets."""
    names = ("active_bucket_timer_threshold_min", "active_latency_minimum_window_ms", *_LARGEST, *_TRIGGERS)
    thresholds = (f"active_threshold_{letter}_ms" for letter in _LETTERS)
    found = {name: page[name] for name in (*names, *thresholds)}
    return {**found, "enable": int(bool(page["is_enabled"]))}


_LOG: Final = declared_logs()["latency-monitor"]
_FEATURE: Final = declared_logs()["latency-monitor-feature"]
