"""The build that `make demo` makes first: what needs traces says what to do."""

import re
import subprocess
import sys
from typing import Final

import pytest

from tests import ROOT
from tests.support.transcript import Transcript

_MODULE: Final = ROOT / "rust/python/src/lib.rs"
_FIRST_BUILD: Final = """
import sys
from openpts import _native
for name in {names}:
    delattr(_native, name)
from openpts.cli.main import main
main()
"""


def _names_of_features() -> list[str]:
    """What the native module exports with its features only, by the names of Python."""
    gated = re.findall(
        r"cfg\(feature[^\n]*\n\s*#\[pymodule_export\]\n\s*use super::\w+::([^;]+);", _MODULE.read_text()
    )
    names = [name.removeprefix("Py") for one in gated for name in re.findall(r"\w+", one)]
    assert "LiveCapture" in names
    return names


def _first_build(*words: str) -> str:
    code = _FIRST_BUILD.format(names=_names_of_features())
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)
    return f"$ openpts {' '.join(words)}\n{done.stderr}exit code {done.returncode}\n"


def test_what_needs_the_rest_says_how_to_build_it(snapshot, tmp_path) -> None:
    trace = tmp_path / "t.csv"
    trace.write_text("0,read,0,4096\n")
    said = [
        _first_build("capture", "--help"),
        _first_build("trace", "check", "t.csv"),
        _first_build("run", "replay", str(trace), "sim:mlc"),
    ]
    assert "\n".join(said).replace(str(tmp_path), "/tmp") == snapshot.use_extension(Transcript)


@pytest.mark.parametrize("command", [("doctor",), ("plan", "iops", "sim:mlc")], ids=lambda words: words[0])
def test_the_rest_of_openpts_is_there(command) -> None:
    assert "exit code 0" in _first_build(*command)
