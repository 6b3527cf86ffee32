"""Shares of processors' time, held against ticks that were made up, and clocks."""

import pytest

from openpts.gauge import Gauge, Values
from openpts.host.gauges import processor_gauges
from openpts.system_files import SystemRoots

# user nice system idle iowait irq softirq steal guest guest_nice
FIRST = """cpu  600 0 600 6000 150 30 60 5 0 0
cpu0 100 0 100 1000 50 10 20 0 0 0
cpu1 200 0 200 2000 50 10 20 5 0 0
cpu2 300 0 300 3000 50 10 20 0 0 0
intr 12345 0 9
ctxt 99
"""
SECOND = """cpu  640 10 630 6195 160 35 65 10 0 0
cpu0 140 10 120 1010 60 15 25 0 0 0
cpu1 200 0 200 2095 50 10 20 10 0 0
cpu2 300 0 310 3090 50 10 20 0 0 0
intr 12345 0 9
ctxt 99
"""


@pytest.fixture
def roots(tmp_path) -> SystemRoots:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/stat").write_text(FIRST)
    return SystemRoots(proc=tmp_path / "proc", sys=tmp_path / "sys")


def two_readings(gauge: Gauge, first: str = FIRST, second: str = SECOND) -> Values:
    assert gauge.understand([first.encode()], 0) == {}
    return gauge.understand([second.encode()], 10**9)


def test_the_engines_processors_and_all_others_are_two_groups(roots) -> None:
    values = two_readings(processor_gauges(roots, (0,))[0])
    # processor 0 had 100 ticks: 40 user, 10 nice, 20 system, 10 idle, 10 iowait, 5 irq, 5 softirq
    assert {name: value for name, value in values.items() if "engine" in name} == {
        "cpu_engine_busy_pct": 80,
        "cpu_engine_user_pct": 50,
        "cpu_engine_sys_pct": 20,
        "cpu_engine_iowait_pct": 10,
        "cpu_engine_irq_pct": 5,
        "cpu_engine_softirq_pct": 5,
        "cpu_engine_steal_pct": 0,
    }
    # 1 and 2 had 100 each: 95 and 90 idle, 5 stolen, 10 system
    assert values["cpu_others_busy_pct"] == 7.5
    assert (values["cpu_others_steal_pct"], values["cpu_others_sys_pct"]) == (2.5, 5)


def test_where_the_engine_has_all_processors_there_are_no_others(roots) -> None:
    """Even if the kernel's sum, which it rounds by itself, is a tick more."""
    values = two_readings(
        processor_gauges(roots, (0, 1, 2))[0], second=SECOND.replace("cpu  640", "cpu  641")
    )
    assert {name.split("_")[1] for name in values} == {"engine"}
    assert values["cpu_engine_busy_pct"] == pytest.approx(100 * (80 + 5 + 10) / 300)


def test_without_pinned_threads_all_processors_are_one_group(roots) -> None:
    values = two_readings(processor_gauges(roots, ())[0])
    assert {name.split("_")[1] for name in values} == {"all"}
    assert values["cpu_all_busy_pct"] == pytest.approx(100 * (80 + 5 + 10) / 300)


def test_each_processor_is_sampled_by_itself_and_more_rarely(roots) -> None:
    group, single, _ = processor_gauges(roots, (0,))
    assert single.each > group.each
    values = two_readings(single)
    assert [values[f"cpu_{cpu}_busy_pct"] for cpu in range(3)] == [80, 5, 10]
    assert values["cpu_2_sys_pct"] == 10


def test_times_that_go_back_count_as_none(roots) -> None:
    back = SECOND.replace("1010 60", "1010 40")
    values = two_readings(processor_gauges(roots, (0,))[0], second=back)
    assert values["cpu_engine_iowait_pct"] == 0
    assert values["cpu_engine_busy_pct"] == pytest.approx(100 * 80 / 90)


def test_a_processor_that_comes_or_goes_has_no_share(roots) -> None:
    without = "\n".join(line for line in FIRST.splitlines() if not line.startswith("cpu1"))
    single = processor_gauges(roots, ())[1]
    assert "cpu_1_busy_pct" not in two_readings(single, first=without)
    assert "cpu_0_busy_pct" in two_readings(processor_gauges(roots, ())[1], first=without)


@pytest.mark.parametrize("text", ["", "cpu0 1 2 3", "cpu0 a b c d e f g h", "nonsense\n\n", SECOND[:24]])
def test_nonsense_gives_no_value(text, roots) -> None:
    assert two_readings(processor_gauges(roots, (2,))[0], second=text) == {}


def test_the_clock_is_the_mean_and_the_lowest_of_the_engines_processors(roots) -> None:
    for cpu, khz in enumerate([3_000_000, 1_000_000, 2_000_000]):
        folder = roots.sys / f"devices/system/cpu/cpu{cpu}/cpufreq"
        folder.mkdir(parents=True)
        (folder / "scaling_cur_freq").write_text(f"{khz}\n")
    clock = processor_gauges(roots, (0, 2))[2]
    contents = [path.read_bytes() for path in clock.paths]
    assert clock.understand(contents, 0) == {
        "cpu_engine_clock_mhz": 2500,
        "cpu_engine_lowest_clock_mhz": 2000,
    }
    assert clock.understand([b"", b""], 0) == {}
    assert len(processor_gauges(roots, ())[2].paths) == 3


def test_what_the_kernel_does_not_show_has_its_reason(tmp_path, golden) -> None:
    (only,) = processor_gauges(SystemRoots(proc=tmp_path, sys=tmp_path), ())
    assert (only.what, only.paths) == (None, ())
    (tmp_path / "stat").write_text(FIRST)
    clock = processor_gauges(SystemRoots(proc=tmp_path, sys=tmp_path), ())[2]
    assert clock.what is None
    assert clock.source == golden
