"""The secrets by which hosts of a served drive prove who they are, as nvme-cli makes them."""

import base64
import binascii
import hmac
import os
import stat
import zlib
from collections.abc import Container
from pathlib import Path
from typing import Final

from openpts.errors import UsageError

HostKeys = tuple[bytes, bytes | None]
"""A host's key, and the one by which the drive proves itself to it; both bound to the name of their owner."""

_MOST_BYTES: Final = 1 << 20
_TRANSFORMATIONS: Final = {0: None, 1: "sha256", 2: "sha384", 3: "sha512"}
_KEY_BYTES: Final = {0: (32, 48, 64), 1: (32,), 2: (48,), 3: (64,)}
_CRC_BYTES: Final = 4
_MOST_NQN_BYTES: Final = 223
_MOST_WORDS: Final = 3


def read_host_keys(path: Path, subsystem_nqn: str) -> dict[str, HostKeys]:
    """The keys in a file of lines ``HOST-NQN SECRET [SECRET-OF-THE-DRIVE]``, by the hosts' names.

    Raises UsageError if the file can't be read, is open to others, or holds anything else; no message
    quotes a secret.
    """
    keys: dict[str, HostKeys] = {}
    for number, line in enumerate(_private_text(path).splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        try:
            _check_host(words, keys)
            own = _key(words[2], subsystem_nqn) if len(words) == _MOST_WORDS else None
            keys[words[0]] = (_key(words[1], words[0]), own)
        except ValueError as error:
            raise UsageError(f"can't use the secrets in {path}: line {number}: {error}") from None
    if not keys:
        raise UsageError(f"can't use the secrets in {path}: it has no line HOST-NQN SECRET")
    return keys


def _check_host(words: list[str], known: Container[str]) -> None:
    if not _MOST_WORDS - 1 <= len(words) <= _MOST_WORDS:
        raise ValueError("expected HOST-NQN SECRET [SECRET-OF-THE-DRIVE]")
    if not words[0].startswith("nqn.") or len(words[0].encode()) > _MOST_NQN_BYTES:
        raise ValueError("the first word is not a host NQN as in /etc/nvme/hostnqn")
    if words[0] in known:
        raise ValueError("its host already has a line")


def _private_text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            found = os.fstat(file.fileno())
            if found.st_mode & (stat.S_IRWXG | stat.S_IRWXO) or found.st_uid not in {0, os.geteuid()}:
                raise UsageError(
                    f"can't use the secrets in {path}: others can read or replace it "
                    f"(mode {stat.S_IMODE(found.st_mode):o}, owner {found.st_uid}); chmod 600 {path}"
                )
            return file.read(_MOST_BYTES).decode()
    except OSError as error:
        raise UsageError(f"can't read the secrets in {path}: {error.strerror}") from error
    except UnicodeDecodeError:
        raise UsageError(f"can't use the secrets in {path}: it is not UTF-8 text") from None


def _key(secret: str, nqn: str) -> bytes:
    """A secret's key, transformed with its owner's name as the secret says. Raises ValueError for others."""
    match secret.split(":"):
        case ["DHHC-1", number, encoded, ""] if number in {f"{each:02}" for each in _TRANSFORMATIONS}:
            pass
        case _:
            raise ValueError(
                "a secret has the form DHHC-1:00:...: to DHHC-1:03:...:, from nvme gen-dhchap-key"
            )
    try:
        decoded = base64.b64decode(encoded, validate=True)
    except binascii.Error:
        raise ValueError("a secret is not in Base64") from None
    key, crc = decoded[:-_CRC_BYTES], decoded[-_CRC_BYTES:]
    lengths = _KEY_BYTES[int(number)]
    if len(key) not in lengths:
        expected = ", ".join(map(str, lengths))
        raise ValueError(f"a secret DHHC-1:{number} has a key of {expected} bytes, not {max(len(key), 0)}")
    if zlib.crc32(key).to_bytes(_CRC_BYTES, "little") != crc:
        raise ValueError("the checksum of a secret is wrong: it was truncated or mistyped")
    transformation = _TRANSFORMATIONS[int(number)]
    if transformation is None:
        return key
    return hmac.digest(key, f"{nqn}NVMe-over-Fabrics".encode(), transformation)
