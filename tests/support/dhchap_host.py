"""The host's side of DH-HMAC-CHAP, after NVMe base 2.0, section 8.13: strict, and able to cheat."""

import hashlib
import hmac
import os
import struct
from dataclasses import dataclass
from typing import Final

from tests.support.nvme_tcp_host import Host

AUTH_SEND, AUTH_RECEIVE = 5, 6
COMMON, CHAP = 0, 1
NEGOTIATE, CHALLENGE, REPLY, SUCCESS1, SUCCESS2, FAILURE2, FAILURE1 = 0, 1, 2, 3, 4, 0xF0, 0xF1
HASHES: Final = {1: "sha256", 2: "sha384", 3: "sha512"}
GROUPS: Final = {1: (2048, 560316), 2: (3072, 2625351), 3: (4096, 5736041), 4: (6144, 15705020)}
GROUPS[5] = (8192, 10965728)


class AuthenticationFailedError(Exception):
    """The target refused; its explanation's number."""

    def __init__(self, explanation: int) -> None:
        super().__init__(f"failed: {explanation}")
        self.explanation = explanation


def prime(bits: int, x: int) -> int:
    """The prime of RFC 7919."""
    e, term, divisor = 0, 1 << (bits - 130 + 100), 1
    while term:
        e, term, divisor = e + term, term // divisor, divisor + 1
    return 2**bits - 2 ** (bits - 64) + ((e >> 100) + x) * 2**64 - 1


def transformed(key: bytes, hash_name: str, nqn: str) -> bytes:
    """A key bound to its owner's name."""
    return hmac.digest(key, nqn.encode() + b"NVMe-over-Fabrics", hash_name)


@dataclass
class Authentication:
    """One dialogue on a connection of ``host``; with ``drive_key`` the drive must prove itself too."""

    host: Host
    key: bytes
    drive_key: bytes | None = None
    hashes: tuple[int, ...] = (1, 2, 3)
    groups: tuple[int, ...] = (0, 1, 2, 3, 4, 5)
    secure_channel: int = 0
    reflects: bool = False
    public: int | None = None
    transaction: int = 7
    reply_transaction: int | None = None

    def negotiate(self) -> None:
        """Offer what the host can."""
        protocol = struct.pack("<BxBB", 1, len(self.hashes), len(self.groups))
        protocol += bytes(self.hashes).ljust(30, b"\0") + bytes(self.groups).ljust(30, b"\0")
        words = struct.pack("<BBHHBB", COMMON, NEGOTIATE, 0, self.transaction, self.secure_channel, 1)
        assert self.send(words + protocol) == 0

    def send(self, message: bytes) -> int:
        """Send a message; the command's status."""
        words = struct.pack("<xBBBI", 1, 1, 0xE9, len(message))
        return self.host.fabrics(AUTH_SEND, words, message).status

    def receive(self, expected: int, room: int = 4096) -> bytes:
        """The target's message, which is the expected one or a failure."""
        done = self.host.send(0x7F, AUTH_RECEIVE, struct.pack("<xBBBI", 1, 1, 0xE9, room), b"", room)
        assert done.status == 0, hex(done.status)
        kind, name, transaction = struct.unpack_from("<BBxxH", done.data)
        if (kind, name) == (COMMON, FAILURE1):
            assert done.data[6] == 1
            raise AuthenticationFailedError(done.data[7])
        assert (kind, name, transaction) == (CHAP, expected, self.transaction)
        return done.data

    def run(self) -> tuple[int, int]:
        """All of it; the hash and the group that the target chose."""
        self.negotiate()
        message = self.receive(CHALLENGE)
        length, hash_id, group, public_length, number = struct.unpack_from("<BxBBHI", message, 6)
        name = HASHES[hash_id]
        assert length == hashlib.new(name).digest_size
        challenge, public = message[16 : 16 + length], message[16 + length :]
        assert len(public) == public_length
        assert number > 0
        own_public, session = self.shared(group, public, name)
        asked = challenge if self.reflects else os.urandom(length)
        own_number = 12345 if self.drive_key is not None else 0
        transaction = self.transaction if self.reply_transaction is None else self.reply_transaction
        reply = struct.pack("<BBHHBxBxHI", CHAP, REPLY, 0, transaction, length, self.drive_key is not None,
                            len(own_public), own_number)  # fmt: skip
        names = (self.host.host_nqn, self.host.nqn)
        proof = self.proof(name, self.key, session, challenge, number, b"HostHost", *names)
        assert self.send(reply + proof + asked + own_public) == 0
        message = self.receive(SUCCESS1)
        assert message[6] == length
        if self.drive_key is None:
            assert (message[8], len(message)) == (0, 16)
        else:
            assert (message[8], len(message)) == (1, 16 + length)
            assert message[16:] == self.proof(
                name, self.drive_key, session, asked, own_number, b"Controller", *reversed(names)
            )
            words = struct.pack("<BBHH", CHAP, SUCCESS2, 0, self.transaction).ljust(16, b"\0")
            if status := self.send(words):
                raise ConnectionRefusedError(status)
        return hash_id, group

    def shared(self, group: int, public: bytes, name: str) -> tuple[bytes, bytes | None]:
        """The host's part of the exchange, and the session's key."""
        if group == 0:
            assert public == b""
            return b"", None
        modulus = prime(*GROUPS[group])
        size = GROUPS[group][0] // 8
        assert len(public) == size
        exponent = int.from_bytes(os.urandom(64))
        own = pow(2, exponent, modulus) if self.public is None else self.public
        secret = pow(int.from_bytes(public), exponent, modulus).to_bytes(size)
        return own.to_bytes(size), hashlib.new(name, secret).digest()

    def proof(
        self,
        name: str,
        key: bytes,
        session: bytes | None,
        challenge: bytes,
        number: int,
        role: bytes,
        of: str,
        to: str,
    ) -> bytes:
        """What answers a challenge."""
        if session is not None:
            challenge = hmac.digest(session, challenge, name)
        words = struct.pack("<IHB", number, self.transaction, 0)
        return hmac.digest(key, challenge + words + role + of.encode() + b"\0" + to.encode(), name)
