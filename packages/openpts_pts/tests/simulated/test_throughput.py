"""The throughput test at full length on drives whose rates are published or written down."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from openpts.fields.conditions import Conditions
from openpts.report.build import build_report
from openpts.report.run_part import summarize
from openpts.report.sources import default_date
from openpts.units import KIB, MB, MIB, NS_PER_S
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.sample import Phase, StepState
from tests.support.oracle_presets import CAPACITY_BYTES, write_oracle
from tests.support.whole_tests import classes, run_whole


@pytest.mark.proves("PTS-TP-01..13", "PTS-TP-16")
@pytest.mark.parametrize("drive_class", classes(sampled=DriveClass.ENTERPRISE))
def test_two_cycles_of_known_sequence(tmp_path: Path, drive_class: DriveClass) -> None:
    run = run_whole("tp", drive_class, tmp_path / "run")
    target = run.manifest.target
    assert not run.manifest.shortened
    assert not [entry for entry in run.ledger if entry.rule_id.startswith("PTS-TP")]
    assert [cycle.title for cycle in run.manifest.cycles] == ["SEQ 128 KiB", "SEQ 1024 KiB"]
    assert len(run.manifest.purges) == len(run.manifest.write_caches) == 2
    for cycle, size in enumerate((128 * KIB, MIB), start=1):
        (wipc,) = run.phase(Phase.WIPC, cycle=cycle)
        assert wipc.sample.write.bytes == pytest.approx(2 * target.user_capacity_bytes, rel=1e-3)
        rounds = run.phase(Phase.ROUND, cycle=cycle)
        assert len(rounds) == 2 * run.manifest.cycles[cycle - 1].outcome.last_round
        for step in (wipc, *rounds):
            stimulus = step.sample.step.stimulus
            assert stimulus is not None
            assert (stimulus.tc, stimulus.qd, stimulus.random_pct) == (1, 32, 0)
            assert stimulus.block_size_bytes == size
            assert step.sample.state is StepState.COMPLETE
        for position, step in enumerate(rounds):
            operation = step.sample.read if position % 2 == 0 else step.sample.write
            assert operation.ios == step.sample.ios > 0
            # at a scale the moment in which the drive answers what is outstanding counts many times
            assert 60 * NS_PER_S <= step.sample.elapsed_ns < 66 * NS_PER_S
    figures = summarize(run)["cycles"]
    assert all(cycle["steady_state"]["reached"] for cycle in figures)
    small, large = ([entry["mb_per_s"] for entry in cycle["throughput"]] for cycle in figures)
    if drive_class is DriveClass.ENTERPRISE:  # both sizes are limited by flash and link alone on this drive
        assert small == pytest.approx(large, rel=0.05)
        assert large[1] > large[0] > 1500


def test_a_drive_of_known_rates_is_reported_with_exactly_those(tmp_path: Path) -> None:
    """The writes of four rounds climb before five are even: the window must be that of the five."""
    reads, climbing, even = 900.0, (300.0, 400.0, 500.0, 600.0), 800.0
    rounds = [rate for write in (*climbing, *[even] * 5) for rate in (reads, write)]
    preset = write_oracle(tmp_path, [1000, *rounds])  # a purge begins it anew
    run = run_whole("tp", DriveClass.ENTERPRISE, tmp_path / "run", target=f"sim:{preset}")
    assert run.manifest.target.user_capacity_bytes == CAPACITY_BYTES
    small, large = summarize(run)["cycles"]
    window = (climbing[3], *[even] * 4)  # its range is 200 of 760: more than 20 %, so not the one
    assert max(window) - min(window) > 0.2 * sum(window) / 5
    for cycle, size in ((small, 128 * KIB), (large, MIB)):
        assert cycle["steady_state"]["window"] == [5, 6, 7, 8, 9]
        found = [entry["mb_per_s"] for entry in cycle["throughput"]]
        assert found == pytest.approx([even * size / MB, reads * size / MB], rel=1e-3)
    tables = build_report(run, default_date(run)).tables()
    assert [tables[f"tp-{kib}-table"].rows[0].cells[0].text for kib in (128, 1024)] == ["104.9", "838.9"]


def test_the_short_form_measures_all_sizes_on_one_preconditioning(tmp_path: Path) -> None:
    target = "sim:enterprise-tlc?capacity=200GB&scale=50"

    def once(conditions: Conditions) -> Conditions:
        return replace(conditions, preconditions_once=True)  # type: ignore[call-arg] # of this test

    short = run_whole("tp", DriveClass.ENTERPRISE, tmp_path / "short", once, target)
    assert [purge.ran for purge in short.manifest.purges] == [True, False]
    assert [len(short.phase(Phase.WIPC, cycle=cycle)) for cycle in (1, 2)] == [1, 0]
    assert all(step.sample.elapsed_ns >= 60 * NS_PER_S for step in short.phase(Phase.ROUND))
    assert "PTS-TP-08" in {one.rule_id for one in short.ledger}
    long = run_whole("tp", DriveClass.ENTERPRISE, tmp_path / "long", target=target)
    found, true = (summarize(run)["measures"] for run in (short, long))
    # of the first size nothing is different; the second differs in what was written before
    for key in ("seq_128_kib.write", "seq_128_kib.read"):
        assert found[key]["value"] == true[key]["value"]
    for key in ("seq_1024_kib.write", "seq_1024_kib.read"):
        assert found[key]["value"] == pytest.approx(true[key]["value"], rel=0.02)
    build_report(short, default_date(short))
