"""Options of a test and a plan file: what wins, and what is told."""

import io
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from openpts.cli.commands_on_demand import together
from openpts.cli.options import EnduranceBytes, group
from openpts.cli.plan import plan_command
from openpts.cli.planned_run import fitting_target
from openpts.cli.procedure_options import Choices, choices_of, options_of
from openpts.cli.run import run
from openpts.cli.run_options import PURGE_OPTION, RunArgs, labels_of, telemetry_period_s
from openpts.cli.run_settings import settings_of
from openpts.config_files.written_file import WrittenFileError
from openpts.errors import OpenptsError, UsageError
from openpts.procedures.registry import PROCEDURES
from openpts.runner.settings import RunSettings
from openpts.runner.unopened_target import UnopenedTarget
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.facts import People, Purpose, Scenario, TargetFacts, TargetKind
from openpts.vocabulary.purge import Consent
from openpts.vocabulary.stimulus import ActiveRange, BlockSize, ReducibleData, Segments
from openpts_pts.conformance.catalogue import PTS
from tests.support.refusals import refusal

PLAN = """\
class = "client"
seed = 9
purge = "none"
operator = "the plan's"
auditor = "the plan's"
[common]
step_seconds = 2
[iops]
tc = 7
qd = 5
block_sizes = ["1MiB", "64KiB", "4KiB", "0.5KiB"]
"""
ADVANCED = TargetFacts(TargetKind.BLOCK, "nvme0n1", "/dev/nvme0n1", 10**12, 4096)


def choices(test: str, *words: str, target: str | None = None) -> Choices:
    made: list[Choices] = []

    @click.command()
    @together(*options_of(PROCEDURES[test]))
    def command(**options: Any) -> None:
        made.append(choices_of(PROCEDURES[test], options, target))
        assert not options

    result = CliRunner().invoke(command, words)
    if isinstance(result.exception, OpenptsError):
        raise result.exception
    assert made, result.output
    return made[0]


@pytest.mark.parametrize(
    ("target", "words", "drive_class"),
    [
        ("sim:client-qlc", [], DriveClass.CLIENT),
        ("sim:client-qlc?capacity=512GB&page_mapped.nand.read_us=90", [], DriveClass.CLIENT),
        ("sim:client-qlc", ["--class", "enterprise"], DriveClass.ENTERPRISE),
        ("sim:enterprise-tlc", [], DriveClass.ENTERPRISE),
        ("sim:theory", [], DriveClass.ENTERPRISE),
        ("file:x?size=1MiB", [], DriveClass.ENTERPRISE),
    ],
)
def test_a_preset_has_the_class_of_its_drive(target, words, drive_class) -> None:
    found = choices("lat", *words, target=target)
    assert found.drive_class is drive_class


