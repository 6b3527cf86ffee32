"""How tests of a kind are carried out: each procedure names the driver that does it."""

from contextlib import AbstractContextManager
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from openpts.device.block_device import BlockDevice
from openpts.engine.contract import CapturingEngine
from openpts.errors import TargetError
from openpts.procedures.kit.procedure import Procedure
from openpts.procedures.registry import procedure_of
from openpts.record.batch import is_batch, read_batch
from openpts.record.manifest import Manifest, RunState
from openpts.record.reader import Run, has_begun, read_manifest, read_run
from openpts.runner.device_under_test import DeviceUnderTest, device_under_test
from openpts.runner.replay import Interruption, ResumePoint
from openpts.runner.unopened_target import UnopenedTarget
from openpts.system_files import SystemRoots
from openpts.units import format_count
from openpts.vocabulary.purge import Consent
from openpts.vocabulary.requests import Apply, DriverAnswer, DriverRequest, ReadHealth, Script

if TYPE_CHECKING:
    from openpts.runner.script_runner import ScriptRunner

Engine: TypeAlias = AbstractContextManager[CapturingEngine]


class Driver:
    """Drives tests of steps; a test of another kind names a subclass. Each run, or plan, has its own.

    A request that is no step is carried out by ``answer``, for which a subclass may keep what it needs.
    """

    depends_on_scale: ClassVar[bool] = True
    """Whether a simulated drive's scale bears on the figures."""
    drive_stays: ClassVar[bool] = True
    """Whether the drive is there throughout: it is sampled, and keeps its cache as the script has set it."""

    def __init__(self, test: Procedure) -> None:
        self.test = test

    def refuse_name(self, target: str) -> None:
        """Raise UsageError for what such a test can't run on, whatever is there."""

    def unopened(self, target: str, roots: SystemRoots) -> UnopenedTarget:
        """What a plan knows of the target. Raises OpenptsError as a run would, as far as can be seen."""
        return UnopenedTarget.of(target, roots)

    def opened(self, target: str, consent: Consent, run_id: str) -> AbstractContextManager[DeviceUnderTest]:
        """The device that the operator's text names, claimed for the run and closed at its end."""
        return device_under_test(target, consent, for_writing=True, run_id=run_id)

    def refuse_zones(self, device: BlockDevice | None) -> None:
        """Raise TargetError for a drive whose zones take writes in sequence only."""
        if device is None or device.zones_model != "host-managed":
            return
        raise TargetError(
            f"{device.name} is a zoned drive (host-managed), which takes writes only in sequence within each "
            f"zone. The {self.test.short_title} test writes elsewhere: use a drive without zones"
        )

    def check(self, script: Script, device: DeviceUnderTest) -> None:
        """Raise OpenptsError where the script can't be carried out on the device, before it is changed."""

    def engine(self, of_device: Engine) -> Engine:
        """What does the I/O: ``of_device``, which is not open yet, or something in its place."""
        return of_device

    def answer(self, request: DriverRequest, runner: "ScriptRunner") -> DriverAnswer | None:
        """Carry out what only this driver can; the record has it however it ends. Raises OpenptsError."""
        raise TypeError(f"{type(self).__name__} is asked for {request} in {runner.writer.folder}")

    def unresumable(self, manifest: Manifest) -> str:
        """Why such a run can't continue once it was cut off; empty where it can."""
        del manifest
        return ""

    def goes_on(self, *, accepted: bool) -> ResumePoint:
        """Where a run continues on a drive that exists; ``accepted``: the operator lets its cycle be cut."""
        return ResumePoint.PHASE if accepted or self.test.resumes else ResumePoint.CYCLE

    def recorded(self, request: DriverRequest, manifest: Manifest) -> tuple[DriverAnswer | None, ...]:
        """The answers that the record has to a request of this driver, the last of which counts."""
        del request, manifest
        return ()

    def bring_back(self, before: Manifest, cut: Interruption, runner: "ScriptRunner") -> None:
        """Do again what an earlier attempt has done to a drive that exists, and that did not last."""
        del before
        if isinstance(cut.next, Apply | ReadHealth):
            runner.restore_write_cache()

    def kept(self, run: Run) -> tuple[int, str, str]:
        """How much a record has, and the words for one and for several of it."""
        return len(run.steps), "step is", "steps are"

    def end(self, folder: Path) -> None:
        """Raise RunFailedError where a complete run has shown that its drive fails."""


def driver_of_record(manifest: Manifest) -> Driver:
    """A new driver of the kind that the test of a record names."""
    return driver_of(procedure_of(manifest.conditions.test))


def driver_of(test: Procedure) -> Driver:
    """A new driver of the kind that the test names; its module is loaded now."""
    driver: Driver = resolve_name(test.driver)(test)
    return driver


def what_is_kept(folder: Path) -> str:
    """What stays of a run, a suite or a batch that was cut off, and how it continues. Raises RecordError."""
    if not is_batch(folder):
        if not has_begun(folder):
            return "nothing was written yet"
        kept = _kept_in(folder)
        return f"{kept}: `openpts report {folder}` reports on what was measured. {how_to_continue(folder)}"
    entries = read_batch(folder).entries
    done = sum(entry.state is RunState.COMPLETE for entry in entries)
    kept = f"{done} of {format_count(len(entries), 'run')} complete"
    return f"{'; '.join((kept, *map(_kept_in, _cut_off(folder))))}. {how_to_continue(folder)}"


def how_to_continue(folder: Path) -> str:
    """What to type, and where that which was cut off begins again (PTS-PRE-05). Raises RecordError."""
    resume = f"`openpts resume {folder}"
    if not any(map(_begins_again, _cut_off(folder))):
        return f"{resume}` continues it"
    return (
        f"{resume} --accept-interruption` continues it, which is a deviation. Without that option the cycle "
        "begins again with the purge: the specification allows no interruption after it."
    )


def _cut_off(folder: Path) -> list[Path]:
    """The run, or those of a suite or a batch, that have a record and did not come to their end."""
    batch = read_batch(folder) if is_batch(folder) else None
    runs = [folder] if batch is None else [folder / entry.folder for entry in batch.entries]
    return [one for one in runs if has_begun(one) and read_manifest(one).state is not RunState.COMPLETE]


def _kept_in(folder: Path) -> str:
    run = read_run(folder)
    count, one, several = driver_of_record(run.manifest).kept(run)
    return f"1 {one} kept in {folder}" if count == 1 else f"{count} {several} kept in {folder}"


def _begins_again(folder: Path) -> bool:
    """Whether the cycle that was cut off is lost, unless the operator accepts the interruption."""
    manifest = read_manifest(folder)
    driver = driver_of_record(manifest)
    is_cut = bool(manifest.purges) and manifest.target.simulation is None
    return is_cut and driver.goes_on(accepted=False) is not driver.goes_on(accepted=True)
