"""A served drive in twelve states of its locking: what it answers and keeps away, and how it is reverted.

The session of a revert is one that Linux's block/sed-opal.c sends, byte by byte.
"""

import struct

import pytest

from openpts.device.security import Level0
from openpts.errors import UsageError
from openpts_testbench.served_drive import Access, ServedDrive
from tests.support.level0_answers import WORDS_OF
from tests.support.nvme_tcp_host import Completion, Host
from tests.support.served_drive import admin, both, pattern, served

SEND, RECEIVE, FORMAT, SANITIZE = 0x81, 0x82, 0x80, 0x84
COM_ID = 0x0800
INVALID_OPCODE, INVALID_FIELD, ACCESS_DENIED = 0x01, 0x02, 0x286
LOCKED = ("locked", "enterprise", "pyrite")
BROKEN = ("too-long", "cut-off")
SHADOW_LBAS = (128 << 20) // 512

SESSION_MANAGER = bytes.fromhex("00000000000000ff")
START_SESSION = bytes.fromhex("000000000000ff02")
SYNC_SESSION = bytes.fromhex("000000000000ff03")
ADMIN_SP = bytes.fromhex("0000020500000001")
PSID_AUTHORITY = bytes.fromhex("000000090001ff01")
REVERT = bytes.fromhex("0000000600000202")
NO_STATUS = bytes.fromhex("f9f0000000f1")


def received(host: Host, specific: int = 1, length: int = 2048) -> Completion:
    return host.command(RECEIVE, 1 << 24 | specific << 8, length, reads=length)


def atom(value: bytes) -> bytes:
    """A short atom, or a medium one."""
    if len(value) < 16:
        return bytes([0xA0 | len(value)]) + value
    return bytes([0xD0, len(value)]) + value


