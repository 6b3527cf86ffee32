"""What commands print with --json holds to its schema."""

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, get_args, get_type_hints, is_typeddict

import click
import pytest
from click.testing import CliRunner
from jsonschema_rs import Draft202012Validator
from msgspec.structs import replace

from docs.interface_schemas import OF_COMMANDS
from docs.schema_files import OUTPUTS
from openpts.cli.main import cli
from openpts.errors import EngineUnavailableError
from openpts.procedures.registry import PROCEDURES
from openpts.record.batch import read_batch, write_batch
from openpts.record.manifest import RunState
from openpts.runner.events import StepFinished
from openpts.runner.run import run_test
from openpts_batch import in_turn
from openpts_fio.engine.engine import find_fio
from tests.support.command_tree import all_commands
from tests.support.killed_run import Killed, killed, nth
from tests.support.made_traces import reads_and_writes
from tests.support.openpts_process import openpts
from tests.support.oracle_presets import write_oracle

_OF_TESTS: Final = ("plan", "run")
_SHORT: Final = ("--time-scale", "1/500", "--no-report")
_DATA: Final = "--no-html --no-pdf --no-csv"
_Document = dict[str, Any]


def _loaded(path: Path) -> _Document:
    found: _Document = json.loads(path.read_text())
    return found


def _forms(path: Path) -> dict[str, _Document]:
    """The schema of each form in a file, by the form's name."""
    whole = _loaded(path)
    definitions = whole.get("$defs", {})
    found = {}
    for one in (whole, *definitions.values()):
        if (named := one.get("properties", {}).get("schema")) is not None:
            found[named.get("const") or named["enum"][0]] = {**one, "$defs": definitions}
    return found


_FORMS: Final = _forms(OUTPUTS)


@dataclass(frozen=True)
class Place:
    """A folder with two runs of a drive that follows a script, and two traces."""

    folder: Path
    drive: str
    request: pytest.FixtureRequest

    def printed(self, *words: object) -> _Document:
        """By a command in this process; it may end with an error that the object has as well."""
        ended = CliRunner().invoke(cli, [*map(str, words), "--json"])
        assert ended.stdout, ended.exception
        found: _Document = json.loads(ended.stdout)
        if isinstance(ended.exception, Exception):
            assert found["error"] == str(ended.exception)
        return found

    @property
    def device(self) -> Path:
        """A loop device."""
        attach: Callable[[], Path] = self.request.getfixturevalue("attach")
        return attach()


@pytest.fixture(scope="module")
def folder(disk_path_factory: pytest.TempPathFactory) -> Path:
    folder = disk_path_factory.mktemp("outputs")
    for number, name in enumerate(("one", "other")):
        drive = write_oracle(folder, [1000, 900.5 + number, 950], every=3, name="drive")
        run = CliRunner().invoke(cli, ["run", "tp", f"sim:{drive}", *_SHORT, "--out", str(folder / name)])
        assert run.exception is None
        (folder / f"{name}.csv").write_bytes(reads_and_writes(400 + number))
    return folder


