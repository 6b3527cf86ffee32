import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from openpts.cli.main import cli
from tests.support.ssh_keys import SshKeys
from tests.support.synthetic_run import Synthetic, write_synthetic_run


@pytest.fixture(scope="session")
def keys(tmp_path_factory: pytest.TempPathFactory) -> SshKeys:
    return SshKeys(tmp_path_factory.mktemp("keys"))


@pytest.fixture(scope="session")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run folder with its report, without the files that take long to make or to read."""
    folder = tmp_path_factory.mktemp("sealed") / "run"
    write_synthetic_run(folder, Synthetic(rounds=5, steady_round=5))
    (folder / "input").mkdir()
    (folder / "input/plan.toml").write_text("[iops]\n")
    (folder / "claim.jsonl").write_text("{}\n")
    made = CliRunner().invoke(cli, ["report", str(folder), "--no-csv", "--no-pdf"])
    assert made.exit_code == 0, made.output
    return folder


@pytest.fixture(scope="session")
def sealed(reported: Path, keys: SshKeys, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, sealed by the key `ann`."""
    folder = tmp_path_factory.mktemp("sealed") / "run"
    shutil.copytree(reported, folder)
    made = CliRunner().invoke(cli, ["seal", str(folder), "--key", str(keys.private("ann"))])
    assert made.exit_code == 0, (made.output, made.exception)
    return folder
