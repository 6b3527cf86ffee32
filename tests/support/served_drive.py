"""A drive that is served for a test, and hosts on it."""

from collections.abc import Iterator
from contextlib import contextmanager

from openpts_sim.simulated_target import parse_simulated_target
from openpts_testbench.serve import ServeOrder, serve_drive
from openpts_testbench.served_drive import SOUND, Faults, ServedDrive
from tests.support.nvme_tcp_host import Host

SMALL = "client-qlc?capacity=256MB"


def order(text: str = SMALL, faults: Faults = SOUND, **rest: object) -> ServeOrder:
    return ServeOrder(parse_simulated_target(text), "127.0.0.1:0", faults=faults, **rest)


@contextmanager
def served(text: str = SMALL, faults: Faults = SOUND, **rest: object) -> Iterator[ServedDrive]:
    with serve_drive(order(text, faults, **rest)) as drive:
        yield drive


@contextmanager
def admin(drive: ServedDrive, **options: object) -> Iterator[Host]:
    with Host(drive.address, drive.names.nqn, **options) as host:
        yield host.enable()


@contextmanager
def both(drive: ServedDrive, **options: object) -> Iterator[tuple[Host, Host]]:
    """An admin queue and an I/O queue."""
    with (
        admin(drive, **options) as first,
        Host(drive.address, drive.names.nqn, queue=1, controller=first.controller, **options) as io,
    ):
        yield first, io


def pattern(length: int, seed: int = 1) -> bytes:
    part = bytes((at * 7 + seed) & 0xFF for at in range(256))
    return (part * (length // 256 + 1))[:length]
