"""Signatures of ssh-keygen (SSHSIG): made with a key of the operator, and held against a file of signers."""

import os
import re
import struct
import subprocess
from base64 import b64decode, b64encode
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from openpts.errors import RecordError, UsageError, failing_as
from openpts.programs import PACKAGES, find_program
from openpts.record.writer import SEAL_NAMES
from openpts.run_folder_files import read_file, write_files
from openpts.system_files import printable
from openpts.temporary_folder import temporary_folder

NAMESPACE: Final = "openpts-seal"
"""What a signature is for: one that was made for a mail or a commit with the same key is no seal."""

_BEGIN: Final = b"-----BEGIN SSH SIGNATURE-----"
_END: Final = b"-----END SSH SIGNATURE-----\n"
_PREAMBLE: Final = b"SSHSIG\0\0\0\1"
_USUAL_KEYS: Final = ("id_ed25519", "id_ed25519_sk", "id_ecdsa", "id_ecdsa_sk", "id_rsa")


def signed(content: bytes, key: str) -> bytes:
    """The signature by a key: a file, or a public key's text. Raises UsageError if ssh-keygen makes none."""
    name, signature = SEAL_NAMES
    with failing_as(UsageError, "can't sign"), temporary_folder("seal") as place:
        files = {name: content}
        if key.startswith(("key::", "ssh-", "sk-", "ecdsa-")):  # git's way to name one that an agent has
            files["key.pub"] = f"{key.removeprefix('key::')}\n".encode()
            key = str(place / "key.pub")
        write_files(place, files, lasting=False)
        reply = _asked("ssh-keygen", "-Y", "sign", "-n", NAMESPACE, "-f", key, str(place / name))
        if reply.returncode:
            why = printable(" ".join(reply.stderr.decode(errors="replace").split()))
            raise UsageError(f"can't sign with {key}: {why}; add it to the agent, or name another with --key")
        return read_file(place, signature)


def usual_key() -> str:
    """The key by which git signs, if it does so by ssh, or the first that there is. Raises UsageError."""
    if find_program("git") and _asked("git", "config", "gpg.format").stdout.strip() == b"ssh":
        key = _asked("git", "config", "--type=path", "user.signingKey").stdout.strip()
        if key:
            return os.fsdecode(key)
    for name in _USUAL_KEYS:
        if (public := Path.home() / ".ssh" / f"{name}.pub").exists():
            return str(public)
    raise UsageError("no key to sign with: name one with --key, or make one with `ssh-keygen -t ed25519`")


def signer_of(
    content: bytes, signature: bytes, moment: datetime, signers: Path, revoked: Path | None
) -> tuple[tuple[str, ...], str]:
    """Names and key of who has signed the content, of those who a file lets sign at that moment.

    Raises RecordError for a signature that is damaged, for another purpose, of other content, by none of
    them, or by a key that is revoked; UsageError for files that can't be read.
    """
    _key_of(signature)
    for file in filter(None, (signers, revoked)):
        with failing_as(UsageError, f"can't read {file}"):
            file.read_bytes()
    with failing_as(RecordError, "can't check the signature"), temporary_folder("seal") as place:
        write_files(place, {"signature": signature}, lasting=False)
        given = ("-s", str(place / "signature"))
        sealed = ("-n", NAMESPACE, *given)
        reply = _asked("ssh-keygen", "-Y", "check-novalidate", *sealed, content=content)
        if reply.returncode:
            raise RecordError("its signature is not one of its statement: one of them was changed")
        found = re.search(rb"SHA256:[A-Za-z0-9+/]+", reply.stdout)
        key = found[0].decode() if found else "without a fingerprint"
        allowed = ("-f", str(signers), f"-Overify-time={moment.astimezone(UTC):%Y%m%d%H%M%S}")
        listed = _asked("ssh-keygen", "-Y", "find-principals", *given, *allowed).stdout
        names = os.fsdecode(listed).splitlines()

        def good(name: str, *others: str) -> bool:
            words = ("-Y", "verify", "-I", name, *sealed, *allowed, *others)
            return not _asked("ssh-keygen", *words, content=content).returncode

        if not names:
            raise RecordError(
                f"{signers} has no signer with its key {key} at its time; add it if you trust it"
            )
        if not (signing := [name for name in names if good(name)]):
            who = printable(", ".join(names))  # of the first line with the key: ssh-keygen asks no other name
            raise RecordError(f"{signers} does not let {who} sign in the namespace {NAMESPACE} with {key}")
        if revoked and not all(good(name, "-r", str(revoked)) for name in signing):
            raise RecordError(f"its key {key} is revoked in {revoked}, or that is no list of keys")
    return tuple(map(printable, signing)), key


def entry_of(signature: bytes) -> str:
    """What a file of signers has behind the signer's name, to let the key of a signature sign seals."""
    key = _key_of(signature)
    (length,) = struct.unpack_from(">I", key)
    return f'namespaces="{NAMESPACE}" {key[4 : 4 + length].decode()} {b64encode(key).decode()}'


def _key_of(signature: bytes) -> bytes:
    """The public key in a signature of a seal that is written as ssh-keygen writes it.

    Its reader also lets pass what is around a signature, and parts without use. Raises RecordError.
    """
    encoded = b"".join(signature.removeprefix(_BEGIN).removesuffix(_END).split())
    parts, at = list[bytes](), len(_PREAMBLE)
    try:
        blob = b64decode(encoded, validate=True)
        while at < len(blob):
            (length,) = struct.unpack_from(">I", blob, at)
            parts.append(blob[at + 4 : at + 4 + length])
            at += 4 + length
        key, namespace, reserved, _hash, _signature = parts
    except (ValueError, struct.error):
        blob = reserved = b"damaged"
    written = b"\n".join([_BEGIN, *re.findall(rb".{1,70}", b64encode(blob)), _END])
    if written != signature or not blob.startswith(_PREAMBLE) or reserved:
        raise RecordError("its signature is damaged: ssh-keygen wrote no such file")
    if namespace != NAMESPACE.encode():
        word = printable(namespace.decode(errors="replace"))
        raise RecordError(f"its signature is for something else: its namespace is {word}, not {NAMESPACE}")
    return key


def _asked(program: str, *words: str, content: bytes | None = None) -> "subprocess.CompletedProcess[bytes]":
    """The answer to a question, with ``content`` on standard input; else that is the terminal's."""
    path = find_program(program)
    if path is None:
        raise UsageError(f"the program {program} is missing: install the package {PACKAGES[program].debian}")
    environment = {**os.environ, "LC_ALL": "C", "TZ": "UTC"}
    with failing_as(UsageError, f"can't ask {program}", of=(OSError, subprocess.TimeoutExpired)):
        return subprocess.run(
            [path, *words], input=content, capture_output=True, env=environment, timeout=300, check=False
        )
