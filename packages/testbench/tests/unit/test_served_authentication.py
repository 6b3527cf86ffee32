"""Hosts of a served drive that must prove who they are: DH-HMAC-CHAP, command by command, on real sockets."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from openpts.errors import UsageError
from openpts_testbench.serve import read_host_keys, serve_drive
from openpts_testbench.served_drive import ServedDrive
from tests.support.dhchap_host import (
    AUTH_RECEIVE,
    CHALLENGE,
    SUCCESS2,
    Authentication,
    AuthenticationFailedError,
    transformed,
)
from tests.support.nvme_tcp_host import DISCOVERY_NQN, HOST_NQN, Host
from tests.support.refusals import refusal
from tests.support.served_drive import order, pattern, served

# as nvme gen-dhchap-key (nvme-cli 2.3) gave them for HOST_NQN and the bytes 0, 1, 2, ...
OF_NVME_CLI = {
    0: "DHHC-1:00:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh+KfiaR:",
    1: "DHHC-1:01:bOHk6jHoMxpP5YJr/eF6XNOGuPAzh0iRniebpsVb9ydqVuR5:",
    2: "DHHC-1:02:JzgkyQ7IBRNgZgoVJQTRqDZ62Hnj5/kZ+vrrqjiE4TzoZZv5ycVS5cOLCiZ1bQfVVxJqow==:",
    3: "DHHC-1:03:D+Ucidhr9Oh00yaKCrMLB2s2c/hsojlyxwni12p59UZ78f4YQ6UMpEcQG4yaPnLJFkljK+euytryvvQe2rYS"
    "hiu0Vv0=:",
}
KEY = bytes(range(32))
DRIVE_KEY = transformed(KEY, "sha256", HOST_NQN)
"""What the secret with number 1 holds; the drive's own is transformed once more, with the drive's name."""
ONE_WAY = "nqn.2014-08.org.nvmexpress:uuid:one-way"
CONNECT_INVALID_HOST, AUTHENTICATION_REQUIRED, COMMAND_SEQUENCE = 0x184, 0x191, 0x0C
FAILED, MISMATCH, NO_HASH, NO_GROUP, BAD_PAYLOAD, BAD_MESSAGE = 1, 3, 4, 5, 6, 7


def secrets(folder: Path, *lines: str) -> Path:
    file = folder / "secrets"
    file.write_text("\n".join(lines))
    file.chmod(0o600)
    return file


@pytest.fixture(scope="module")
def drive(tmp_path_factory) -> Iterator[ServedDrive]:
    file = secrets(
        tmp_path_factory.mktemp("secrets"),
        "# hosts",
        "",
        f"{HOST_NQN} {OF_NVME_CLI[0]} {OF_NVME_CLI[1]}",
        f"{ONE_WAY}\t{OF_NVME_CLI[0]}",
    )
    with served(auth_secrets=file) as drive:
        yield drive


@contextmanager
def connected(drive: ServedDrive, **options: object) -> Iterator[Host]:
    with Host(drive.address, drive.names.nqn, **options) as host:
        assert host.must_authenticate
        yield host


def proves(host: Host, **options: object) -> Authentication:
    return Authentication(host, KEY, **options)


@pytest.mark.parametrize(("hash_id", "group"), [(1, 0), (2, 1), (3, 2), (1, 3), (2, 4), (3, 5)])
def test_both_sides_prove_what_they_know(drive, hash_id, group) -> None:
    own = transformed(DRIVE_KEY, "sha256", drive.names.nqn)
    chosen = {"drive_key": own, "hashes": (9, hash_id), "groups": (77, group)}
    with connected(drive) as admin:
        assert proves(admin, **chosen).run() == (hash_id, group)
        admin.enable()
        with connected(drive, queue=1, controller=admin.controller) as io:
            assert proves(io, **chosen).run() == (hash_id, group)
            assert io.write(0, pattern(4096)).status == 0
            assert io.read(0, 4096).data == pattern(4096)


def test_a_host_need_not_ask_the_drive_and_gets_no_weak_choice(drive) -> None:
    with connected(drive, host_nqn=ONE_WAY) as host:
        assert proves(host).run() == (1, 2)
        host.enable()
        # Again, on a living connection.
        assert proves(host, transaction=8).run() == (1, 2)
        assert host.command(0x18).status == 0


def test_nothing_is_done_for_a_host_that_proved_nothing(drive) -> None:
    with connected(drive) as known, ExitStack() as stack:
        proves(known).run()
        known.enable()
        host = stack.enter_context(connected(drive))
        refused = [
            host.fabrics(4, bytes(4) + b"\x1c\0\0\0"),
            host.fabrics(0, bytes(4) + b"\x14\0\0\0\1\0\x46\0"),
            host.command(0x18),
            host.command(6, 1, reads=4096),
        ]
        assert [each.status for each in refused] == [AUTHENTICATION_REQUIRED] * 4
        io = stack.enter_context(connected(drive, queue=1, controller=known.controller))
        assert io.read(0, 512).status == AUTHENTICATION_REQUIRED
        # Nor is the queue taken by it.
        other = stack.enter_context(connected(drive, queue=1, controller=known.controller))
        proves(other).run()
        assert other.read(0, 512).status == 0
        with pytest.raises(ConnectionRefusedError):
            proves(io, drive_key=transformed(DRIVE_KEY, "sha256", drive.names.nqn)).run()


@pytest.mark.parametrize(
    ("cheat", "explanation"),
    [
        ({"key": bytes(32)}, FAILED),
        ({"key": DRIVE_KEY}, FAILED),
        ({"reflects": True, "drive_key": b"asked"}, FAILED),
        ({"public": 1, "groups": (1,)}, BAD_PAYLOAD),
        ({"public": 0, "groups": (1,)}, BAD_PAYLOAD),
        ({"secure_channel": 1}, MISMATCH),
        ({"hashes": (4, 0)}, NO_HASH),
        ({"groups": (6,)}, NO_GROUP),
        ({"groups": ()}, NO_GROUP),
        ({"reply_transaction": 8}, BAD_MESSAGE),
    ],
)
def test_a_host_that_cheats_fails_for_good(drive, cheat, explanation) -> None:
    with connected(drive) as host:
        with pytest.raises(AuthenticationFailedError) as failed:
            Authentication(host, **{"key": KEY, **cheat}).run()
        assert failed.value.explanation == explanation
        # Also with the secret: a connection has one try.
        with pytest.raises(AuthenticationFailedError):
            proves(host).run()
        assert host.command(0x18).status == AUTHENTICATION_REQUIRED


def test_a_member_that_fails_to_prove_it_again_is_none(drive) -> None:
    with connected(drive) as host:
        proves(host).run()
        host.enable()
        with pytest.raises(AuthenticationFailedError):
            Authentication(host, bytes(32)).run()
        assert host.command(0x18).status == AUTHENTICATION_REQUIRED


def test_the_drive_proves_nothing_to_a_host_without_its_secret(drive) -> None:
    with connected(drive, host_nqn=ONE_WAY) as host, pytest.raises(AuthenticationFailedError):
        proves(host, drive_key=b"asked").run()


def test_messages_out_of_turn(drive) -> None:
    with connected(drive) as host:
        authentication = proves(host)
        done = host.send(0x7F, AUTH_RECEIVE, b"\0\1\1\xe9\0\x10\0\0", b"", 4096)
        assert done.status == COMMAND_SEQUENCE
        authentication.negotiate()
        authentication.receive(CHALLENGE)
        assert authentication.send(bytes([1, SUCCESS2, 0, 0, 7, 0]).ljust(16, b"\0")) == 0
        with pytest.raises(AuthenticationFailedError) as failed:
            authentication.receive(CHALLENGE)
        assert failed.value.explanation == BAD_MESSAGE


@pytest.mark.parametrize("message", [b"\0", bytes(6), bytes(8), bytes(71), bytes([1, 2, 0, 0, 0, 0])])
@pytest.mark.parametrize("negotiated", [False, True])
def test_messages_that_are_cut(drive, message, negotiated) -> None:
    with connected(drive) as host:
        authentication = proves(host)
        if negotiated:
            authentication.negotiate()
            authentication.receive(CHALLENGE)
        assert authentication.send(message) == 0
        with pytest.raises(AuthenticationFailedError) as failed:
            authentication.receive(CHALLENGE)
        assert failed.value.explanation in {BAD_PAYLOAD, BAD_MESSAGE}


def test_unknown_hosts_are_refused_and_any_may_ask_where_the_drive_is(drive) -> None:
    unknown = Host(drive.address, drive.names.nqn, host_nqn=HOST_NQN + "0")
    with pytest.raises(ConnectionRefusedError) as refused, unknown:
        pass
    assert refused.value.args[0] == CONNECT_INVALID_HOST
    with Host(drive.address, DISCOVERY_NQN, host_nqn=HOST_NQN + "0") as asks:
        assert not asks.must_authenticate
        assert drive.names.nqn.encode() in asks.enable().log(0x70, 2048)


def test_keys_are_those_of_nvme_cli(tmp_path) -> None:
    for number, name, length in ((1, "sha256", 32), (2, "sha384", 48), (3, "sha512", 64)):
        keys = read_host_keys(secrets(tmp_path, f"{HOST_NQN} {OF_NVME_CLI[number]}"), "nqn.drive")
        key = transformed(bytes(range(length)), name, HOST_NQN)
        assert keys == {HOST_NQN: (transformed(key, name, HOST_NQN), None)}
    assert read_host_keys(secrets(tmp_path, f"{HOST_NQN} {OF_NVME_CLI[0]}"), "nqn.drive")[HOST_NQN][0] == KEY


def test_secrets_that_are_none(tmp_path, golden) -> None:
    cases = (
        "",
        f"{HOST_NQN}",
        f"{HOST_NQN} a b c",
        f"{OF_NVME_CLI[0]} {HOST_NQN}",
        f"{HOST_NQN} {OF_NVME_CLI[0]}\n{HOST_NQN} {OF_NVME_CLI[0]}",
        f"{HOST_NQN} {OF_NVME_CLI[0][:-1]}",
        f"{HOST_NQN} {OF_NVME_CLI[0].replace('1:00', '1:04')}",
        f"{HOST_NQN} {OF_NVME_CLI[0].replace('1:00', '1:02')}",
        f"{HOST_NQN} {OF_NVME_CLI[0].replace('AECA', 'AECB')}",
        f"{HOST_NQN} DHHC-1:00:%%%%:",
        f"{HOST_NQN} DHHC-1:00::",
        f"{HOST_NQN} {OF_NVME_CLI[0]} {OF_NVME_CLI[0]}x",
    )
    assert [refusal(read_host_keys, secrets(tmp_path, line), "nqn.drive") for line in cases] == golden


def test_files_that_keep_no_secret(tmp_path) -> None:
    file = secrets(tmp_path, f"{HOST_NQN} {OF_NVME_CLI[0]}")
    for mode in (0o640, 0o604, 0o620):
        file.chmod(mode)
        with (
            pytest.raises(UsageError, match=f"mode {mode:o}.*chmod 600"),
            serve_drive(order(auth_secrets=file)),
        ):
            pass
    file.chmod(0o600)
    file.write_bytes(b"\xff")
    with pytest.raises(UsageError, match="not UTF-8 text"), serve_drive(order(auth_secrets=file)):
        pass
    with (
        pytest.raises(UsageError, match="can't read the secrets"),
        serve_drive(order(auth_secrets=tmp_path / "none")),
    ):
        pass
    with pytest.raises(UsageError, match="can't read the secrets"), serve_drive(order(auth_secrets=tmp_path)):
        pass
