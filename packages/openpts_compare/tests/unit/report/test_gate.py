"""Runs held against limits: which verdict, which figure, which words."""

import io
import json
import math
import shutil
import sys
from collections.abc import Sequence
from statistics import fmean

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner
from msgspec.structs import replace
from scipy import stats

from openpts._native import Histogram
from openpts.cli.main import cli
from openpts.cli.standard_streams import VisibleOutput
from openpts.errors import UsageError
from openpts.record.health import HealthRecord, ReadingPoint
from openpts.record.manifest import RunState
from openpts.record.reader import Run, read_run
from openpts.vocabulary.facts import Fact, HealthReading
from openpts.vocabulary.limit import Judgement
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.verdict import Deviation
from openpts_compare.cli.gate import _print
from openpts_compare.gate.documents import GateDocument, power_of
from openpts_compare.limits.judge import GateResult, judge, judge_finished
from openpts_compare.limits.limits_file import limit_line, parse_limits
from openpts_compare.limits.page import verdicts_page
from openpts_compare.runs.measured_run import MeasuredRun
from openpts_compare.tests.unit.report.test_comparison import at
from openpts_pages.model import Report
from tests.support.page_transcript import transcript_of
from tests.support.report_cases import Reports

PASS, FAIL, NONE = Judgement.PASS, Judgement.FAIL, Judgement.NO_VERDICT
ALLOWED = 'allow = ["deviations", "not steady"]\n'
IOPS = "iops.rnd-4k-rw0"


@pytest.fixture(scope="module")
def run(reports: Reports) -> Run:
    return read_run(reports.folder("five rounds"))


_MADE: dict[tuple[int, float], tuple[Run, MeasuredRun]] = {}


def gated(run: Run, *shares: float) -> list[MeasuredRun]:
    """Each is made once for all tests; the run is kept, so that its id stays its own."""
    for share in shares:
        if (id(run), share) not in _MADE:
            _MADE[id(run), share] = (run, MeasuredRun.of(at(run, share)))
    return [_MADE[id(run), share][1] for share in shares]


def deviating(run: Run) -> Run:
    return replace(run, ledger=(Deviation("PTS-GEN-05", "2.1", "a raw device", "a file", "none"),))


def result_of(
    limits: Sequence[str] | str,
    runs: Sequence[MeasuredRun],
    baseline: Sequence[MeasuredRun] = (),
    head: str = ALLOWED,
) -> GateResult:
    lines = [limits] if isinstance(limits, str) else list(limits)
    return judge(parse_limits(head.encode(), "limits.toml", lines), runs, baseline)


def points_of(run: Run) -> list:
    return [
        step.sample
        for step in run.phase(Phase.ROUND)
        if str(step.sample.step.stimulus).startswith("RND 4 KiB") and step.sample.step.stimulus.read_pct == 0
    ]


def test_a_limit_holds_at_its_very_value(run) -> None:
    runs = gated(run, 1.0)
    value = fmean(sample.iops for sample in points_of(run))
    figure = runs[0].find(IOPS)
    assert figure.value == pytest.approx(value)
    assert figure.name == "iops.rnd_4_kib_rw0.iops"
    exact = repr(figure.value)
    for limit, verdict in ((f">= {exact}", PASS), (f"<= {exact}", PASS), (">= 1 G", FAIL), ("<= 1", FAIL)):
        assert result_of(f"{IOPS} {limit}", runs).verdict is verdict


def test_the_worst_of_several_runs_counts(run) -> None:
    runs = gated(run, 1.0, 0.5, 0.9)
    value = runs[1].find(IOPS)
    (one,) = result_of(f"{IOPS} >= 1", runs).judged
    assert (one.value, one.runs) == (value.value, 3)


def test_a_run_that_lacks_what_others_have_leaves_no_verdict(run) -> None:
    (whole,) = gated(run, 1.0)
    lacking = MeasuredRun.of(replace(run, steps=()), replace(whole.content, measures=()))
    for limits in (f"{IOPS} >= 1", f"{IOPS} >= -3 %"):
        (one,) = result_of(limits, [whole, lacking], gated(run, *BASES)).judged
        assert one.judgement is NONE
        assert one.reason.endswith("does not measure it")


