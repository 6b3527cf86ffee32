"""Names that another user could exchange, in folders of an ordinary user of this machine."""

import os
import pwd
from pathlib import Path

import pytest

from openpts.device.guard.guard import open_target
from openpts.device.targets.target import FileTarget
from openpts.errors import RecordError, TargetError
from openpts.journal import Journal
from openpts.path_owners import exchangeable, link_of_another
from openpts.record.writer import RunWriter
from openpts.system_files import SystemRoots
from openpts.units import MIB
from openpts.vocabulary.purge import Consent
from openpts_traces.capture.capture import CaptureRequest, measure_cost

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="gives folders to another user, which root may")

OTHER = next((one for one in pwd.getpwall() if one.pw_uid not in {0, 65534}), None)
assert OTHER is not None
UNNAMED = next(uid for uid in range(70_000, 80_000) if uid not in {one.pw_uid for one in pwd.getpwall()})


@pytest.fixture(autouse=True)
def no_caller(monkeypatch) -> None:
    for name in ("SUDO_UID", "PKEXEC_UID"):
        monkeypatch.delenv(name, raising=False)


def given(folder: Path, uid: int = OTHER.pw_uid, mode: int = 0o755) -> Path:
    folder.mkdir()
    folder.chmod(mode)
    os.chown(folder, uid, -1)
    return folder


def test_a_folder_of_another_user_at_any_height_is_named(tmp_path) -> None:
    theirs = given(tmp_path / "theirs")
    within = given(theirs / "mine", uid=0)
    for folder in (theirs, within, within / "new", theirs / "new" / "run"):
        assert exchangeable(folder) == f"{theirs} belongs to user {OTHER.pw_name}"
    assert exchangeable(tmp_path / "mine") is None
    assert exchangeable(within / ".." / ".." / "mine") is not None  # it leads through theirs


def test_the_caller_of_sudo_and_a_user_without_a_name_are_trusted(tmp_path, monkeypatch) -> None:
    assert exchangeable(given(tmp_path / "unnamed", uid=UNNAMED)) is None
    theirs = given(tmp_path / "theirs")
    monkeypatch.setenv("SUDO_UID", str(OTHER.pw_uid))
    assert exchangeable(theirs / "run") is None


@pytest.mark.parametrize(
    ("mode", "is_free"), [(0o777, False), (0o1777, True), (0o775, True), (0o757, False), (0o1757, True)]
)
def test_a_folder_where_all_may_write_needs_a_sticky_bit(tmp_path, mode, is_free) -> None:
    shared = given(tmp_path / "shared", uid=0, mode=mode)
    assert (exchangeable(shared / "run") is None) is is_free


def test_a_link_counts_by_its_own_owner(tmp_path) -> None:
    (tmp_path / "mine").mkdir()
    link, way = tmp_path / "link", tmp_path / "way"
    link.symlink_to("mine")
    way.symlink_to(tmp_path / "link" / ".." / "link")
    assert exchangeable(way / "run") is None
    assert link_of_another(way / "file") is None
    os.lchown(link, OTHER.pw_uid, -1)
    assert exchangeable(way / "run") == f"{link} is a symbolic link of user {OTHER.pw_name}"
    assert link_of_another(way / "file") == (link, OTHER.pw_name)
    assert link_of_another(tmp_path / "mine" / "file") is None


def test_links_in_a_circle_come_to_an_end(tmp_path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert exchangeable(tmp_path / "a" / "run") is None


def test_no_run_folder_is_made_where_another_user_may_exchange_it(tmp_path) -> None:
    theirs = given(tmp_path / "theirs")
    with pytest.raises(RecordError, match=rf"belongs to user {OTHER.pw_name}.*--out"):
        RunWriter.check_free(theirs / "run")
    assert not list(theirs.iterdir())
    RunWriter.check_free(tmp_path / "mine")


@pytest.mark.on_disk
@pytest.mark.needs("files")
def test_a_file_behind_another_users_link_is_not_overwritten(tmp_path) -> None:
    file, link = tmp_path / "kept", tmp_path / "link"
    file.write_bytes(bytes(MIB - 1) + b"x")
    link.symlink_to("kept")
    consent = Consent(overwrite_file=True)
    os.lchown(link, OTHER.pw_uid, -1)
    with (
        pytest.raises(TargetError, match=f"{link} is a symbolic link of user .* write file:{file} if"),
        open_target(FileTarget(link, None), consent, SystemRoots()),
    ):
        pass
    assert file.read_bytes()[-1:] == b"x"
    os.lchown(link, 0, 0)  # one's own
    with open_target(FileTarget(link, None), consent, SystemRoots()) as opened:
        assert opened.facts.path == str(file)


def test_the_cost_of_capturing_is_not_measured_in_anothers_folder(tmp_path) -> None:
    order = CaptureRequest((), given(tmp_path / "theirs") / "capture", "block")
    with pytest.raises(RecordError, match=r"belongs to user .* name a file in a folder of your own"):
        measure_cost(order, Journal(tmp_path), SystemRoots(), 0.1)
