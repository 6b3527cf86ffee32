"""What the audit sees on machines that are set up badly, each in its own way."""

import struct

import pytest

from openpts.programs import ProgramRunner
from openpts.system_files import SystemRoots
from openpts.vocabulary.facts import Facts, Scenario
from openpts_host.advice.advice import Grade
from openpts_host.advice.table import ADVICE_OF
from openpts_host.container import control_group_limits
from openpts_host.settings import host_settings, sync_text
from openpts_host.tests.unit.recorded_systemd import RecordedSystemd
from tests.support.program_answers import no_programs


def graded(facts: Facts, scenario: Scenario, grade: Grade) -> set[str]:
    return {key for key, fact in facts.items() if ADVICE_OF[key].grade(fact.value, scenario) is grade}


def laptop_facts(laptop: SystemRoots, run: ProgramRunner | None = None) -> Facts:
    systemd = RecordedSystemd("fstrim.timer", "apt-daily.timer", "packagekit.service", "man-db.timer")
    return host_settings(laptop, "8:16", run or systemd)


def test_a_laptop_on_its_battery(laptop) -> None:
    facts = laptop_facts(laptop)
    told = {
        "governor": "powersave",
        "energy_preference": "balance_power",
        "p_states": "400 to 1,400 MHz of 400 to 4,200 MHz (intel_pstate)",
        "turbo": "off",
        "c_states": "down to C8, 200 us to wake",
        "power_supply": "battery (discharging 63 %)",
        "power_profile": "low-power",
        "display": "card0-eDP-1 on",
        "sleep": "may sleep (freeze mem disk)",
        # 17 of one core, 5 of the package that both are in
        "thermal": "x86_pkg_temp 96 \N{DEGREE SIGN}C, hot: x86_pkg_temp, throttled 22 times since the start",
        "indexers": "tracker-miner-f",
        "scanners": "clamd",
        "tuning_services": "thermald",
        "trim_timer": "active: fstrim.timer",
        "updates": "active: apt-daily.timer, packagekit.service",
        "maintenance": "active: man-db.timer",
    }
    assert {key: facts[key].value for key in told} == told


def test_what_is_wrong_for_both_scenarios_is_bad_for_both(laptop) -> None:
    facts = laptop_facts(laptop)
    wrong = {
        "p_states", "turbo", "power_supply", "thermal", "indexers", "scanners", "trim_timer", "updates",
        "maintenance",
    }  # fmt: skip
    assert graded(facts, Scenario.REAL_WORLD, Grade.BAD) == wrong
    assert graded(facts, Scenario.SYNTHETIC, Grade.BAD) == wrong | {
        "governor",
        "energy_preference",
        "c_states",
    }


def test_updates_that_are_running_are_seen_without_systemd(laptop) -> None:
    (laptop.proc / "1/comm").write_text("init\n")
    (laptop.proc / "77").mkdir()
    (laptop.proc / "77/comm").write_text("dpkg\n")
    facts = laptop_facts(laptop, no_programs)
    assert facts["updates"].value == "active: dpkg"
    assert facts["trim_timer"].value == "stopped, or not there"


def test_systemd_that_can_not_be_asked_leaves_its_timers_open(laptop, golden) -> None:
    facts = laptop_facts(laptop, no_programs)
    assert facts["trim_timer"].value is None
    assert facts["trim_timer"].source == golden


@pytest.mark.parametrize(
    ("inhibitors", "told"),
    [
        (
            '["sleep:idle","openpts","a drive is being measured","block",0,4242]',
            "forbidden by openpts (a drive",
        ),
        ('["shutdown:sleep","NetworkManager","wants to know","delay",0,800]', "may sleep (freeze mem disk)"),
        ('["idle","vlc","a film","block",1000,900]', "may sleep (freeze mem disk)"),
        ("17", "may sleep (freeze mem disk)"),
    ],
)
def test_only_who_blocks_sleep_forbids_it(inhibitors, told, laptop) -> None:
    listed = "[" + inhibitors + "]"
    value = laptop_facts(laptop, RecordedSystemd(inhibitors=listed))["sleep"].value
    assert str(value).startswith(told)


