"""Replication on files: what it would erase is guarded as for `openpts run`, and it runs as that does."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from openpts.cli.main import cli
from openpts.errors import RefusedError
from openpts.record.reader import read_manifest
from tests.device.openpts_process import ONE_ELEMENT, SHORT
from tests.support.synthetic_run import Synthetic, write_synthetic_run


def test_a_file_of_others_is_refused_without_consent(tmp_path: Path) -> None:
    passport, file = tmp_path / "theirs", tmp_path / "of-others.bin"
    write_synthetic_run(passport, Synthetic(rounds=5, steady_round=5))
    content = bytes(range(256)) * 4096
    file.write_bytes(content)
    words = ["replicate", str(passport), f"file:{file}", "--out", str(tmp_path / "ours")]
    result = CliRunner().invoke(cli, words)
    assert isinstance(result.exception, RefusedError), result.output
    assert file.read_bytes() == content
    with pytest.raises(FileNotFoundError):
        (tmp_path / "ours" / "run.db").stat()


def test_a_run_on_a_file_is_made_again(tmp_path: Path) -> None:
    theirs, ours, target = tmp_path / "theirs", tmp_path / "ours", f"file:{tmp_path}/scratch?size=16MiB"
    said("run", "iops", target, *SHORT, *ONE_ELEMENT, "--no-report", "--out", theirs)
    result = said("replicate", theirs, target, "--no-report", "--out", ours)
    # whether so short a run on a shared machine agrees is left to chance
    assert result.return_value in {0, 10}, result.output
    first, again = read_manifest(theirs), read_manifest(ours)
    assert first.conditions == again.conditions
    assert [one.method for one in first.purges] == [one.method for one in again.purges]


def said(*words: object) -> Result:
    result = CliRunner().invoke(cli, [str(word) for word in words], standalone_mode=False)
    assert result.exception is None, result.output
    return result