def test_the_class_of_a_plan_counts_more_than_that_of_a_preset(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text('class = "enterprise"\n')
    assert choices("lat", "--plan", str(path), target="sim:client-qlc").drive_class is DriveClass.ENTERPRISE


def test_a_line_says_which_class_was_taken_and_why() -> None:
    words = ["lat", "sim:client-qlc", "--max-rounds", "5"]
    taken = "class client (PTS-C 2.0.1), as the preset client-qlc has it; else --class enterprise"
    assert CliRunner().invoke(plan_command, words).stderr.splitlines()[0] == taken
    assert "class" not in CliRunner().invoke(plan_command, [*words, "--class", "client"]).stderr


def test_a_drive_whose_cache_will_be_off_says_so_before_the_start(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class Drive:
        node = tmp_path / "nvme0n1"

        @property
        def whole(self) -> "Drive":
            return self

        def text(self, attribute: str) -> str:
            return {"queue/write_cache": "write back"}[attribute]

    unopened = UnopenedTarget(ADVANCED, device=Drive())  # type: ignore[arg-type]
    monkeypatch.setattr(UnopenedTarget, "of", lambda *_: unopened)
    found = {}
    for words in ((), ("--class", "client")):
        stream = io.StringIO()
        assert fitting_target("/dev/nvme0n1", [choices("lat", *words)], stream) == "/dev/nvme0n1"
        found[words] = stream.getvalue()
    line = f"{Drive.node}: write cache disabled (PTS-E); as its users have it: --class client\n"
    assert list(found.values()) == [line, ""]


def settings(test: str, *words: str) -> RunSettings:
    made: list[RunSettings] = []

    @click.command()
    @together(*options_of(PROCEDURES[test]), PURGE_OPTION, group(RunArgs))
    def command(**options: Any) -> None:
        made.append(settings_of("file:x", choices_of(PROCEDURES[test], options), Consent(), **options))

    CliRunner().invoke(command, words, catch_exceptions=False)
    return made[0]


def conditions(test: str, *words: str) -> Any:
    chosen = choices(test, *words)
    return chosen.adjust(PROCEDURES[test].standard_conditions(chosen.drive_class, 1))


@pytest.fixture
def plan(tmp_path) -> str:
    path = tmp_path / "plan.toml"
    path.write_text(PLAN)
    return str(path)


def test_options_win_over_the_plan_and_the_plan_over_the_standard(plan) -> None:
    chosen = choices("iops", "--plan", plan, "--tc", "3", "--class", "enterprise")
    assert (chosen.drive_class, chosen.seed) == (DriveClass.ENTERPRISE, 9)
    used = conditions("iops", "--plan", plan, "--tc", "3")
    assert (used.tc, used.qd, used.minute_ns, used.max_rounds) == (3, 5, 2 * 10**9, 25)
    assert used.active_range == ActiveRange(0, 75)
    assert conditions("iops", "--plan", plan, "--round-seconds", "28").minute_ns == 10**9
    assert choices("iops", "--plan", plan, "--seed", "4").seed == 4


def test_people_and_purge_come_from_the_plan_where_no_option_names_them(plan) -> None:
    both = settings("iops", "--plan", plan, "--operator", "mine")
    assert (both.people, both.purge) == (People("mine", "the plan's", None), "none")
    assert settings("iops", "--plan", plan, "--purge", "auto").purge == "auto"
    without = settings("iops")
    assert (without.people, without.purge) == (People(), "auto")


def test_labels_of_the_plan_and_of_the_options_are_those_of_the_run(plan) -> None:
    path = Path(plan)
    path.write_text(f'labels = {{ lot = "7", ticket = "plan" }}\n{path.read_text()}')
    both = settings("iops", "--plan", plan, "--label", "ticket=QA-12")
    assert both.people.labels == {"lot": "7", "ticket": "QA-12"}
    path.write_text(path.read_text().replace("lot", '"a lot"'))
    with pytest.raises(WrittenFileError, match="labels: expected"):
        choices("iops", "--plan", plan)


@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        (("lot",), "invalid --label 'lot': write NAME=VALUE, the name of letters, digits and _"),
        (("7lot=1",), "invalid --label '7lot=1': write NAME=VALUE, the name of letters, digits and _"),
        (("lot=1", "lot=2"), "--label lot is given twice"),
    ],
)
def test_labels_that_metrics_cannot_have_are_refused(words, refusal) -> None:
    with pytest.raises(UsageError) as refused:
        labels_of(click.Context(click.Command("run")), click.Option(["--label"]), words)
    assert str(refused.value) == refusal
    assert labels_of(click.Context(click.Command("run")), click.Option(["--label"]), ["lot=a=b"]) == {
        "lot": "a=b"
    }


def test_the_scenario_comes_from_the_plan_where_no_option_names_it(plan) -> None:
    assert settings("iops").scenario is Scenario.SYNTHETIC
    path = Path(plan)
    path.write_text(f'scenario = "real-world"\n{path.read_text()}')
    assert settings("iops", "--plan", plan).scenario is Scenario.REAL_WORLD
    assert settings("iops", "--plan", plan, "--scenario", "synthetic").scenario is Scenario.SYNTHETIC


def test_a_key_of_the_plans_purpose_wins_over_that_of_the_description(plan) -> None:
    path = Path(plan)
    described = path.with_name("drive.toml")
    described.write_text('[purpose]\nuse_case = "gaming"\nrated_tbw = 600')
    assert settings("iops", "--plan", plan).purpose == Purpose()
    path.write_text(f'{PLAN}[purpose]\nuse_case = "server"\nduty_pct = 90')
    assert settings("iops", "--plan", plan, "--describe", str(described)).purpose == Purpose(
        use_case="server", duty_pct=90.0, rated_tbw=600.0
    )


