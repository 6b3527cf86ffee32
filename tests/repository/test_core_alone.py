"""The core runs the test of a third party's plug-in with no other package of openpts there."""

import json
import os
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.support.core_alone import BESIDE_OTHERS, OTHERS, TESTS, core_folder


@pytest.fixture(scope="module")
def core(tmp_path_factory) -> Path:
    return core_folder(tmp_path_factory.mktemp("core") / "path")


def begun(core: Path, *words: str) -> subprocess.Popen[str]:
    """Without `site`, whose files in site-packages would lead to the sources and to what is beside them."""
    path = os.pathsep.join((str(core), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")))
    return subprocess.Popen(
        [sys.executable, "-S", *words],
        cwd=core,
        env={**os.environ, "PYTHONPATH": path, "COLUMNS": "80"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def python(core: Path, *words: str, code: int = 0) -> str:
    process = begun(core, *words)
    output, _ = process.communicate()
    assert process.returncode == code, output
    return output


def openpts(core: Path, *words: object, code: int = 0) -> str:
    return python(core, "-m", "openpts", *map(str, words), code=code)


def listed(page: str) -> list[str]:
    lines = page.partition("Commands:\n")[2].partition("\n\n")[0].splitlines()
    return [line.split()[0] for line in lines if line[2:3].strip()]


def test_no_other_package_is_there(core) -> None:
    assert len(OTHERS) > 15
    asked = "import sys; from importlib.util import find_spec; print(*filter(find_spec, sys.argv[1:]))"
    assert python(core, "-c", asked, "openpts", *sorted(OTHERS)).split() == ["openpts"]


def test_help_shows_the_commands_of_the_core_and_the_test_of_the_plug_in(core) -> None:
    assert listed(openpts(core, "--help")) == ["plan", "run", "resume", "report"]
    for group in ("plan", "run"):
        assert listed(openpts(core, group, "--help")) == ["blocksizes"]


@pytest.mark.on_disk
@pytest.mark.needs("files")
@pytest.mark.long("four starts of Python with the core alone")
def test_a_plan_a_run_that_is_stopped_its_resumption_and_its_report(core, tmp_path) -> None:
    target, run = f"file:{tmp_path / 'scratch'}?size=64MiB", tmp_path / "run"
    assert "sweeps" in openpts(core, "plan", "blocksizes", target, "--quick")
    words = (
        "run",
        "blocksizes",
        target,
        "--time-scale",
        "1/150",
        "--overwrite-file",
        "--no-report",
        "--out",
        str(run),
    )
    with begun(core, "-m", "openpts", *words) as process:
        assert process.stdout is not None
        assert any("conditioning 1 done" in line for line in process.stdout)
        process.send_signal(signal.SIGINT)
        rest = process.communicate()[0]
    assert process.returncode == 130, rest
    openpts(core, "resume", run, "--no-report")
    figures = json.loads(openpts(core, "report", run, "--no-pdf", "--json"))
    written = json.loads((run / "report.json").read_text())
    assert [section["test"] for section in written["sections"]] == ["blocksizes"]
    assert list(figures["measures"]) == [f"{size}_kib.mean" for size in (4, 16, 64, 256)]


def test_what_is_of_another_package_is_refused(core) -> None:
    refused = "import openpts\ntry: openpts.compare\nexcept openpts.OpenptsError as error: print(error)"
    assert python(core, "-c", refused).startswith("openpts.compare is in no plug-in that is installed: ")
    assert "doesn't exist" in openpts(core, "run", "blocksizes", "sim:mlc", "--quick", code=3)
    assert "iops" in openpts(core, "run", "iops", "file:x?size=1MiB", code=2)


def test_what_is_left_out_of_the_cores_own_tests_is_there() -> None:
    assert [name for name in sorted(BESIDE_OTHERS) if not (TESTS / f"{name}.py").is_file()] == []
