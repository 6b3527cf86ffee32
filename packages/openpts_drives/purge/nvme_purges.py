"""NVMe Format NVM of a namespace, its LBA format kept, and Sanitize of an NVM subsystem, by nvme-cli."""

from typing import Final

from msgspec import Struct, field

from openpts.device.ata_identify import serial_number
from openpts.device.block_device import BlockDevice
from openpts.device.nvme_admin import NvmeCommandError
from openpts.device.nvme_subsystem import NvmeSubsystem
from openpts.device.purge.methods import Capability, Progress
from openpts.device.targets.open_target import OpenTarget
from openpts.errors import PurgeError, failing_as
from openpts.programs import ProgramError, ProgramRunner, Reply, run_program
from openpts.vocabulary.facts import Facts
from openpts_drives.purge.nvme_drive import (
    NoAnswerError,
    NvmeAnswers,
    NvmeQuestions,
    SanitizeAction,
    SanitizeLog,
    SanitizeState,
    ask,
    ask_closed,
    check_held,
    controller_node,
    namespace_id,
    of_all,
    opened,
    status_facts,
    what_helps,
    without,
)
from openpts_drives.purge.purge_programs import CLOCK, Clock, run_watched

# The drive reports no time. Block erase of some TB ends in minutes; a drive that overwrites takes hours, and
# to break it off would leave it without a format.
_TIMEOUT_S: Final = 6 * 3600.0
_PROGRAM_TIMEOUT_S: Final = _TIMEOUT_S + 60

_FORMAT_NVM: Final = 1 << 1  # of OACS
_FORMATS_ALL, _ERASES_ALL, _CRYPTO_ERASE = 1 << 0, 1 << 1, 1 << 2  # of FNA


class NvmeFormat(Struct, frozen=True):
    """Implements openpts.device.purge.methods.PurgeMethod; ``ses`` is the Secure Erase Setting."""

    name: str
    title: str
    ses: int
    is_purge: bool = True
    run: ProgramRunner = run_program
    questions: NvmeQuestions = field(default_factory=NvmeQuestions)

    def capability(self, device: BlockDevice) -> Capability:
        """OACS, FNA, and no sanitize in progress."""
        try:
            controller = ask_closed(device, self.questions, self.run).controller
        except NoAnswerError as error:
            return without(error)
        reported = f"Identify Controller: OACS {controller.oacs:#x}, FNA {controller.fna:#x}"
        if not controller.oacs & _FORMAT_NVM:
            return Capability(False, f"has no Format NVM ({reported})")
        if self.ses == 2 and not controller.fna & _CRYPTO_ERASE:
            return Capability(False, f"has no cryptographic erase in Format NVM ({reported})")
        capability = Capability(True, reported)
        reaches_all = controller.fna & (_FORMATS_ALL | _ERASES_ALL)
        return of_all(capability, device, controller, self.questions) if reaches_all else capability

    def carry_out(self, target: OpenTarget, progress: Progress) -> str:
        device = target.device
        assert device is not None  # noqa: S101 only drives have such methods
        check_held(target, self.capability(device))
        before = self._ask(target, device).namespace
        command = [
            *("nvme", "format", str(controller_node(target, self.questions))),
            *(f"--namespace-id={namespace_id(device)}", f"--ses={self.ses}", f"--lbaf={before.format_index}"),
            *(f"--ms={int(before.extended)}", f"--pi={before.protection}"),
            *(f"--pil={int(before.protection_first)}", f"--timeout={_TIMEOUT_S * 1000:.0f}", "--force"),
        ]

        def show(elapsed_s: float) -> None:
            # the drive is not queried how far it is: one that answers nothing else meanwhile would let the
            # question time out, and the kernel would reset it in the middle of its format
            progress(None, f"formatting for {elapsed_s:.0f} s")

        try:
            answer = run_watched(self.run, command, _PROGRAM_TIMEOUT_S, show)
        except ProgramError as error:
            raise self._failed(target, str(error), command) from error
        if answer.returncode != 0:
            raise self._failed(target, answer.complaint, command, answer)
        after = self._ask(target, device).namespace
        if (after.format_text, after.nsze) != (before.format_text, before.nsze):
            raise PurgeError(
                f"{self.title} changed {target.facts.path} from {before.nsze:,} blocks of "
                f"{before.format_text} to {after.nsze:,} of {after.format_text}"
            )
        return f"{before.format_text}, kept; {' '.join(command)}"

    def status(self, target: OpenTarget) -> Facts:
        """NUSE, the format, and what deallocated blocks read as."""
        return status_facts(target, self.questions)

    def _ask(self, target: OpenTarget, device: BlockDevice) -> NvmeAnswers:
        with failing_as(PurgeError, f"{self.title} of {target.facts.path}", of=NoAnswerError):
            return ask(target.fd, namespace_id(device), self.questions)

    def _failed(
        self, target: OpenTarget, why: str, command: list[str], answer: Reply | None = None
    ) -> PurgeError:
        helps = what_helps(answer) if answer is not None else None
        return PurgeError(
            f"{self.title} of {target.facts.path} failed: {why}; {f'{helps}; ' if helps else ''}"
            "a drive may refuse all reads and writes after that, until a format succeeds: "
            f"{' '.join(command)}"
        )


