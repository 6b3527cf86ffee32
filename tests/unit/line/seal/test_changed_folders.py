"""Whatever is changed in a sealed folder, its seal counts no more; `make seal-changes` tries 100,000."""

import json
import os
import shutil
from pathlib import Path

import pytest

from openpts.errors import RecordError
from openpts_line.seal.check import check_seal
from tests.support.ssh_keys import SshKeys
from tests.unit.line.seal.folder_changes import SIGNATURE, STATEMENT, FolderChanges, canonical

CHANGES = int(os.environ.get("OPENPTS_SEAL_CHANGES", "500"))
PARTS = 10
NAMESPACE = "openpts-seal"


def seals_of_others(folder: Path, keys: SshKeys) -> dict[str, tuple[bytes, bytes]]:
    """Each with its statement, of which one is of another folder, and one says what was not measured."""
    content, signature = ((folder / name).read_bytes() for name in (STATEMENT, SIGNATURE))
    other = json.loads(content)
    other["subject"].pop()
    better = json.loads(content)
    values = better["predicate"]["runs"]["."]["key_values"]
    next(iter(values.values()))["value"] *= 2
    seals = {
        "in another namespace": (content, keys.signature(content, "ann", "file")),
        "of another file": (content, keys.signature(b"mail", "ann", NAMESPACE)),
        "of a folder that has less": (canonical(other), keys.signature(canonical(other), "ann", NAMESPACE)),
        "with a better value": (canonical(better), signature),
    }
    for key in ("stranger", "thief"):
        for words, stated in (("", content), (" with a better value", canonical(better))):
            seals[f"by the {key}{words}"] = (stated, keys.signature(stated, key, NAMESPACE))
    return seals


@pytest.mark.full_matrix(most=3)
@pytest.mark.parametrize("part", range(PARTS))
def test_each_change_is_refused(sealed: Path, keys: SshKeys, tmp_path: Path, part: int) -> None:
    folder = tmp_path / "run"
    shutil.copytree(sealed, folder)
    signers = keys.signers("signers", ("ann@lab", "ann"), ("thief@lab", "thief"))
    revoked = keys.public("thief")
    changes = FolderChanges(folder, seals_of_others(folder, keys))
    for seed in range(part * CHANGES // PARTS, (part + 1) * CHANGES // PARTS):
        with changes.made(seed) as words:
            said = f"seed {seed}: {words}"
            with pytest.raises(RecordError, match=r"\S"):
                pytest.fail(f"{said} was not refused: {check_seal(folder, signers, revoked)}")
    assert check_seal(folder, signers, revoked).signers == ("ann@lab",)
