"""Zones of an open drive, measured by the kernel's ioctls, plain writes, and appends past the block layer."""

import mmap
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from openpts.device.block_device import DeviceKind
from openpts.device.kernel_calls import Zone, ZoneOrder, logical_sector_bytes, order_zone, report_zones
from openpts.device.nvme.nvme_admin import NvmeCommandError, namespace_id, zone_append
from openpts.device.targets.open_target import OpenTarget
from openpts.errors import RunFailedError
from openpts.vocabulary.zones import KilledWriter, MeasureZones, ZonesMeasured, ZoneTimes, ZoneWrites

_CONVENTIONAL: Final = 1
_MOST_TRIED: Final = 256
_START_LIMIT_S: Final = 20
# writes a zone block by block on the descriptor that it gets, and says so after each
_WRITER: Final = """
import mmap, os, sys
fd, start, size, end = map(int, sys.argv[1:])
data = mmap.mmap(-1, size)
while start + size <= end:
    os.pwrite(fd, data, start)
    os.write(1, b".")
    start += size
"""


class ZonedDrive:
    """A zoned drive that the guard has opened, its sequential zones, and which of them are not used yet."""

    def __init__(self, target: OpenTarget, asked: MeasureZones) -> None:
        self._fd, self._asked, self._target = target.fd, asked, target
        zones = report_zones(self._fd)
        self._all = [zone for zone in zones if zone.kind != _CONVENTIONAL]
        self._conventional = len(zones) - len(self._all)
        self._next = 0

    def measure(self) -> ZonesMeasured:
        """Reset all zones and measure. Raises RunFailedError where the drive refuses what it has to take."""
        device = self._target.device
        assert device is not None  # noqa: S101 the driver has looked
        disk = device.whole
        try:
            for zone in self._all:
                order_zone(self._fd, ZoneOrder.RESET, zone)
            opens, actives, append_bytes = (
                disk.integer(f"queue/{name}") or 0
                for name in ("max_open_zones", "max_active_zones", "zone_append_max_bytes")
            )
            tried = min(len(self._all), max(opens, actives) + 1 if opens or actives else _MOST_TRIED)
            opened, activated = self._opened(tried), self._activated(tried)
            times, no_append = self._times(), "the drive is no NVMe namespace"
            writes = [self._written()]
            if disk.kind is DeviceKind.NVME:
                appends, no_append = self._appends(append_bytes)
                writes += appends
            return ZonesMeasured(
                model=disk.zones_model or "",
                zones=len(self._all) + self._conventional,
                conventional=self._conventional,
                zone_bytes=self._all[0].length_bytes,
                zone_capacity_bytes=self._all[0].capacity_bytes,
                open_limit=opens,
                active_limit=actives,
                append_limit_bytes=append_bytes,
                tried=tried,
                opened=opened,
                activated=activated,
                times=times,
                writes=tuple(writes),
                no_append=no_append,
                killed=self._killed(),
            )
        except OSError as error:
            raise RunFailedError(f"{self._target.facts.name} refuses a command on zones: {error}") from error

    def _take(self) -> Zone:
        """A zone that is empty; after the last the first again."""
        zone = self._all[self._next % len(self._all)]
        self._next += 1
        order_zone(self._fd, ZoneOrder.RESET, zone)
        return zone

    def _until_refused(self, zones: Sequence[Zone], act: Callable[[Zone], None]) -> int:
        """How many zones the drive let do it, one after the other; all are reset afterwards."""
        done = 0
        for zone in zones:
            try:
                act(zone)
            except OSError:
                break
            done += 1
        for zone in zones[: done + 1]:
            order_zone(self._fd, ZoneOrder.RESET, zone)
        return done

    def _opened(self, most: int) -> int:
        return self._until_refused(self._all[:most], lambda zone: order_zone(self._fd, ZoneOrder.OPEN, zone))

    def _activated(self, most: int) -> int:
        """A zone that was written and closed is active, and not open."""

        def activate(zone: Zone) -> None:
            self._write(zone, self._asked.block_size_bytes)
            order_zone(self._fd, ZoneOrder.CLOSE, zone)

        return self._until_refused(self._all[:most], activate)

    def _write(self, zone: Zone, amount_bytes: int) -> int:
        """Write so much of an empty zone from its start; gives what was written, in whole blocks."""
        size_bytes = self._asked.block_size_bytes
        data = mmap.mmap(-1, size_bytes)
        written = 0
        while written + size_bytes <= min(amount_bytes, zone.capacity_bytes):
            written += os.pwrite(self._fd, data, zone.start_bytes + written)
        return written

    def _times(self) -> tuple[ZoneTimes, ...]:
        found = []
        for order in (ZoneOrder.RESET, ZoneOrder.FINISH):
            for state, share in (("empty", 0.0), ("half written", 0.5), ("full", 1.0)):
                if order is ZoneOrder.FINISH and share == 1:
                    continue
                times = [self._timed(order, share) for _ in range(self._asked.repeats)]
                found.append(ZoneTimes(f"{order.name.lower()}, {state}", tuple(times)))
        return tuple(found)

    def _timed(self, order: ZoneOrder, share: float) -> int:
        zone = self._take()
        self._write(zone, round(share * zone.capacity_bytes))
        begun_ns = time.perf_counter_ns()
        order_zone(self._fd, order, zone)
        took_ns = time.perf_counter_ns() - begun_ns
        order_zone(self._fd, ZoneOrder.RESET, zone)
        return took_ns

    def _pointer(self, zone: Zone) -> int:
        """Bytes from the start of a zone to its write pointer; of a full one its capacity."""
        (now,) = report_zones(self._fd, zone.start_bytes, 1)
        return min(now.write_pointer_bytes - now.start_bytes, now.capacity_bytes)

    def _written(self) -> ZoneWrites:
        zone = self._take()
        begun_ns = time.perf_counter_ns()
        written = self._write(zone, zone.capacity_bytes)
        took_ns = time.perf_counter_ns() - begun_ns
        size_bytes = self._asked.block_size_bytes
        return ZoneWrites("write", size_bytes, 1, written, took_ns, self._pointer(zone) == written)

    def _appends(self, most_bytes: int) -> tuple[list[ZoneWrites], str]:
        try:
            return [self._appended(qd, most_bytes) for qd in self._asked.qds], ""
        except NvmeCommandError as error:
            return [], f"the drive refuses Zone Append: {error}"

    def _appended(self, qd: int, most_bytes: int) -> ZoneWrites:
        """Appends to one zone by so many threads, each with one outstanding."""
        zone, sector = self._take(), logical_sector_bytes(self._fd)
        size_bytes = min(self._asked.block_size_bytes, most_bytes or self._asked.block_size_bytes)
        nsid, appends = namespace_id(self._fd), zone.capacity_bytes // size_bytes // qd

        def append(_thread: int) -> list[int]:
            data, first = bytes(size_bytes), zone.start_bytes // sector
            return [zone_append(self._fd, nsid, first, data, sector) for _ in range(appends)]

        with ThreadPoolExecutor(qd) as threads:
            begun_ns = time.perf_counter_ns()
            found = list(threads.map(append, range(qd)))
            took_ns = time.perf_counter_ns() - begun_ns
        places = sorted(lba * sector - zone.start_bytes for of_thread in found for lba in of_thread)
        written = len(places) * size_bytes
        in_order = places == list(range(0, written, size_bytes)) and self._pointer(zone) == written
        return ZoneWrites("append", size_bytes, qd, written, took_ns, in_order)

    def _killed(self) -> KilledWriter:
        """Have a process write a zone, and kill it while it writes."""
        zone, size_bytes = self._take(), self._asked.block_size_bytes
        words = [str(word) for word in (self._fd, zone.start_bytes, size_bytes)]
        end = str(zone.start_bytes + zone.capacity_bytes)
        acknowledged = 0
        with subprocess.Popen(
            [sys.executable, "-S", "-c", _WRITER, *words, end], stdout=subprocess.PIPE, pass_fds=(self._fd,)
        ) as writer:
            assert writer.stdout is not None  # noqa: S101 it is a pipe
            most = min(self._asked.killed_after, zone.capacity_bytes // size_bytes // 2)
            while acknowledged < most and (told := os.read(writer.stdout.fileno(), 1)):
                acknowledged += len(told)
            writer.kill()
            writer.wait(_START_LIMIT_S)
            acknowledged += len(writer.stdout.read())
        return KilledWriter(size_bytes, acknowledged * size_bytes, self._pointer(zone))