def test_a_percentile_is_that_of_all_ios_of_the_window(run) -> None:
    merged = Histogram()
    for sample in points_of(run):
        for operation in sample.transfers:
            if operation.histogram:
                merged.add(Histogram.decode(operation.histogram))
    values, weights = zip(*((high, ios) for _, high, ios in merged.buckets()), strict=True)
    up_to = np.cumsum(weights)
    for percentile in (50, 90, 99):
        figure = MeasuredRun.of(run).find(f"{IOPS}.p{percentile}")
        rank = math.ceil(percentile * up_to[-1] / 100)
        # a bucket is 0.098 % wide at most
        assert figure.value == pytest.approx(values[np.searchsorted(up_to, rank)] / 1e6, rel=0.002)
        assert figure.unit == "ms"


def test_too_few_ios_give_no_verdict(run) -> None:
    (one,) = result_of(f"{IOPS}.9 nines <= 1 s", gated(run, 1.0)).judged
    assert one.judgement is NONE
    assert one.reason.startswith("too few I/Os: ")
    assert one.reason.endswith("p99.9999999 needs 1,000,000,000")


def test_a_deviation_gives_no_verdict_unless_allowed(run) -> None:
    run = deviating(run)
    limit = f"{IOPS} >= 1"
    assert result_of(limit, gated(run, 1.0)).verdict is PASS
    (one,) = result_of(limit, gated(run, 1.0), head='allow = ["not steady"]\n').judged
    assert one.judgement is NONE
    assert 'allow = ["deviations"]' in one.reason


def test_what_is_not_steady_gives_no_verdict_unless_allowed(run, reports) -> None:
    unsteady = MeasuredRun.of(read_run(reports.folder("not steady")))
    for limit in (f"{IOPS} >= 1", f"{IOPS}.p99 <= 1 h"):
        assert result_of(limit, [unsteady]).verdict is PASS
        (one,) = result_of(limit, [unsteady], head='allow = ["deviations"]\n').judged
        assert one.judgement is NONE
        assert 'allow = ["not steady"]' in one.reason


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        (RunState.INTERRUPTED, "the run was interrupted"),
        (RunState.FAILED, "the run failed"),
        (RunState.RUNNING, "the run is in progress, or was killed"),
    ],
)
def test_an_unfinished_run_has_no_verdict(run, state, reason) -> None:
    cut = gated(replace(run, manifest=replace(run.manifest, state=state)), 1.0)
    required = 'require = ["steady"]'
    for result in (result_of(f"{IOPS} >= 1", cut), result_of((), cut, head=required)):
        assert {(one.judgement, one.reason) for one in result.judged} == {(NONE, reason)}


def test_an_unfinished_run_that_broke_a_condition_has_failed_it(run, reports) -> None:
    unsteady = read_run(reports.folder("not steady"))
    cut = replace(unsteady, manifest=replace(unsteady.manifest, state=RunState.INTERRUPTED))
    assert result_of((), [MeasuredRun.of(cut)], head='require = ["steady"]').verdict is FAIL


def test_copies_of_a_run_are_one_run(run) -> None:
    (copied,) = gated(run, 0.9)
    copied = replace(copied, folder="elsewhere")
    for runs, baseline in ((gated(run, 1.0, 1.1), [copied]), ([*gated(run, 1.0), copied], gated(run, 1.1))):
        (one,) = result_of(f"{IOPS} >= -50 %", runs, baseline).judged
        assert (one.judgement, one.reason) == (NONE, "two folders are copies of one run: leave one out")


def test_a_test_that_was_not_run_has_no_verdict_and_a_wrong_key_is_refused(run) -> None:
    runs = gated(run, 1.0)
    (one,) = result_of("lat.rnd-4k-rw0.p99 <= 1 ms", runs).judged
    assert (one.judgement, one.reason) == (NONE, "no run of lat")
    with pytest.raises(UsageError, match=r"did you mean iops\.rnd_4_kib_rw0\.iops\?"):
        result_of("iops.rnd-4k-rw0.iop >= 1", runs)
    finished = judge_finished(
        parse_limits(ALLOWED.encode(), "l", ["lat.x <= 1 ms", "iops.rnd-4k-rw1 >= 1", f"{IOPS} >= -3 %"]),
        runs[0],
    )
    assert [one.judgement for one in finished.judged] == [NONE]
    assert finished.left_out == 1


