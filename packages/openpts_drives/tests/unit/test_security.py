"""Whether a drive is locked, as it is asked: by NVMe's own command, or by way of the kernel's driver."""

import errno
import os
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openpts.device import security
from openpts.device.block_device import BlockDevice
from openpts.device.nvme_admin import NvmeCommandError, NvmeStatusError
from openpts.device.security import Level0, read_security
from openpts.system_files import SystemRoots
from tests.support.held_drive import give_node
from tests.support.level0_answers import (
    BROKEN,
    ENABLED,
    LOCKED,
    MBR_DONE,
    MBR_ENABLED,
    OPAL_2,
    TPER,
    WORDS_OF,
    answer,
    feature,
    locking,
)
from tests.support.nvme_machine import controller

Answer = Callable[..., object]


def raising(error: Exception) -> Answer:
    def fail(*_: object) -> object:
        raise error

    return fail


@pytest.fixture
def nvme(server: SystemRoots, monkeypatch) -> Callable[[Answer], BlockDevice]:
    """A drive with security commands, which answers a level 0 discovery like this."""

    def make(answer: Answer) -> BlockDevice:
        monkeypatch.setattr(security, "identify_controller", lambda _fd: controller(oacs=1))
        monkeypatch.setattr(security, "security_receive", answer)
        return give_node(BlockDevice.of_name("nvme0n1", server))

    return make


@pytest.fixture
def sata(server: SystemRoots, monkeypatch) -> Callable[[Answer], BlockDevice]:
    """A SATA drive of which the kernel's driver says this."""

    def make(answer: Answer) -> BlockDevice:
        monkeypatch.setattr(security, "opal_flags", answer)
        return give_node(BlockDevice.of_name("sda", server))

    return make


@pytest.mark.parametrize("state", WORDS_OF)
def test_a_drive_is_called_by_its_state(nvme, state) -> None:
    data, words = WORDS_OF[state]
    found = read_security(nvme(lambda *_: data))
    assert found.fact.value == words
    assert found.against == (words if state in {"locked", "shadow-mbr", "enterprise", "pyrite"} else None)


def test_what_the_drive_refuses_is_no_tcg(nvme) -> None:
    found = read_security(nvme(raising(NvmeStatusError("NVMe status 0x4002"))))
    assert (found.fact.value, found.against) == ("no TCG", None)
    assert "0x4002" in found.source


@pytest.mark.parametrize("answer", [lambda *_: BROKEN[0], raising(NvmeCommandError("Permission denied"))])
def test_what_is_not_found_out_counts_against_it(nvme, answer, golden) -> None:
    found = read_security(nvme(answer))
    assert found.state is None
    assert found.against == golden


def test_a_drive_whose_node_is_missing_is_unknown(server) -> None:
    found = read_security(BlockDevice.of_name("nvme0n1", server))
    assert found.state is None
    assert os.strerror(errno.ENOENT) in found.source


@pytest.mark.parametrize(
    ("flags", "words", "keeps_away"),
    [
        (0x3, "TCG Opal: not locking", False),
        (0x7, "TCG Opal: locking enabled, unlocked", False),
        (0xF, "TCG Opal: locked", True),
        (0x17, "TCG Opal: locking enabled, unlocked, a shadow MBR hides the first blocks", True),
        (0x37, "TCG Opal: locking enabled, unlocked", False),
    ],
)
def test_of_other_drives_the_kernel_knows(sata, flags, words, *, keeps_away) -> None:
    """The numbers are OPAL_FL_SUPPORTED to OPAL_FL_MBR_DONE of linux/sed-opal.h."""
    found = read_security(sata(lambda _fd: flags))
    assert found.fact.value == words
    assert (found.against is not None) == keeps_away


# 524: as Linux 6.1 says it of each SATA and SCSI drive that is not self-encrypting
@pytest.mark.parametrize("number", [errno.ENOTTY, errno.EOPNOTSUPP, 524])
def test_a_drive_that_the_kernel_has_no_driver_for_has_none(sata, number) -> None:
    found = read_security(sata(raising(OSError(number, "not that"))))
    assert found.fact.value == "no TCG"


@pytest.mark.parametrize("state", WORDS_OF)
def test_a_state_has_its_words(state) -> None:
    data, words = WORDS_OF[state]
    found = Level0.parse(data)
    assert str(found) == words
    assert found.keeps_data_away == (state in {"locked", "shadow-mbr", "enterprise", "pyrite"})


def test_no_descriptor_and_no_data_at_all_are_no_tcg() -> None:
    assert Level0.parse(answer()) == Level0.parse(bytes(2048)) == Level0()
    assert str(Level0()) == "no TCG"


def test_a_shadow_that_its_owner_has_taken_away_hides_nothing() -> None:
    found = Level0.parse(answer(TPER, locking(ENABLED, MBR_ENABLED, MBR_DONE), OPAL_2))
    assert not found.keeps_data_away


def test_a_drive_of_several_classes_names_them() -> None:
    found = Level0.parse(answer(locking(ENABLED, LOCKED), OPAL_2, feature(0x0200), feature(0xC001)))
    assert found.classes == ("Opal 1", "Opal 2")
    assert str(found) == "TCG Opal 1, Opal 2: locked"


@pytest.mark.parametrize("number", range(len(BROKEN)))
def test_lengths_that_contradict_each_other_are_refused(number) -> None:
    with pytest.raises(ValueError, match=r"length|bytes|descriptor"):
        Level0.parse(BROKEN[number])


@given(
    st.lists(
        st.tuples(st.integers(0, 0xFFFF), st.binary(max_size=255)), max_size=6, unique_by=lambda one: one[0]
    )
)
def test_each_flag_is_where_the_specification_has_it(features) -> None:
    """Against a reading by offsets that are counted here."""
    data = answer(*(feature(code, *body, length=len(body)) for code, body in features))
    bodies = dict(features)
    flags = bodies.get(0x0002, b"\0")
    if not flags or not bodies.get(0x0402, b"\0"):
        with pytest.raises(ValueError, match="empty"):
            Level0.parse(data)
        return
    found = Level0.parse(data)
    assert (found.locking, found.enabled, found.locked) == tuple(
        bool(flags[0] >> bit & 1) for bit in range(3)
    )
    assert found.shadowed == (flags[0] >> 4 & 3 == 1)
