"""The answers of a drive in its run folder: the evidence from which all verdicts and pages are made."""

from pathlib import Path
from typing import Final

import msgspec

from openpts.errors import RecordError, failing_as
from openpts.record.decoding import decode_json
from openpts.run_folder_files import read_file, write_files
from openpts_nvme.dssd.answers import Answers, CommandResult

NAME: Final = "ocp-answers.json"
"""Each answer by its name: data in Base64, or the status or reason why there are none."""


def keep(folder: Path, answers: Answers) -> None:
    """Write all answers so far."""
    with failing_as(RecordError, f"can't write {folder / NAME}"):
        write_files(folder, {NAME: msgspec.json.format(msgspec.json.encode(answers), indent=1)})


def kept(folder: Path) -> Answers:
    """The answers of a run; none if it ended before the drive was asked. Raises RecordError."""
    try:
        return decode_json(read_file(folder, NAME), dict[str, CommandResult])
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.MsgspecError) as error:
        raise RecordError(f"can't read {folder / NAME}: {error}") from error