BASES, SLOWER = (1.0, 1.004, 0.997), (0.951, 0.949, 0.952)


def test_a_ratio_is_judged_by_the_interval_of_its_runs(run) -> None:
    (one,) = result_of(f"{IOPS} >= -3 %", gated(run, *SLOWER), gated(run, *BASES)).judged
    values = [
        [found.value for each in gated(run, *side) if (found := each.find(IOPS))] for side in (SLOWER, BASES)
    ]
    interval = stats.ttest_ind(np.log(values[0]), np.log(values[1]))
    assert one.judgement is FAIL
    assert one.value == pytest.approx(stats.gmean(values[0]) / stats.gmean(values[1]))
    assert one.high == pytest.approx(math.exp(interval.confidence_interval(1 - 2 * 0.005 / 7).high))
    assert one.low == pytest.approx(math.exp(interval.confidence_interval(1 - 2 * 0.05 / 7).low))
    assert (one.runs, one.base_runs, one.at_least, one.at_most) == (3, 3, 0.97, None)
    assert result_of(f"{IOPS} >= -10 %", gated(run, *SLOWER), gated(run, *BASES)).verdict is PASS
    assert result_of(f"{IOPS} <= 0.9 x", gated(run, *SLOWER), gated(run, *BASES)).verdict is FAIL
    assert result_of(f"{IOPS} <= 0.97 x", gated(run, *SLOWER), gated(run, *BASES)).verdict is PASS


def test_several_limits_share_the_false_alarms(run) -> None:
    sides = gated(run, *SLOWER), gated(run, *BASES)
    alone = result_of(f"{IOPS} >= -3 %", *sides).judged[0]
    three = result_of([f"{IOPS} >= {n} %" for n in (-3, -4, -5)], *sides).judged[0]
    assert alone.low == three.low
    assert three.high > alone.high


def test_single_runs_and_overlapping_sets_ask_for_more(run, golden) -> None:
    (one,) = result_of(f"{IOPS} >= -3 %", gated(run, 0.5), gated(run, 1.0)).judged
    assert one.judgement is NONE
    assert one.reason == golden
    (one,) = result_of(f"{IOPS} >= -3 %", gated(run, 0.97, 0.96, 0.99), gated(run, 1.0, 1.01, 0.99)).judged
    assert one.judgement is NONE
    assert one.reason == golden
    seven = gated(run, *(0.94 + 0.01 * n for n in (3, 0, 6, 2, 5, 1, 4)))
    (one,) = result_of(f"{IOPS} >= -3 %", seven, gated(run, *BASES)).judged
    assert one.reason == golden
    (one,) = result_of(f"{IOPS} >= -3 %", [*seven, *gated(run, 0.5)], gated(run, *BASES)).judged
    assert one.reason == golden


def on_days(runs: list[MeasuredRun], *days: int, host: str = "a") -> list[MeasuredRun]:
    return [
        replace(one, started_at=f"2026-03-{day:02}T08:00:00+00:00", host=host)
        for one, day in zip(runs, days, strict=True)
    ]


def test_sides_without_a_session_in_common_have_a_wider_interval_and_say_so(run, golden) -> None:
    """On which side the shift between two sessions lies can't be told from a change."""
    slower, bases = gated(run, *SLOWER), gated(run, *BASES)
    limit = f"{IOPS} >= -3 %"
    (in_turn,) = result_of(limit, on_days(slower, 1, 3, 5), on_days(bases, 2, 4, 6)).judged
    (apart,) = result_of(limit, on_days(slower, 4, 5, 6), on_days(bases, 1, 2, 3)).judged
    (elsewhere,) = result_of(limit, on_days(slower, 1, 3, 5, host="b"), on_days(bases, 2, 4, 6)).judged
    assert in_turn.judgement is FAIL
    for one in (apart, elsewhere):
        assert one.value == in_turn.value
        assert None not in (one.high, in_turn.high)
        # the spread counts once for each run, and once for the session of each side
        wider = math.log(one.high / one.value) / math.log(in_turn.high / in_turn.value)
        assert wider == pytest.approx(math.sqrt((2 / 3 + 2) / (2 / 3)))
        assert one.reason == golden


