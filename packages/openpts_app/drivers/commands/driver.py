"""The driver of tests with programs of the operator, on a device that is mounted for them."""

import os
import re
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar, Final

from msgspec import field

from openpts.device.block_device import BlockDevice, device_below
from openpts.device.guard.guard import open_target
from openpts.device.targets.target import parse_target
from openpts.device.write_cache import write_cache_control
from openpts.engine.contract import NoSteps
from openpts.errors import OpenptsError, RecordError, RunFailedError, TargetError, UsageError, failing_as
from openpts.journal import Journal
from openpts.procedures.kit.procedure import Procedure
from openpts.programs import ProgramError, find_program, run_program
from openpts.record.manifest import Manifest
from openpts.record.reader import Run
from openpts.record.writer import OUTPUT_FOLDER
from openpts.run_folder_files import write_files
from openpts.runner.device_under_test import DeviceUnderTest
from openpts.runner.driver import Driver, Engine
from openpts.runner.event_lines import CommandEnded, FileSystemPrepared
from openpts.runner.events import CommandStarted
from openpts.runner.healing import Healing, heal_before_run
from openpts.runner.physical_device import PhysicalDevice
from openpts.runner.replay import Interruption, ResumePoint
from openpts.runner.script_runner import ScriptRunner
from openpts.runner.stop_signals import StopSignals
from openpts.runner.unopened_target import UnopenedTarget
from openpts.system_files import SystemRoots, printable, read_lines
from openpts.units import NS_PER_S, NS_PER_US
from openpts.vocabulary.command_run import (
    CommandRequest,
    CommandRun,
    FileSystemReport,
    FileSystemSettings,
    FileSystemType,
    PrepareFileSystem,
    PrintedFigure,
    RunKind,
)
from openpts.vocabulary.facts import Fact, Facts, TargetKind
from openpts.vocabulary.purge import Consent
from openpts.vocabulary.requests import DriverAnswer, DriverRequest, Script
from openpts.vocabulary.stimulus import Step
from openpts.vocabulary.verdict import Deviation
from openpts_app.drivers.commands.command_process import Ended, ProgramOfTheOperator
from openpts_drives.mounted.directory import (
    DirectoryTarget,
    device_counts,
    file_system_fault,
    is_writable,
    open_directory,
    refuse_scheme,
)
from openpts_drives.mounted.prepared_drive import MARK, PreparedDrive, described, end_marked
from openpts_host.link_settings import COUNTING
from openpts_host.setting_file import HostSettingError, write_request

_ALL: Final = "3"
"""Pages, and the inodes and directory entries of file systems."""


def drop_page_cache(roots: SystemRoots) -> str:
    """Write all dirty pages back and drop the clean ones; empty, or why that was not possible."""
    os.sync()
    try:
        write_request(roots.proc / "sys/vm/drop_caches", _ALL, roots)
    except HostSettingError as error:
        return str(error)
    return ""


def stall_ns(resource: str, roots: SystemRoots) -> int | None:
    """Time in which some task waited for ``io`` or ``cpu``, since the machine started; None if uncounted."""
    for line in read_lines(roots.proc / "pressure" / resource):
        kind, _, rest = line.partition(" ")
        total = dict(word.partition("=")[::2] for word in rest.split()).get("total", "")
        if kind == "some" and total.isdecimal():
            return int(total) * NS_PER_US
    return None


_DIRECTORY_WORD, _DEVICE_WORD = "{dir}", "{device}"
_DROPPED: Final = "dropped"
_KEPT: Final = "left as it was"
_LONGEST_SYNC_S: Final = 3600.0


