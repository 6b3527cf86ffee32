"""Questions to simulated drives, of which the answer is known beforehand, and to made-up purposes."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from msgspec.structs import replace
from scipy.optimize import minimize_scalar

from openpts.cli.report import report
from openpts.errors import LimitError, NoVerdictError, UsageError
from openpts.record.health import TelemetryPoint
from openpts.record.reader import Run, read_run
from openpts.vocabulary.facts import Fact, HealthReading
from openpts.vocabulary.limit import Judgement
from openpts.vocabulary.sample import Phase
from openpts_check.answer import JudgedFigure, answer_of
from openpts_check.cli.check import check, screen_lines
from openpts_check.purpose import BUFFERED_LOOP, DEVICE_READS, Seen, purpose_named, purpose_names
from openpts_compare.cli.verify import verify
from tests.support.oracle_presets import write_oracle
from tests.support.plugin_folders import installed
from tests.support.transcript import Transcript

ALL_OUT, CAMERA = 0, 1


def asked(*words: str, cwd: Path) -> tuple[Any, int]:
    """The object that a question prints, and its exit code."""
    ended = CliRunner().invoke(
        check, [*words, "--json", "--no-report", "--out", str(cwd / "run")], standalone_mode=False
    )
    assert ended.exception is None, ended.exception
    return json.loads(ended.stdout), ended.return_value


def figure(answer: Any, key: str) -> Any:
    return next(one for one in answer["figures"] if one["key"] == key)


@pytest.mark.parametrize(
    ("iops", "code", "judgements"),
    [
        ([200.0, 1000.0] * 2, 0, ["pass", "pass", "pass"]),
        ([50.0, 1000.0] * 2, LimitError.exit_code, ["fail", "fail", "pass"]),
        # one of two repeats is below 90 MB/s: 86 blocks of 1 MiB a second are
        ([60.0, 1000.0, 200.0, 1000.0], NoVerdictError.exit_code, ["no verdict", "no verdict", "pass"]),
    ],
)
def test_a_recording_is_answered_by_what_the_drive_follows(tmp_path, iops, code, judgements) -> None:
    """Writes of 1 MiB at so many a second in each load: all out, then at the camera's rate, twice."""
    drive = f"sim:{write_oracle(tmp_path, iops)}"
    words = ("--for", "record", "--size", "128MiB", "--repeats", "2", "--minutes", "0.1", "--seed", "1")
    answer, exit_code = asked(drive, *words, cwd=tmp_path)
    assert [one["judgement"] for one in answer["figures"]] == judgements
    assert exit_code == code
    expected = [rate * 1024**2 / 1e6 for rate in iops[::2]]
    assert figure(answer, "write_rate")["repeats"] == pytest.approx(expected, rel=0.02)


def test_a_camera_that_the_disk_cant_follow_waits(tmp_path) -> None:
    """At 43 blocks/s, half of what the camera makes, blocks wait for the whole buffer of half a second."""
    drive = f"sim:{write_oracle(tmp_path, [200.0, 43.0] * 2)}"
    words = ("--for", "record", "--size", "128MiB", "--repeats", "2", "--minutes", "0.2", "--seed", "1")
    answer, exit_code = asked(drive, *words, cwd=tmp_path)
    assert figure(answer, "longest_gap")["judgement"] == "fail"
    assert exit_code == LimitError.exit_code
    assert answer["next"] == [purpose_named("record").figures[2].remedy]


SHORTENED = {"kv-cache": ("--minutes", "1", "--size", "2GB"), "checkpoint": ("--size", "1GB")}


