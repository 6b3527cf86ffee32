"""Device Self-test of a served drive, as the specification has it, and as openpts reads its log."""

import struct
from collections.abc import Iterator

import pytest

from tests.support.nvme_tcp_host import Host
from tests.support.served_drive import both, served

SUCCESS, INVALID_FIELD, INVALID_NAMESPACE, IN_PROGRESS = 0x00, 0x02, 0x0B, 0x11D
SELF_TEST, FORMAT = 0x14, 0x80
SHORT, EXTENDED, ABORT = 1, 2, 0xF
ALL = 0xFFFF_FFFF


@pytest.fixture
def host() -> Iterator[Host]:
    with served("client-qlc?capacity=200MB") as drive, both(drive) as (admin, _):
        yield admin


def begin(host: Host, code: int, namespace: int = ALL) -> int:
    return host.command(SELF_TEST, code, namespace=namespace).status


def now(host: Host) -> tuple[int, int]:
    log = host.log(6, 564)
    return log[0], log[1]


def latest(host: Host) -> int:
    """Code and result of the newest one, a nibble each."""
    return host.log(6, 564)[4]


def test_the_identify_data_announce_it(host) -> None:
    page = host.identify(1)
    assert struct.unpack_from("<H", page, 256)[0] & 1 << 4
    assert struct.unpack_from("<H", page, 316)[0] == 10  # minutes of the extended one
    assert page[318] & 1
    effects = struct.unpack("<1024I", host.log(5, 4096))
    assert effects[SELF_TEST] & 1


def test_there_is_one_at_a_time(host) -> None:
    assert now(host)[0] == 0
    assert latest(host) == 0xF
    assert begin(host, EXTENDED) == SUCCESS
    assert now(host) == (EXTENDED, 0)
    assert begin(host, SHORT) == IN_PROGRESS
    assert begin(host, ABORT) == SUCCESS
    assert now(host)[0] == 0
    assert latest(host) == EXTENDED << 4 | 1


def test_a_format_ends_it(host) -> None:
    assert begin(host, SHORT, namespace=1) == SUCCESS
    assert host.command(FORMAT, 0, namespace=1).status == SUCCESS
    assert now(host)[0] == 0
    assert latest(host) == SHORT << 4 | 4


def test_what_makes_no_sense_is_refused(host) -> None:
    assert begin(host, 5) == INVALID_FIELD
    assert begin(host, SHORT, namespace=77) == INVALID_NAMESPACE
    assert now(host)[0] == 0


def test_a_reset_ends_a_short_one(host) -> None:
    for code, left in ((SHORT, 0), (EXTENDED, EXTENDED)):
        assert begin(host, code) == SUCCESS
        host.fabrics(0, struct.pack("<IIQ", 0, 0x14, 0))
        host.enable()
        assert now(host)[0] == left
