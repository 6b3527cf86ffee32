"""Every test on every simulated drive that ships: none is refused for the scale of its preset."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from syrupy.assertion import SnapshotAssertion

from openpts.cli.main import cli
from openpts.procedures.registry import PROCEDURES
from openpts.report.sources import read_for_report
from openpts_compare.record_check import check_record
from openpts_sim.presets import shipped_presets

WORDS = {"replay": ["recipe:boot"], "workload": ["job.fio"]}
# drives of 1 to 32 GB, on which the traces of larger ones wrap around
OPTIONS = {"replay": ["--mapping", "wrap"]}
JOB = "[a]\nrw=randwrite\nbs=4k\ndirect=1\ntime_based\nruntime=2s\n"
NEED_A_DRIVE = {"app", "ocp"}  # a program needs files, and commands are for a controller
TESTS = [name for name in PROCEDURES if name not in NEED_A_DRIVE]
PRESETS = [preset.name for preset in shipped_presets()]


def said(cwd: Path, command: str, test: str, target: str, *options: str) -> tuple[int, str]:
    (cwd / "job.fio").write_text(JOB)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(cwd)
        words = [test, *WORDS.get(test, []), target, *OPTIONS.get(test, []), *options]
        result = CliRunner().invoke(cli, [command, *words])
    error = f": {result.exception}" if result.exception else ""
    return result.exit_code, result.output + error


@pytest.mark.full_matrix(most=8)
@pytest.mark.parametrize("length", ["--quick", ""])
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("test", TESTS)
def test_each_test_would_run(test: str, preset: str, length: str, tmp_path: Path) -> None:
    code, output = said(tmp_path, "plan", test, f"sim:{preset}", *filter(None, [length]))
    assert code == 0, output


def ran_quickly(test: str, preset: str, tmp_path: Path) -> None:
    """Its record is not taken for one that was edited."""
    code, output = said(
        tmp_path, "run", test, f"sim:{preset}", "--quick", "--no-report", "--out", str(tmp_path / "run")
    )
    assert code == 0, output
    read_for_report(tmp_path / "run")
    check_record(tmp_path / "run")


@pytest.mark.slow
@pytest.mark.full_matrix
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("test", TESTS)
def test_each_test_runs_quickly(test: str, preset: str, tmp_path: Path) -> None:
    ran_quickly(test, preset, tmp_path)


@pytest.mark.full_matrix(most=1)
@pytest.mark.parametrize(
    ("test", "preset"),
    [
        ("precon", "tlc"),
        ("fill", "enterprise-tlc"),
        ("hir", "client-qlc"),
        ("trim", "theory"),
        ("xsr", "enterprise-tlc"),
    ],
)
def test_a_scaled_drive_leaves_a_record_that_is_possible(test: str, preset: str, tmp_path: Path) -> None:
    """What is outstanding when an amount or a time ends is not counted there; some drives take no time."""
    ran_quickly(test, preset, tmp_path)


@pytest.mark.slow
def test_what_is_said_of_a_scale(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    """The preset's own one gives way, that of the operator stays and is refused with what to type."""
    asked = {
        "lowered": ("hir", "sim:client-qlc"),
        "the operator's": ("hir", "sim:client-qlc?scale=40"),
        "too small for a queue": ("benchmarks", "sim:enterprise-tlc?scale=67"),
        "a trace": ("replay", "sim:client-qlc?scale=2"),
    }
    found = {name: said(tmp_path, "plan", *words)[1].splitlines() for name, words in asked.items()}
    # what is changed is said before the plan, below the class that the preset brings
    assert {name: lines[1] if name == "lowered" else lines[-1] for name, lines in found.items()} == snapshot