@pytest.mark.parametrize("purpose", purpose_names())
def test_each_purpose_answers_of_a_drive_for_data_centers(tmp_path, purpose) -> None:
    words = ("--for", purpose, *SHORTENED.get(purpose, ("--minutes", "0.2")), "--seed", "1")
    answer, exit_code = asked("sim:enterprise-tlc?capacity=16GB&scale=1", *words, cwd=tmp_path)
    assert exit_code == 0
    assert answer["answer"] == "pass"
    assert {one["judgement"] for one in answer["figures"]} == {"pass"}
    run = read_run(tmp_path / "run")
    lines = list(screen_lines(run, answer_of(run), ("run/report.html",), 80))
    assert lines[0].startswith("YES: ")
    assert max(map(len, lines)) <= 80
    assert len("\n".join(lines).partition("\n\nAlso ")[0].splitlines()) <= 18
    again = CliRunner().invoke(check, [str(tmp_path / "run"), "--json"], standalone_mode=False)
    assert json.loads(again.stdout) == answer, "the answer is a function of the record"
    twice = CliRunner().invoke(check, [str(tmp_path / "run"), "--for", purpose], standalone_mode=False)
    assert isinstance(twice.exception, UsageError)


@pytest.mark.parametrize("purpose", purpose_names())
def test_each_purpose_says_what_its_bounds_are_and_who_published_them(purpose) -> None:
    found = purpose_named(purpose)
    assert len(found.figures) == 3
    assert all(one.bound.source and one.remedy for one in found.figures)
    assert found.question.endswith("?")
    assert found.mistakes


@pytest.mark.parametrize(
    ("spelling", "purpose"),
    [
        *((name, "commit") for name in ("etcd", "postgres", "mysql")),
        *(("boot", "build"), ("llm", "stream"), ("video", "record"), ("desktop", "desktop")),
        *(("training", "checkpoint"), ("inference", "kv-cache")),
    ],
)
def test_a_spelling_of_a_purpose_is_that_purpose(spelling, purpose) -> None:
    assert purpose_named(spelling) is purpose_named(purpose)


def test_a_near_miss_is_suggested() -> None:
    with pytest.raises(UsageError, match=r"called 'postgress': did you mean postgres\? There are commit, "):
        purpose_named("postgress")
    with pytest.raises(
        UsageError, match=r"mean stream \(weights\), kv-cache or checkpoint\? There are commit, "
    ):
        purpose_named("AI")


def test_without_a_directory_the_purposes_are_listed() -> None:
    ended = CliRunner().invoke(check, [], standalone_mode=False)
    assert ended.return_value == 0
    assert all(f"  {name} " in ended.stdout for name in (*purpose_names(), "endurance"))
    alone = CliRunner().invoke(check, ["--for", "etcd"], standalone_mode=False)
    assert "name a directory on it, as in `openpts check DIR --for etcd`" in str(alone.exception)


def test_a_value_is_inside_its_own_range() -> None:
    """The best of all sizes over all repeats may be below the best of each."""
    asked_for = purpose_named("stream").figures[0]
    one = JudgedFigure(asked_for, 2.0, (2.5, 3.0), Judgement.FAIL)
    assert one.span == "2.00 to 3.00"


def test_the_rows_of_a_desktop_read_what_was_written_in_order(tmp_path) -> None:
    """As benchmarks do: no repeat reads what the one before has scattered."""
    words = ("--for", "desktop", "--seed", "1")
    asked("sim:client-qlc?capacity=8GB&scale=1", *words, cwd=tmp_path)
    steps = read_run(tmp_path / "run").phase(Phase.PROFILE)
    rates = [
        one.sample.bytes / one.sample.elapsed_ns
        for one in steps
        if one.sample.step.streams[0].name == "SEQ1M Q8T1 read"
    ]
    assert len(rates) == 3
    assert min(rates) > 0.6 * max(rates)


def test_reads_that_a_cache_answers_are_no_answer(tmp_path) -> None:
    """The kernel's count of what the disk gave out stays where it was."""
    asked(
        *("sim:enterprise-tlc?capacity=16GB&scale=1", "--for", "kv", "--minutes", "0.2", "--seed", "1"),
        cwd=tmp_path,
    )
    run = read_run(tmp_path / "run")
    samples = [step.sample for step in run.steps]
    times = {ns for one in samples for ns in (one.started_ns, one.started_ns + one.elapsed_ns)}
    answer = answer_of(replace(run, sampled=tuple(TelemetryPoint(ns, DEVICE_READS, 0.0) for ns in times)))
    assert answer.judgement is Judgement.NO_VERDICT
    assert "a cache of this host answered 100 % of the reads: the disk was not asked" in answer.sure