@pytest.fixture
def place(folder: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("OPENPTS_STATE", str(folder / "state"))
    monkeypatch.chdir(folder)
    return Place(folder, f"sim:{folder / 'drive.toml'}", request)


def _capture(at: Place) -> Iterator[_Document]:
    at.request.getfixturevalue("traceable")
    device, way = at.device, ("--way", "tracefs")
    words = ("capture", device, *way, "--seconds", "0.1", "--out")
    yield at.printed(*words, "captured")
    yield at.printed(*words, "not-kept", "--measure-cost")


def _crosscheck(at: Place) -> Iterator[_Document]:
    try:
        find_fio()
    except EngineUnavailableError as error:
        pytest.skip(str(error))
    (at.folder / "data").write_bytes(os.urandom(1 << 20))
    one = ("--stimulus", "random-read-4k-qd1", "--seconds", "0.05", "--ramp", "0", "--repeats", "2")
    yield at.printed("crosscheck", "file:data", *one)


def _gate(at: Place) -> Iterator[_Document]:
    limit = ("--limit", "tp.seq_128_kib.read >= -3 %", "--limit", "tp.seq_128_kib.write >= 1000 GB/s")
    yield at.printed("gate", "one", *limit, "--baseline", "other")
    yield at.printed("gate", "one", "--power-analysis", "--baseline", "other")


def _io(at: Place) -> Iterator[_Document]:
    io = ("io", "--seconds", "0.02", "--overwrite-file")
    files = ("file:a?size=4MiB", "file:b?size=4MiB")
    yield at.printed(*io, files[0], "--mix", "50/50", "--rate", "2000")
    yield at.printed(*io, *files, "--mix", "0/100")
    job = at.folder / "job.fio"
    job.write_text(
        "[global]\nruntime=20ms\ntime_based\nbs=4k\n[a]\nrw=randread\n[b]\nrw=randwrite\n[c]\nstonewall\nrw=read\n"
    )
    yield at.printed("io", "--fio", "job.fio", at.drive)
    job.write_text(job.read_text().partition("[c]")[0])
    yield at.printed("io", "--fio", "job.fio", at.drive, "--alone")


def _resume(at: Place) -> Iterator[_Document]:
    inner, suite, cut = at.folder / "killed", at.folder / "suite", at.folder / "cut-suite"
    inner.mkdir()
    killed(inner, nth(StepFinished, 3))
    yield at.printed("resume", inner / "cut", "--no-report")
    in_suite = Killed(suite, cut, at=nth(StepFinished, 3)).on_event
    patch: pytest.MonkeyPatch = at.request.getfixturevalue("monkeypatch")
    patch.setattr(in_turn, "run_test", lambda *order: run_test(*order[:2], [*order[2], in_suite]))
    at.printed("run", "all", at.drive, "--tests", "tp", *_SHORT, "--out", suite)
    yield at.printed("resume", cut, "--no-report")
    yield _batch(at, "batch-to-resume")
    batch = read_batch(at.folder / "batch-to-resume")
    first, last = batch.entries
    shutil.rmtree(at.folder / "batch-to-resume" / last.folder)
    waiting = replace(last, state=RunState.WAITING, exit_code=None)
    write_batch(at.folder / "batch-to-resume", replace(batch, entries=(first, waiting), ended_at=None))
    yield at.printed("resume", at.folder / "batch-to-resume", "--no-report")


def _batch(at: Place, name: str) -> _Document:
    return at.printed("run", "tp", at.drive, at.drive, *_SHORT, "--out", at.folder / name)


def _run(at: Place) -> Iterator[_Document]:
    yield at.printed("run", "tp", at.drive, *_SHORT, "--out", "run", "--require-steady")
    yield _batch(at, "batch")
    yield at.printed("run", "benchmarks", "--list")


def _verify(at: Place) -> Iterator[_Document]:
    made = CliRunner().invoke(cli, ["report", "one", *_DATA.split()])
    assert made.exception is None
    yield at.printed("verify", "one")
    report = at.folder / "one" / "report.json"
    report.write_text(report.read_text().replace("tp", "iops", 1))
    yield at.printed("verify", "one")
    _batch(at, "batch-to-verify")
    yield at.printed("verify", "batch-to-verify")
    yield from _words("verify one --requirements", "verify one --guide tkperf")(at)
    yield at.printed("verify", "batch-to-verify", "--requirements")


def _words(*commands: str) -> Callable[[Place], Iterator[_Document]]:
    """Plain command lines, in which DRIVE is the drive of the runs."""
    return lambda at: (at.printed(*line.replace("DRIVE", at.drive).split()) for line in commands)


_CASES: Final = {
    "attach": _words("attach ."),
    "capture": _capture,
    "check": _words(
        "check sim:client-qlc --for commit --minutes 0.2 --no-report --out question",
        "check sim:client-qlc --for endurance --like 50GB/day",
    ),
    "compare": _words("compare one other --redact"),
    "crosscheck": _crosscheck,
    "devices": _words("devices"),
    "doctor": _words("doctor", "doctor --self", "doctor --self-test"),
    "gate": _gate,
    "idle-flush": _words("idle-flush DRIVE --look 0.1 --least 0.5 --longest 2"),
    "io": _io,
    "plan all": _words("plan all --capacity 1TB --tests lat,hir"),
    "plan TEST": _words(*(f"plan {test} --capacity 1TB" for test in ("iops", "wsat", "precon", "qos"))),
    "plan": _words("plan --list"),
    "purge": _words("purge file:c?size=1MiB --list", "purge file:c?size=1MiB --overwrite-file"),
    "report": _words(f"report one {_DATA}", f"report one other {_DATA} --out both"),
    "resume": _resume,
    "run TEST": _run,
    "run all": _words("run all DRIVE --tests tp --time-scale 1/500 --no-report --out all"),
    "sim list": _words("sim list"),
    "sim show": _words("sim show mlc"),
    "trace check": _words("trace check one.csv"),
    "trace convert": _words("trace convert one.csv --out converted.parquet"),
    "verify": _verify,
}


def hold(document: _Document) -> None:
    """Raises ValidationError where a document does not keep to the schema of its form."""
    Draft202012Validator(_FORMS[document["schema"]]).validate(document)


def _takes_json(command: click.Command) -> bool:
    return any("--json" in option.opts for option in command.params)


def _form_of(output: Any) -> str:
    """The name of a form, which a type has as its tag or as the type of its key."""
    if isinstance(output, str):
        return output
    if is_typeddict(output):
        name: str = get_args(get_type_hints(output)["schema"])[0]
        return name
    return str(output.__struct_config__.tag)


def test_no_command_with_json_lacks_a_schema() -> None:
    having = {
        f"{words[0]} TEST" if words[0] in _OF_TESTS and words[-1] in PROCEDURES else " ".join(words)
        for words, command in all_commands()
        if _takes_json(command)
    }
    assert having == set(OF_COMMANDS)
    fleet = {
        words for words in having if words.startswith("fleet ")
    }  # tests/fleet/test_commands.py, on hosts
    assert having == set(_CASES) | fleet


@pytest.mark.full_matrix(most=2)
@pytest.mark.parametrize("command", _CASES)
def test_what_a_command_prints_holds_to_its_schemas(command: str, place: Place) -> None:
    printed = list(_CASES[command](place))
    for document in printed:
        hold(document)
    assert {document["schema"] for document in printed} == set(map(_form_of, OF_COMMANDS[command]))


def test_the_manual_lists_every_form() -> None:
    page = (OUTPUTS.parent / "interfaces.md").read_text()
    assert set(re.findall(r"openpts\.[a-z-]+/\d+", page)) == set(_FORMS)


@pytest.mark.parametrize("words", [("devices", "/dev/null"), ("gate", "--limt")])
def test_what_fails_before_it_has_anything_to_print(words: tuple[str, ...], tmp_path: Path) -> None:
    ended = openpts(*words, "--json", cwd=tmp_path)
    hold(ended.json)
    assert (ended.json["schema"], ended.json["exit_code"]) == ("openpts.error/1", ended.exit_code)
    assert f"openpts: {ended.json['error']}" in " ".join(ended.stderr.split())
