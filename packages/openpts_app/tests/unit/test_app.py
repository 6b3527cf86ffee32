"""The application benchmark: its runs in their order, what they were bound by, how its parameters read."""

import math
import statistics
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace
from scipy.stats import gmean

from openpts.analysis.run_comparison import Quality
from openpts.errors import UsageError
from openpts.parameters.overrides import Overrides, conditions_of, contradictions
from openpts.procedures.registry import PROCEDURES
from openpts.vocabulary.command_run import (
    CommandRequest,
    CommandRun,
    DeviceCounts,
    FileSystemType,
    PrepareFileSystem,
    PrintedFigure,
    RunKind,
)
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.requests import CycleFinished
from openpts_app.app import AppConditions
from openpts_app.app.results import AppResults, LimitedBy, bound_of

_TEST = PROCEDURES["app"]


@pytest.fixture
def in_temporary_folder(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)


_SECOND = 10**9


def standard(**changes: object) -> AppConditions:
    conditions: AppConditions = _TEST.standard_conditions(DriveClass.CLIENT, 1)
    return replace(conditions, command=("true",), **changes)


def given(**values: object) -> AppConditions:
    conditions: AppConditions = conditions_of(
        Overrides(values, {name: f"--{name}" for name in values}), standard()
    )
    return conditions


def driven(conditions: AppConditions, seconds: Sequence[float]) -> list[str]:
    """What the script asks for if its runs take these times, and then always the last of them."""
    script, asked, count = _TEST.script(conditions, 0), [], 0
    request = next(script)
    try:
        while True:
            answer = None
            if isinstance(request, CommandRequest):
                asked.append(f"{request.kind} {request.number}")
                elapsed = seconds[min(count, len(seconds) - 1)]
                count += 1
                answer = CommandRun(request.kind, request.number, 1, "", round(elapsed * _SECOND), 0)
            elif isinstance(request, PrepareFileSystem):
                asked.append("prepare")
            elif isinstance(request, CycleFinished):
                asked.append("end")
            request = script.send(answer)
    except StopIteration:
        return asked


_FIRST = ["prepare", "conditioning 1", "cold 1", "warm 1", "warm 2", "warm 3"]


@pytest.mark.proves("SOL-BMK-02", "SOL-STAT-02", "SOL-STAT-03")
def test_a_conditioning_run_a_cold_one_and_three_warm_ones() -> None:
    assert driven(standard(), [9, 3, 1]) == [*_FIRST, "end"]


@pytest.mark.proves("SOL-STAT-05", "SOL-STAT-06", "SOL-STAT-09")
def test_two_warm_runs_at_a_time_are_added_up_to_seven() -> None:
    # RSE of 1, 1, 1.3: 9.1 %; of these and two of 1.1: 4.8 %
    assert driven(standard(), [9, 3, 1, 1, 1.3, 1.1]) == [*_FIRST, "warm 4", "warm 5", "end"]
    apart = [9, 3, *(2.0**n for n in range(9))]
    assert driven(standard(), apart) == [*_FIRST, "warm 4", "warm 5", "warm 6", "warm 7", "end"]
    assert driven(standard(until_rse_pct=0.0), apart) == [*_FIRST, "end"]
    assert driven(standard(cold_runs=0, warm_runs=1, until_rse_pct=0.0), apart) == [
        "prepare", "conditioning 1", "warm 1", "end",
    ]  # fmt: skip


LIST = """
[[application]]
name = "unpack"
command = ["./unpack", "{dir}/x"]

[[application]]
name = "build"
command = ["make", "-j2"]
"""


def of_list(text: str) -> AppConditions:
    Path("apps.toml").write_text(text)
    return replace(given(applications="apps.toml"), command=())


@pytest.mark.usefixtures("in_temporary_folder")
def test_applications_of_a_list_run_one_after_the_other() -> None:
    found = of_list(LIST)
    assert [one.command for one in found.listed] == [(f"{Path.cwd()}/unpack", "{dir}/x"), ("make", "-j2")]
    assert driven(found, [9, 3, 1]) == [*_FIRST, *_FIRST[1:], "end"]
    assert not found.lacking
    assert not contradictions(Overrides({}, {}), found)


@pytest.mark.usefixtures("in_temporary_folder")
@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("application = []", "write \\[\\[application\\]\\] for each"),
        (LIST.replace("build", "unpack"), "a name of its own"),
        (LIST.replace("unpack", "un/pack"), "a name of its own"),
        (LIST.replace("command", "comand"), "comand"),
        (LIST.replace('["make", "-j2"]', "[]"), "is empty"),
    ],
)
def test_a_list_that_can_not_be_run_is_refused(text, error) -> None:
    with pytest.raises(UsageError, match=error):
        of_list(text)


@pytest.mark.usefixtures("in_temporary_folder")
def test_a_score_is_the_geometric_mean_of_runs_in_an_hour() -> None:
    seconds = {"unpack": (1.0, 1.25, 1.125), "build": (40.0, 41.0, 42.0)}
    runs = [replace(run, application=name) for name, times in seconds.items() for run in warm(times)]
    results = AppResults(of_list(LIST), tuple(runs))
    each = {name: 3600 / statistics.median(times) for name, times in seconds.items()}
    assert {name: one.score(RunKind.WARM) for name, one in results.parts.items()} == pytest.approx(each)
    assert results.score(RunKind.WARM) == pytest.approx(gmean(list(each.values())))
    assert results.score(RunKind.COLD) is None
    assert AppResults(results.conditions, tuple(runs[:3])).score(RunKind.WARM) is None, "one has no run"