def test_a_loop_device_without_direct_io_is_named(tmp_path) -> None:
    words = ("--for", "kv", "--minutes", "0.2", "--seed", "1")
    asked("sim:enterprise-tlc?capacity=16GB&scale=1", *words, cwd=tmp_path)
    run = read_run(tmp_path / "run")
    facts = {**run.manifest.dut, "interface": Fact(BUFFERED_LOOP, "sysfs")}
    answer = answer_of(replace(run, manifest=replace(run.manifest, dut=facts)))
    assert answer.judgement is Judgement.NO_VERDICT
    assert answer.reason == "the page cache of this host answers for a loop device without direct I/O"
    assert answer.advice[0].endswith("`losetup --direct-io=on /dev/loopN`")


def test_heat_is_asked_for(tmp_path) -> None:
    words = ("--for", "stream", "--minutes", "0.2", "--repeats", "2", "--heated", "0.1", "--seed", "1")
    answer, _ = asked("sim:enterprise-tlc?capacity=16GB&scale=1", *words, cwd=tmp_path)
    assert figure(answer, "after_heat")["value"] == pytest.approx(100, rel=0.05)


def test_the_slowest_checkpoint_is_that_of_the_drives_script(tmp_path) -> None:
    """I/Os of 1 MiB at so many a second: written, read, twice; flushes take no time, then a second."""
    drive = f"sim:{write_oracle(tmp_path, [2000.0, 3000.0, 800.0, 2500.0])}?capacity=2GB"
    words = ("--for", "checkpoint", "--size", "1GB", "--repeats", "2", "--seed", "1")
    answer, exit_code = asked(drive, *words, cwd=tmp_path)
    assert exit_code == LimitError.exit_code
    assert figure(answer, "slowest_checkpoint")["value"] == pytest.approx(800 * 1024**2 / 1e9, rel=0.01)
    assert figure(answer, "slowest_restore")["value"] == pytest.approx(2500 * 1024**2 / 1e9, rel=0.01)
    run = read_run(tmp_path / "run")
    late = [
        replace(step, sample=replace(step.sample, elapsed_ns=10**9)) if step.sample.flush.ios else step
        for step in run.steps
    ]
    written_bytes = 10**9 // 1024**2 * 1024**2
    with_barrier = answer_of(replace(run, steps=late)).figures[0].value
    assert with_barrier == pytest.approx(written_bytes / 1e9 / (written_bytes / 1024**2 / 800 + 1), rel=0.01)


def test_the_bound_of_checkpoints_is_the_least_that_can_be_lost() -> None:
    """By minimizing the time for checkpoints plus half an interval lost at each failure."""
    between_failures_s = 54 * 86_400 / 419
    gb_per_s = purpose_named("checkpoint").figures[0].bound.value
    checkpoint_s = 105 / 8 / gb_per_s
    least = minimize_scalar(
        lambda every_s: checkpoint_s / every_s + every_s / (2 * between_failures_s),
        bounds=(1, between_failures_s),
        method="bounded",
    )
    assert least.fun == pytest.approx(0.05, rel=0.01)


def test_an_attention_cache_has_the_published_bytes(tmp_path) -> None:
    """621 tokens of 131,072 bytes are written each second, and three times as many read."""
    words = ("--for", "kv-cache", "--minutes", "5", "--repeats", "2", "--size", "2GB", "--seed", "1")
    asked("sim:enterprise-tlc?capacity=16GB&scale=1", *words, cwd=tmp_path)
    served = [one.sample for one in read_run(tmp_path / "run").phase(Phase.PROFILE)][::2]
    written, read = (sum(getattr(one, name).bytes for one in served) for name in ("write", "read"))
    elapsed_s = sum(one.elapsed_ns for one in served) / 1e9
    ios = sum(one.write.ios for one in served)
    assert written / elapsed_s == pytest.approx(621 * 131_072, rel=3 / ios**0.5), "a Poisson process"
    assert read / written == pytest.approx(3, rel=3 / ios**0.5)


