"""What `openpts replicate` would erase is guarded as for `openpts run`."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from openpts.cli.main import cli
from openpts.errors import RefusedError
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
