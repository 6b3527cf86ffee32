"""The words of `openpts` with which a batch starts a run, or continues one that was cut off."""

from collections.abc import Sequence
from pathlib import Path

from openpts.errors import RecordError
from openpts.record.reader import has_begun
from openpts.vocabulary.run_request import RunRequest
from openpts_batch.located_drive import LocatedDrive


def run_words(
    request: RunRequest,
    drive: LocatedDrive,
    run_folder: Path,
    pinned: Sequence[str],
    resume_words: Sequence[str],
) -> list[str]:
    """Arguments of a run that begins, or of one that continues where the folder has a record.

    ``pinned`` are options that only a new run has, ``resume_words`` those that only a resumed one has.
    """
    ours = ["--events", "-", "--no-report"]
    if drive.device is not None and request.serial and "--confirm-serial" not in request.test_words:
        ours += ["--confirm-serial", request.serial]
    if has_record(run_folder):
        own = [*ours, *request.consents]
        return ["resume", str(run_folder), "--target", drive.target, *own, *resume_words]
    return request.words_on(drive.target, run_folder, [*ours, *pinned])


def has_record(run_folder: Path) -> bool:
    """Whether a run in this folder has a record that this openpts can read."""
    try:
        return has_begun(run_folder)
    except RecordError:
        return False
