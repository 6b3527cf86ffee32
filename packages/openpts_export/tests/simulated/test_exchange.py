"""What other programs read of a run: each line holds to its schema, also where a run is killed."""

import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from jsonschema_rs import Draft202012Validator, Registry

from docs.interface_schemas import schemas
from docs.schema_files import EVENTS, RUN
from openpts.errors import LimitError
from openpts.procedures.registry import PROCEDURES
from openpts.record.reader import read_run
from openpts.report.run_part import summarize
from openpts.report.sources import read_for_report
from openpts.runner.event_lines import ProgramEnded, ProgramStarted
from openpts.runner.event_stream import EventStream
from openpts.runner.run import run_test
from openpts_compare.tests.simulated.test_export import check_fio_outputs, check_other_forms
from openpts_export.ocp_diag import OcpDiagStream
from tests.support.killed_run import ordered
from tests.support.openpts_command import COMMAND
from tests.support.openpts_process import openpts
from tests.support.oracle_presets import write_oracle

_SAMPLED = {"tp", "lifetime", "powercut"}  # rounds; cycles; without steps


@pytest.fixture(scope="module")
def of_ocp() -> Draft202012Validator:
    peers = os.environ.get("OPENPTS_PEERS")
    if peers is None:
        pytest.skip("OPENPTS_PEERS names no folder with the schemas of OCP")
    schemas = [json.loads(path.read_text()) for path in (Path(peers) / "ocp-diag/output").glob("*.json")]
    assert len(schemas) > 15
    registry = Registry([(schema["$id"], schema) for schema in schemas])
    root = next(schema for schema in schemas if schema["$id"].endswith("/output"))
    validator = Draft202012Validator(root, registry=registry)
    nameless = {"testStepArtifact": {"testStepId": "1", "testStepStart": {}}}
    assert not validator.is_valid({**nameless, "sequenceNumber": 0, "timestamp": "2026-01-01T00:00:00Z"})
    return validator


def of_file(path: Path = EVENTS) -> Draft202012Validator:
    return Draft202012Validator(json.loads(path.read_text()))


def whole_lines(written: bytes) -> list[dict[str, Any]]:
    """All but one that a kill has cut off."""
    return [json.loads(line) for line in written.splitlines(keepends=True) if line.endswith(b"\n")]


def kinds(lines: list[dict[str, Any]]) -> list[str]:
    return [line["kind"] for line in lines]


