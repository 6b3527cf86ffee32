"""What other programs read of a run: each line holds to its schema, also where a run is killed."""

import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from docs.interface_schemas import schemas
from docs.schema_files import EVENTS, RUN
from jsonschema_rs import Draft202012Validator, Registry

from openpts.errors import LimitError
from openpts.procedures.registry import PROCEDURES
from openpts.record.reader import read_run
from openpts.report.sources import read_for_report
from openpts.report.summary import summarize
from openpts.runner.event_stream import EventStream
from openpts.runner.events import ProgramEnded, ProgramStarted
from openpts.runner.run import run_test
from openpts_line.exchange.ocp_diag import OcpDiagStream
from tests.device.openpts_process import openpts
from tests.simulated.killed_run import ordered
from tests.simulated.line.test_export import check_fio_outputs, check_other_forms
from tests.support.openpts_command import COMMAND
from tests.support.oracle_presets import write_oracle

_FROZEN = Path(__file__).parents[2] / "data" / "interfaces"
_SAMPLED = {"tp", "lifetime", "powercut", "qos"}  # rounds; cycles; without steps; several streams


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


@pytest.mark.parametrize(
    "test",
    [
        pytest.param(name, marks=() if name in _SAMPLED else pytest.mark.slow)
        for name in PROCEDURES
        if name != "app"  # runs on no simulated drive
    ],
)
def test_any_test_writes_what_its_schemas_allow(tmp_path: Path, test: str) -> None:
    events, ocp = bytearray(), bytearray()
    on_event = [EventStream(events.extend).on_event, OcpDiagStream(ocp.extend).on_event]
    for listener in on_event:
        listener(ProgramStarted("0", ("run", test)))
    folder = run_test(PROCEDURES[test], ordered(test, tmp_path / "run"), on_event).folder
    for listener in on_event:
        listener(ProgramEnded(0, None))

    lines = whole_lines(bytes(events))
    for schema in (EVENTS, *_FROZEN.glob("events-1.*.schema.json")):
        of = of_file(schema)
        for line in lines:
            of.validate(line)
    run = read_run(folder)
    figures = json.loads(json.dumps(summarize(read_for_report(folder))))
    for schema in (RUN, *_FROZEN.glob("run-1*.schema.json")):
        of_file(schema).validate(figures)
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
    check_other_forms(folder, tmp_path)

    validator = of_ocp()
    written = whole_lines(bytes(ocp))
    for number, line in enumerate(written):
        validator.validate(line)
        assert line["sequenceNumber"] == number
    names = [name for name, _ in artifacts(written)]
    assert names[0] == "testRunStart"
    assert names[-1] == "testRunEnd"
    assert names.count("testStepStart") == names.count("testStepEnd")
    assert names.count("measurementSeriesStart") == names.count("measurementSeriesEnd") == 2 * len(run.steps)
    check_fio_outputs(folder, tmp_path)


def test_verdicts_on_limits_are_written_with_their_bounds(tmp_path: Path) -> None:
    """Two limits that are far from what the drive does, of which one fails; the exit code says so."""
    preset = write_oracle(tmp_path, [1000, 900.5, 950], every=3)
    (tmp_path / "limits.toml").write_text(
        'allow = ["deviations", "not steady"]\n'
        'limits = ["tp.seq_128_kib.read >= 1 MB/s", "tp.seq_128_kib.write >= 1000 GB/s"]\n'
    )
    words = ("run", "tp", f"sim:{preset}?seed=42", "--time-scale", "1/500", "--no-report", "--out", "run")
    outputs = ("--limits", "limits.toml", "--events", "e.jsonl", "--ocp-diag", "o.jsonl")
    done = openpts(*words, *outputs, cwd=tmp_path)
    assert done.exit_code == LimitError.exit_code, done.stderr

    lines = whole_lines((tmp_path / "e.jsonl").read_bytes())
    of = of_file()
    for line in lines:
        of.validate(line)
    (judged,) = (line["limits"] for line in lines if line["kind"] == "limits_judged")
    assert [limit["judgement"] for limit in judged] == ["pass", "fail"]
    assert (lines[-1]["kind"], lines[-1]["exit_code"]) == ("stream_finished", LimitError.exit_code)

    validator = of_ocp()
    written = whole_lines((tmp_path / "o.jsonl").read_bytes())
    for line in written:
        validator.validate(line)
    bounds = [
        (content["value"] >= bound["value"], bound["type"])
        for name, content in artifacts(written)
        if name == "measurement"
        for bound in content["validators"]
    ]
    assert bounds == [(True, "GREATER_THAN_OR_EQUAL"), (False, "GREATER_THAN_OR_EQUAL")]
    (end,) = (content for name, content in artifacts(written) if name == "testRunEnd")
    assert end == {"status": "COMPLETE", "result": "FAIL"}


def killed(folder: Path, after_s: float) -> tuple[bytes, bytes]:
    """What is in both files of a run that is killed after this time."""
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
    time.sleep(after_s)
    process.send_signal(signal.SIGKILL)
    process.wait()
    ocp = folder / "o.jsonl"
    return events.read_bytes(), ocp.read_bytes() if ocp.exists() else b""


@pytest.mark.parametrize("number", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 50))])
def test_what_a_killed_run_has_written_is_valid(tmp_path: Path, number: int) -> None:
    after_s = random.Random(number).uniform(0.0, 3.0)
    events, ocp = killed(tmp_path, after_s)
    lines = whole_lines(events)
    assert "stream_finished" not in kinds(lines)
    of = of_file()
    for line in lines:
        of.validate(line)
    validator = of_ocp()
    for number_of_line, line in enumerate(whole_lines(ocp)):
        validator.validate(line)
        assert line["sequenceNumber"] == number_of_line
