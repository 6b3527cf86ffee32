"""The host's settings, from made-up machines: what is there is told, what is not is left open."""

import pytest

from openpts.host.settings import host_settings, sync_text
from openpts.system_files import SystemRoots

KEYS = [
    "governor",
    "energy_preference",
    "p_states",
    "turbo",
    "smt",
    "c_states",
    "mitigations",
    "thp",
    "numa_balancing",
    "swappiness",
    "load",
    "pressure",
    "swap",
    "power_supply",
    "power_profile",
    "display",
    "sleep",
    "thermal",
    "virtualization",
    "container",
    "io_limit",
    "cpu_limit",
    "clock_source",
    "clock_sync",
    "indexers",
    "scanners",
    "drive_monitor",
    "tuning_services",
    "cron",
    "irqbalance",
    "scans",
    "trim_timer",
    "updates",
    "maintenance",
]
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


def test_a_server_on_which_processors_differ(server: SystemRoots) -> None:
    assert _values(server, "259:0") == {
        "governor": "performance (3 of 4), powersave (1 of 4)",
        "energy_preference": "performance",
        "p_states": "1,500 to 3,250 MHz of 1,500 to 3,799 MHz (amd-pstate-epp)",
        "turbo": "on",
        "smt": "on",
        "c_states": "down to C1, 1 us to wake, deeper states are off (1 of 2), "
        "down to C2, 800 us to wake (1 of 2)",
        "mitigations": "on (1 mitigated, 1 vulnerable)",
        "thp": "always",
        "numa_balancing": "1",
        "swappiness": "60",
        "load": "0.25 0.50 1.75",
        "pressure": "cpu 0.12 %, io 0.00 %, memory 1.50 %",
        # 1953125 kB are 2.0 GB, 976562 of them free
        "swap": "1.0 GB in use of 2.0 GB",
        "power_supply": None,
        "power_profile": None,
        "display": "none connected",
        "sleep": "never: the kernel can't",
        "thermal": "throttled 3 times since the start",
        "virtualization": "none seen",
        "container": "none seen",
        "io_limit": "io.max 259:0 wbps=104857600 (system.slice)",
        "cpu_limit": "none",
        "clock_source": "tsc",
        "indexers": "none seen",
        "scanners": "none seen",
        "drive_monitor": "smartd",
        "tuning_services": "none seen",
        "cron": "cron with 2 jobs of the system",
        "irqbalance": "running",
        "scans": "md7 check 25 %",
        "trim_timer": "stopped, or not there",
        "updates": "stopped, or not there",
        "maintenance": "stopped, or not there",
    }


def test_without_a_disk_the_limits_of_all_count(server: SystemRoots) -> None:
    assert _values(server)["io_limit"] == (
        "io.max 259:0 wbps=104857600 (system.slice); io.max 8:16 rbps=1048576 (system.slice)"
    )


def test_what_a_machine_does_not_tell_is_left_open(malformed: SystemRoots) -> None:
    values = _values(malformed)
    assert {key: values.pop(key) for key in SEEN_WITHOUT_FILES} == SEEN_WITHOUT_FILES
    assert set(values.values()) == {None}


def test_intel_turns_its_turbo_off_by_a_file_of_its_own(malformed: SystemRoots) -> None:
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
def test_smt_that_is_off_is_told_from_smt_that_is_not_there(
    active: str, control: str, told: str, malformed: SystemRoots
) -> None:
    folder = malformed.sys / "devices/system/cpu/smt"
    folder.mkdir(parents=True)
    (folder / "active").write_text(f"{active}\n")
    (folder / "control").write_text(f"{control}\n")
    assert _values(malformed)["smt"] == told


def test_a_kernel_without_mitigations_has_them_off(malformed: SystemRoots) -> None:
    folder = malformed.sys / "devices/system/cpu/vulnerabilities"
    folder.mkdir(parents=True)
    (folder / "meltdown").write_text("Vulnerable\n")
    assert _values(malformed)["mitigations"] == "off (0 mitigated, 1 vulnerable)"


def test_a_machine_without_swap_has_none(malformed: SystemRoots) -> None:
    (malformed.proc / "meminfo").write_text("SwapTotal:  0 kB\nSwapFree:  0 kB\n")
    assert _values(malformed)["swap"] == "none"


# adjtimex(2): TIME_OK 0 ... TIME_WAIT 4, TIME_ERROR 5; -1 on failure
@pytest.mark.parametrize(
    ("state", "told"), [(0, "synchronized"), (4, "synchronized"), (5, "not synchronized"), (-1, None)]
)
def test_adjtimex_in_words(state: int, told: str | None) -> None:
    assert sync_text(state) == told
