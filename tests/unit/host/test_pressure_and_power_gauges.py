"""Pressure from the kernel's sums, power from sensors and energy counters."""

from pathlib import Path

import pytest

from openpts.host.gauges import power_gauges, pressure_gauge
from openpts.system_files import SystemRoots

PSI = "some avg10=99.00 avg60=0.00 avg300=0.00 total={}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total={}\n"
GB_UJ = 10**9


@pytest.fixture
def roots(tmp_path) -> SystemRoots:
    return SystemRoots(proc=tmp_path / "proc", sys=tmp_path / "sys")


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text}\n")


def test_pressure_is_the_share_of_the_time_between_two_readings(roots) -> None:
    for resource in ("memory", "cpu"):
        write(roots.proc / "pressure" / resource, PSI.format(0, 0))
    gauge = pressure_gauge(roots)
    before = [PSI.format(1_000_000, 500_000).encode(), PSI.format(0, 0).encode()]
    after = [PSI.format(1_500_000, 700_000).encode(), PSI.format(2_000_000, 0).encode()]
    assert gauge.understand(before, 10**9) == {}
    assert gauge.understand(after, 3 * 10**9) == {
        "memory_pressure_some_pct": 25,
        "memory_pressure_full_pct": 10,
        "cpu_pressure_some_pct": 100,
    }


def test_without_pressure_information_the_reason_is_said(roots, golden) -> None:
    gauge = pressure_gauge(roots)
    assert (gauge.what, gauge.paths) == (None, ())
    assert gauge.source == golden


def test_sensors_are_in_watts_under_the_names_of_chip_and_label(roots) -> None:
    meter, board = roots.sys / "class/hwmon/hwmon0", roots.sys / "class/hwmon/hwmon1"
    write(meter / "name", "power_meter")
    write(meter / "power1_average", "123456789")
    write(board / "name", "ina226")
    write(board / "power1_label", "SSD 3V3+12V")
    write(board / "power1_input", "8250000")
    write(board / "power1_average", "1")
    sensors = power_gauges(roots)[0]
    contents = [path.read_bytes() for path in sensors.paths]
    assert sensors.understand(contents, 0) == {
        "power_power_meter_1_w": pytest.approx(123.456789),
        "power_ina226_ssd_3v3_12v_w": 8.25,
    }
    assert sensors.understand([b"", b"n/a\n"], 0) == {}


def test_energy_counters_become_mean_power_and_a_wrap_gives_none(roots) -> None:
    zones = roots.sys / "class/powercap"
    for zone, name in {
        "intel-rapl:0": "package-0",
        "intel-rapl:0:0": "dram",
        "intel-rapl:1": "psys",
        "intel-rapl-mmio:0": "package-0",
    }.items():
        write(zones / zone / "name", name)
        write(zones / zone / "energy_uj", "0")
    energy = power_gauges(roots)[1]
    assert len(energy.paths) == 3
    readings = [(0, [0, 0, GB_UJ]), (2, [100_000_000, 3_000_000, GB_UJ]), (3, [5, 4_000_000, GB_UJ])]
    values = [
        energy.understand([f"{uj}\n".encode() for uj in energies_uj], at_s * 10**9)
        for at_s, energies_uj in readings
    ]
    assert values == [
        {},
        {"power_package_0_w": 50, "power_package_0_dram_w": 1.5, "power_psys_w": 0},
        {"power_package_0_dram_w": 1, "power_psys_w": 0},
    ]


def test_without_sensors_the_reasons_are_said(roots, golden) -> None:
    sensors, energy = power_gauges(roots)
    assert (sensors.what, energy.what) == (None, None)
    assert sensors.source == golden
    assert energy.source == golden
