"""Keys of ssh-keygen, and files of signers, in a folder of a test."""

import shutil
import subprocess
from pathlib import Path

import pytest


class SshKeys:
    """Pairs of keys by name, made where they are asked for."""

    def __init__(self, folder: Path) -> None:
        if shutil.which("ssh-keygen") is None:
            pytest.skip("there is no ssh-keygen: install openssh-client")
        self.folder = folder

    def private(self, name: str, kind: str = "ed25519", phrase: str = "") -> Path:
        path = self.folder / name
        if not path.exists():
            words = ("ssh-keygen", "-q", "-t", kind, "-N", phrase, "-C", name, "-f", str(path))
            subprocess.run(words, check=True, stdin=subprocess.DEVNULL)
        return path

    def public(self, name: str) -> Path:
        return self.private(name).with_suffix(".pub")

    def signers(self, file: str, *entries: tuple[str, str]) -> Path:
        """An allowed_signers of names, with what restricts them, and whose key it is."""
        lines = [f"{who} {self.public(key).read_text()}" for who, key in entries]
        path = self.folder / file
        path.write_text("".join(lines))
        return path

    def signature(self, content: bytes, name: str, namespace: str) -> bytes:
        words = ("ssh-keygen", "-Y", "sign", "-n", namespace, "-f", str(self.private(name)))
        return subprocess.run(words, input=content, check=True, capture_output=True).stdout
