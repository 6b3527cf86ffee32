"""The sampler: values of files, on the engine's clock, off the path of the run that takes them."""

import fcntl
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import groupby, pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from openpts.gauge import Gauge, Values, whole_number
from openpts.record.health import TelemetryPoint
from openpts.runner import telemetry
from openpts.runner.telemetry import Reading, Sampler, SharedSample, _Open
from openpts.units import NS_PER_S

PERIOD_S = 0.01
PATIENCE_S = 20


def _wait_for(points: int, sampler: Sampler, offset_ns: int = 0) -> list[TelemetryPoint]:
    taken: list[TelemetryPoint] = []
    deadline = time.monotonic() + PATIENCE_S
    while len(taken) < points and time.monotonic() < deadline:
        taken += sampler.take(offset_ns)
        time.sleep(PERIOD_S)
    return taken


def _threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "telemetry"]


def _open_files() -> set[Path]:
    return {fd.readlink() for fd in Path("/proc/self/fd").iterdir() if fd.is_symlink()}


def _until(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(PERIOD_S)


def _counting(readings: dict[str, int], name: str, path: Path, **how: Any) -> Gauge:
    """Counts under its name how often it was read."""

    def understand(contents: Sequence[bytes], _at_ns: int) -> Values:
        readings[name] += 1
        return {name: float(contents[0])}

    return Gauge(name, name, "x", (path,), understand, **how)


def _gauge(*paths: Path) -> Gauge:
    """The number in each file, under the file's name."""

    def understand(contents: Sequence[bytes], _at_ns: int) -> Values:
        numbers = zip(paths, map(whole_number, contents), strict=True)
        return {path.name: number for path, number in numbers if number is not None}

    return Gauge("x", "numbers", "a folder", paths, understand)


def _file(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def _replace(path: Path, text: str) -> None:
    """In one write of the same length: a reader sees the old text or the new one."""
    fd = os.open(path, os.O_WRONLY)
    os.write(fd, text.encode())
    os.close(fd)


def test_values_are_on_the_engines_clock(tmp_path) -> None:
    path = _file(tmp_path, "value", "41850\n")
    sampler = Sampler([_gauge(path)], PERIOD_S)
    offset_ns = 10**15
    before_ns = time.monotonic_ns()
    with sampler.running():
        points = _wait_for(1, sampler, offset_ns)
        _replace(path, "41860\n")
        deadline = time.monotonic() + PATIENCE_S
        while points[-1].value != 41860 and time.monotonic() < deadline:
            points += _wait_for(1, sampler, offset_ns)
    after_ns = time.monotonic_ns()
    # a machine that stands still for long has the first value stored again meanwhile
    assert [value for value, _ in groupby(point.value for point in points)] == [41850.0, 41860.0]
    assert {point.name for point in points} == {"value"}
    times = [before_ns, *(point.t_ns - offset_ns for point in points), after_ns]
    assert all(sooner < later for sooner, later in pairwise(times))


def test_a_value_of_a_period_reaches_back_to_the_moment_at_which_it_was_read_before(tmp_path) -> None:
    read_at: list[int] = []

    def understand(_contents: Sequence[bytes], at_ns: int) -> Values:
        read_at.append(at_ns)
        return {"share_pct": 0.0 if len(read_at) < 6 else 50.0}

    path = _file(tmp_path, "value", "1\n")
    sampler = Sampler([Gauge("x", "x", "x", (path,), understand, resolution=1.0, of_period=True)], PERIOD_S)
    with sampler.running():
        _until(lambda: len(read_at) >= 9)
    points = [(point.t_ns, point.value) for point in sampler.take(0)]
    # the sixth reading is of the time since the fifth
    assert points[:3] == [(read_at[0], 0.0), (read_at[4], 0.0), (read_at[5], 50.0)]


def test_a_gauge_that_is_slower_is_read_more_rarely(tmp_path) -> None:
    readings = {"fast": 0, "slow": 0}
    each = {"fast": 1, "slow": 10}
    gauges = [_counting(readings, name, _file(tmp_path, name, "0\n"), each=each[name]) for name in readings]
    began_s = time.monotonic()
    with Sampler(gauges, PERIOD_S).running():
        _until(lambda: readings["fast"] >= 45)
    # once as it starts, then in each of its own periods, of which it is in the midst of one
    assert 2 <= readings["slow"] <= 2 + (time.monotonic() - began_s) / (10 * PERIOD_S)
    assert readings["slow"] < readings["fast"] / 2


def test_a_drive_that_is_to_be_left_alone_is_not_asked(tmp_path) -> None:
    readings = {"asked": 0, "free": 0}
    gauges = [
        _counting(readings, name, _file(tmp_path, name, "1\n"), asks_drive=name == "asked")
        for name in readings
    ]
    sampler = Sampler(gauges, PERIOD_S)
    sampler.leave_drive_alone = True
    with sampler.running():
        _until(lambda: readings["free"] >= 5)
        assert readings["asked"] == 0
        sampler.leave_drive_alone = False
        _until(lambda: readings["asked"] >= 1)


def test_what_tells_nonsense_or_has_gone_gives_no_value(tmp_path) -> None:
    def fail(contents: Sequence[bytes], _at_ns: int) -> Values:
        return {"impossible": float(contents[0])}

    sleeping, awake = _file(tmp_path, "sleeping", "\n"), _file(tmp_path, "awake", "30\n")
    nonsense = Gauge("nonsense", "x", "x", (_file(tmp_path, "nonsense", "n/a\n"),), fail)
    sampler = Sampler(
        [nonsense, _gauge(sleeping, tmp_path / "gone", awake), _gauge(tmp_path / "gone")], PERIOD_S
    )
    with sampler.running():
        points = _wait_for(1, sampler)
    assert {point.name for point in points} == {"awake"}


def test_a_long_file_is_read_to_its_end(tmp_path) -> None:
    path = _file(tmp_path, "long", "x" * 300_000)
    lengths: set[int] = set()

    def measure(contents: Sequence[bytes], _at_ns: int) -> Values:
        lengths.add(len(contents[0]))
        return {"length": len(contents[0])}

    sampler = Sampler([Gauge("long", "x", "x", (path,), measure, is_long=True)], PERIOD_S)
    with sampler.running():
        _wait_for(1, sampler)
    assert lengths == {300_000}


def test_the_thread_ends_with_the_run_and_closes_its_files(tmp_path) -> None:
    path = _file(tmp_path, "value", "40000\n")
    sampler = Sampler([_gauge(path)], 3600)
    with sampler.running():
        assert _wait_for(1, sampler)
        assert _threads() == ["telemetry"]
        assert path in _open_files()
    assert _threads() == []
    assert path not in _open_files()


def test_without_anything_to_read_there_is_no_thread() -> None:
    sampler = Sampler([Gauge("temperature", None, "a file has no temperature")])
    with sampler.running():
        assert _threads() == []
    assert sampler.take(0) == ()


def test_the_record_says_what_was_sampled_or_why_nothing_was(tmp_path) -> None:
    fact = Sampler([replace(_gauge(tmp_path / "value"), each=10)], 0.5).facts["x"]
    assert (fact.value, fact.source) == ("numbers; each 5 s", "a folder")
    fact = Sampler([Gauge("temperature", None, "a file has no temperature")]).facts["temperature"]
    assert (fact.value, fact.source) == (None, "a file has no temperature")


class Read:
    """A gauge of one file whose number is read each second."""

    def __init__(self, path: Path, monkeypatch, **how: Any) -> None:
        self._path, self._at_s = path, -1
        path.touch()
        clock = SimpleNamespace(monotonic_ns=lambda: self._at_s * NS_PER_S)
        monkeypatch.setattr(telemetry, "time", clock)

        def understand(contents: Sequence[bytes], _at_ns: int) -> Values:
            return {"value": float(contents[0])}

        self.open = _Open.of(Gauge("x", "x", "x", (path,), understand, **how), 1.0)

    def stored(self, numbers: Sequence[int]) -> list[tuple[int, float]]:
        """The seconds and values that are stored while the file holds one of the numbers after the other."""
        found = []
        for number in numbers:
            self._at_s += 1
            self._path.write_text(f"{number}\n")
            found += [(at_ns // NS_PER_S, value) for at_ns, _, value in self.open.news(self.open.read())]
        return found

    def at_the_end(self) -> list[tuple[int, float]]:
        return [(at_ns // NS_PER_S, value) for at_ns, _, value in self.open.last_known()]


@pytest.fixture
def read(tmp_path, monkeypatch) -> Iterator[Callable[..., Read]]:
    with ExitStack() as stack:

        def make(**how: float) -> Read:
            made = Read(tmp_path / "value", monkeypatch, **how)
            stack.callback(made.open.close)
            return made

        yield make


def test_what_does_not_change_is_stored_now_and_then_and_at_the_end(read) -> None:
    subject = read()
    assert subject.stored([7] * 151) == [(0, 7), (60, 7), (120, 7)]
    assert subject.at_the_end() == [(150, 7)]


def test_what_is_read_more_rarely_is_stored_again_more_rarely(read) -> None:
    subject = read(each=2)
    assert subject.stored([7] * 131) == [(0, 7), (120, 7)]


def test_what_is_stored_at_the_end_is_not_stored_twice(read) -> None:
    subject = read()
    assert subject.stored([7, 7, 8]) == [(0, 7), (2, 8)]
    assert subject.at_the_end() == []


def test_steps_below_the_resolution_are_not_stored_and_add_up(read) -> None:
    subject = read(resolution=2.5)
    assert subject.stored(range(100, 111)) == [(0, 100), (3, 103), (6, 106), (9, 109)]
    assert subject.at_the_end() == [(10, 110)]


def test_a_share_of_the_last_value_is_a_resolution_too(read) -> None:
    subject = read(share=0.5)
    assert subject.stored([100, 149, 51, 150, 151, 200, 76, 75]) == [(0, 100), (4, 151), (7, 75)]


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


def test_what_one_has_read_the_other_takes_with_its_time(tmp_path) -> None:
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


def test_what_is_older_or_of_another_clock_or_lacks_a_part_is_read_again(tmp_path) -> None:
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
def test_what_a_killed_run_has_left_unfinished_is_not_taken(tmp_path, number) -> None:
    source, begin_ns = Source(), time.monotonic_ns()
    with opened(tmp_path) as shared:
        shared.since(begin_ns, {"stat": source})
        path = tmp_path / "host.sample"
        path.write_bytes([*damaged(path.read_bytes())][number])
        assert shared.since(begin_ns, {"stat": source})["stat"].values == {"number": 2.0}
        assert shared.since(begin_ns, {"stat": source})["stat"].values == {"number": 2.0}


def test_one_that_stands_still_while_it_reads_holds_up_no_other(tmp_path) -> None:
    source = Source()
    with opened(tmp_path) as still, opened(tmp_path) as other:
        fcntl.flock(still.fd, fcntl.LOCK_EX)
        begin_ns = time.monotonic_ns()
        assert other.since(begin_ns, {"stat": source})["stat"].contents == (b"x",)
        assert (source.readings, other.led) == (1, False)
        assert (tmp_path / "host.sample").read_bytes() == b""


def test_where_nothing_can_be_left_each_reads_for_itself(tmp_path, monkeypatch) -> None:
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


def test_the_record_says_which_values_come_from_one_run_for_all(tmp_path) -> None:
    path = tmp_path / "value"
    path.write_text("1\n")
    own = Gauge("own", "a number", "x", (path,))
    sampler = Sampler([own, replace(own, name="host", of_host=True)], 3600, shared=tmp_path / "shared")
    with sampler.running():
        texts = {name: fact.value for name, fact in sampler.facts.items()}
    assert texts["own"] == "a number; each 3600 s"
    assert texts["host"] == "a number; each 3600 s, by one run for all on this host"
