"""Servers of S3 over HTTP for tests: moto's stand-in for AWS, and OpenStack Swift, a real object store.

Swift is four programs, with one copy of each object; it lists 20 keys a page, so that archives have several
pages. ``make test-full`` installs it apart from openpts.
"""

import getpass
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Final

from tests.support.free_ports import free_ports

Variables = dict[str, str]
"""What archives are told of a server, by the variables of AWS."""

KEYS_A_PAGE: Final = 20
_TIMEOUT_S: Final = 60.0
_PARTS: Final = ("account", "container", "object")
_RINGS: Final = """
import sys
from swift.common.ring import RingBuilder
for name, port in zip(sys.argv[2::2], sys.argv[3::2]):
    ring = RingBuilder(4, 1, 0)
    ring.add_dev(dict(region=1, zone=1, ip="127.0.0.1", port=int(port), device="d1", weight=1.0))
    ring.rebalance()
    ring.get_ring().save(f"{sys.argv[1]}/{name}.ring.gz")
"""
_COMMON: Final = """
[DEFAULT]
swift_dir = {folder}
devices = {folder}/devices
mount_check = false
user = {user}
workers = 0
bind_ip = 127.0.0.1
bind_port = {port}
"""
_PART: Final = """
[pipeline:main]
pipeline = {name}-server
[app:{name}-server]
use = egg:swift#{name}
"""
_FILTERS: Final = (
    *("catch_errors", "gatekeeper", "listing_formats", "s3api", "tempauth"),
    *("copy", "bulk", "slo", "dlo", "versioned_writes"),
)
_SET: Final = {
    "s3api": f"location = us-east-1\nmax_bucket_listing = {KEYS_A_PAGE}\n",
    "tempauth": "user_lab_lab = secret .admin\n",
}
_SECTIONS: Final = "".join(
    f"[filter:{name}]\nuse = egg:swift#{name}\n{_SET.get(name, '')}" for name in _FILTERS
)
_PROXY: Final = f"""
[pipeline:main]
pipeline = {" ".join(_FILTERS)} proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
{_SECTIONS}"""


def _swift(name: str) -> str | None:
    return shutil.which(name, path=os.pathsep.join([f"{sys.prefix}/swift/bin", os.environ["PATH"]]))


def missing_swift() -> str:
    """Why there can be no Swift here, or nothing."""
    return "" if _swift("swift-proxy-server") else "needs OpenStack Swift: make test-full installs it"


@contextmanager
def moto(folder: Path) -> Iterator[Variables]:
    [port] = free_ports(1)
    words = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with _running(words, folder / "moto.log"):
        _until_answered(port)
        yield _variables(port, "lab")


@contextmanager
def swift(folder: Path) -> Iterator[Variables]:
    ports = dict(zip((*_PARTS, "proxy"), free_ports(len(_PARTS) + 1), strict=True))
    (folder / "devices/d1").mkdir(parents=True)
    (folder / "swift.conf").write_text("[swift-hash]\nswift_hash_path_suffix = lab\n")
    python = Path(_swift("swift-proxy-server") or "").read_text().splitlines()[0].removeprefix("#!")
    of_rings = [word for name in _PARTS for word in (name, str(ports[name]))]
    subprocess.run([python, "-c", _RINGS, str(folder), *of_rings], check=True)
    with ExitStack() as stack:
        for name, port in ports.items():
            of_its_own = _PROXY if name == "proxy" else _PART.format(name=name)
            conf = folder / f"{name}.conf"
            conf.write_text(_COMMON.format(folder=folder, port=port, user=getpass.getuser()) + of_its_own)
            words = [_swift(f"swift-{name}-server") or "", str(conf)]
            stack.enter_context(_running(words, folder / f"{name}.log", SWIFT_DIR=str(folder)))
        for port in ports.values():
            _until_answered(port)
        yield _variables(ports["proxy"], "lab:lab")


SERVERS: Final[dict[str, Callable[[Path], AbstractContextManager[Variables]]]] = {
    "moto": moto,
    "swift": swift,
}


def _variables(port: int, key: str) -> Variables:
    return {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": key,
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
    }


@contextmanager
def _running(words: Sequence[str], log: Path, **variables: str) -> Iterator[None]:
    with log.open("w") as file:
        process = subprocess.Popen(words, stdout=file, stderr=file, env=os.environ | variables)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def _until_answered(port: int) -> None:
    deadline_s = time.monotonic() + _TIMEOUT_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            if time.monotonic() > deadline_s:
                raise
            time.sleep(0.1)
        else:
            return
