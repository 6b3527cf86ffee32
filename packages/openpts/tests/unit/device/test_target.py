import os
import socket
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openpts.device.targets.target import BlockTarget, FileTarget, parse_target
from openpts.errors import TargetError, UsageError

BLOCK_NODES = [node for node in sorted(Path("/dev").glob("loop[0-9]*")) if node.is_block_device()]

# a path component that a file system takes and that isn't a control character or the separator
NAMES = st.text(
    st.characters(exclude_categories=("C", "Zl", "Zp"), exclude_characters="/"), min_size=1, max_size=40
).filter(lambda name: name not in (".", "..") and len(name.encode()) < 200)


def test_a_new_file_is_named_with_its_size(tmp_path) -> None:
    assert parse_target(f"file:{tmp_path}/scratch?size=512MiB") == FileTarget(
        tmp_path / "scratch", 512 * 1024**2
    )


def test_an_existing_file_needs_no_size(tmp_path) -> None:
    path = tmp_path / "scratch"
    path.touch()
    assert parse_target(f"file:{path}") == FileTarget(path, None)


def test_a_path_may_be_relative(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert parse_target("file:scratch?size=1MB") == FileTarget(Path("scratch"), 1_000_000)


def test_the_last_question_mark_begins_the_size(tmp_path) -> None:
    assert parse_target(f"file:{tmp_path}/what?size=1?size=4096") == FileTarget(
        tmp_path / "what?size=1", 4096
    )


def test_a_link_to_a_file_is_taken(tmp_path) -> None:
    (tmp_path / "real").touch()
    (tmp_path / "link").symlink_to("real")
    assert parse_target(f"file:{tmp_path}/link") == FileTarget(tmp_path / "link", None)


@pytest.mark.skipif(not BLOCK_NODES, reason="no block device node, /dev/loop*, to name")
def test_a_block_device_is_named_by_its_path(tmp_path) -> None:
    assert parse_target(str(BLOCK_NODES[0])) == BlockTarget(BLOCK_NODES[0])
    link = tmp_path / "by-id"
    link.symlink_to(BLOCK_NODES[0])
    assert parse_target(str(link)) == BlockTarget(link)
    with pytest.raises(TargetError, match="block device: name it without file:"):
        parse_target(f"file:{BLOCK_NODES[0]}?size=1MiB")


@pytest.mark.parametrize(
    ("text", "error", "says"),
    [
        ("", UsageError, "the target is empty"),
        ("file:", UsageError, "names no path"),
        ("/dev/nvme0n1\n", UsageError, "control characters"),
        ("file:{tmp}/new?size=", UsageError, "is not a size"),
        ("file:{tmp}/new?size=0", UsageError, "invalid size"),
        ("file:{tmp}/new?Size=1MiB", UsageError, "write ?size=512MiB"),
        ("file:{tmp}/new", TargetError, "doesn't exist: give the size"),
        ("file:{tmp}/no/new?size=1MiB", TargetError, "{tmp}/no is not a directory"),
        ("file:{tmp}?size=1MiB", TargetError, "is a directory"),
        ("file:{tmp}/dangling?size=1MiB", TargetError, "link to nothing"),
        ("file:{tmp}/pipe?size=1MiB", TargetError, "a named pipe, not a regular file"),
        ("file:{tmp}/socket?size=1MiB", TargetError, "a special file, not a regular file"),
        ("file:/dev/null?size=1MiB", TargetError, "a character device, not a regular file"),
        ("{tmp}", TargetError, "is a directory"),
        ("{tmp}/plain", TargetError, "write file:{tmp}/plain"),
        ("{tmp}/missing", TargetError, "doesn't exist"),
        ("/dev/null", TargetError, "a character device, not a block device"),
        ("nvme0n1-that-is-not-there", TargetError, "`openpts devices` lists the drives"),
        ("{tmp}/" + 300 * "x", TargetError, "File name too long"),
    ],
)
def test_what_makes_no_target(text, error, says, tmp_path) -> None:
    (tmp_path / "plain").touch()
    (tmp_path / "dangling").symlink_to("nothing")
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
    with pytest.raises(error) as raised:
        parse_target(text.replace("{tmp}", str(tmp_path)))
    assert says.replace("{tmp}", str(tmp_path)) in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.skipif(not BLOCK_NODES, reason="no block device has a node here")
def test_a_name_below_dev_is_completed() -> None:
    with pytest.raises(TargetError, match=f"did you mean {BLOCK_NODES[0]}\\?"):
        parse_target(BLOCK_NODES[0].name)


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(name=NAMES, size_bytes=st.integers(1, 2**63 - 1))
def test_a_file_target_reads_back_what_it_writes(name, size_bytes, tmp_path) -> None:
    target = FileTarget(tmp_path / name, size_bytes)
    assert parse_target(str(target)) == target


@given(st.text(max_size=200))
def test_any_text_is_a_target_or_one_clear_line(text) -> None:
    assert len(_complaint(text).splitlines()) <= 1


@given(st.text(max_size=50))
def test_any_query_is_a_size_or_one_clear_line(query) -> None:
    assert len(_complaint(f"file:/scratch?{query}").splitlines()) <= 1


def _complaint(text: str) -> str:
    try:
        parse_target(text)
    except (UsageError, TargetError) as error:
        return str(error)
    return ""