def warm(seconds: Sequence[float], figures: Sequence[float | None] = ()) -> tuple[CommandRun, ...]:
    padded = [*figures, *[None] * (len(seconds) - len(figures))]
    return tuple(
        CommandRun(RunKind.WARM, number, 1, "", round(second * _SECOND), 0, figure=figure)
        for number, (second, figure) in enumerate(zip(seconds, padded, strict=True), start=1)
    )


def test_median_and_rse_are_those_of_statistics() -> None:
    seconds = [1.25, 1.5, 1.125, 1.75, 1.375]
    times = AppResults(standard(), tuple(warm(seconds))).times(RunKind.WARM)
    assert times.median == statistics.median(seconds)
    error = statistics.stdev(seconds) / math.sqrt(len(seconds))
    assert times.rse_pct == pytest.approx(100 * error / statistics.fmean(seconds))
    assert times.quality is Quality.MORE_RUNS


def test_a_run_that_failed_counts_in_no_set() -> None:
    runs = (*warm([1, 2, 3]), replace_run(warm([9])[0], "ended with exit status 1"))
    times = AppResults(standard(), tuple(runs)).times(RunKind.WARM)
    assert times.values == (1, 2, 3)


def replace_run(run: CommandRun, failure: str) -> CommandRun:
    return CommandRun(run.kind, run.number, 1, "", run.elapsed_ns, 1, failure=failure)


@pytest.mark.parametrize(
    ("cpu_pct", "busy_pct", "bound"),
    [
        (100, 0, LimitedBy.CPU),
        (70, 49, LimitedBy.CPU),
        (69, 0, LimitedBy.NEITHER),
        (49, 70, LimitedBy.DRIVE),
        (0, 100, LimitedBy.DRIVE),
        (0, 69, LimitedBy.NEITHER),
        (90, 90, LimitedBy.NEITHER),
        (50, 70, LimitedBy.NEITHER),
        (70, 50, LimitedBy.NEITHER),
        (5, 5, LimitedBy.NEITHER),
        (800, 30, LimitedBy.CPU),
    ],
)
def test_what_a_run_is_bound_by(cpu_pct, busy_pct, bound) -> None:
    run = CommandRun(
        RunKind.WARM, 1, 1, "", 100, 0,
        user_ns=cpu_pct // 2, system_ns=cpu_pct - cpu_pct // 2,
        until_exit=DeviceCounts(busy_ns=busy_pct),
    )  # fmt: skip
    assert bound_of(run) is bound


@pytest.mark.parametrize(
    ("text", "figure"),
    [
        ("rate=Rate: ([0-9.]+):MB/s", ("rate", "Rate: ([0-9.]+)", "MB/s")),
        ("iops=IOPS=([0-9]+)", ("iops", "IOPS=([0-9]+)", "")),
        ("t=total: ([0-9]+)", ("t", "total: ([0-9]+)", "")),
        ("n=(?:a|b): ([0-9]+)", ("n", "(?:a|b): ([0-9]+)", "")),
    ],
)
def test_a_figure_is_a_name_a_pattern_and_a_unit(text, figure) -> None:
    found = given(figure=text).figure
    assert found == PrintedFigure(*figure)
    assert str(found) == text


@pytest.mark.parametrize("text", ["rate", "=([0-9])", "rate=[0-9]+", "rate=([0-9])([0-9])", "rate=([0-9"])
def test_a_figure_without_name_or_group_is_refused(text) -> None:
    with pytest.raises(UsageError, match="write NAME=REGEX"):
        given(figure=text)


@pytest.mark.parametrize(
    "values",
    [
        {"figure": "n=([0-9])"},
        {"figure_better": "lower"},
        {"most_warm_runs": 4},
        {"warm_runs": 9},
        {"file_system": "none", "fill_level": 50},
        {"file_system": "none", "command": ["dd", "of={dir}/x"]},
        {"applications": "apps.toml"},
    ],
)
@pytest.mark.usefixtures("in_temporary_folder")
def test_what_can_not_be_together_is_refused(values) -> None:
    Path("apps.toml").write_text(LIST)
    assert contradictions(Overrides(values, {}), given(**values))


def test_a_command_is_given_from_anywhere() -> None:
    assert given(command=["./run", "./x"]).command[0].endswith("/run")
    assert given(command=["./run", "./x"]).command[1] == "./x"
    assert given(command=["{dir}/run"]).command == ("{dir}/run",)
    assert given(command=["fio", "a b"]).command == ("fio", "a b")
    with pytest.raises(UsageError, match="is empty"):
        given(command=[])


def test_a_drive_is_formatted_with_ext4_unless_asked() -> None:
    first = next(_TEST.script(standard(), 0))
    assert isinstance(first, PrepareFileSystem)
    assert first.order.type is FileSystemType.EXT4