def test_a_purpose_that_makes_no_sense_is_refused_with_its_place(tmp_path, golden) -> None:
    cases = (
        "usecase = 'x'",
        "tasking = 'both'",
        "duty_pct = 101",
        "bios = [{setting = 'a', vlue = 'b', effect = 'c'}]",
        "firmware = {version = '1', as_of = 'now', source = 'me'}",
    )
    path, said = tmp_path / "plan.toml", []
    for text in cases:
        path.write_text(f"[purpose]\n{text}\n")
        said.append(refusal(choices, "iops", "--plan", str(path)))
    assert said == golden


def test_words_of_the_command_line() -> None:
    used = conditions(
        "iops",
        *("--active-range", "25:75"),
        *("--segments", "16x64MiB"),
        *("--data-pattern", "entropy:46,dup:10"),
        *("--read-pcts", "65, 0"),
        *("--block-sizes", "64KiB,4k"),
        *("--tracking", "RND 4KiB RW0,rnd 64 KiB rw65"),
        *("--write-cache", "enabled"),
        *("--time-scale", "1/60"),
    )
    assert used.active_range == ActiveRange(25, 75)
    assert used.segments == Segments(16, 64 * 1024**2)
    assert used.data == ReducibleData(46, 10)
    assert (used.read_pcts, used.block_sizes_bytes) == ((65, 0), (65536, 4096))
    assert [str(variable) for variable in used.tracking] == ["RND 4 KiB RW0", "RND 64 KiB RW65"]
    assert used.write_cache_enabled
    assert used.minute_ns == 10**9


def test_workloads_by_name_and_in_words() -> None:
    used = conditions("wsat", "--workloads", "oltp,SEQ 64KiB RW30", "--stop-when-steady")
    assert [workload.title for workload in used.workloads] == ["RND 8 KiB RW65", "SEQ 64 KiB RW30"]
    assert used.workloads[1].block_sizes == (BlockSize(65536),)
    assert used.stop_when_steady


def test_what_is_rarely_set_is_taken_and_not_listed() -> None:
    assert conditions("cbw", "--plateau-pct", "2").plateau_pct == 2
    command = click.Command("cbw", params=[])
    for option in options_of(PTS["cbw"]):
        command = option(command)
    shown = command.get_help(click.Context(command))
    assert "--plateau-pct" not in shown
    assert "--max-rounds" in shown


def test_a_switch_can_be_turned_off() -> None:
    assert conditions("dirth", "--no-capture").capture is False
    assert conditions("dirth").capture is True


def test_complaints_name_the_option_or_the_place_in_the_plan(plan) -> None:
    with pytest.raises(UsageError, match=r"^--data-pattern 'zeros': is not one of"):
        choices("iops", "--data-pattern", "zeros")
    with pytest.raises(UsageError, match=rf"^{plan}:11:1: block_sizes: steady state is judged on"):
        choices("iops", "--plan", plan, "--read-pcts", "65,0")
    Path(plan).write_text("[lat]\ncolor = 1\n")
    with pytest.raises(WrittenFileError, match=r"plan\.toml:2:1: unknown key color in lat"):
        choices("iops", "--plan", plan)


def test_sizes_that_the_operator_asked_for_are_refused_on_larger_sectors(plan) -> None:
    chosen = choices("iops", "--plan", plan)
    wanted = chosen.adjust(PTS["iops"].standard_conditions(DriveClass.CLIENT, 1))
    says = rf"{plan}:11:1: block_sizes: 0\.5 KiB is not a multiple of the sector of nvme0n1, .* 4,096 bytes"
    with pytest.raises(UsageError, match=says):
        chosen.admit(wanted, ADVANCED)


