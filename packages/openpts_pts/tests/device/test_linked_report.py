"""A run folder with a link to a drive where its report will be: not a byte reaches the drive."""

import hashlib
from collections.abc import Callable
from pathlib import Path

from tests.support.openpts_process import openpts
from tests.support.report_cases import CASES
from tests.support.synthetic_run import write_synthetic_run
from tests.support.transcript import Golden


def test_a_report_is_not_written_onto_a_drive(
    tmp_path: Path, attach: Callable[..., Path], golden: Golden
) -> None:
    node = attach()
    before = hashlib.sha256(node.read_bytes()).digest()
    write_synthetic_run(tmp_path / "run", CASES["two rounds"])
    (tmp_path / "run" / "report.json").symlink_to(node)
    only_model = ("--no-html", "--no-pdf", "--no-csv")
    ended = openpts("report", "run", *only_model, cwd=tmp_path)
    assert ended.exit_code == 8
    assert ended.complaint == golden
    assert hashlib.sha256(node.read_bytes()).digest() == before
    (tmp_path / "run" / "report.json").unlink()
    assert openpts("report", "run", *only_model, cwd=tmp_path).exit_code == 0
