"""Holds a record against what made it: the test's script, and the rules by which a ledger is kept.

Both change with openpts: what another version recorded is held against itself alone.
"""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from openpts.device.write_cache import DISABLED, ENABLED, NO_CACHE
from openpts.errors import RecordError
from openpts.fields.conditions import Conditions
from openpts.parameters.plan_file import at_full_length
from openpts.procedures.kit.ledger import deviations, shortened
from openpts.procedures.kit.procedure import Procedure
from openpts.procedures.kit.standing import host_limit_deviations
from openpts.procedures.registry import procedure_of
from openpts.record.manifest import RunState
from openpts.record.reader import Run, read_manifest, refuse_other_histograms, stored_run
from openpts.record.writer import inputs_of
from openpts.runner.driver import Driver, driver_of
from openpts.runner.physical_device import NOT_THE_DEVICE
from openpts.runner.preparation import (
    LEFT_OUT,
    other_write_cache,
    path_deviations,
    purge_left_out,
    rotational_deviations,
)
from openpts.runner.replay import Interruption, ResumePoint, cut_of
from openpts.runner.step_faults import disturbance_deviations, error_deviations
from openpts.system_files import SystemRoots
from openpts.vocabulary.facts import TargetKind
from openpts.vocabulary.requests import Apply
from openpts.vocabulary.sample import StepPlace
from openpts.vocabulary.verdict import Deviation
from openpts_host.software import software_facts

_SATISFIED: Final = {ENABLED: {ENABLED}, DISABLED: {DISABLED, NO_CACHE}}


def check_record(folder: Path) -> str:
    """Why script and ledger of a record are not checked; empty where they were.

    Raises RecordError where a record is not what its test, with its conditions, leaves behind. The reader has
    found that it does not contradict itself.
    """
    test = procedure_of(read_manifest(folder).conditions.test)
    run = stored_run(folder, interval_histograms=test.interval_histograms)
    refuse_other_histograms(run)
    here = software_facts(SystemRoots())["test_software"].value
    versions = {attempt.openpts for attempt in run.manifest.attempts}
    driver = driver_of(test)
    if (imported := run.manifest.imported) is not None:
        return f"its steps are those of {imported.tool}, which follows no script of openpts"
    if versions != {here}:
        makers = ", ".join(sorted(version or "of no version" for version in versions))
        return f"openpts {makers} made the record, and this is {here}; verify it with that version"
    if not run.steps:  # killed before its ledger was begun; a power cut's script asks for none
        return ""
    cut = _played(test, run, driver)
    where = f"the record in {folder} contradicts itself"
    standard = test.standard_conditions(run.manifest.conditions.drive_class, run.manifest.conditions.seed)
    reference = at_full_length(test.name, standard, inputs_of(folder).get("plan.toml"))
    if run.manifest.shortened != shortened(run.manifest.conditions, reference):
        raise RecordError(f"{where}: whether it was shortened does not follow from its conditions")
    for entry in _owed(test, run, standard):
        if entry not in run.ledger:
            raise RecordError(f"{where}: its ledger has no entry on {entry.rule_id}: {entry.used}")
    for required, places in _disturbed(run, cut).items():
        reported = sum(entry.steps for entry in run.ledger if entry.required == required)
        if reported < len(places):
            raise RecordError(
                f"{where} in {min(places)}: of {len(places):,} steps that lack {required!r} its ledger has "
                f"{reported:,}"
            )
    return ""


def _played(test: Procedure, run: Run, driver: Driver) -> Interruption:
    """The script as the record answers it: of a complete run to its end, with all of its steps."""
    script = test.script(run.manifest.conditions, run.manifest.target.user_capacity_bytes)
    cut = cut_of(script, run, ResumePoint.PROGRAM, driver.recorded, "verify")
    if run.manifest.state is RunState.COMPLETE and (cut.next is not None or cut.steps != len(run.steps)):
        further = f", but continues with {cut.text}" if cut.next is not None else ""
        raise RecordError(
            f"the record in {run.folder} contradicts itself: by what it measured its test does not end as "
            f"it did: {cut.steps:,} of its {len(run.steps):,} steps stand{further}"
        )
    return cut


def _owed(test: Procedure, run: Run, standard: Conditions) -> Iterator[Deviation]:
    """What follows from conditions, target, engine, drive and figures of a run, as it is entered."""
    manifest = run.manifest
    conditions = manifest.conditions
    if manifest.target.kind is TargetKind.FILE:
        yield NOT_THE_DEVICE
    yield from path_deviations(manifest.engine)
    yield from rotational_deviations(manifest.dut, of_specification=conditions.of_specification)
    yield from deviations(conditions, standard, test.rules)
    yield from (purge_left_out(purge) for purge in manifest.purges if purge.detail == LEFT_OUT)
    for report in manifest.write_caches:
        if report.actual not in _SATISFIED.get(report.required, {report.actual}):
            yield other_write_cache(report)
    if manifest.state is RunState.COMPLETE:
        yield from test.findings(run)
        yield from host_limit_deviations(run)


def _disturbed(run: Run, cut: Interruption) -> dict[str, set[StepPlace]]:
    """The steps that have an entry in the ledger, by what it requires of them."""
    found: dict[str, set[StepPlace]] = defaultdict(set)
    samples = {step.place: step.sample for step in run.steps}
    for one in cut.kept:
        # where a failure is a result, so is every error
        may_fail = isinstance(one.request, Apply) and one.request.may_fail
        for place in one.places:
            sample = samples[place]
            errors = () if may_fail else error_deviations(place, sample)
            for deviation in (*errors, *disturbance_deviations(place, sample, repeated=False)):
                found[deviation.entry.required].add(place)
    return found