def test_what_can_t_be_compared_has_no_verdict(run, golden) -> None:
    sides = gated(run, *SLOWER)
    assert result_of(f"{IOPS} >= -3 %", sides).judged[0].reason == golden
    other = replace(
        run, manifest=replace(run.manifest, conditions=replace(run.manifest.conditions, max_rounds=9))
    )
    found = result_of(f"{IOPS} >= -3 %", sides, gated(other, *BASES)).judged[0]
    assert found.reason == golden
    unlike = deviating(run)
    found = result_of(
        f"{IOPS} >= -3 %", sides, gated(unlike, *BASES), head='allow = ["not steady"]\n'
    ).judged[0]
    assert found.reason == golden
    assert (
        result_of(f"{IOPS} >= -3 %", sides, gated(run, *BASES), head='allow = ["not steady"]\n').verdict
        is FAIL
    )


def with_log(run: Run, before: dict[str, float], after: dict[str, float], firmware: str = "1") -> Run:
    readings = tuple(
        HealthRecord(occasion, 1, None, None, run.manifest.started_at, None, HealthReading("made up", values))
        for occasion, values in ((ReadingPoint.BEFORE, before), (ReadingPoint.AFTER, after))
    )
    dut = {**run.manifest.dut, "firmware": Fact(firmware, "made up")}
    return replace(run, health=readings, manifest=replace(run.manifest, dut=dut))


@pytest.mark.parametrize(
    ("condition", "values", "verdict"),
    [
        ("no media errors", {"media_errors": 0.0}, PASS),
        ("no media errors", {"media_errors": 2.0}, FAIL),
        ("no media errors", {"throttle_events": 0.0}, NONE),
        ("no throttling", {"throttle_events": 0.0}, PASS),
        ("no throttling", {"throttle_events": 1.0}, FAIL),
        ("no throttling", {}, NONE),
    ],
)
def test_conditions_are_read_from_the_log(run, condition, values, verdict) -> None:
    logged = with_log(run, dict.fromkeys(values, 0.0), values)
    assert result_of((), [MeasuredRun.of(logged)], head=f'require = ["{condition}"]').verdict is verdict


def test_steady_conformant_and_firmware(run, reports) -> None:
    required = 'require = ["steady", "conformant", "same firmware"]'
    old, new = (MeasuredRun.of(with_log(run, {}, {}, firmware)) for firmware in "12")
    assert [one.judgement for one in result_of((), [old], [old], head=required).judged] == [PASS] * 3
    assert [one.judgement for one in result_of((), [old], [new], head=required).judged] == [PASS, PASS, FAIL]
    unsteady = MeasuredRun.of(read_run(reports.folder("not steady")))
    assert result_of((), [old, unsteady], head=required).judged[0].judgement is FAIL
    assert result_of((), [MeasuredRun.of(deviating(run))], head=required).judged[1].judgement is FAIL


def test_the_words_of_all_verdicts(run, snapshot) -> None:
    head = ALLOWED + 'require = ["steady", "no media errors", "no throttling", "same firmware", "conformant"]'
    limits = (
        f"{IOPS} >= 1",
        f"{IOPS} >= 1 G",
        f"{IOPS}.p99.9999 <= 1 ms",
        f"{IOPS}.p50 <= 1 h",
        f"{IOPS} >= -3 %",
        f"{IOPS} >= -5 %",
        f"{IOPS} <= 1.1 x",
        "lat.rnd-4k-rw0.art <= 1 ms",
        "energy.loads.mean_w <= 5 W"
        if MeasuredRun.of(run).find("energy.loads.mean_w")
        else f"{IOPS}.max <= 1 us",
    )
    result = result_of(limits, gated(run, *SLOWER), gated(run, *BASES), head)
    assert "\n".join(limit_line(one).replace(str(run.folder), "RUN") for one in result.judged) == snapshot
    (table,) = (
        block for block in verdicts_page(result).blocks if getattr(block, "id", "") == "limits-verdicts"
    )
    assert [row.cells[1].text for row in table.rows] == [one.judgement.value for one in result.judged]