def artifacts(lines: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Name and content of each artifact of an OCP output."""
    for line in lines:
        for outer in ("testRunArtifact", "testStepArtifact"):
            for name, content in line.get(outer, {}).items():
                if isinstance(content, dict):
                    yield name, content


def test_the_schemas_are_those_of_the_code() -> None:
    for path, text in schemas().items():
        assert path.read_text() == text, "run python -m docs.interface_schemas"


@dataclass(frozen=True)
class Written:
    """A run, and what it has written."""

    folder: Path
    events: list[dict[str, Any]]
    ocp: list[dict[str, Any]]


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(name, marks=() if name in _SAMPLED else pytest.mark.slow)
        for name in PROCEDURES
        if name not in {"app", "ocp"}  # run on no simulated drive
    ],
)
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Written:
    events, ocp, test = bytearray(), bytearray(), request.param
    on_event = [EventStream(events.extend).on_event, OcpDiagStream(ocp.extend).on_event]
    for listener in on_event:
        listener(ProgramStarted(program_version="0", command_line=("run", test)))
    folder = tmp_path_factory.mktemp(test) / "run"
    run_test(PROCEDURES[test], ordered(test, folder), on_event)
    for listener in on_event:
        listener(ProgramEnded(exit_code=0, error=None))
    return Written(folder, whole_lines(bytes(events)), whole_lines(bytes(ocp)))


def test_any_test_writes_what_its_schemas_allow(written: Written, tmp_path: Path) -> None:
    of, lines = of_file(), written.events
    for line in lines:
        of.validate(line)
    run = read_run(written.folder)
    of_file(RUN).validate(json.loads(json.dumps(summarize(read_for_report(written.folder)))))
    assert kinds(lines)[0] == "stream_started"
    assert kinds(lines)[-2:] == ["run_finished", "stream_finished"]
    entered = [line["steps"] for line in lines if line["kind"] == "deviation"]
    assert sum(steps <= 1 for steps in entered) == len(run.ledger)
    assert [steps for steps in entered if steps > 1] == [one.steps for one in run.ledger if one.steps > 1]
    finished = [line for line in lines if line["kind"] == "step_finished"]
    assert [line["operations"].get("read", {}).get("ios", 0) for line in finished] == [
        step.sample.read.ios for step in run.steps
    ]
    assert kinds(lines).count("sample") == sum(len(step.sample.intervals) for step in run.steps)
    check_other_forms(written.folder, tmp_path)


def test_fio_outputs_of_any_test_are_as_fio_has_them(written: Written, tmp_path: Path) -> None:
    check_fio_outputs(written.folder, tmp_path)


def test_any_test_writes_what_the_schemas_of_ocp_allow(
    written: Written, of_ocp: Draft202012Validator
) -> None:
    for number, line in enumerate(written.ocp):
        of_ocp.validate(line)
        assert line["sequenceNumber"] == number
    names, steps = [name for name, _ in artifacts(written.ocp)], len(read_run(written.folder).steps)
    assert (names[0], names[-1]) == ("testRunStart", "testRunEnd")
    assert names.count("testStepStart") == names.count("testStepEnd")
    assert names.count("measurementSeriesStart") == names.count("measurementSeriesEnd") == 2 * steps


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two limits that are far from what the drive does, of which one fails."""
    folder = tmp_path_factory.mktemp("limited")
    preset = write_oracle(folder, [1000, 900.5, 950], every=3)
    (folder / "limits.toml").write_text(
        'allow = ["deviations", "not steady"]\n'
        'limits = ["tp.seq_128_kib.read >= 1 MB/s", "tp.seq_128_kib.write >= 1000 GB/s"]\n'
    )
    words = ("run", "tp", f"sim:{preset}?seed=42", "--time-scale", "1/500", "--no-report", "--out", "run")
    outputs = ("--limits", "limits.toml", "--events", "e.jsonl", "--ocp-diag", "o.jsonl")
    done = openpts(*words, *outputs, cwd=folder)
    assert done.exit_code == LimitError.exit_code, done.stderr
    return folder


def test_verdicts_on_limits_are_events(limited: Path) -> None:
    lines, of = whole_lines((limited / "e.jsonl").read_bytes()), of_file()
    for line in lines:
        of.validate(line)
    (judged,) = (line["limits"] for line in lines if line["kind"] == "limits_judged")
    assert [limit["judgement"] for limit in judged] == ["pass", "fail"]
    assert (lines[-1]["kind"], lines[-1]["exit_code"]) == ("stream_finished", LimitError.exit_code)


def test_verdicts_on_limits_are_written_with_their_bounds(
    limited: Path, of_ocp: Draft202012Validator
) -> None:
    written = whole_lines((limited / "o.jsonl").read_bytes())
    for line in written:
        of_ocp.validate(line)
    bounds = [
        (content["value"] >= bound["value"], bound["type"])
        for name, content in artifacts(written)
        if name == "measurement"
        for bound in content["validators"]
    ]
    assert bounds == [(True, "GREATER_THAN_OR_EQUAL"), (False, "GREATER_THAN_OR_EQUAL")]
    (end,) = (content for name, content in artifacts(written) if name == "testRunEnd")
    assert end == {"status": "COMPLETE", "result": "FAIL"}


@pytest.fixture(scope="module", params=[0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 5))])
def killed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with both files of a run that was killed at a moment by chance."""
    folder = tmp_path_factory.mktemp("killed")
    words = ("run", "iops", "sim:mlc", "--quick", "--no-report", "--out", "run")
    process = subprocess.Popen(
        [*COMMAND, *words, "--events", "e.jsonl", "--ocp-diag", "o.jsonl"],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    events = folder / "e.jsonl"
    while not (events.exists() and events.stat().st_size):
        assert process.poll() is None
        time.sleep(0.01)
    time.sleep(random.Random(request.param).uniform(0.0, 1.0))
    process.send_signal(signal.SIGKILL)
    process.wait()
    return folder


def test_events_of_a_killed_run_are_valid(killed: Path) -> None:
    lines, of = whole_lines((killed / "e.jsonl").read_bytes()), of_file()
    assert "stream_finished" not in kinds(lines)
    for line in lines:
        of.validate(line)


def test_ocp_output_of_a_killed_run_is_valid(killed: Path, of_ocp: Draft202012Validator) -> None:
    path = killed / "o.jsonl"
    for number, line in enumerate(whole_lines(path.read_bytes() if path.exists() else b"")):
        of_ocp.validate(line)
        assert line["sequenceNumber"] == number