@pytest.mark.parametrize(
    ("test", "option", "value", "size"),
    [
        ("dirth", "--workload", "RND 2KiB RW0", "2 KiB"),
        ("wsat", "--workloads", "composite,RND 2KiB RW0", "2 KiB"),
        ("sustained", "--workload", "RND 0.5KiB RW0", "0.5 KiB"),
        ("thermal", "--block-size", "6KiB", "6 KiB"),
    ],
)
def test_every_size_that_the_operator_asked_for_is_held_against_the_sector(test, option, value, size) -> None:
    own = choices(test, option, value)
    with pytest.raises(UsageError, match=rf"^{option}: {size} is not a multiple of the sector of nvme0n1"):
        own.admit(conditions(test, option, value), ADVANCED)


def test_sizes_of_the_specification_are_left_out_there(plan) -> None:
    chosen = choices("iops")
    standard: Any = PTS["iops"].standard_conditions(DriveClass.CLIENT, 1)
    chosen.admit(chosen.adjust(standard), ADVANCED)
    assert 512 not in PTS["iops"].supported_on(standard, 4096).block_sizes_bytes
    named = choices("wsat", "--workloads", "composite,metadata")
    named.admit(conditions("wsat", "--workloads", "composite,metadata"), ADVANCED)


@pytest.mark.proves("SOL-STAT-03")
@pytest.mark.parametrize("test", ["benchmarks", "precon"])
@pytest.mark.parametrize(
    ("words", "warned"),
    [
        (["--passes=4"], True),
        (["--passes=5"], False),
        (["--passes=4", "--until-rse=5"], False),  # made odd by those that are added
        ([], False),
    ],
)
def test_an_even_number_of_passes_is_taken_with_a_warning(test, words, warned) -> None:
    @click.command()
    @together(*options_of(PROCEDURES[test]))
    def command(**options: Any) -> None:
        choices_of(PROCEDURES[test], options)

    said = CliRunner().invoke(command, words)
    assert said.exit_code == 0
    assert said.stderr.startswith("warning: --passes: 4 is even") is warned
    assert bool(said.stderr) is warned


@pytest.mark.parametrize(
    ("words", "named"),
    [(("--most-passes=4",), "4 is even"), (("--passes=9", "--until-rse=5"), "begins with 9 passes")],
)
def test_a_limit_that_no_row_can_keep_is_refused(words, named) -> None:
    with pytest.raises(UsageError, match=named):
        choices("benchmarks", *words)


@pytest.mark.parametrize(
    ("text", "endurance_bytes"),
    [
        ("600", 600 * 10**12),
        ("7,000", 7000 * 10**12),
        ("600TBW", 600 * 10**12),
        ("7,000 TBW", 7000 * 10**12),
        ("1.2PBW", 1200 * 10**12),
        ("1.2pbw", 1200 * 10**12),
        ("1.2PB", 1200 * 10**12),
    ],
)
def test_endurance_is_read_as_printed(text, endurance_bytes) -> None:
    assert EnduranceBytes().convert(text, None, None) == endurance_bytes


@pytest.mark.parametrize("text", ["", "W", "600W", "7,00", "1,2PB", "1.4M", "0TBW", "600TBWW", "nan"])
def test_what_is_no_endurance_is_refused(text) -> None:
    with pytest.raises(click.BadParameter):
        EnduranceBytes().convert(text, None, None)


@pytest.mark.parametrize(
    ("text", "period_s"),
    [("1s", 1), ("0.1", 0.1), ("500ms", 0.5), ("2.5 s", 2.5), ("3600s", 3600), ("off", None)],
)
def test_a_period_is_a_time_or_off(text, period_s) -> None:
    assert telemetry_period_s("--telemetry-period", text) == period_s


@pytest.mark.parametrize(
    "text", ["", "0s", "0.09s", "99ms", "3601s", "1m", "-1s", "1e3", "OFF ", "one", "1s 2s"]
)
def test_anything_else_is_refused_with_what_to_write(text) -> None:
    with pytest.raises(UsageError, match=r"--telemetry-period .*: write a time from 0\.1s to 3600s, or off"):
        telemetry_period_s("--telemetry-period", text)


def test_a_power_command_is_looked_for_before_anything_runs(tmp_path) -> None:
    words = ["iops", "sim:client-qlc", "--power-command", "/no/such program", "--out", str(tmp_path / "out")]
    with pytest.raises(UsageError, match="program /no/such not found"):
        CliRunner().invoke(run, words, catch_exceptions=False)
    assert not (tmp_path / "out").exists()