def test_a_masked_target_is_never_reached(laptop) -> None:
    units = laptop.etc / "systemd/system"
    units.mkdir(parents=True)
    (units / "sleep.target").symlink_to("/dev/null")
    assert laptop_facts(laptop)["sleep"].value == "never: sleep.target is masked"


@pytest.mark.parametrize(
    ("limit_us", "told"),
    [
        (2_000_000_000, "down to C8, 200 us to wake"),
        (50, "down to C1E, 10 us to wake, held there by a limit of 50 us"),
        (2, "down to POLL, 0 us to wake, held there by a limit of 2 us"),
        (0, "down to POLL, 0 us to wake, held there by a limit of 0 us"),
    ],
)
def test_a_limit_that_somebody_holds_keeps_processors_awake(limit_us, told, laptop) -> None:
    laptop.dev.mkdir(exist_ok=True)
    (laptop.dev / "cpu_dma_latency").write_bytes(struct.pack("=i", limit_us))
    assert laptop_facts(laptop)["c_states"].value == told


def test_states_that_are_off_are_told_as_the_reason(laptop) -> None:
    for disable in laptop.sys.rglob("state*/disable"):
        if int((disable.with_name("latency")).read_text()) > 10:
            disable.write_text("1\n")
    told = laptop_facts(laptop)["c_states"].value
    assert told == "down to C1E, 10 us to wake, deeper states are off"


@pytest.mark.parametrize(("own", "told"), [("0", "C8"), ("n/a", "POLL"), ("20", "C1E")])
def test_a_processor_may_have_a_limit_of_its_own(own, told, laptop) -> None:
    power = laptop.sys / "devices/system/cpu/cpu0/power"
    power.mkdir()
    (power / "pm_qos_resume_latency_us").write_text(f"{own}\n")
    assert str(laptop_facts(laptop)["c_states"].value).startswith(f"down to {told},")


def test_a_container_with_limits(container) -> None:
    facts = host_settings(container, "7:7", no_programs)
    assert facts["container"].value == "container (docker)"
    assert facts["io_limit"].value == (
        "io.max 7:7 wbps=52428800 wiops=500 (docker-4f1c.scope); "
        "io.latency 7:7 target=5000 (docker-4f1c.scope); io.max 7:7 riops=1000 (cgroup)"
    )
    assert facts["cpu_limit"].value == (
        "cpu.max 150000 100000 (docker-4f1c.scope); cpuset.cpus 0-1 (docker-4f1c.scope)"
    )
    assert {"io_limit", "cpu_limit"} <= graded(facts, Scenario.REAL_WORLD, Grade.BAD)


def test_a_container_whose_groups_are_hidden_is_known_by_its_files(container) -> None:
    (container.proc / "self/cgroup").write_text("0::/\n")
    assert host_settings(container, run=no_programs)["container"].value == "container"


def test_limits_of_version_1_are_read_as_well(container) -> None:
    (container.proc / "self/cgroup").write_text("7:blkio:/slow\n1:cpu,cpuacct:/\n3:cpuset:/part\n")
    groups = {
        "blkio/slow/blkio.throttle.read_iops_device": "7:7 100",
        "cpu,cpuacct/cpu.cfs_quota_us": "-1",
        "cpuset/cpuset.cpus": "0-3",
        "cpuset/part/cpuset.cpus": "0-1",
    }
    for name, text in groups.items():
        path = container.sys / "fs/cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    limits = control_group_limits(container, "7:7")
    assert limits["io_limit"].value == "read_iops_device 7:7 100 (slow)"
    assert limits["cpu_limit"].value == "cpuset.cpus 0-1 (part)"


def test_a_virtual_machine_is_bad_for_either(virtual_machine) -> None:
    facts = host_settings(virtual_machine, run=no_programs)
    assert "virtualization" in graded(facts, Scenario.REAL_WORLD, Grade.BAD)
    assert "governor" in graded(facts, Scenario.SYNTHETIC, Grade.UNKNOWN)