FORMAT_USER_DATA: Final = NvmeFormat("nvme-format", "NVMe Format NVM, user data erase", 1)
FORMAT_CRYPTO: Final = NvmeFormat("nvme-format-crypto", "NVMe Format NVM, cryptographic erase", 2)


_POLL_S: Final = 1.0
# Drives without an estimate took up to minutes; one that overwrites has its capacity to write.
_FLOOR_S: Final = 2 * 3600.0
_ESTIMATES: Final = 3
_SLOWEST_BYTES_PER_S: Final = 50e6
# A reset takes up to two minutes where the drive is slow to become ready, a connection some ten minutes.
_GONE_FOR_S: Final = 900.0
_NEVER_BEGUN_S: Final = 60.0


class SanitizeWait(Struct, frozen=True):
    """One wait, made before the command is sent: ``serial`` and ``nsid`` are what the drive is known by then.

    ``command`` is dword 10 of the sanitize, ``before`` the log until now; ``limit_s`` is when to give up.
    """

    target: OpenTarget
    title: str
    serial: str | None
    nsid: int
    command: int
    before: SanitizeLog | None
    limit_s: float
    questions: NvmeQuestions
    clock: Clock

    def to_the_end(self, progress: Progress) -> SanitizeLog:
        """The log when it says that all is done.

        Raises PurgeError if the sanitize fails, never ends, or the drive does not come back.
        """
        clock = self.clock
        started_s = answered_s = clock.now_s()
        last, begun = "no status yet", False
        while True:
            now_s = clock.now_s()
            try:
                log = self._read()
            except NoAnswerError as error:
                if now_s - answered_s > _GONE_FOR_S:
                    raise self._lost(now_s - answered_s, str(error)) from error
                progress(None, f"waiting for the drive, {error}")
            else:
                answered_s, last = now_s, str(log)
                # every sanitize of a kind has the same dword 10: an old success looks like a new one
                begun = begun or log != self.before or now_s - started_s >= _NEVER_BEGUN_S
                if begun and self._is_over(log, now_s - started_s):
                    return log
                progress(log.share_done, f"sanitizing for {now_s - started_s:.0f} s")
            if now_s - started_s > self.limit_s:
                raise self._endless(now_s - started_s, last)
            clock.sleep(_POLL_S)

    def _is_over(self, log: SanitizeLog, elapsed_s: float) -> bool:
        """Whether it ended well. Raises PurgeError if it did not, or if the log is of another one."""
        if log.state is SanitizeState.IN_PROGRESS:
            return False
        if log.command != self.command or log.state is SanitizeState.NEVER:
            if elapsed_s < _NEVER_BEGUN_S:  # some drives are late to enter it
                return False
            raise PurgeError(
                f"{self._what} was accepted, but the drive's log shows none: {log}, dword 10 "
                f"{log.command:#x} instead of {self.command:#x}"
            )
        if log.state is SanitizeState.FAILED:
            raise PurgeError(
                f"{self._what} failed, according to the Sanitize Status log. The drive refuses reads and "
                "writes until another sanitize succeeds: begin again. Or let it leave that state with "
                f"what it then holds: nvme sanitize {self._node} --sanact=1"
            )
        return True

    def _read(self) -> SanitizeLog:
        """The log, by our own descriptor or, where that leads nowhere, by the drive's new name."""
        try:
            return SanitizeLog.parse(self.questions.sanitize_log(self.target.fd))
        except (NvmeCommandError, ValueError) as error:
            device = self._again()
            if device is None or device == self.target.device:
                raise NoAnswerError(str(error)) from error
        with opened(device) as fd:
            try:
                return SanitizeLog.parse(self.questions.sanitize_log(fd))
            except (NvmeCommandError, ValueError) as error:
                raise NoAnswerError(str(error)) from error

    def _again(self) -> BlockDevice | None:
        device = self.target.device
        if self.serial is None or device is None:
            return None
        subsystem = NvmeSubsystem.with_serial(self.serial, device.roots)
        namespaces = () if subsystem is None else subsystem.namespaces
        return next((found for found in namespaces if found.integer("nsid") == self.nsid), None)

    @property
    def _what(self) -> str:
        return f"{self.title} of {self.target.facts.path}"

    @property
    def _node(self) -> str:
        device = self.target.device
        controller = NvmeSubsystem.of(device).live_controller if device else None
        return f"/dev/{controller.name}" if controller else self.target.facts.path

    def _lost(self, seconds: float, why: str) -> PurgeError:
        return PurgeError(
            f"{self._what} was started, but the drive has not answered for {seconds:.0f} s: {why}. It "
            "continues by itself when the drive has power: see nvme sanitize-log when it is back"
        )

    def _endless(self, seconds: float, last: str) -> PurgeError:
        return PurgeError(
            f"{self._what} has not ended after {seconds / 60:.0f} min, longer than the drive should take. "
            f"Its log: {last}. It continues by itself, and can't be stopped. Switch the machine off "
            f"and on, then see nvme sanitize-log {self._node}"
        )


