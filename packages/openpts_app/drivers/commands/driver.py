"""The driver of tests in which a program of the operator's does the I/O."""

from contextlib import AbstractContextManager, nullcontext

from openpts.engine.no_steps import NoSteps
from openpts.errors import RunFailedError
from openpts.procedures.kit.procedure import Procedure
from openpts.record.manifest import Manifest
from openpts.record.reader import Run
from openpts.runner.device_under_test import DeviceUnderTest
from openpts.runner.driver import Driver, Engine
from openpts.runner.events import CommandEnded, CommandStarted, FileSystemPrepared
from openpts.runner.replay import Interruption, ResumePoint
from openpts.runner.script_runner import ScriptRunner
from openpts.runner.unopened_target import UnopenedTarget
from openpts.system_files import SystemRoots
from openpts.vocabulary.command_run import (
    CommandRequest,
    CommandRun,
    FileSystemReport,
    PrepareFileSystem,
    RunKind,
)
from openpts.vocabulary.consent import Consent
from openpts.vocabulary.requests import DriverAnswer, DriverRequest, Script
from openpts_app.drivers.commands.mounted_device import MountedDevice, mounted_device
from openpts_drives.mounted.directory import DirectoryTarget, refuse_scheme


class CommandDriver(Driver):
    """Carries out PrepareFileSystem and CommandRequest, and no steps."""

    def __init__(self, test: Procedure) -> None:
        super().__init__(test)
        self._file_systems: list[FileSystemReport] = []
        self._command_runs: list[CommandRun] = []

    def refuse_name(self, target: str) -> None:
        """See the base: no program can run on a simulated drive."""
        refuse_scheme(target)

    def unopened(self, target: str, roots: SystemRoots) -> UnopenedTarget:
        """See the base; of a directory the device below."""
        refuse_scheme(target)
        if (directory := DirectoryTarget.of(target, roots)) is None:
            return UnopenedTarget.of(target, roots)
        return UnopenedTarget(directory.facts, device=directory.device)

    def opened(self, target: str, consent: Consent, run_id: str) -> AbstractContextManager[DeviceUnderTest]:
        """See the base."""
        return mounted_device(target, consent, run_id)

    def check(self, script: Script, device: DeviceUnderTest) -> None:
        """See the base: the script begins with a file system, and continues with a command."""
        prepare = next(script)
        command = script.send(None)
        assert isinstance(device, MountedDevice)  # noqa: S101 opened as such
        assert isinstance(prepare, PrepareFileSystem)  # noqa: S101 the script is that of such a test
        assert isinstance(command, CommandRequest)  # noqa: S101 likewise
        device.check(prepare.order, command.arguments)
        self._mounted: MountedDevice = device

    def engine(self, of_device: Engine) -> Engine:
        """See the base: steps are only for the plan."""
        del of_device
        return nullcontext(NoSteps())

    def answer(self, request: DriverRequest, runner: ScriptRunner) -> CommandRun | None:
        """See the base. Raises RunFailedError where a program does not end well."""
        if isinstance(request, CommandRequest):
            return self._run(request, runner)
        assert isinstance(request, PrepareFileSystem)  # noqa: S101 the scripts ask for nothing else
        runner.write_down()
        runner.begin_clock()  # which no step does
        report = self._mounted.prepare(request.order)
        self._file_systems.append(report)
        runner.writer.update_manifest(file_systems=self._file_systems)
        runner.emit(FileSystemPrepared(report))
        return None

    def _run(self, order: CommandRequest, runner: ScriptRunner) -> CommandRun:
        runner.pause.until_written()
        runner.check_device()
        runner.emit(CommandStarted(order))
        index, attempt = len(self._command_runs) + 1, len(self._file_systems)
        run = self._mounted.run(order, runner.writer.folder, index, attempt)
        self._command_runs.append(run)
        runner.writer.update_manifest(command_runs=self._command_runs)
        runner.emit(CommandEnded(run))
        runner.write_down()
        if run.stands:
            runner.check_device()
            return run
        if run.stopped_by_operator:
            raise KeyboardInterrupt
        where = " and ".join(str(runner.writer.folder / name) for name in run.outputs)
        output = f"its output is in {where}" if where else "it printed nothing"
        raise RunFailedError(f"{run.name}: the command {run.failure}; {output}")

    def goes_on(self, *, accepted: bool) -> ResumePoint:
        """See the base: with the run of the program that was cut off."""
        del accepted
        return ResumePoint.PROGRAM

    def recorded(self, request: DriverRequest, manifest: Manifest) -> tuple[DriverAnswer | None, ...]:
        """See the base; of runs of the program only one that came to its end."""
        if isinstance(request, CommandRequest):
            which, runs = (request.kind, request.number), manifest.command_runs
            return tuple(one for one in runs if one.stands and (one.kind, one.number) == which)
        return (None,) if manifest.file_systems else ()

    def bring_back(self, before: Manifest, cut: Interruption, runner: ScriptRunner) -> None:
        """A mount lasts no longer than its process, and what was read last is in no cache any more."""
        self._file_systems, self._command_runs = list(before.file_systems), list(before.command_runs)
        if isinstance(cut.next, CommandRequest):
            for request in (answered.request for answered in cut.kept):
                conditions = isinstance(request, CommandRequest) and request.kind is RunKind.CONDITIONING
                if conditions or isinstance(request, PrepareFileSystem):
                    runner.repeat(request)

    def kept(self, run: Run) -> tuple[int, str, str]:
        """See the base."""
        stand = sum(one.stands for one in run.manifest.command_runs)
        return stand, "run of the command is", "runs of the command are"