def test_the_power_is_stated_for_each_relative_limit(run, golden) -> None:
    limits = parse_limits(ALLOWED.encode(), "l", [f"{IOPS} >= -3 %", f"{IOPS} <= 1.03 x"])
    found = power_of(limits, gated(run, *BASES), ())
    least, most = found.limits
    assert found.errors.relative_limits == 2
    assert [power.runs for power in least.powers] == [3, 5, 7]
    spread = np.log([found.value for each in gated(run, *BASES) if (found := each.find(IOPS))]).std(ddof=1)
    assert least.spread_pct == pytest.approx(100 * spread)
    for down, up in zip(least.powers, most.powers, strict=True):
        assert down.found is not None
        t = stats.t.ppf(1 - 0.005 / 14, 2 * down.runs - 2)
        shift = (math.log(0.97) - math.log(down.found)) / (spread * math.sqrt(2 / down.runs))
        assert stats.nct.sf(t, 2 * down.runs - 2, shift) == pytest.approx(0.95, abs=1e-5)
        assert down.false_alarm_pct < 0.5
        assert up.found > 1.03
    unnamed = power_of(None, gated(run, *BASES), ()).limits
    assert [one.name for one in unnamed][:1] == ["iops.rnd_4_kib_rw0.iops"]
    (alone,) = power_of(parse_limits(b"", "l", [f"{IOPS} >= -3 %"]), gated(run, 1.0), ()).limits
    assert alone.powers == ()
    assert alone.reason == golden


def invoke(*words: object) -> tuple[int, str]:
    result = CliRunner().invoke(cli, ["gate", *map(str, words)], standalone_mode=False)
    code = result.return_value if result.exception is None else getattr(result.exception, "exit_code", 1)
    return code, result.output


def test_the_command_ends_with_its_verdict(run, tmp_path) -> None:
    limits = tmp_path / "limits.toml"
    for bound, code in ((">= 1", 0), (">= 1 G", 10), (".p99.9999999 <= 1 s", 13)):
        limits.write_text(f'{ALLOWED}limits = ["{IOPS}{bound}"]')
        found, output = invoke(run.folder, "--limits", limits, "--json")
        assert found == code
        assert json.loads(output)["limits"][0]["name"].startswith("iops.rnd_4_kib_rw0")
    assert invoke(run.folder)[0] == 2
    assert invoke(run.folder, "--limit", "iops.x >= 1")[0] == 2
    junit = tmp_path / "junit.xml"
    for output in (["--tap"], ["--junit", junit]):
        assert invoke(run.folder, "--limit", f"{IOPS} >= -3 %", "--power-analysis", *output)[0] == 2
    assert not junit.exists()
    assert invoke(run.folder, "--limit", f"{IOPS} >= 1", "--junit", "-")[0] == 2


def test_a_stimulus_without_a_figure_is_answered_with_one_of_its_figures(run) -> None:
    for written, meant in (("rnd-4k-rw0", "rnd_4_kib_rw0"), ("rnd-64k-rw65", "rnd_64_kib_rw65")):
        with pytest.raises(UsageError, match=rf"did you mean iops\.{meant}\.iops\?"):
            result_of(f"{written} >= 1", gated(run, 1.0))


class Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


def test_a_terminal_has_verdicts_in_colors(run, monkeypatch) -> None:
    shown = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", VisibleOutput(Terminal(shown, "utf-8", write_through=True)))
    limits = f'{ALLOWED}limits = [{{ measure = "{IOPS}", at_most = 1, note = "\\u001b[2J" }}]'
    runs = gated(run, 1.0)
    _print(GateDocument.by(judge(parse_limits(limits.encode(), "l"), runs), runs, ()))
    assert shown.getvalue().decode().startswith("\x1b[31mfail\x1b[0m: iops.rnd_4_kib_rw0.iops at most 1 IOPS")
    assert "\x1b[2J" not in shown.getvalue().decode()


