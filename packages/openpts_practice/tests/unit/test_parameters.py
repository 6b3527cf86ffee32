"""Options and plan files of the practice tests: each parameter sets its field, and help names its value."""

from typing import Any

import pytest
from msgspec.structs import replace

from openpts.cli.procedure_options import chosen
from openpts.fields.field import parameters_of
from openpts.parameters.overrides import Overrides, conditions_of
from openpts.planning.dry_run import AssumedDrive, Ending, dry_run
from openpts.procedures.kit.ledger import deviations, shortened
from openpts.procedures.kit.procedure import Procedure
from openpts.procedures.registry import PROCEDURES
from openpts.vocabulary.drive_class import DriveClass
from openpts_pts.conformance.catalogue import PTS
from tests.support.changed_values import changed_value
from tests.support.subject_files import with_subject

NAMES = [name for name in PROCEDURES if name not in PTS]
TESTS = [PROCEDURES[name] for name in NAMES]
NEED_A_DRIVE = {"app", "ocp"}
# what figures are compared with, what the operator has seen, and what leaves no measurement out
TOLD_ELSEWHERE = {
    "firmware",
    "cut_command",
    "claims",
    "ambient_c",
    "airflow",
    "secondary_metrics",
    "battery_wh",
    "job",
    "captured",
    "trace",
    "also",
    "traces",
    "idle",
    "background",
    "suite",
    "folder",
    # what is asked of a disk in use
    "purpose",
    "size_bytes",
    "heat_ns",
    # where and what the operator's program is
    "command",
    "applications",
    "file_system",
    "fill_level_pct",
    "limit_ns",
    "figure_better",
}
SCRATCH_BYTES = 256 * 1024**2


def quick(test: Procedure) -> Any:
    choices = chosen(test, None, Overrides(), drive_class=None, is_quick=True, seed=1)
    return choices.adjust(with_subject(test.standard_conditions(DriveClass.ENTERPRISE, 1)))


@pytest.mark.parametrize("test", TESTS, ids=NAMES)
@pytest.mark.parametrize("drive_class", list(DriveClass))
def test_each_parameter_sets_its_field_and_each_change_is_in_the_ledger(test, drive_class) -> None:
    standard = test.standard_conditions(drive_class, 1)
    for name, parameter in parameters_of(test.conditions).items():
        given = Overrides({name: changed_value(name, standard)}, {name: parameter.option})
        used = conditions_of(given, standard)
        assert getattr(used, parameter.field) != getattr(standard, parameter.field), name
        entries = deviations(used, standard, test.rules)
        is_read_only = test.name in NEED_A_DRIVE and parameter.field in {"figure", "read_only"}
        assert bool(entries) is not (is_read_only or parameter.field in TOLD_ELSEWHERE), name
        assert all(entry.required != entry.used for entry in entries)


@pytest.mark.parametrize("test", TESTS, ids=NAMES)
def test_as_it_is_defined_a_test_has_an_empty_ledger(test) -> None:
    for drive_class in DriveClass:
        standard = test.standard_conditions(drive_class, 1)
        assert deviations(standard, standard, test.rules) == ()


def test_a_short_look_says_what_of_it_is_short() -> None:
    standard = PROCEDURES["check"].standard_conditions(DriveClass.ENTERPRISE, 1)
    entries = deviations(quick(PROCEDURES["check"]), standard, ())
    assert [(entry.required, entry.used) for entry in entries] == [
        ("9.00 s per step", "1.00 s per step"),
        ("repeats: 3", "repeats: 2"),
    ]


@pytest.mark.parametrize("test", TESTS, ids=NAMES)
def test_a_quick_look_takes_minutes_and_is_known_as_short(test) -> None:
    drive = AssumedDrive(write_bytes_per_s=200e6, write_iops=20_000)
    planned = dry_run(test.script(quick(test), SCRATCH_BYTES), SCRATCH_BYTES, drive, Ending.LONGEST)
    if not planned:  # which take the time that they take
        assert test.name in NEED_A_DRIVE
        return
    assert 2 < sum(sum(one.durations_ns) for one in planned) / 1e9 < 5 * 60
    assert shortened(quick(test), test.standard_conditions(DriveClass.ENTERPRISE, 1))


def test_fewer_repeats_alone_make_a_run_short() -> None:
    standard = PROCEDURES["check"].standard_conditions(DriveClass.ENTERPRISE, 1)
    assert shortened(replace(standard, repeats=2), standard)
    assert not shortened(replace(standard, repeats=4), standard)
