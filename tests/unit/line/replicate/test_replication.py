"""E_n against exact arithmetic and chance, passports in their three forms, and what is said of two runs."""

import json
import math
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec.structs import replace
from scipy.stats import norm

from openpts.analysis.uncertainty import Block, of_mean
from openpts.cli.main import cli
from openpts.errors import OpenptsError
from openpts.record.clock_rate import clock_rate
from openpts.record.manifest import RunState
from openpts.record.reader import Run
from openpts.report.sources import read_for_report
from openpts.report.summary import summarize
from openpts.vocabulary.facts import Fact
from openpts_line.replicate.passport import KeyValue, Passport
from openpts_line.replicate.replication import Agreement, e_n, e_n_limit, replicated
from openpts_line.seal.statement import stated
from tests.support.synthetic_run import Synthetic, write_synthetic_run
from tests.support.transcript import Golden

SETTLED = Synthetic(rounds=14, steady_round=14)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("passport") / "theirs"
    write_synthetic_run(path, SETTLED)
    return path


@pytest.fixture(scope="session")
def run(folder: Path) -> Run:
    return read_for_report(folder)


def passport(values: dict[str, KeyValue], run_id: str) -> Passport:
    return Passport(
        name=run_id, run_id=run_id, test="iops", state=RunState.COMPLETE, key_values=values, measured={}
    )


def test_e_n_is_the_difference_over_both_uncertainties() -> None:
    # 3, 4, 5 and 5, 12, 13: the root is a whole number
    reference = KeyValue("IOPS", 100.0, 4.0)
    assert e_n(KeyValue("IOPS", 105.0, 3.0), reference) == (1.0, "")
    assert e_n(KeyValue("IOPS", 87.0, 3.0), reference) == (-2.6, "")
    assert e_n(KeyValue("ms", 26.0, 12.0), KeyValue("ms", 0.0, 5.0)) == (2.0, "")
    assert e_n(KeyValue("IOPS", 100.0, 0.0), KeyValue("IOPS", 100.0, 0.0)) == (0.0, "")


def test_one_agrees_and_what_is_above_it_does_not() -> None:
    reference = {"a": KeyValue("IOPS", 100.0, 4.0)}
    for value, agreement in ((105.0, Agreement.AGREES), (math.nextafter(105, 106), Agreement.DIFFERS)):
        found = replicated(passport(reference, "x"), passport({"a": KeyValue("IOPS", value, 3.0)}, "y"))
        assert (found.verdict, found.key_values[0].agreement) == (agreement, agreement)


@pytest.mark.parametrize("count", [1, 2, 4, 56])
def test_the_limit_of_the_largest_of_several(count: int) -> None:
    expected = norm.isf(0.025 / count) / norm.isf(0.025)
    assert e_n_limit(count) == pytest.approx(expected, rel=1e-9)


def test_chance_makes_runs_differ_in_one_of_twenty_at_most() -> None:
    chance = random.Random(36)

    def measured() -> dict[str, KeyValue]:
        found = {}
        for name in "abc":
            rounds = [100 + chance.gauss(0, 1) for _ in range(5)]
            blocks = [Block(number, 1, value) for number, value in enumerate(rounds)]
            found[name] = KeyValue("IOPS", math.fsum(rounds) / 5, of_mean(blocks).expanded)
        return found

    pairs = [replicated(passport(measured(), "x"), passport(measured(), "y")) for _ in range(2000)]
    alarms = sum(one.verdict is not Agreement.AGREES for one in pairs)
    assert 0 < alarms <= 2000 * 0.05


def test_what_has_no_e_n_says_why(golden: Golden) -> None:
    plain = KeyValue("IOPS", 100.0, 4.0)
    others = (KeyValue("ms", 1.0, 1.0), replace(plain, value=None), replace(plain, expanded_uncertainty=None))
    reasons = [e_n(other, plain) for other in others]
    reasons.append(e_n(KeyValue("IOPS", 101.0, 0.0), replace(plain, expanded_uncertainty=0.0)))
    assert [value for value, _ in reasons] == [None] * 4
    assert "\n".join(reason for _, reason in reasons) == golden


def test_a_seal_alone_is_the_same_passport(folder: Path, run: Run, tmp_path: Path) -> None:
    seal = tmp_path / "seal.json"
    seal.write_bytes(stated(folder))
    own, sealed = Passport.of(run), Passport.read(seal)
    assert (sealed.key_values, sealed.measured, sealed.run_id) == (own.key_values, own.measured, own.run_id)
    assert sealed.manifest is not None
    assert sealed.manifest.conditions == run.manifest.conditions
    assert replicated(sealed, own).differences == ()
    assert any(one.expanded_uncertainty for one in sealed.key_values.values())


