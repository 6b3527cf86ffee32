"""The testbench as a command: what it says at the beginning and at the end, and what it refuses."""

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from click.testing import CliRunner

from openpts.errors import UsageError
from openpts_testbench.__main__ import serve
from tests.support.nvme_tcp_host import Host
from tests.support.openpts_command import TESTBENCH


@contextmanager
def serving(*options: str) -> Iterator[subprocess.Popen[str]]:
    command = [*TESTBENCH, "client-qlc?capacity=200MB", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        try:
            yield program
        finally:
            program.kill()


def refused(*words: str) -> str:
    with pytest.raises(UsageError) as caught:
        CliRunner().invoke(serve, words, catch_exceptions=False)
    return str(caught.value)


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_objects_at_the_beginning_and_at_the_end(ending) -> None:
    with serving("--nvme-tcp", "127.0.0.1:0", "--serial", "SIM7") as program:
        begun = json.loads(program.stdout.readline())
        assert begun["serial"] == "SIM7"
        assert begun["capacity_bytes"] == 200_000_000 // 4096 * 4096
        assert begun["connect"].endswith(f"-n {begun['nqn']}")
        with Host(begun["address"], begun["nqn"]) as admin:
            admin.enable()
            with Host(begun["address"], begun["nqn"], queue=1, controller=admin.controller) as io:
                io.write(0, bytes(8192))
                io.read(0, 4096)
        program.send_signal(ending)
        ended = json.loads(program.communicate(timeout=60)[0])
        assert program.returncode == 0
    assert (ended["ios"], ended["read_bytes"], ended["write_bytes"]) == (2, 4096, 8192)
    assert 0 <= ended["late_p50_ns"] <= ended["late_max_ns"]
    assert ended["late_share"] == ended["late_ns"] / ended["modelled_ns"]


def test_none_but_this_machine_reaches_it_unasked(golden) -> None:
    hosts = ("0.0.0.0", "[::]", "192.0.2.1", "[::ffff:192.0.2.1]")
    assert [refused("client-qlc", "--nvme-tcp", f"{host}:0") for host in hosts] == golden


def test_hosts_with_a_secret_reach_it_from_elsewhere(tmp_path) -> None:
    secrets = tmp_path / "secrets"
    secrets.write_text("nqn.host DHHC-1:00:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh+KfiaR:\n")
    assert "chmod 600" in refused("client-qlc", "--nvme-tcp", "0.0.0.0:0", "--auth-secrets", str(secrets))
    secrets.chmod(0o600)
    with serving("--nvme-tcp", "0.0.0.0:0", "--auth-secrets", str(secrets)) as program:
        begun = json.loads(program.stdout.readline())
        assert begun["connect"].endswith(f"-n {begun['nqn']} --dhchap-secret=SECRET")
        address = f"127.0.0.1:{begun['address'].rpartition(':')[2]}"
        with Host(address, begun["nqn"], host_nqn="nqn.host") as host:
            assert host.must_authenticate
        program.send_signal(signal.SIGINT)
        program.communicate(timeout=60)
        assert program.returncode == 0


def test_what_makes_no_sense(golden) -> None:
    here = ("--nvme-tcp", "127.0.0.1:0")
    assert refused("client-qlc", "--nvme-tcp", "localhost:4420") == golden
    assert refused("nothing", *here) == golden
    assert refused("client-qlc", *here, "--fail", "everything") == golden
    beyond = refused("client-qlc?capacity=200MB", *here, "--fail", "read@400000")
    assert beyond == golden
    assert refused("client-qlc", *here, "--fail", "read@") == golden
    assert refused("client-qlc?capacity=1MB", *here) == golden


@pytest.mark.slow
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL])
def test_its_own_contents_are_found_again(ending, tmp_path) -> None:
    """Also those that a killed one has left; meanwhile no other one gets them."""
    words = ("--nvme-tcp", "127.0.0.1:0", "--data", str(tmp_path / "contents"))
    for content in (bytes(4096), b"kept" * 1024):
        with serving(*words) as program:
            begun = json.loads(program.stdout.readline())
            with Host(begun["address"], begun["nqn"]) as admin:
                admin.enable()
                with Host(begun["address"], begun["nqn"], queue=1, controller=admin.controller) as io:
                    assert io.read(0, 4096).data == content
                    io.write(0, b"kept" * 1024)
            with serving(*words) as other:
                complaint = other.communicate(timeout=60)[1]
                assert "refused [locked]" in complaint
            program.send_signal(ending)
            program.wait(timeout=60)
