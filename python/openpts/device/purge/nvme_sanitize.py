"""NVMe Sanitize of a whole NVM subsystem, by nvme-cli, and the wait for its end.

The command only starts it. The drive goes on by itself, through resets and power cycles, and takes no reads
or writes until it is done; the Sanitize Status log has its progress.
"""

from dataclasses import dataclass, field
from typing import Final

from openpts.device.block_device import BlockDevice
from openpts.device.purge.method import Capability, Progress
from openpts.device.purge.nvme_drive import (
    NoAnswerError,
    NvmeAnswers,
    NvmeQuestions,
    ask_closed,
    controller_node,
    status_facts,
    without,
)
from openpts.device.purge.nvme_failure import what_helps
from openpts.device.purge.nvme_reach import check_held, of_all
from openpts.device.purge.nvme_sanitize_log import SanitizeAction, SanitizeLog
from openpts.device.purge.nvme_sanitize_wait import SanitizeWait
from openpts.device.purge.waiting import CLOCK, Clock
from openpts.device.purge.watched_program import run_watched
from openpts.device.targets.open_target import OpenTarget
from openpts.errors import PurgeError
from openpts.programs import ProgramError, Run, run_program
from openpts.vocabulary.facts import Facts

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


@dataclass(frozen=True, slots=True)
class NvmeSanitize:
    """Implements openpts.device.purge.method.PurgeMethod."""

    action: SanitizeAction
    is_purge: bool = True
    run: Run = run_program
    questions: NvmeQuestions = field(default_factory=NvmeQuestions)
    clock: Clock = CLOCK

    @property
    def name(self) -> str:
        """See the protocol."""
        return _NAMES[self.action]

    @property
    def title(self) -> str:
        """See the protocol."""
        return f"NVMe Sanitize, {self.action.words}"

    def capability(self, device: BlockDevice) -> Capability:
        """See the protocol: SANICAP, and the log with the drive's estimate."""
        try:
            answers = ask_closed(device, self.questions, self.run)
        except NoAnswerError as error:
            return without(error)
        return self._capability(answers, device)

    def carry_out(self, target: OpenTarget, progress: Progress) -> str:
        """See the protocol. An interrupt ends the wait, not the sanitize."""
        device = target.device
        assert device is not None  # noqa: S101 only drives have such methods
        try:
            answers = ask_closed(device, self.questions, self.run)
        except NoAnswerError as error:
            raise PurgeError(f"{self.title} of {target.facts.path} failed: {error}") from error
        capability = self._capability(answers, device)
        check_held(target, capability)
        node = controller_node(target, self.questions)
        command = ["nvme", "sanitize", str(node), f"--sanact={self.action.number}"]
        # without it a sanitize that fails would leave no way out but one that succeeds
        command.append("--ause")
        if self.action is SanitizeAction.OVERWRITE:
            command += ["--owpass=1", "--ovrpat=0"]
        wait = SanitizeWait.of(
            target,
            self.title,
            self._dword_10(),
            before=answers.sanitize,
            estimate_s=capability.duration_s,
            questions=self.questions,
            clock=self.clock,
        )
        try:
            answer = run_watched(
                self.run,
                command,
                _START_TIMEOUT_S,
                lambda elapsed_s: progress(None, f"starting for {elapsed_s:.0f} s"),
            )
        except ProgramError as error:
            raise PurgeError(f"{self.title} of {target.facts.path} failed: {error}") from error
        if answer.returncode != 0:
            said = "; ".join(filter(None, (answer.complaint, what_helps(answer))))
            raise PurgeError(f"{self.title} of {target.facts.path} failed: {said}")
        log = wait.to_the_end(progress)
        return f"{log}; {' '.join(command)}"

    def status(self, target: OpenTarget) -> Facts:
        """See the protocol: the log, NUSE, the format, and what deallocated blocks read as."""
        return status_facts(target, self.questions)

    def _capability(self, answers: NvmeAnswers, device: BlockDevice) -> Capability:
        told = f"Identify Controller: SANICAP {answers.controller.sanicap:#x}"
        if answers.sanitize is None or not answers.controller.sanicap & _CAPABILITY_BIT[self.action]:
            return Capability(False, f"has no Sanitize with {self.action.words} ({told})")
        capability = Capability(True, told, self._estimate_s(answers.sanitize))
        return of_all(capability, device, answers.controller, self.questions)

    def _estimate_s(self, log: SanitizeLog) -> float | None:
        estimate_s = log.estimates_s.get(self.action)
        if estimate_s is not None and self.action is SanitizeAction.OVERWRITE:
            return estimate_s / _PASSES_OF_ESTIMATE
        return estimate_s

    def _dword_10(self) -> int:
        """What the log will tell as the command that began it."""
        passes = 1 << _PASSES_AT if self.action is SanitizeAction.OVERWRITE else 0
        return self.action.number | _ALLOW_EXIT | passes