def test_a_damaged_seal_is_refused_or_read(folder: Path, tmp_path: Path) -> None:
    chance, sound, seal = random.Random(36), stated(folder), tmp_path / "seal.json"
    refused = 0
    for _ in range(300):
        at, length = chance.randrange(len(sound)), chance.randrange(20)
        seal.write_bytes(sound[:at] + chance.randbytes(chance.randrange(3)) + sound[at + length :])
        try:
            Passport.read(seal)
        except OpenptsError:
            refused += 1
    assert refused > 200


def test_printed_json_has_figures_and_no_conditions(run: Run, tmp_path: Path) -> None:
    printed = tmp_path / "run.json"
    printed.write_text(json.dumps(summarize(run)))
    own, read = Passport.of(run), Passport.read(printed)
    assert read.manifest is None
    assert {key: read.key_values[key] for key in own.key_values} == own.key_values
    assert replicated(read, own).conditions_known is False


def said(*words: object) -> str:
    """What a command prints, and how it ends: the error, if there is one, and the exit code."""
    result = CliRunner().invoke(cli, [str(word) for word in words], standalone_mode=False)
    error = result.exception
    assert error is None or isinstance(error, OpenptsError), result.output
    ended = result.return_value if error is None else f"{error.exit_code}: {error}"
    return f"{result.output}{ended}"


def in_labs(share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs read as on a host; that of `ours` sleeps deeper, and its steps take so much longer."""

    def read(folder: Path) -> Run:
        run, is_ours = read_for_report(folder), folder.name == "ours"
        deepest = "C6 (170 us to wake)" if is_ours else "C1 (2 us to wake)"
        longer = share if is_ours else 1
        steps = tuple(
            replace(one, sample=replace(one.sample, elapsed_ns=round(one.sample.elapsed_ns * longer)))
            for one in run.steps
        )
        manifest = replace(
            run.manifest,
            test_id=folder.name,
            host_before={"c_states": Fact(deepest, "cpuidle"), "governor": Fact("performance", "cpufreq")},
            host={} if is_ours else run.manifest.host,
        )
        return replace(run, steps=steps, manifest=manifest)

    monkeypatch.setattr("openpts_line.replicate.passport.read_for_report", read)


@pytest.mark.parametrize("share", [1.0, 1.1])
def test_what_is_said_of_two_runs(
    folder: Path, tmp_path: Path, golden: Golden, monkeypatch: pytest.MonkeyPatch, share: float
) -> None:
    ours = tmp_path / "ours"
    write_synthetic_run(ours, SETTLED)
    in_labs(share, monkeypatch)
    text = said("replicate", folder, ours).replace(str(folder), "theirs").replace(str(tmp_path), "TMP")
    assert text == golden
    assert text.rpartition("\n")[2] == ("10" if share > 1 else "0")


def test_what_can_be_no_passport(folder: Path, tmp_path: Path, golden: Golden) -> None:
    (tmp_path / "x.json").write_text('{"schema": "openpts.io/1"}')
    (tmp_path / "x.txt").write_text("no JSON")
    words = [
        ("replicate", folder, folder),
        ("replicate", tmp_path / "x.json", folder),
        ("replicate", tmp_path / "x.txt", folder),
        ("replicate", tmp_path / "none", folder),
        ("replicate", folder, folder, "--out", "x"),
    ]
    texts = "\n".join(said(*one) for one in words)
    assert texts.replace(str(tmp_path), "TMP").replace(str(folder), "theirs") == golden


def test_steps_that_were_cut_off_at_one_moment_have_no_rate() -> None:
    began = datetime(2026, 11, 27, tzinfo=UTC)
    late, soon = (began + timedelta(seconds=seconds) for seconds in (100, 60))
    assert clock_rate([(began, 0), (late, 60_000_000_000), *[(soon, 60_000_000_000)] * 9]) is None


@pytest.mark.parametrize("ppm", [-200.0, 0.0, 200.0])
def test_the_rate_of_a_clock_lies_within_its_bound(ppm: float) -> None:
    chance = random.Random(round(ppm))
    began = datetime(2026, 11, 27, tzinfo=UTC)
    stored = [
        (
            began + timedelta(minutes=minute, milliseconds=1 + round(chance.expovariate(0.2))),
            round(minute * 60e9 * (1 - ppm / 1e6)),
        )
        for minute in range(0, 240, 4)
    ]
    found = clock_rate(stored)
    assert found is not None
    assert found.bound_ppm < 5
    assert abs(found.ppm - ppm) < found.bound_ppm + 0.1
    assert clock_rate(stored[:7]) is None