@contextmanager
def mounted_device(text: str, consent: Consent, run_id: str) -> Iterator["MountedDevice"]:
    """The directory or the drive that the operator's text names; unmounted at the end if openpts mounted it.

    A drive or a file is lent by the guard, with the consent of any run that destroys. Raises OpenptsError.
    """
    refuse_scheme(text)
    roots, journal = SystemRoots(), Journal.of_machine()
    with ExitStack() as held:
        if (directory := DirectoryTarget.of(text, roots)) is not None:
            opened = held.enter_context(open_directory(directory, roots, run_id))
            healed: tuple[Healing, ...] = ()
        else:
            target = parse_target(text)
            healed = heal_before_run(target, journal, roots, run_id)
            opened = held.enter_context(open_target(target, consent, roots, run_id, lent=True))
        cache = held.enter_context(write_cache_control(opened, roots, journal))
        mark = secrets.token_hex(16)
        prepared = None if directory else PreparedDrive(opened, roots, journal, mark)
        device = MountedDevice(
            opened, roots, cache, healed, mark=mark, directory=directory, prepared=prepared
        )
        if prepared is not None:
            held.callback(prepared.release)
        yield device


class MountedDevice(PhysicalDevice):
    """``directory`` is that of the operator; of a drive or a file None, and ``prepared`` mounts it."""

    programs_do_its_io: ClassVar[bool] = True
    mark: str = ""
    directory: DirectoryTarget | None = None
    prepared: PreparedDrive | None = None
    _was_writable: bool = field(default=False)
    _is_raw: bool = field(default=False)

    def identity(self) -> Facts:
        """See the protocol."""
        facts = PhysicalDevice.identity(self)
        if self.directory is None:
            return facts | {"file_system": Fact("made for the run; see the report's own page", "openpts")}
        mount = self.directory.mount
        text = f"{mount.fs_type}, {mount.options}, mounted at {printable(mount.mount_point)}"
        return facts | {"file_system": Fact(text, f"{self.roots.proc}/self/mountinfo")}

    def deviations(self, steps: Sequence[Step]) -> tuple[Deviation, ...]:
        """See the protocol: what is between the file system and the drive."""
        if self.facts.kind is TargetKind.FILE:
            return (_FILE_BELOW,)
        return PhysicalDevice.deviations(self, steps)

    def fault(self) -> str | None:
        """See the protocol."""
        if self.directory is not None:
            return file_system_fault(
                self.directory.path, self.directory.device, was_writable=self._was_writable
            )
        return PhysicalDevice.fault(self)

    def put_back(self) -> str | None:
        """See the protocol."""
        try:
            if self.prepared is not None:
                self.prepared.release()
        except OpenptsError as error:
            return str(error)
        return PhysicalDevice.put_back(self)

    def check(self, settings: FileSystemSettings, arguments: Sequence[str]) -> None:
        """Raise OpenptsError where a program can't run here, before anything is changed."""
        if self.directory is None:
            PreparedDrive.check(settings)
        elif settings.wanted is not None or settings.fill_pct:
            raise UsageError(
                f"{self.directory.path} is a directory, whose file system is taken as it is: leave "
                "--file-system and --fill-level out, or name a drive"
            )
        device = self.target.device
        if device is not None and device.whole.text(f"queue/{COUNTING}") == "0":
            raise UsageError(
                f"the kernel does not count the I/O of {device.node}: switch it on with `echo 1 > "
                f"{device.whole.place('queue')}/{COUNTING}`"
            )
        program = arguments[0]
        if not program.startswith((_DIRECTORY_WORD, _DEVICE_WORD)) and find_program(program) is None:
            raise UsageError(
                f"command {printable(program)} not found, or not executable: name one of PATH, or a path"
            )

    def prepare(self, settings: FileSystemSettings) -> FileSystemReport:
        """Bring the file system into the state for the first run. Raises TargetError."""
        if self.directory is None:
            assert self.prepared is not None  # noqa: S101 one of both is there
            self._is_raw = settings.type is FileSystemType.NONE
            return self.prepared.prepare(settings)
        path = self.directory.path
        device = self.directory.device
        report = described(device, path, self.roots, trim=_trim_text(device))
        self._was_writable = is_writable(path)
        return report

    @property
    def _place(self) -> tuple[Path | None, BlockDevice]:
        """The directory to run in, None on a raw drive, and the block device below."""
        if self.directory is not None:
            return self.directory.path, self.directory.device
        assert self.prepared is not None  # noqa: S101 one of both is there
        assert self.prepared.device is not None  # noqa: S101 prepare was called
        return None if self._is_raw else self.prepared.directory, self.prepared.device

    def run(self, request: CommandRequest, folder: Path, index: int, attempt: int) -> CommandRun:
        """Run the program once; what it prints is in the run folder. Raises OpenptsError if it can't start.

        ``index`` counts all runs of the record, from 1.
        """
        directory, device = self._place
        arguments, environment = self._command_line(request.arguments, directory, device)
        reason = drop_page_cache(self.roots) if request.kind is RunKind.COLD else ""
        os.sync()
        whole = _disk_below(
            device, self.facts.path if self.facts.kind is TargetKind.FILE else None, self.roots
        )
        before, disk_before = device_counts(device), device_counts(whole)
        io_before, cpu_before = stall_ns("io", self.roots), stall_ns("cpu", self.roots)
        started_at = datetime.now(UTC).isoformat(timespec="milliseconds")
        with StopSignals() as signals:
            program = ProgramOfTheOperator(arguments, directory or Path("/"), environment)
            ended = program.wait(request.limit_ns, signals, self.roots)
        at_exit = device_counts(device)
        io_after, cpu_after = stall_ns("io", self.roots), stall_ns("cpu", self.roots)
        left_behind = end_marked(self.mark, self.roots)
        sync_ns = synchronized(directory)
        after, disk_after = device_counts(device), device_counts(whole)
        name = f"{request.application}-" if request.application else ""
        figure, problem = (None, "") if ended.stopped else _figure(request.figure, ended)
        return CommandRun(
            kind=request.kind,
            number=request.number,
            attempt=attempt,
            started_at=started_at,
            elapsed_ns=ended.ended_ns - ended.started_ns,
            status=ended.status,
            stopped=ended.stopped,
            page_cache=_page_cache(request.kind, reason),
            cold=request.kind is RunKind.COLD and not reason,
            user_ns=ended.user_ns,
            system_ns=ended.system_ns,
            process_read_bytes=ended.read_bytes,
            process_written_bytes=ended.written_bytes,
            io_stall_ns=_since(io_before, io_after),
            cpu_stall_ns=_since(cpu_before, cpu_after),
            until_exit=at_exit.since(before),
            synced=after.since(at_exit),
            sync_ns=sync_ns,
            disk=None if whole == device else disk_after.since(disk_before),
            left_behind=left_behind,
            outputs=_kept(folder, f"{index:02}-{name}{request.kind}-{request.number}", ended),
            left_out_bytes=ended.stdout.left_out_bytes + ended.stderr.left_out_bytes,
            figure=figure,
            failure=_failure(ended) or problem,
            application=request.application,
        )

    def _command_line(
        self, arguments: Sequence[str], directory: Path | None, device: BlockDevice
    ) -> tuple[list[str], Mapping[str, str]]:
        """Command line with directory and device filled in, and its environment."""
        places = {_DIRECTORY_WORD: str(directory or ""), _DEVICE_WORD: str(device.node)}
        found = list(arguments)
        for place, path in places.items():
            found = [word.replace(place, path) for word in found]
        found[0] = find_program(found[0]) or found[0]
        environment = {
            **os.environ,
            MARK: self.mark,
            "OPENPTS_TARGET_DIR": places[_DIRECTORY_WORD],
            "OPENPTS_TARGET_DEVICE": places[_DEVICE_WORD],
        }
        return found, environment


