import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from openpts_many.fleet.configuration import Engine, Fleet, Slot
from tests.fleet.cluster import Cluster, slurm_cluster
from tests.fleet.cluster import missing as cluster_missing
from tests.support.openpts_command import COMMAND
from tests.support.systemd_host import SystemdHost, missing, systemd_host

FLEET_FILE = """backend = "ssh"
program = "{program}"
"""
HOST_TABLE = """
[hosts.{name}]
address = "{address}"
user = "root"
ssh_options = {options}
runs = "{runs}"
slots = {{ {slots} }}
"""


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    if why := cluster_missing():
        pytest.skip(why)
    with slurm_cluster() as running:
        yield running


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The openpts of this tree, as hosts have it installed."""
    path = tmp_path_factory.mktemp("bin") / "openpts"
    root = Path(__file__).parents[2]
    path.write_text(f'#!/bin/sh\nPYTHONPATH={root}/python exec {shlex.join(COMMAND)} "$@"\n')
    path.chmod(0o755)
    return str(path)


@pytest.fixture(scope="session")
def systemd_hosts(tmp_path_factory: pytest.TempPathFactory, program: str) -> Iterator[list[SystemdHost]]:
    """Two hosts, with two simulated drives and a file in the slots of each."""
    if reason := missing():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("hosts")
    with (
        systemd_host(folder / "h1", 1, _slots(folder, 1), program) as first,
        systemd_host(folder / "h2", 2, _slots(folder, 2), program) as second,
    ):
        yield [first, second]


def _slots(folder: Path, number: int) -> dict[str, Slot]:
    simulated = {f"s0{at}": Slot(f"sim:mlc?capacity=1GB&seed={2 * number + at}") for at in range(2)}
    return {**simulated, "file": Slot(f"file:{folder / str(number)}?size=64MiB")}


@pytest.fixture(scope="session")
def fleet(systemd_hosts: list[SystemdHost], program: str) -> Fleet:
    """With its file, under the same path on all hosts, as they share their file system."""
    hosts = [one.host for one in systemd_hosts]
    tables = [
        HOST_TABLE.format(
            name=host.name,
            address=host.address,
            options=json.dumps(host.ssh_options),
            runs=host.runs,
            slots=", ".join(f'{name} = "{slot.target}"' for name, slot in host.slots.items()),
        )
        for host in hosts
    ]
    hosts[0].fleet_file.write_text(FLEET_FILE.format(program=program) + "".join(tables))
    return Fleet(Engine.SSH, {host.name: host for host in hosts})


@pytest.fixture(scope="session")
def fleet_file(fleet: Fleet) -> Path:
    return fleet.hosts["h1"].fleet_file
