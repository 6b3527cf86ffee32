"""What runs leave for one another of the host, and when they read for themselves."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from openpts.gauge import Gauge
from openpts.runner.shared_sample import Reading, SharedSample
from openpts.runner.telemetry import Sampler


@contextmanager
def opened(folder: Path) -> Iterator[SharedSample]:
    shared = SharedSample.opened(folder)
    assert shared is not None
    try:
        yield shared
    finally:
        os.close(shared.fd)


class Source:
    """Counts how often it was read."""

    def __init__(self, content: bytes = b"x") -> None:
        self.content, self.readings = content, 0

    def __call__(self) -> Reading:
        self.readings += 1
        return Reading(time.monotonic_ns(), (self.content,), {"number": float(self.readings)})


def test_what_one_has_read_the_other_takes_with_its_time(tmp_path: Path) -> None:
    begin_ns = time.monotonic_ns()
    first, second = Source(b"\x00\xff" * 50_000), Source()
    with opened(tmp_path) as mine, opened(tmp_path) as theirs:
        left = mine.since(begin_ns, {"stat": first})
        assert theirs.since(begin_ns, {"stat": second}) == left
        assert (mine.led, theirs.led) == (True, False)
        assert (first.readings, second.readings) == (1, 0)
        # a shorter one behind a longer one is whole, too
        assert mine.since(time.monotonic_ns(), {"stat": second}) == theirs.since(begin_ns, {"stat": first})
    assert (first.readings, second.readings) == (1, 1)


def test_what_is_older_or_of_another_clock_or_lacks_a_part_is_read_again(tmp_path: Path) -> None:
    source, begin_ns = Source(), time.monotonic_ns()
    with opened(tmp_path) as shared:
        shared.since(begin_ns, {"stat": source})
        shared.since(time.monotonic_ns(), {"stat": source})
        assert source.readings == 2
        shared.since(begin_ns, {"stat": source, "power": source})
        assert source.readings == 4
        shared.since(begin_ns, {"power": source})
        assert source.readings == 4
        ahead = Reading(time.monotonic_ns() + 10**12, (b"of another time namespace",))
        shared.since(time.monotonic_ns(), {"stat": lambda: ahead})
        assert shared.since(begin_ns, {"stat": source})["stat"].contents == (b"x",)


def damaged(content: bytes) -> Iterator[bytes]:
    yield content[:-1]
    yield content[:5]
    yield content[:20] + b"?" + content[21:]
    yield b"\0" * len(content)
    yield msgspec.msgpack.encode({"stat": "of another version"})


@pytest.mark.parametrize("number", range(5))
def test_what_a_killed_run_has_left_unfinished_is_not_taken(tmp_path: Path, number: int) -> None:
    source, begin_ns = Source(), time.monotonic_ns()
    with opened(tmp_path) as shared:
        shared.since(begin_ns, {"stat": source})
        path = tmp_path / "host.sample"
        path.write_bytes([*damaged(path.read_bytes())][number])
        assert shared.since(begin_ns, {"stat": source})["stat"].values == {"number": 2.0}
        assert shared.since(begin_ns, {"stat": source})["stat"].values == {"number": 2.0}


def test_one_that_stands_still_while_it_reads_holds_up_no_other(tmp_path: Path) -> None:
    source = Source()
    with opened(tmp_path) as still, opened(tmp_path) as other:
        fcntl.flock(still.fd, fcntl.LOCK_EX)
        begin_ns = time.monotonic_ns()
        assert other.since(begin_ns, {"stat": source})["stat"].contents == (b"x",)
        assert (source.readings, other.led) == (1, False)
        assert (tmp_path / "host.sample").read_bytes() == b""


def test_where_nothing_can_be_left_each_reads_for_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert SharedSample.opened(None) is None
    assert SharedSample.opened(tmp_path / "no" / "folder") is None
    (tmp_path / "host.sample").symlink_to(tmp_path / "elsewhere")
    assert SharedSample.opened(tmp_path) is None
    (tmp_path / "host.sample").unlink()
    with opened(tmp_path):
        before = len([*Path("/proc/self/fd").iterdir()])
        monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
        assert SharedSample.opened(tmp_path) is None
        assert len([*Path("/proc/self/fd").iterdir()]) == before


def test_a_full_folder_costs_no_sample() -> None:
    source = Source()
    shared = SharedSample(os.open("/dev/full", os.O_RDWR))
    try:
        assert shared.since(0, {"stat": source})["stat"].contents == (b"x",)
        assert not shared.led
    finally:
        os.close(shared.fd)


def test_the_record_says_which_values_come_from_one_run_for_all(tmp_path: Path) -> None:
    path = tmp_path / "value"
    path.write_text("1\n")
    own = Gauge("own", "a number", "x", (path,))
    sampler = Sampler([own, replace(own, name="host", of_host=True)], 3600, shared=tmp_path / "shared")
    with sampler.running():
        texts = {name: fact.value for name, fact in sampler.facts.items()}
    assert texts["own"] == "a number; each 3600 s"
    assert texts["host"] == "a number; each 3600 s, by one run for all on this host"
