"""A question that is stopped while it makes its files: whatever line it was at, none is left."""

import os
import signal
import sys
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from openpts.vocabulary.purge import Consent
from openpts_check.check import PROCEDURE
from openpts_check.drivers.driver import CheckDriver
from openpts_check.drivers.own_folder import LOG_NAME, new_name

pytestmark = pytest.mark.on_disk

WHERE = {"driver.py", "own_folder.py", "guard.py", "scratch_file.py", "contextlib.py"}
"""Modules whose lines lie between the making of the log and what secures its removal."""


@cache
def _is_watched(filename: str) -> bool:
    """Asked at each call while a drive is looked at: of thousands."""
    return Path(filename).name in WHERE


class StoppedAt:
    """Sends Ctrl-C at the n-th line that is executed while a file is there."""

    def __init__(self, path: Path, line: int) -> None:
        self._path, self._left = path, line

    def __call__(self, frame: FrameType, event: str, _: Any) -> Any:
        if not _is_watched(frame.f_code.co_filename):
            return None
        if event in {"line", "return"} and self._path.exists():
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGINT)
        return self


@pytest.mark.full_matrix(most=2)
@pytest.mark.parametrize("line", [1, 5, 8, 26, 74, 90, 125, 170])
def test_no_file_is_left(line: int, tmp_path: Path) -> None:
    folder = tmp_path / new_name()
    opened = CheckDriver(PROCEDURE).opened(f"file:{folder}?size=1MiB", Consent(), "a run")
    before = sys.gettrace()
    try:
        with pytest.raises(KeyboardInterrupt):
            _hand_out(opened, StoppedAt(folder / LOG_NAME, line))
    finally:
        sys.settrace(before)
    assert list(tmp_path.iterdir()) == []


def _hand_out(opened: AbstractContextManager[Any], stopped: StoppedAt) -> None:
    sys.settrace(stopped)
    with opened:
        pytest.fail("it was stopped")