_START_TIMEOUT_S: Final = 600.0
_CAPABILITY_BIT: Final = {
    SanitizeAction.CRYPTO: 1 << 0,
    SanitizeAction.BLOCK: 1 << 1,
    SanitizeAction.OVERWRITE: 1 << 2,
}
_NAMES: Final = {
    SanitizeAction.CRYPTO: "nvme-sanitize-crypto",
    SanitizeAction.BLOCK: "nvme-sanitize-block",
    SanitizeAction.OVERWRITE: "nvme-sanitize-overwrite",
}
_ALLOW_EXIT: Final = 1 << 3  # AUSE in dword 10
_PASSES_AT: Final = 4
# The drive's estimate of an overwrite is for 16 passes.
_PASSES_OF_ESTIMATE: Final = 16


class NvmeSanitize(Struct, frozen=True):
    """Implements openpts.device.purge.methods.PurgeMethod."""

    action: SanitizeAction
    is_purge: bool = True
    run: ProgramRunner = run_program
    questions: NvmeQuestions = field(default_factory=NvmeQuestions)
    clock: Clock = CLOCK

    @property
    def name(self) -> str:
        return _NAMES[self.action]

    @property
    def title(self) -> str:
        return f"NVMe Sanitize, {self.action.text}"

    def capability(self, device: BlockDevice) -> Capability:
        """SANICAP, and the log with the drive's estimate."""
        try:
            answers = ask_closed(device, self.questions, self.run)
        except NoAnswerError as error:
            return without(error)
        return self._capability(answers, device)

    def carry_out(self, target: OpenTarget, progress: Progress) -> str:
        """An interrupt ends the wait, not the sanitize."""
        device = target.device
        assert device is not None  # noqa: S101 only drives have such methods
        with failing_as(PurgeError, f"{self.title} of {target.facts.path} failed", of=NoAnswerError):
            answers = ask_closed(device, self.questions, self.run)
        capability = self._capability(answers, device)
        check_held(target, capability)
        node = controller_node(target, self.questions)
        command = ["nvme", "sanitize", str(node), f"--sanact={self.action.number}"]
        # without it a sanitize that fails would leave no way out but one that succeeds
        command.append("--ause")
        if self.action is SanitizeAction.OVERWRITE:
            command += ["--owpass=1", "--ovrpat=0"]
        passes = 1 << _PASSES_AT if self.action is SanitizeAction.OVERWRITE else 0
        one_pass_s = target.facts.user_capacity_bytes / _SLOWEST_BYTES_PER_S
        wait = SanitizeWait(
            target,
            self.title,
            serial_number(device).value,
            namespace_id(device),
            self.action.number | _ALLOW_EXIT | passes,
            answers.sanitize,
            max(_FLOOR_S, one_pass_s, _ESTIMATES * (capability.duration_s or 0)),
            self.questions,
            self.clock,
        )
        with failing_as(PurgeError, f"{self.title} of {target.facts.path} failed", of=ProgramError):
            answer = run_watched(
                self.run,
                command,
                _START_TIMEOUT_S,
                lambda elapsed_s: progress(None, f"starting for {elapsed_s:.0f} s"),
            )
        if answer.returncode != 0:
            why = "; ".join(filter(None, (answer.complaint, what_helps(answer))))
            raise PurgeError(f"{self.title} of {target.facts.path} failed: {why}")
        log = wait.to_the_end(progress)
        return f"{log}; {' '.join(command)}"

    def status(self, target: OpenTarget) -> Facts:
        """The log, NUSE, the format, and what deallocated blocks read as."""
        return status_facts(target, self.questions)

    def _capability(self, answers: NvmeAnswers, device: BlockDevice) -> Capability:
        reported = f"Identify Controller: SANICAP {answers.controller.sanicap:#x}"
        if answers.sanitize is None or not answers.controller.sanicap & _CAPABILITY_BIT[self.action]:
            return Capability(False, f"has no Sanitize with {self.action.text} ({reported})")
        capability = Capability(True, reported, self._estimate_s(answers.sanitize))
        return of_all(capability, device, answers.controller, self.questions)

    def _estimate_s(self, log: SanitizeLog) -> float | None:
        estimate_s = log.estimates_s.get(self.action)
        if estimate_s is not None and self.action is SanitizeAction.OVERWRITE:
            return estimate_s / _PASSES_OF_ESTIMATE
        return estimate_s


SANITIZE_BLOCK: Final = NvmeSanitize(SanitizeAction.BLOCK)
SANITIZE_CRYPTO: Final = NvmeSanitize(SanitizeAction.CRYPTO)
SANITIZE_OVERWRITE: Final = NvmeSanitize(SanitizeAction.OVERWRITE)