KEYS = [
    "governor", "energy_preference", "p_states", "turbo", "smt", "c_states", "mitigations", "thp",
    "numa_balancing", "swappiness", "load", "pressure", "swap", "power_supply", "power_profile", "display",
    "sleep", "thermal", "virtualization", "container", "io_limit", "cpu_limit", "clock_source",
    "clock_sync", "indexers", "scanners", "drive_monitor", "tuning_services", "cron", "irqbalance", "scans",
    "trim_timer", "updates", "maintenance",
]  # fmt: skip
# What a machine without any files is said to be, since nothing speaks for the contrary.
SEEN_WITHOUT_FILES = {
    "container": "none seen",
    "virtualization": "none seen",
    "display": "none connected",
    "sleep": "never: the kernel can't",
    "trim_timer": "stopped, or not there",
    "updates": "stopped, or not there",
    "maintenance": "stopped, or not there",
}


def _values(roots: SystemRoots, disk_number: str | None = None) -> dict[str, str | None]:
    facts = host_settings(roots, disk_number)
    assert list(facts) == KEYS
    assert all(fact.source for fact in facts.values())
    # of the kernel that runs here, not of the made-up machine
    assert facts.pop("clock_sync").value in {"synchronized", "not synchronized", None}
    return {key: fact.value for key, fact in facts.items()}


def test_a_server_on_which_processors_differ(server, golden) -> None:
    assert _values(server, "259:0") == golden


def test_without_a_disk_the_limits_of_all_count(server) -> None:
    assert _values(server)["io_limit"] == (
        "io.max 259:0 wbps=104857600 (system.slice); io.max 8:16 rbps=1048576 (system.slice)"
    )


def test_what_a_machine_does_not_tell_is_left_open(malformed) -> None:
    values = _values(malformed)
    assert {key: values.pop(key) for key in SEEN_WITHOUT_FILES} == SEEN_WITHOUT_FILES
    assert set(values.values()) == {None}


def test_intel_turns_its_turbo_off_by_a_file_of_its_own(malformed) -> None:
    off = malformed.sys / "devices/system/cpu/intel_pstate/no_turbo"
    off.parent.mkdir(parents=True)
    off.write_text("1\n")
    assert _values(malformed)["turbo"] == "off"


@pytest.mark.parametrize(
    ("active", "control", "told"),
    [
        ("1", "on", "on"),
        ("0", "off", "off"),
        ("0", "forceoff", "off"),
        ("0", "notsupported", "none (cores have one thread)"),
    ],
)
def test_smt_that_is_off_is_told_from_smt_that_is_not_there(active, control, told, malformed) -> None:
    folder = malformed.sys / "devices/system/cpu/smt"
    folder.mkdir(parents=True)
    (folder / "active").write_text(f"{active}\n")
    (folder / "control").write_text(f"{control}\n")
    assert _values(malformed)["smt"] == told


def test_a_kernel_without_mitigations_has_them_off(malformed) -> None:
    folder = malformed.sys / "devices/system/cpu/vulnerabilities"
    folder.mkdir(parents=True)
    (folder / "meltdown").write_text("Vulnerable\n")
    assert _values(malformed)["mitigations"] == "off (0 mitigated, 1 vulnerable)"


def test_a_machine_without_swap_has_none(malformed) -> None:
    (malformed.proc / "meminfo").write_text("SwapTotal:  0 kB\nSwapFree:  0 kB\n")
    assert _values(malformed)["swap"] == "none"


# adjtimex(2): TIME_OK 0 ... TIME_WAIT 4, TIME_ERROR 5; -1 on failure
@pytest.mark.parametrize(
    ("state", "told"), [(0, "synchronized"), (4, "synchronized"), (5, "not synchronized"), (-1, None)]
)
def test_adjtimex_in_words(state, told) -> None:
    assert sync_text(state) == told
