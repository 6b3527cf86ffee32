"""A served drive behind the kernel's own nvme-tcp, in the device lab: what no emulator of the lab has.

Sanitize that takes its time, a write cache whose switch is felt, a temperature that rises, a drive that says
it was formatted and was not. One machine for all of it; OPENPTS_LAB names the lab's program.
"""

import json
import os
from pathlib import Path

import pytest

from openpts.record.manifest import RunState
from openpts.record.reader import Run, read_run
from tests.lab.machine import FORKED, ONE_ELEMENT, QUICK, SHORT, TESTBENCH, complaints, in_lab, needs_lab

pytestmark = needs_lab

SERIAL = "SIMLAB0001"
LIAR = "SIMLAB0002"

# Serves a drive as $1 on port $2 with more options, and connects it; prints its node.
_SERVE = f"""
served() {{
  name=$1; port=$2; shift 2
  {TESTBENCH} --nvme-tcp 127.0.0.1:$port --serial $name "$@" > $LAB_SHARE/$name.json &
  echo $! > /tmp/$name.pid
  until [ -s $LAB_SHARE/$name.json ]; do sleep 0.2; done
  $(sed -n 's/.*"connect": "\\([^"]*\\)".*/\\1/p' $LAB_SHARE/$name.json) > /dev/null || return 1
  until grep -qs $name /sys/class/nvme/nvme*/serial && [ -b $(node $name) ]; do sleep 0.2; done
}}
node() {{
  echo /dev/$(basename $(dirname $(grep -l $1 /sys/class/nvme/nvme*/serial)))n1
}}
"""


@pytest.fixture(scope="module")
def folder(disk_path_factory: pytest.TempPathFactory) -> Path:
    """What the machine left."""
    folder = disk_path_factory.mktemp("served")
    purge = "openpts purge --confirm-serial"
    ended = in_lab(
        folder,
        *QUICK,
        timeout_s=900,
        script=f"""
        exec 2> {folder}/errors.log
        set -x
        export PYTHONPATH={os.environ.get("PYTHONPATH", "")}
        {FORKED}
        modprobe nvme-tcp || exit 10
        {_SERVE}
        served {SERIAL} 4420 --sanitize-takes 2 'client-qlc?capacity=200MB' || exit 11
        drive=$(node {SERIAL})
        openpts devices --json > {folder}/devices.json || exit 12
        fio --name=verify --filename=$drive --direct=1 --rw=randwrite --bs=4k --iodepth=8 \\
          --ioengine=io_uring --size=4M --verify=crc32c --verify_fatal=1 --output-format=json \\
          > {folder}/fio.json || exit 13
        nvme smart-log ${{drive%n1}} -o json > {folder}/cool.json
        nvme device-self-test ${{drive%n1}} -n 0xffffffff -s 2 || exit 14
        openpts doctor $drive --json > {folder}/testing.json || exit 15
        nvme device-self-test ${{drive%n1}} -n 0xffffffff -s 0xf || exit 16
        openpts doctor $drive --json > {folder}/tested.json || exit 17
        nvme self-test-log ${{drive%n1}} -o json > {folder}/self-tests.json || exit 18
        for method in nvme-sanitize-block nvme-sanitize-crypto nvme-format-crypto nvme-format; do
          {purge} {SERIAL} --method $method $drive --json > {folder}/$method.json || exit 20
        done
        openpts run iops $drive --confirm-serial {SERIAL} --purge nvme-sanitize-block {SHORT} \\
          {ONE_ELEMENT} --out {folder}/run > {folder}/run.log || exit 30
        nvme get-feature ${{drive%n1}} -f 6 > {folder}/cache-after
        nvme smart-log ${{drive%n1}} -o json > {folder}/warm.json
        served {LIAR} 4421 --format-lies 'client-qlc?capacity=200MB&seed=2' || exit 40
        {purge} {LIAR} --method nvme-format $(node {LIAR}) 2> {folder}/lie > {folder}/lie.log
        echo $? > {folder}/lie-status
        nvme disconnect-all
        kill $(cat /tmp/{SERIAL}.pid /tmp/{LIAR}.pid)
        wait $(cat /tmp/{SERIAL}.pid /tmp/{LIAR}.pid)
        """,
    )
    assert ended.returncode == 0, ended.stderr + complaints(folder)
    return folder


