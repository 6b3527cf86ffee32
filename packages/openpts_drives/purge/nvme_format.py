"""NVMe Format NVM of one namespace, its LBA format kept, by nvme-cli."""

from typing import Final

from msgspec import Struct, field

from openpts.device.block_device import BlockDevice
from openpts.device.nvme_admin import NvmeNamespace
from openpts.device.purge.methods import Capability, Progress
from openpts.device.targets.open_target import OpenTarget
from openpts.errors import PurgeError, failing_as
from openpts.programs import ProgramError, ProgramRunner, Reply, run_program
from openpts.vocabulary.facts import Facts
from openpts_drives.purge.nvme_drive import (
    NoAnswerError,
    NvmeAnswers,
    NvmeQuestions,
    ask,
    ask_closed,
    check_held,
    controller_node,
    namespace_id,
    of_all,
    status_facts,
    what_helps,
    without,
)
from openpts_drives.purge.purge_programs import run_watched

# The drive tells no time. Block erase of some TB ends in minutes; a drive that overwrites takes hours, and to
# break it off would leave it without a format.
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

    @classmethod
    def user_data(cls) -> "NvmeFormat":
        """SES 1: all user data is erased."""
        return cls("nvme-format", "NVMe Format NVM, user data erase", 1)

    @classmethod
    def crypto(cls) -> "NvmeFormat":
        """SES 2: the key is erased."""
        return cls("nvme-format-crypto", "NVMe Format NVM, cryptographic erase", 2)

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
        command = self._command(target, namespace_id(device), before)

        def tell(elapsed_s: float) -> None:
            # the drive is not asked how far it is: one that answers nothing else meanwhile would let the
            # question time out, and the kernel would reset it in the middle of its format
            progress(None, f"formatting for {elapsed_s:.0f} s")

        try:
            answer = run_watched(self.run, command, _PROGRAM_TIMEOUT_S, tell)
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

    def _command(self, target: OpenTarget, nsid: int, now: NvmeNamespace) -> list[str]:
        return [
            "nvme",
            "format",
            str(controller_node(target, self.questions)),
            f"--namespace-id={nsid}",
            f"--ses={self.ses}",
            f"--lbaf={now.format_index}",
            f"--ms={int(now.extended)}",
            f"--pi={now.protection}",
            f"--pil={int(now.protection_first)}",
            f"--timeout={_TIMEOUT_S * 1000:.0f}",
            "--force",
        ]

    def _ask(self, target: OpenTarget, device: BlockDevice) -> NvmeAnswers:
        with failing_as(PurgeError, f"{self.title} of {target.facts.path}", of=NoAnswerError):
            return ask(target.fd, namespace_id(device), self.questions)

    def _failed(
        self, target: OpenTarget, said: str, command: list[str], answer: Reply | None = None
    ) -> PurgeError:
        helps = what_helps(answer) if answer is not None else None
        return PurgeError(
            f"{self.title} of {target.facts.path} failed: {said}; {f'{helps}; ' if helps else ''}"
            "a drive may refuse all reads and writes after that, until a format succeeds: "
            f"{' '.join(command)}"
        )


USER_DATA: Final = NvmeFormat.user_data()
CRYPTO: Final = NvmeFormat.crypto()