def test_all_words_behind_baseline_are_runs_of_it(run, reports) -> None:
    other, third = reports.folder("not steady"), reports.folder("steady")
    _, output = invoke("--limit", f"{IOPS} >= 1", run.folder, "--baseline", other, third, "--json")
    answer = json.loads(output)
    assert answer["runs"] == [str(run.folder)]
    assert answer["baseline"] == [str(other), str(third)]
    assert invoke(run.folder, "--limit", "m >= 1", "--baseline")[0] == 2
    assert invoke("--baseline", other, run.folder)[0] == 2


LENIENT = ("--allow", "deviations", "--allow", "not steady")


def test_what_is_allowed_on_the_command_line_is_as_in_the_file(run, tmp_path) -> None:
    limits = tmp_path / "limits.toml"
    limits.write_text(f'{ALLOWED}limits = ["{IOPS} >= 1"]')
    by_file = json.loads(invoke(run.folder, "--limits", limits, "--json")[1])
    words = (run.folder, "--limit", f"{IOPS} >= 1", "--json")
    code, output = invoke(*words)
    assert code == 13
    assert '--allow "not steady"' in json.loads(output)["limits"][0]["reason"]
    code, output = invoke(*words, *LENIENT)
    assert (code, json.loads(output)) == (0, by_file)
    assert by_file["allowed"] == ["deviations", "not steady"]
    assert invoke(*words, "--allow", "everything")[0] == 2


def test_different_conditions_are_judged_where_they_are_allowed(run) -> None:
    changed = replace(run.manifest.conditions, max_rounds=9)
    other = replace(run, manifest=replace(run.manifest, conditions=changed))
    sides, bases = gated(run, *SLOWER), gated(other, *BASES)
    (refused,) = result_of(f"{IOPS} >= -3 %", sides, bases).judged
    assert refused.judgement is NONE
    assert '--allow "different conditions"' in refused.reason
    head = 'allow = ["deviations", "not steady", "different conditions"]\n'
    allowed = result_of(f"{IOPS} >= -3 %", sides, bases, head=head)
    assert allowed.judged == result_of(f"{IOPS} >= -3 %", sides, gated(run, *BASES)).judged
    assert allowed.verdict is FAIL


def test_the_page_of_a_gate(run, tmp_path, snapshot) -> None:
    limits = ("--limit", f"{IOPS} >= 1", "--limit", f"{IOPS} >= 1 G", *LENIENT)
    code, output = invoke(run.folder, *limits, "--out", tmp_path, "--json")
    assert code == 10, output
    found = json.loads(output)
    assert found["reports"] == [str(tmp_path / f"gate.{form}") for form in ("json", "html", "pdf")]
    report = msgspec.json.decode((tmp_path / "gate.json").read_bytes(), type=Report)
    assert transcript_of(report).replace(str(run.folder), "RUN") == snapshot
    shown = [row.cells[1].text for row in report.tables()["limits-verdicts"].rows]
    assert shown == [one["judgement"] for one in found["limits"]]
    assert (tmp_path / "gate.html").is_file()
    alone = invoke(run.folder, *limits, "--html", "--out", tmp_path / "alone")[1]
    assert alone.splitlines()[-1] == f"report: {tmp_path / 'alone' / 'gate.html'}"
    assert not (tmp_path / "alone" / "gate.pdf").exists()


def test_a_page_of_a_gate_is_redacted_as_its_lines_are(run, tmp_path) -> None:
    serial = str(run.manifest.dut["serial"].value)
    named = [tmp_path / f"{serial}-{number}" for number in (1, 2)]
    for folder in named:
        shutil.copytree(run.folder, folder)
    words = (*named, "--limit", f"{IOPS} >= 1", "--html", "--out", tmp_path / "page", "--redact")
    for more in ((), ("--json",)):
        output = invoke(*words, *more)[1]
        assert "REDACTED-" in output
        assert serial not in output
    assert serial not in (tmp_path / "page" / "gate.html").read_text()


def test_a_power_analysis_has_no_page(run, tmp_path) -> None:
    for words in (("--html",), ("--out", tmp_path), ("--junit", tmp_path / "x"), ("--tap",)):
        assert invoke(run.folder, "--power-analysis", *words)[0] == 2
