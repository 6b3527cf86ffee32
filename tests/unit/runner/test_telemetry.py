"""The sampler: values of files, on the engine's clock, off the path of whoever takes them."""

import os
import threading
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

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


def _gauge(*paths: Path, **how: float | bool) -> Gauge:
    """The number in each file, under the file's name."""

    def understand(contents: Sequence[bytes], _at_ns: int) -> Values:
        numbers = zip(paths, map(whole_number, contents), strict=True)
        return {path.name: number for path, number in numbers if number is not None}

    return Gauge("x", "numbers", "a folder", paths, understand, **how)  # type: ignore[arg-type]


def _file(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def _replace(path: Path, text: str) -> None:
    """In one write of the same length: a reader sees the old text or the new one."""
    fd = os.open(path, os.O_WRONLY)
    os.write(fd, text.encode())
    os.close(fd)


def _while_it_counts(gauge_path: Path, sampler: Sampler, rounds: int) -> list[TelemetryPoint]:
    """What is stored while a file counts from 100, one a step, for so many steps."""
    taken: list[TelemetryPoint] = []
    for number in range(rounds):
        _replace(gauge_path, f"{100 + number}\n")
        time.sleep(5 * PERIOD_S)
        taken += sampler.take(0)
    return taken


def test_values_are_on_the_engines_clock(tmp_path: Path) -> None:
    path = _file(tmp_path, "value", "41850\n")
    sampler = Sampler([_gauge(path)], PERIOD_S)
    offset_ns = 10**15
    before_ns = time.monotonic_ns()
    with sampler.running():
        points = _wait_for(1, sampler, offset_ns)
        _replace(path, "41860\n")
        points += _wait_for(1, sampler, offset_ns)
    after_ns = time.monotonic_ns()
    assert [(point.name, point.value) for point in points] == [("value", 41850.0), ("value", 41860.0)]
    times = [point.t_ns - offset_ns for point in points]
    assert before_ns <= times[0] < times[1] <= after_ns


def test_what_does_not_change_is_stored_at_both_ends_and_now_and_then(tmp_path: Path) -> None:
    path = _file(tmp_path, "value", "7\n")
    sampler = Sampler([_gauge(path)], PERIOD_S)
    started_s = time.monotonic()
    with sampler.running():
        time.sleep(150 * PERIOD_S)
    elapsed_s = time.monotonic() - started_s
    points = sampler.take(0)
    assert {point.value for point in points} == {7.0}
    times_s = [point.t_ns / 10**9 for point in points]
    assert 3 <= len(points) <= 2 + elapsed_s / (60 * PERIOD_S)
    assert all(later - sooner >= 59 * PERIOD_S for sooner, later in pairwise(times_s[:-1]))
    assert times_s[-1] - started_s > elapsed_s / 2


def test_steps_below_the_resolution_are_not_stored_and_add_up(tmp_path: Path) -> None:
    path = _file(tmp_path, "value", "100\n")
    sampler = Sampler([_gauge(path, resolution=2.5)], PERIOD_S)
    with sampler.running():
        _wait_for(1, sampler)
        values = [point.value for point in _while_it_counts(path, sampler, 10)]
    assert values
    stored = [100.0, *values]
    assert all(later - sooner >= 3 for sooner, later in pairwise(stored))
    assert sampler.take(0)[-1].value == 109.0


def test_a_share_of_the_last_value_is_a_resolution_too(tmp_path: Path) -> None:
    path = _file(tmp_path, "value", "100\n")
    sampler = Sampler([_gauge(path, share=0.5)], PERIOD_S)
    with sampler.running():
        _wait_for(1, sampler)
        assert _while_it_counts(path, sampler, 5) == []
        _replace(path, "151\n")
        assert [point.value for point in _wait_for(1, sampler)] == [151.0]


def test_a_gauge_that_is_slower_is_read_more_rarely(tmp_path: Path) -> None:
    fast, slow = _file(tmp_path, "fast", "0\n"), _file(tmp_path, "slow", "0\n")
    readings = {"fast": 0, "slow": 0}

    def counting(name: str, path: Path, each: int) -> Gauge:
        def understand(_contents: Sequence[bytes], _at_ns: int) -> Values:
            readings[name] += 1
            return {}

        return Gauge(name, name, "x", (path,), understand, each=each)

    with Sampler([counting("fast", fast, 1), counting("slow", slow, 10)], PERIOD_S).running():
        deadline = time.monotonic() + PATIENCE_S
        while readings["fast"] < 45 and time.monotonic() < deadline:
            time.sleep(PERIOD_S)
    assert readings["slow"] == (readings["fast"] + 9) // 10


def test_a_drive_that_is_to_be_left_alone_is_not_asked(tmp_path: Path) -> None:
    asked, free = _file(tmp_path, "asked", "1\n"), _file(tmp_path, "free", "1\n")
    sampler = Sampler([_gauge(asked, asks_drive=True), _gauge(free)], PERIOD_S)
    sampler.leave_drive_alone = True
    with sampler.running():
        assert [point.name for point in _wait_for(1, sampler)] == ["free"]
        _replace(free, "2\n")
        assert [point.name for point in _wait_for(1, sampler)] == ["free"]
        sampler.leave_drive_alone = False
        assert [point.name for point in _wait_for(1, sampler)] == ["asked"]


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
    fact = Sampler([_gauge(tmp_path / "value", each=10)], 0.5).facts["x"]
    assert (fact.value, fact.source) == ("numbers; each 5 s", "a folder")
    fact = Sampler([Gauge("temperature", None, "a file has no temperature")]).facts["temperature"]
    assert (fact.value, fact.source) == (None, "a file has no temperature")
