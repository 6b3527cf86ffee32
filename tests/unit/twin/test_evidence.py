"""What runs show of a drive, of runs that never were."""

import pytest
from msgspec.structs import replace

from openpts.analysis.latency import encode_counts
from openpts.errors import UsageError
from openpts.vocabulary.facts import Fact
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.sample import NOTHING, OperationSample
from openpts_twin.twin.evidence import evidence_of, figures_of
from tests.support.made_up_run import CAPACITY_BYTES, telling_run


def test_runs_of_one_drive_are_taken_together_with_their_first_round() -> None:
    runs = [telling_run("iops"), telling_run("lat")]
    evidence = evidence_of(runs)
    assert [part.test for part in evidence.parts] == ["iops", "lat"]
    assert evidence.capacity_bytes == CAPACITY_BYTES
    assert evidence.scale == 1
    of_round = [step for step in runs[0].steps if step.place.phase is Phase.ROUND and step.place.number == 1]
    before = [step for step in runs[0].steps if step.place.phase is not Phase.ROUND]
    assert len(evidence.parts[0].steps) == len(of_round) + len(before)
    assert evidence.parts[0].measured[-1]["rate"] == of_round[-1].sample.iops


def test_runs_of_two_drives_are_refused_by_name() -> None:
    one, other = telling_run("iops"), telling_run("tp")
    dut = {**other.manifest.dut, "serial": Fact("ANOTHER", "nvme id-ctrl")}
    other = replace(other, manifest=replace(other.manifest, dut=dut))
    with pytest.raises(UsageError, match=r"is of another drive than .*ANOTHER.*: fit each drive by itself"):
        evidence_of([one, other])


def test_a_percentile_that_too_few_ios_tell_is_no_figure() -> None:
    sample = telling_run("iops").steps[-1].sample

    def shown(ios: int) -> set[str]:
        reads = OperationSample(ios, ios * 4096, ios * 1000, 1000, 1000, encode_counts([(1000, ios)]))
        return set(figures_of(replace(sample, read=reads, write=NOTHING), CAPACITY_BYTES))

    assert shown(10_000) == {"rate", "read mean", "read p50", "read p99", "read p99.9"}
    assert shown(9_999) == {"rate", "read mean", "read p50", "read p99"}
    assert shown(999) == {"rate", "read mean", "read p50"}