def test_life_is_what_the_log_leaves_at_the_rate_of_the_load() -> None:
    """10 % gone after 60 TB leaves 540 TB: at 621 tokens a second 76.8 days."""
    reading = HealthReading("log", {"host_write_bytes": 60e12, "percentage_used_pct": 10})
    years = purpose_named("inference").figures[2].of(Seen({}, reading, reading))
    assert years == pytest.approx(540e12 / (621 * 131_072) / 86_400 / 365.25, rel=1e-3)


def test_the_screen(tmp_path, snapshot, monkeypatch) -> None:
    """One screen: the answer, its figures with their bounds, how sure, what next."""
    monkeypatch.chdir(tmp_path)
    drive = f"sim:{write_oracle(Path(), [50.0, 1000.0] * 2)}"
    words = ("--for", "record", "--size", "128MiB", "--repeats", "2", "--minutes", "0.1", "--seed", "1")
    ended = CliRunner().invoke(check, [drive, *words, "--no-report", "--out", "run"], standalone_mode=False)
    assert ended.output == snapshot.use_extension(Transcript)


def test_the_report_repeats_the_record(tmp_path) -> None:
    words = ("--for", "kv", "--minutes", "0.2", "--seed", "1")
    asked("sim:enterprise-tlc?capacity=16GB&scale=1", *words, cwd=tmp_path)
    run = str(tmp_path / "run")
    assert CliRunner().invoke(report, [run, "--no-html", "--no-pdf"], standalone_mode=False).exception is None
    ended = CliRunner().invoke(verify, [run], standalone_mode=False)
    assert ended.exception is None, ended.output


def slowed_down(run: Run) -> Run:
    """As if its log had counted a change to a slower thermal state."""
    first, last = (
        replace(record, reading=replace(record.reading, values={"throttle_events": events}))
        for record, events in zip((run.health[0], run.health[-1]), (4, 5), strict=True)
    )
    return replace(run, health=(first, last))


def test_a_drive_that_was_throttled_fails_nothing(tmp_path) -> None:
    drive = f"sim:{write_oracle(tmp_path, [50.0, 1000.0] * 2)}"
    words = ("--for", "record", "--size", "128MiB", "--repeats", "2", "--minutes", "0.1", "--seed", "1")
    asked(drive, *words, cwd=tmp_path)
    run = read_run(tmp_path / "run")
    assert answer_of(run).judgement is Judgement.FAIL
    answer = answer_of(slowed_down(run))
    assert answer.judgement is Judgement.NO_VERDICT
    assert answer.reason == "the drive was throttled by heat"


PURPOSE_OF_OTHERS = """
from openpts.vocabulary.stimulus import AccessPattern, Stimulus, Stream
from openpts_check.purpose import CheckPurpose, Load, PublishedBound, PurposeFigure
from openpts_check.seen import iops

def loads(asked):
    reads = Stimulus.of(AccessPattern.RANDOM, 4096, 100, 1, 1, asked.part)
    return (Load("reads", (Stream(reads, "reads"),)),)

bound = PublishedBound(100, "me", True)
figure = PurposeFigure("reads", "Reads", "IOPS", lambda seen: iops(seen.of("reads")), bound, "wait")
PURPOSE = CheckPurpose("games", "Games", "Is it fun?", 10**8, 10**6, 1.0, loads, (figure,))
"""


def test_a_purpose_of_others_comes_in_by_the_same_door(tmp_path, monkeypatch) -> None:
    installed(tmp_path, "gamer", PURPOSE_OF_OTHERS, {"purpose.games": "gamer:PURPOSE"})
    monkeypatch.syspath_prepend(tmp_path)
    from openpts.plugins import packages  # noqa: PLC0415 its cache is that of another sys.path

    packages.cache_clear()
    try:
        assert purpose_names()[-1] == "games"
        drive = f"sim:{write_oracle(tmp_path, [5000.0])}"
        answer, exit_code = asked(drive, "--for", "games", "--repeats", "2", cwd=tmp_path)
    finally:
        packages.cache_clear()
    assert exit_code == 0
    assert answer["question"] == "Is it fun?"
