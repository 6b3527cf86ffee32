"""The sampler: values of files, on the engine's clock, off the path of whoever takes them."""

import threading
import time
from pathlib import Path

from openpts.device.thermometers import Thermometers
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


def test_temperatures_come_in_degrees_and_on_the_engines_clock(tmp_path: Path) -> None:
    file = tmp_path / "temp1_input"
    file.write_text("41850\n")
    sampler = Sampler(Thermometers(str(tmp_path), {"temperature_c": file}), PERIOD_S)
    offset_ns = 10**15
    before_ns = time.monotonic_ns()
    with sampler.running():
        points = _wait_for(3, sampler, offset_ns)
    after_ns = time.monotonic_ns()
    assert len(points) >= 3
    assert {(point.name, point.value) for point in points} == {("temperature_c", 41.85)}
    times = [point.t_ns - offset_ns for point in points]
    assert times == sorted(times)
    assert before_ns <= times[0] <= times[-1] <= after_ns


def test_a_value_that_changes_is_read_anew(tmp_path: Path) -> None:
    file = tmp_path / "temp1_input"
    file.write_text("40000\n")
    sampler = Sampler(Thermometers("x", {"temperature_c": file}), PERIOD_S)
    with sampler.running():
        assert {point.value for point in _wait_for(1, sampler)} == {40.0}
        file.write_text("50000\n")
        values = {point.value for point in _wait_for(5, sampler)}
    assert 50.0 in values


def test_a_sensor_that_tells_nonsense_or_has_gone_gives_no_value(tmp_path: Path) -> None:
    sleeping, awake = tmp_path / "temp1_input", tmp_path / "temp2_input"
    sleeping.write_text("\n")
    awake.write_text("30000\n")
    files = {"temperature_c": sleeping, "gone": tmp_path / "gone", "temperature_sensor_1_c": awake}
    sampler = Sampler(Thermometers("x", files), PERIOD_S)
    with sampler.running():
        points = _wait_for(2, sampler)
    assert {point.name for point in points} == {"temperature_sensor_1_c"}


def test_the_thread_ends_with_the_run_and_closes_its_files(tmp_path: Path) -> None:
    file = tmp_path / "temp1_input"
    file.write_text("40000\n")
    sampler = Sampler(Thermometers("x", {"temperature_c": file}), 3600)
    opened = set(Path("/proc/self/fd").iterdir())
    with sampler.running():
        assert _wait_for(1, sampler)
        assert _threads() == ["telemetry"]
    assert _threads() == []
    assert set(Path("/proc/self/fd").iterdir()) == opened


def test_without_thermometers_there_is_no_thread() -> None:
    sampler = Sampler(Thermometers("a file has no temperature"))
    with sampler.running():
        assert _threads() == []
    assert sampler.take(0) == ()


def test_the_record_says_what_was_sampled_or_why_nothing_was(tmp_path: Path) -> None:
    given = Thermometers("hwmon3", {"temperature_c": tmp_path / "temp1_input"})
    fact = Sampler(given, 1.0).facts["temperature"]
    assert (fact.value, fact.source) == ("temperature_c; each 1 s", "hwmon3")
    fact = Sampler(Thermometers("a file has no temperature")).facts["temperature"]
    assert (fact.value, fact.source) == (None, "a file has no temperature")
