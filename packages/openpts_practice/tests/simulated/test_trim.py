"""The test of trims on drives whose trims take a planted time, and hold up reads and writes or don't."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from openpts.fields.conditions import Conditions
from openpts.record.reader import Run
from openpts.report.run_part import summarize
from openpts.units import GIB, KIB, MIB, NS_PER_S
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.trimmed_reads import Promise
from openpts_practice.trim import TrimConditions
from tests.support.oracle_presets import write_oracle
from tests.support.whole_tests import run_whole

COMMAND_US, IOPS = 100, 100_000
BESIDE_MIB = 32


def trimming(folder: Path, *, mib_us: int, blocks: bool) -> Run:
    """A run of seconds on a drive of 8 GiB that serves 100,000 I/Os a second and one trim after the other."""
    folder.mkdir()
    times = f"command_us = {COMMAND_US}.0\nmib_us = {mib_us}.0\nblocks = {str(blocks).lower()}"
    preset = write_oracle(folder, [IOPS], extra=f"[oracle.trims]\n{times}")

    def shortened(conditions: Conditions) -> Conditions:
        assert isinstance(conditions, TrimConditions)
        return replace(
            conditions,
            minute_ns=NS_PER_S,
            sizes_bytes=(4 * KIB, MIB, 2 * GIB),
            qds=(1, 2),
            trims=1000,
            beside_size_bytes=BESIDE_MIB * MIB,
            precondition_passes=0.1,
        )

    return run_whole("trim", DriveClass.ENTERPRISE, folder / "run", shortened, f"sim:{preset}?capacity=8GiB")


@pytest.fixture(scope="module")
def stalling(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return trimming(tmp_path_factory.mktemp("trims") / "stalling", mib_us=50, blocks=True)


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return trimming(tmp_path_factory.mktemp("trims") / "clean", mib_us=50, blocks=False)


def test_rates_and_response_times_are_those_of_the_planted_times(stalling: Run) -> None:
    """One after the other: with two outstanding each waits for the one before, and the rate stays."""
    points = summarize(stalling)["points"]
    assert [(point["size_bytes"], point["qd"], point["ios"]) for point in points] == [
        (4 * KIB, 1, 1000),
        (4 * KIB, 2, 1000),
        (MIB, 1, 1000),
        (MIB, 2, 1000),
        (2 * GIB, 1, 2),
        (2 * GIB, 2, 2),
    ]
    for point in points:
        service_us = COMMAND_US + 50 * point["size_bytes"] / MIB
        assert point["per_s"] == pytest.approx(1e6 / service_us, rel=1e-5)
        if point["qd"] == 1:
            assert point["mean_ms"] == pytest.approx(service_us / 1e3, rel=1e-5)
        assert point["longest_ms"] == pytest.approx(point["qd"] * service_us / 1e3, rel=1e-5)


def test_a_drive_that_stalls_reads_during_trims_is_found(stalling: Run) -> None:
    """A trim of 32 MiB takes 1.7 ms, ten times a second: what is planned in that time waits for its end."""
    figures = summarize(stalling)
    service_ms = (COMMAND_US + 50 * BESIDE_MIB) / 1e3
    for name in ("reads", "writes"):
        beside = figures["beside"][name]
        assert (beside["effect"], beside["broken"]) == ("stalled by trims", ["percentile"])
        assert beside["beside"]["longest_ms"] == pytest.approx(service_ms, rel=0.05)
        assert beside["before"] == beside["after"]
        assert beside["before"]["longest_ms"] < 0.1
    assert figures["trims_beside"]["per_s"] == pytest.approx(10, rel=0.01)


def test_a_drive_with_a_server_for_trims_is_clean(clean: Run) -> None:
    figures = summarize(clean)
    for name in ("reads", "writes"):
        beside = figures["beside"][name]
        assert (beside["effect"], beside["broken"]) == ("clean", [])
        assert beside["before"]["longest_ms"] == beside["beside"]["longest_ms"]
    assert figures["beside"]["reads"]["beside"]["per_s"] == pytest.approx(0.3 * IOPS, rel=0.001)
    # its trims take as long, one after the other
    service_ms = (COMMAND_US + 50 * BESIDE_MIB) / 1e3
    assert figures["trims_beside"]["longest_ms"] == pytest.approx(service_ms, rel=0.001)


def test_a_long_stall_is_named(tmp_path: Path) -> None:
    run = trimming(tmp_path / "long", mib_us=1000, blocks=True)
    beside = summarize(run)["beside"]["reads"]
    assert beside["broken"][:2] == ["percentile", "longest"]
    assert beside["beside"]["longest_ms"] == pytest.approx(COMMAND_US / 1e3 + BESIDE_MIB, rel=0.01)


def test_what_is_read_of_trimmed_lbas_is_not_known_without_data(clean: Run) -> None:
    assert clean.manifest.trimmed is not None
    assert clean.manifest.trimmed.promise is Promise.UNKNOWN
    assert clean.manifest.trimmed.reason == "a simulated drive keeps no data"


@pytest.mark.slow
def test_a_scaled_drive_of_flash(tmp_path: Path) -> None:
    """The front end of the preset carries out trims: 67 times smaller, it takes trims of the same sizes."""

    def shortened(conditions: Conditions) -> Conditions:
        return replace(conditions, precondition_passes=0.1, sizes_bytes=(4 * KIB, 256 * MIB))

    run = run_whole("trim", DriveClass.ENTERPRISE, tmp_path / "run", shortened)
    points = summarize(run)["points"]
    assert {point["size_bytes"] for point in points} == {4 * KIB, 256 * MIB}
    # 5 us for a command and 0.01 us for each page
    for point in (point for point in points if point["qd"] == 1):
        assert point["mean_ms"] * 1e3 == pytest.approx(5 + point["size_bytes"] / 4096 / 100, abs=20)
