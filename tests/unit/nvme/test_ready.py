"""Time to ready: gaps by exact arithmetic, and planted delays of a served drive, found by a host of ours."""

import socket
import struct
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from operator import ge, sub

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openpts.errors import TargetError
from openpts.units import NS_PER_MS, NS_PER_S
from openpts_nvme.drivers.ready.measure import Order, interrupted
from openpts_nvme.drivers.ready.streams import Gap, goes_on_at, longest_gap
from openpts_serve.served_drive import Access, ServedDrive
from tests.support.nvme_tcp_host import Host, TerminatedError
from tests.support.served_drive import served

NOT_READY = 0x82


@given(
    st.lists(st.integers(1, 1000), min_size=1, max_size=50), st.integers(0, 20_000), st.integers(0, 20_000)
)
def test_the_longest_gap_is_the_longest_of_all_that_touch_the_window(
    steps: list[int], low: int, high: int
) -> None:
    ends = [sum(steps[:count]) for count in range(1, len(steps) + 1)]
    inside = [
        (ends[at] - ends[at - 1], -at) for at in range(1, len(ends)) if ends[at] > low and ends[at - 1] < high
    ]
    found = longest_gap(ends, low, high)
    if not inside:
        assert found is None
        return
    length, at = max(inside)
    assert found == Gap(ends[-at - 1], ends[-at])
    assert found.length_ns == length


@pytest.mark.parametrize(
    ("ends", "told", "expected"),
    [
        ([0, 10, 20, 30, 40], 21, 30),  # never interrupted: the next success
        ([0, 10, 20, 30, 120, 130], 12, 120),  # it answered for a while after it was told
        ([0, 10, 20, 100, 110, 140], 21, 100),
        ([0, 10], 11, None),
    ],
)
def test_a_stream_goes_on_where_its_longest_gap_ends(
    ends: Sequence[int], told: int, expected: int | None
) -> None:
    assert goes_on_at(ends, told, 1000, 10) == expected


class Asked:
    """A served drive by NVMe over TCP, whose controller is enabled anew by an order."""

    def __init__(self, drive: ServedDrive) -> None:
        self.drive = drive
        self.hosts: list[Host] = []
        self.order()

    def host(self, queue: int = 0, controller: int = 0xFFFF) -> Host:
        """One more queue."""
        return Host(self.drive.address, self.drive.names.nqn, queue=queue, controller=controller).__enter__()

    def close(self) -> None:
        """Leave its controller."""
        for host in self.hosts:
            with suppress(OSError):  # else a thread that waits for an answer would go on waiting
                host.stream.shutdown(socket.SHUT_RDWR)
            host.stream.close()

    def order(self) -> Order:
        """Leave the controller, and enable another one."""
        self.close()
        admin = self.host()
        told_ns = time.monotonic_ns()
        assert admin.fabrics(0, struct.pack("<IIQ", 0, 0x14, 0x00460001)).status == 0
        self.hosts = [admin]
        return Order(told_ns)

    def identify(self) -> bool:
        """When the controller says that it is ready, it has to answer."""
        try:
            admin = self.hosts[0]
            return bool(admin.property(0x1C, 4) & 1) and len(admin.identify(1)) == 4096
        except (OSError, TerminatedError):
            return False

    def read(self) -> bool:
        """On a connection of its own."""
        hosts = self.hosts
        try:
            if len(hosts) < 2:
                hosts.append(self.host(queue=1, controller=hosts[0].controller))
            done = hosts[1].read(0, 4096)
        except (OSError, TerminatedError):
            return False
        assert done.status in {0, NOT_READY}
        assert not (done.status and done.do_not_retry)
        return done.status == 0


MOST_ADDED_NS = 5 * NS_PER_MS
MOST_TRIES = 8


@pytest.mark.parametrize(("ready_ms", "media_ms"), [(0, 0), (137, 137), (137, 400), (600, 600)])
def test_planted_delays_are_found_within_5_ms(ready_ms: int, media_ms: int) -> None:
    """The best of some: what a loaded machine adds is no fault of the measurement."""
    planted_ns = (ready_ms * NS_PER_MS, media_ms * NS_PER_MS)
    best_ns = (NS_PER_S * 60,) * 2
    access = Access("none", ready_ms / 1000, media_ms / 1000)
    with served(access=access) as drive, closing(Asked(drive)) as asked:
        for _ in range(MOST_TRIES):
            found = interrupted(asked, asked.order, calm_s=0.3)
            times_ns = (found.identify_ns, found.read_ns)
            assert all(map(ge, times_ns, planted_ns))
            assert found.gap_ns >= planted_ns[1]
            best_ns = min(best_ns[0], times_ns[0]), min(best_ns[1], times_ns[1])
            added_ns = [*map(sub, best_ns, planted_ns)]
            if max(added_ns) <= MOST_ADDED_NS:
                return
    raise AssertionError(added_ns)


def test_a_drive_that_does_not_come_back_is_an_error() -> None:
    class Gone(Asked):
        gone = False

        def read(self) -> bool:
            return not self.gone and super().read()

    with served() as drive, closing(Gone(drive)) as asked:

        def order() -> Order:
            asked.gone = True
            return Order(time.monotonic_ns())

        begun_ns = time.monotonic_ns()
        with pytest.raises(TargetError, match="has not worked again for 1 s"):
            interrupted(asked, order, calm_s=0.2, patience_s=1)
        assert time.monotonic_ns() - begun_ns < 30 * NS_PER_S


def test_what_breaks_an_attempt_is_not_taken_for_a_drive_that_is_away() -> None:
    class Broken(Asked):
        def identify(self) -> bool:
            raise ZeroDivisionError

    with served() as drive, closing(Broken(drive)) as asked, pytest.raises(ZeroDivisionError):
        interrupted(asked, asked.order)
