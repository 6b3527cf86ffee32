"""`openpts doctor --self-test` as a user types it."""

import json

import pytest
from click.testing import CliRunner, Result
from msgspec.json import decode, encode

from openpts.analysis import steady_state
from openpts.errors import OpenptsError, UsageError
from openpts_compare.cli import self_test
from openpts_compare.selftest import known_answers
from openpts_host.cli.doctor import doctor


@pytest.fixture(autouse=True)
def _short(monkeypatch) -> None:
    monkeypatch.setattr(self_test, "SECONDS", 0.1)


def ended(*words: str) -> Result:
    return CliRunner().invoke(doctor, ["--self-test", *words])


# all eight take seconds of a processor
@pytest.mark.parametrize(
    "tests", [("lat", "hir"), pytest.param(tuple(known_answers.DRIVES), marks=pytest.mark.slow)], ids=len
)
def test_a_sound_instrument_passes(tests, tmp_path, monkeypatch) -> None:
    answers = decode(known_answers.ANSWERS.read_bytes())
    (tmp_path / "answers.json").write_bytes(encode({test: answers[test] for test in tests}))
    monkeypatch.setattr(known_answers, "ANSWERS", tmp_path / "answers.json")
    found = json.loads(ended("--json").stdout)
    assert (found["schema"], found["verdict"]) == ("openpts.self-test/1", "passed")
    assert [check["check"] for check in found["checks"]] == [
        "known answers",
        "known delays",
        "histogram",
        "clocks",
    ]
    assert [check["verdict"] for check in found["checks"] if check["verdict"] == "failed"] == []


def test_a_fault_of_the_analysis_stops_it(monkeypatch) -> None:
    monkeypatch.setattr(steady_state, "SLOPE_LIMIT", 0.11)
    answer = ended("--json")
    found = json.loads(answer.stdout)
    assert isinstance(answer.exception, OpenptsError)
    assert (found["verdict"], found["exit_code"]) == ("failed", 1)
    assert "known answers" in found["error"]


def test_it_is_given_alone() -> None:
    assert isinstance(ended("/dev/nvme0n1").exception, UsageError)
