"""Which software takes part, and what is said where a program is missing or broken."""

import importlib.metadata
import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError
from threading import Barrier

import pytest

from openpts.programs import ProgramError, Reply
from openpts_host.software import program_facts, software_facts
from tests.support.program_answers import no_programs

# As Debian 12 has them: standard output, standard error.
RECORDED = {
    "fio --version": ("fio-3.33\n", ""),
    "nvme version": ("nvme version 2.3 (git 2.3)\nlibnvme version 1.3 (git 1.3)\n", ""),
    "hdparm -V": ("hdparm v9.65\n", ""),
    "sg_vpd --version": ("", "version: 1.63 20210328\n"),
    "smartctl --version": (
        "smartctl 7.3 2022-02-28 r5338 [x86_64-linux-6.1.0-56-amd64] (local build)\n"
        "Copyright (C) 2002-22, Bruce Allen, Christian Franke, www.smartmontools.org\n",
        "",
    ),
    "wipefs --version": ("wipefs from util-linux 2.38.1\n", ""),
}


def recorded(command: Sequence[str], timeout_s: float, *, to_the_end: bool = False) -> Reply:
    return Reply(tuple(command), 0, *RECORDED[" ".join(command)], 0)


@pytest.mark.proves("LSI-ENT-02")
def test_what_takes_part(laptop, monkeypatch) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "1.2.3")
    facts = software_facts(laptop)
    assert {key: fact.value for key, fact in facts.items()} == {
        "test_software": "openpts 1.2.3",
        "python": f"CPython {platform.python_version()}",
        "kernel": f"Linux {platform.release()} {platform.machine()}",
        "kernel_command_line": "BOOT_IMAGE=/vmlinuz-6.8.0 root=/dev/mapper/vg-root ro quiet splash",
    }


def test_a_source_tree_has_no_version(laptop, monkeypatch, golden) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    fact = software_facts(laptop)["test_software"]
    assert fact.value == "openpts"
    assert fact.source == golden


def test_each_program_tells_its_version_in_its_own_way() -> None:
    assert {key: fact.value for key, fact in program_facts(recorded).items()} == {
        "fio": "fio-3.33",
        "nvme_cli": "nvme version 2.3 (git 2.3)",
        "hdparm": "hdparm v9.65",
        "sg3_utils": "version: 1.63 20210328",
        "smartmontools": "smartctl 7.3 2022-02-28 r5338 [x86_64-linux-6.1.0-56-amd64] (local build)",
        "util_linux": "wipefs from util-linux 2.38.1",
    }


def test_missing_programs_are_left_open_with_the_reason(golden) -> None:
    facts = program_facts(no_programs)
    assert {fact.value for fact in facts.values()} == {None}
    assert facts["nvme_cli"].source == golden


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Reply(("fio",), 127, "", "error while loading shared libraries: libaio.so.1", 0), "libaio"),
        (Reply(("fio",), 0, "\n", "", 0), "--version"),
        (ProgramError("fio did not end within 10 s and was killed"), "within 10 s"),
    ],
)
def test_a_program_that_fails_is_left_open(answer, reason) -> None:
    def broken(command: Sequence[str], timeout_s: float, *, to_the_end: bool = False) -> Reply:
        if isinstance(answer, ProgramError):
            raise answer
        return answer

    fact = program_facts(broken)["fio"]
    assert fact.value is None
    assert reason in fact.source


def test_a_version_can_not_steer_a_terminal() -> None:
    def hostile(command: Sequence[str], timeout_s: float, *, to_the_end: bool = False) -> Reply:
        return Reply(tuple(command), 0, "fio \x1b[31m 3\n", "", 0)

    assert program_facts(hostile)["fio"].value == "fio \N{REPLACEMENT CHARACTER}[31m 3"


def test_programs_do_not_wait_for_each_other() -> None:
    all_are_asked = Barrier(len(RECORDED), timeout=60)

    def waiting(command: Sequence[str], timeout_s: float, *, to_the_end: bool = False) -> Reply:
        all_are_asked.wait()
        return recorded(command, timeout_s)

    assert program_facts(waiting) == program_facts(recorded)
