"""The sampler: values of files, on the engine's clock, off the path of the run that takes them."""

import os
import threading
import time
from collections.abc import Callable, Sequence
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from openpts.gauge import Gauge, Values, whole_number
from openpts.record.health import TelemetryPoint
from openpts.runner.telemetry import Sampler

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


def test_values_are_on_the_engines_clock(tmp_path: Path) -> None:
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


def test_what_does_not_change_is_stored_at_both_ends(tmp_path: Path) -> None:
    path, readings = _file(tmp_path, "value", "7\n"), {"value": 0}
    sampler = Sampler([_counting(readings, "value", path)], PERIOD_S)
    with sampler.running():
        _until(lambda: readings["value"] >= 3)
    points = sampler.take(0)
    assert len(points) >= 2
    assert {(point.name, point.value) for point in points} == {("value", 7.0)}


def test_a_value_of_a_period_reaches_back_to_the_moment_at_which_it_was_read_before(tmp_path: Path) -> None:
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


def test_a_gauge_that_is_slower_is_read_more_rarely(tmp_path: Path) -> None:
    readings = {"fast": 0, "slow": 0}
    each = {"fast": 1, "slow": 10}
    gauges = [_counting(readings, name, _file(tmp_path, name, "0\n"), each=each[name]) for name in readings]
    began_s = time.monotonic()
    with Sampler(gauges, PERIOD_S).running():
        _until(lambda: readings["fast"] >= 45)
    # once as it starts, then in each of its own periods, of which it is in the midst of one
    assert 2 <= readings["slow"] <= 2 + (time.monotonic() - began_s) / (10 * PERIOD_S)
    assert readings["slow"] < readings["fast"] / 2


def test_a_drive_that_is_to_be_left_alone_is_not_asked(tmp_path: Path) -> None:
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


def test_what_tells_nonsense_or_has_gone_gives_no_value(tmp_path: Path) -> None:
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


def test_a_long_file_is_read_to_its_end(tmp_path: Path) -> None:
    path = _file(tmp_path, "long", "x" * 300_000)
    lengths: set[int] = set()

    def measure(contents: Sequence[bytes], _at_ns: int) -> Values:
        lengths.add(len(contents[0]))
        return {"length": len(contents[0])}

    sampler = Sampler([Gauge("long", "x", "x", (path,), measure, is_long=True)], PERIOD_S)
    with sampler.running():
        _wait_for(1, sampler)
    assert lengths == {300_000}


def test_the_thread_ends_with_the_run_and_closes_its_files(tmp_path: Path) -> None:
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


def test_the_record_says_what_was_sampled_or_why_nothing_was(tmp_path: Path) -> None:
    fact = Sampler([replace(_gauge(tmp_path / "value"), each=10)], 0.5).facts["x"]
    assert (fact.value, fact.source) == ("numbers; each 5 s", "a folder")
    fact = Sampler([Gauge("temperature", None, "a file has no temperature")]).facts["temperature"]
    assert (fact.value, fact.source) == (None, "a file has no temperature")