def call(host: Host, session: tuple[int, int], payload: bytes) -> tuple[int, bytes]:
    """Send a payload in a session; the status and the payload of the answer."""
    padded = payload.ljust(-(-len(payload) // 4) * 4, b"\0")
    packet = struct.pack(">IIIHHII", *session, 0, 0, 0, 0, len(padded) + 12)
    sub = bytes(8) + struct.pack(">I", len(payload))
    body = packet + sub + padded
    whole = struct.pack(">IHHIII", 0, COM_ID, 0, 0, 0, len(body)) + body
    sent = host.command(SEND, 1 << 24 | COM_ID << 8, 2048, data=whole.ljust(2048, b"\0"))
    assert sent.status == 0
    answer = received(host, COM_ID).data
    (length,) = struct.unpack_from(">I", answer, 52)
    payload = answer[56 : 56 + length]
    assert payload[-6] == 0xF9
    return payload[-4], payload


def start(host: Host, psid: str) -> tuple[int, bytes]:
    words = b"\xf8" + atom(SESSION_MANAGER) + atom(START_SESSION) + b"\xf0\x81\x41" + atom(ADMIN_SP) + b"\x01"
    words += b"\xf2\x00" + atom(psid.encode()) + b"\xf3\xf2\x03" + atom(PSID_AUTHORITY) + b"\xf3\xf1"
    return call(host, (0, 0), words + NO_STATUS)


def revert(host: Host, session: tuple[int, int]) -> int:
    return call(host, session, b"\xf8" + atom(ADMIN_SP) + atom(REVERT) + b"\xf0\xf1" + NO_STATUS)[0]


def reverted(host: Host, drive: ServedDrive) -> None:
    code, answer = start(host, drive.names.psid)
    assert code == 0
    assert answer[10:20] == atom(SYNC_SESSION) + b"\xf0"
    (host_session,), (own_session,) = (struct.unpack_from(">I", answer, at) for at in (21, 26))
    assert host_session == 0x41
    assert revert(host, (own_session, host_session)) == 0


@pytest.mark.parametrize("state", WORDS_OF)
def test_it_answers_in_the_states_that_drives_are_met_in(state) -> None:
    with served(access=Access(state)) as drive, admin(drive) as host:
        assert host.identify(1)[256] & 1
        found = Level0.parse(received(host).data)
        assert str(found) == WORDS_OF[state][1]
        assert host.log(5, 4096)[RECEIVE * 4] & 1


def test_without_locking_it_has_no_such_command() -> None:
    with served() as drive, admin(drive) as host:
        assert not host.identify(1)[256] & 1
        assert received(host).status == INVALID_OPCODE
        assert host.command(SEND, 1 << 24 | COM_ID << 8, 512, data=bytes(512)).status == INVALID_OPCODE


@pytest.mark.parametrize("state", BROKEN)
def test_a_broken_answer_is_one_that_nothing_can_be_taken_from(state) -> None:
    with served(access=Access(state)) as drive, admin(drive) as host:
        answer = received(host).data
        with pytest.raises(ValueError, match="bytes"):
            Level0.parse(answer)


def test_other_protocols_and_empty_sessions_are_refused() -> None:
    with served(access=Access("opal-2")) as drive, admin(drive) as host:
        assert host.command(RECEIVE, 2 << 24 | 1 << 8, 512, reads=512).status == INVALID_FIELD
        assert received(host, 0x0777).status == INVALID_FIELD
        assert received(host, COM_ID).data == bytes(4) + struct.pack(">H", 0) + bytes(2042)
        assert host.command(SEND, 1 << 24 | COM_ID << 8, 16, data=bytes(16)).status == INVALID_FIELD
        lie = bytearray(512)
        lie[52:56] = b"\xff" * 4
        assert host.command(SEND, 1 << 24 | COM_ID << 8, 512, data=bytes(lie)).status == INVALID_FIELD


@pytest.mark.parametrize("state", LOCKED)
def test_a_locked_drive_gives_and_takes_nothing(state) -> None:
    with served(access=Access(state)) as drive, both(drive) as (host, io):
        for done in (io.read(0, 4096), io.write(0, pattern(4096))):
            assert (done.status, done.do_not_retry) == (ACCESS_DENIED, True)
        assert host.command(FORMAT, 1 << 9, namespace=1).status == ACCESS_DENIED
        assert host.command(SANITIZE, 2).status == ACCESS_DENIED


def test_a_shadow_mbr_hides_what_is_there_and_takes_nothing() -> None:
    with served(access=Access("shadow-mbr")) as drive, both(drive) as (host, io):
        behind = SHADOW_LBAS + 8
        assert io.write(behind, pattern(4096)).status == 0
        assert io.read(behind, 4096).data == pattern(4096)
        assert io.write(0, pattern(4096)).status == ACCESS_DENIED
        assert io.read(0, 4096).data == bytes(4096)
        assert io.write(SHADOW_LBAS, pattern(4096)).status == 0
        assert io.read(SHADOW_LBAS - 4, 4096).data == bytes(2048) + pattern(4096)[:2048]
        reverted(host, drive)
        assert io.read(behind, 4096).data == bytes(4096)
        assert io.write(0, pattern(4096)).status == 0


@pytest.mark.parametrize("state", [*LOCKED, "enabled", "sid-blocked"])
def test_its_psid_reverts_it_and_erases_it(state) -> None:
    with served(access=Access(state)) as drive, both(drive) as (host, io):
        if state not in LOCKED:
            assert io.write(0, pattern(4096)).status == 0
        code, _ = start(host, "0" * 32)
        assert code == 1
        assert revert(host, (0x1001, 0x41)) == 1
        reverted(host, drive)
        assert str(Level0.parse(received(host).data)) == "TCG Opal 2: not locking"
        assert io.read(0, 4096).data == bytes(4096)
        assert io.write(0, pattern(4096)).status == 0


def test_an_unknown_state_is_refused_by_name() -> None:
    with pytest.raises(UsageError, match="there are none, opal-1"), served(access=Access("opal-3")):
        pass
