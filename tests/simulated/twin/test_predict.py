"""What a twin predicts of tests, jobs and traces, through the command line."""

import json
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from statistics import median
from typing import Any

import pytest
import tomli_w
from click.testing import CliRunner

from openpts.api import read_run, run_test
from openpts_twin.cli.predict import predict
from openpts_twin.twin.predict import Quantity, kind_of_time, quantities

JOB = """
[global]
bs=8k
time_based
runtime=60
[reader]
rw=randread
iodepth=16
[log]
stonewall
rw=write
iodepth=1
"""
WORDS = ("--quick", "--seed", "3")
LESS_READ_US, READ_US, MORE_READ_US = 50.0, 62.0, 75.0


@pytest.fixture
def job(tmp_path: Path) -> Path:
    path = tmp_path / "database.fio"
    path.write_text(JOB)
    return path


@pytest.fixture
def twin(tmp_path: Path) -> Path:
    """A preset with a fit beside it that leaves the read time open."""
    text = (files("openpts.simulation") / "presets" / "enterprise-tlc.toml").read_text(encoding="utf-8")
    path = tmp_path / "drive.toml"
    path.write_text(text)
    alternatives: list[dict[str, Any]] = [
        {"page_mapped.nand.read_us": LESS_READ_US, "page_mapped.collection.victim": {"choices": 8}},
        {"page_mapped.nand.read_us": MORE_READ_US, "page_mapped.idle.folds": True},
    ]
    fit = {
        "preset_sha256": sha256(text.encode()).hexdigest(),
        "runs": ["iops in IOPS"],
        "scale": 290,
        "error_pct": {"rate": 1.0, "mean": 2.0, "p99": 5.0},
        "alternatives": alternatives,
    }
    path.with_suffix(".fit.toml").write_text(tomli_w.dumps(fit))
    return path


def predicted(*words: str) -> dict[str, Any]:
    result = CliRunner().invoke(predict, [*words[:2], "--json", *words[2:]], standalone_mode=False)
    assert result.exception is None, result.exception
    return {one["key"]: one for one in json.loads(result.stdout)["predictions"]}


@pytest.mark.slow
def test_a_job_on_a_twin_and_its_alternatives(tmp_path: Path, twin: Path, job: Path) -> None:
    """Values are medians of runs on the preset and on its alternatives; what depends on the open parameter
    has the wider interval.
    """
    found = predicted(str(twin), str(job), "--out", str(tmp_path / "out"), "--", *WORDS)
    target = f"sim:{twin}?scale=290"
    own = quantities(run_test("workload", str(job), target, *WORDS, out=tmp_path / "own"))
    runs = [own] + [quantities(read_run(tmp_path / "out" / f"alternative-{one}")) for one in (1, 2)]
    assert own.keys() == found.keys()
    assert all(one["value"] == median(run[key].value for run in runs) for key, one in found.items())

    def reach(key: str) -> float:
        one = found[key]
        return float((one["high"] - one["low"]) / one["value"])

    assert reach("reader_read.iops") > 0.3
    assert reach("log_write.iops") == pytest.approx(2 * 1.96 * 0.01, rel=0.5)
    assert read_run(tmp_path / "out" / "twin").manifest.conditions.seed == 3
    for alternative in (1, 2):
        conditions = read_run(tmp_path / "out" / f"alternative-{alternative}").manifest.conditions
        assert conditions.seed == alternative
        other = runs[alternative]["reader_read.iops"].value
        assert found["reader_read.iops"]["low"] < other < found["reader_read.iops"]["high"]


@pytest.mark.parametrize("trace", ["tests/data/captures/format-1.parquet", "recipe:boot"])
def test_a_trace_is_replayed_in_its_own_size(trace: str) -> None:
    """That needs a drive that is small enough; the scale is 1 without a word."""
    found = predicted("mlc", trace, "--", "--seed", "3")
    assert found["read_p99"]["value"] > 0
    assert found["read_p99"]["low"] is None


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("read_p99", "p99"),
        ("db.read.p99_99", "p99.9"),
        ("rnd_4_kib_rw0.five_nines", "p99.9"),
        ("art", "mean"),
    ],
)
def test_which_error_of_the_fit_a_response_time_has(key: str, kind: str) -> None:
    assert kind_of_time(key) == kind


def test_a_gain_is_off_by_points_of_per_cent_and_may_be_a_loss() -> None:
    """Beside two rates, each of which is off by as much: a share of a gain near nothing says nothing."""
    gain, rate = (Quantity("a value", unit, "rate", 2.0) for unit in ("%", "IOPS"))
    assert gain.error_pct(2.0, 1.0) == 1.0
    assert gain.error_pct(2.0, 0.0) == 2.0
    assert rate.error_pct(2.0, 1.0) == 100.0
    assert rate.error_pct(2.0, 0.0) is None