@pytest.fixture(scope="module")
def run(folder: Path) -> Run:
    """The IOPS test on it."""
    return read_run(folder / "run")


def test_it_is_listed_as_a_drive(folder: Path) -> None:
    (listed,) = [
        each
        for each in json.loads((folder / "devices.json").read_text())["devices"]
        if each["serial"] == SERIAL
    ]
    assert listed["model"] == "openpts SIMULATED client-qlc"
    methods = {each["name"]: each["supported"] for each in listed["purge_methods"]}
    assert methods["nvme-sanitize-block"]
    assert methods["nvme-format-crypto"]


def test_fio_reads_what_it_wrote(folder: Path) -> None:
    (job,) = json.loads((folder / "fio.json").read_text())["jobs"]
    assert job["error"] == 0
    assert job["read"]["total_ios"] == job["write"]["total_ios"] == 1024


@pytest.mark.parametrize(
    "method", ["nvme-sanitize-block", "nvme-sanitize-crypto", "nvme-format-crypto", "nvme-format"]
)
def test_each_purge_is_proven(folder: Path, method: str) -> None:
    purged = json.loads((folder / f"{method}.json").read_text())["purge"]
    assert purged["name"] == method
    assert purged["samples"] == purged["changed_samples"] > 0


def test_a_whole_test_runs_on_it_and_its_cache_was_switched(folder: Path, run: Run) -> None:
    assert run.manifest.state is RunState.COMPLETE
    assert run.manifest.dut["serial"].value == SERIAL
    (purge,) = run.manifest.purges
    assert purge.changed_samples == purge.samples > 0
    (cache,) = run.manifest.write_caches
    assert (cache.required, cache.actual) == ("WCD", "WCD")
    assert cache.source.endswith("set by openpts, was WCE")
    assert "00000001" in (folder / "cache-after").read_text()


def test_temperature_and_data_units_move(folder: Path, run: Run) -> None:
    cool, warm = (json.loads((folder / name).read_text()) for name in ("cool.json", "warm.json"))
    assert warm["temperature"] > cool["temperature"] > 273
    assert int(warm["data_units_written"]) > int(cool["data_units_written"])
    # in whole kelvins it may stand still during the run, which began on a drive that purges had warmed
    temperatures = run.telemetry_series["temperature_c"].values
    assert min(temperatures) > cool["temperature"] - 273.15
    assert max(temperatures) == pytest.approx(warm["temperature"] - 273.15, abs=1.1)


def test_a_format_that_lies_is_found_out(folder: Path) -> None:
    assert (folder / "lie-status").read_text().strip() == "6"
    assert "Traceback" not in (folder / "lie").read_text()


def test_it_tells_how_well_it_served(folder: Path) -> None:
    begun, ended = map(json.loads, (folder / f"{SERIAL}.json").read_text().splitlines())
    assert begun["serial"] == SERIAL
    assert ended["ios"] > 1024
    assert ended["late_max_ns"] >= ended["late_p99_ns"] >= ended["late_p50_ns"]
    assert ended["connections"] == 0


def test_a_self_test_is_seen_by_the_doctor_while_it_goes_on(folder: Path) -> None:
    during, afterwards = (
        next(
            line for line in json.loads((folder / name).read_text())["settings"] if line["key"] == "self_test"
        )
        for name in ("testing.json", "tested.json")
    )
    assert during["now"].startswith("extended self-test, ")
    assert during["grade"] == "bad"
    assert (afterwards["now"], afterwards["grade"]) == ("none", "good")
    # nvme-cli reads the same log: the newest was extended, and ended by the command
    newest = json.loads((folder / "self-tests.json").read_text())["List of Valid Reports"][0]
    assert (newest["Self test code"], newest["Self test result"]) == (2, 1)
