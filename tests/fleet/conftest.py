import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from openpts.fleet.configuration import Engine, Fleet, Slot
from tests.support.openpts_command import COMMAND
from tests.support.systemd_host import SystemdHost, missing, systemd_host

SLOTS = {
    "s00": Slot("sim:mlc?capacity=1GB"),
    "s01": Slot("sim:mlc?capacity=1GB&seed=2"),
}


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
    """Two hosts, with two slots each."""
    if reason := missing():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("hosts")
    with (
        systemd_host(folder / "h1", 1, SLOTS, program) as first,
        systemd_host(folder / "h2", 2, SLOTS, program) as second,
    ):
        yield [first, second]


@pytest.fixture(scope="session")
def fleet(systemd_hosts: list[SystemdHost]) -> Fleet:
    return Fleet(Engine.SSH, {one.host.name: one.host for one in systemd_hosts})