_FILE_BELOW: Final = Deviation(
    rule_id="PTS-GEN-05",
    clause="1.1, 6 (2)",
    required="a file system on the device itself",
    used="a loop device over a file",
    effect="the file system below the file, and the loop device, are measured as well",
)


def _trim_text(device: BlockDevice) -> str:
    """Of a file system that is not openpts' own: nothing on it is changed."""
    possible = device.whole.integer("queue/discard_max_bytes")
    return f"not done: the file system is taken as it is; the drive {'can' if possible else 'cannot'} trim"


def _disk_below(device: BlockDevice, file: str | None, roots: SystemRoots) -> BlockDevice:
    """The whole drive: of a partition its disk, of a loop device that below its file."""
    found = device if file is None else device_below(Path(file), roots) or device
    return found.beneath[0]


def _since(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else after - before


def _page_cache(kind: RunKind, reason: str) -> str:
    if kind is not RunKind.COLD:
        return _KEPT
    return f"not dropped: {reason}" if reason else _DROPPED


def synchronized(directory: Path | None) -> int:
    """Write back what the program left in memory; the time that took in nanoseconds."""
    arguments = ("sync", "--file-system", str(directory)) if directory else ("sync",)
    with failing_as(TargetError, "can't write back what the program left in memory", of=ProgramError):
        return run_program(arguments, _LONGEST_SYNC_S).duration_ns


def _kept(folder: Path, name: str, ended: Ended) -> tuple[str, ...]:
    """The output as files of the run folder. Raises RecordError."""
    outputs = {"out": ended.stdout.content, "err": ended.stderr.content}
    files = {f"{OUTPUT_FOLDER}/{name}.{ending}": content for ending, content in outputs.items() if content}
    with failing_as(RecordError, f"can't write the output of the command to {folder}"):
        write_files(folder, files)
    return tuple(files)


def _failure(ended: Ended) -> str:
    """What is wrong with the end of the program, for a sentence that begins with its run; or empty."""
    if ended.stopped:
        return ended.stopped
    if ended.status < 0:
        return f"was ended by signal {-ended.status}"
    return f"ended with exit status {ended.status}" if ended.status else ""


def _figure(figure: PrintedFigure | None, ended: Ended) -> tuple[float | None, str]:
    """The figure of the last match in the output, or in what it says of errors; or why there is none."""
    if figure is None:
        return None, ""
    for output in (ended.stdout, ended.stderr):
        found = re.findall(figure.pattern, output.content.decode(errors="replace"), re.MULTILINE)
        if found:
            try:
                return float(found[-1].replace(",", "")), ""
            except ValueError:
                text = printable(found[-1][:40])
                return None, f"printed no number where --figure {figure.name} looks, but {text!r}"
    return None, f"printed nothing that --figure {figure.name} matches: {figure.pattern}"


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
        while isinstance(command, CommandRequest):
            device.check(prepare.order, command.arguments)
            command = script.send(command.planned[1])
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
        runner.emit(FileSystemPrepared(file_system=report))
        return None

    def _run(self, request: CommandRequest, runner: ScriptRunner) -> CommandRun:
        runner.pause.until_written()
        runner.check_device()
        time.sleep(request.rest_ns / NS_PER_S)
        runner.emit(CommandStarted(request))
        index, attempt = len(self._command_runs) + 1, len(self._file_systems)
        run = self._mounted.run(request, runner.writer.folder, index, attempt)
        self._command_runs.append(run)
        runner.writer.update_manifest(command_runs=self._command_runs)
        runner.emit(CommandEnded(run=run))
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
            which, runs = (request.application, request.kind, request.number), manifest.command_runs
            return tuple(
                one for one in runs if one.stands and (one.application, one.kind, one.number) == which
            )
        return (None,) if manifest.file_systems else ()

    def bring_back(self, before: Manifest, cut: Interruption, runner: ScriptRunner) -> None:
        """A mount lasts no longer than its process, and what was read last is in no cache any more."""
        self._file_systems, self._command_runs = list(before.file_systems), list(before.command_runs)
        following = cut.next
        if isinstance(following, CommandRequest):
            for request in (answered.request for answered in cut.kept):
                conditions = (
                    isinstance(request, CommandRequest)
                    and request.kind is RunKind.CONDITIONING
                    and request.application == following.application
                )
                if conditions or isinstance(request, PrepareFileSystem):
                    runner.perform(request)

    def kept(self, run: Run) -> tuple[int, str, str]:
        """See the base."""
        stand = sum(one.stands for one in run.manifest.command_runs)
        return stand, "run of the command is", "runs of the command are"
