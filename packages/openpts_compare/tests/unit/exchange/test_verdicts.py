"""Verdicts of a gate in the forms of test runners."""

import pytest
from junitparser import Error, Failure, TestSuite

from openpts.vocabulary.limit import JudgedLimit, Judgement
from openpts_compare.gate.documents import GateDocument
from openpts_compare.limits.limits_file import ErrorRates
from tests import DATA

_XSD = DATA / "interfaces/junit.xsd"
LIMITS = (
    JudgedLimit("iops.rnd_4_kib_rw0.iops", "at least 180,000 IOPS", Judgement.PASS, "measured 192,186 IOPS"),
    JudgedLimit("iops.rnd_4_kib_rw0.p99", "at most 1 ms", Judgement.FAIL, 'measured 1.3 ms, "slow" & more'),
    JudgedLimit("no #throttling", "required", Judgement.NO_VERDICT, "the drive counts none"),
)

DOCUMENT = GateDocument(
    verdict=Judgement.FAIL,
    limits=LIMITS,
    errors=ErrorRates(5.0, 5.0, 9, 0),
    runs=("runs/new-1",),
    baseline=(),
)


def test_junit_has_a_case_for_each_limit() -> None:
    xml = DOCUMENT.junit()
    schema = pytest.importorskip("xmlschema").XMLSchema(str(_XSD))
    schema.validate(xml.decode())
    suite = TestSuite.fromstring(xml)
    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (3, 1, 1, 0)
    passed, failed, unknown = suite
    assert passed.result == []
    assert passed.system_out == "pass: iops.rnd_4_kib_rw0.iops at least 180,000 IOPS: measured 192,186 IOPS"
    assert [type(case.result[0]) for case in (failed, unknown)] == [Failure, Error]
    assert failed.result[0].message == (
        'fail: iops.rnd_4_kib_rw0.p99 at most 1 ms: measured 1.3 ms, "slow" & more'
    )


def test_tap_says_what_was_found() -> None:
    assert list(DOCUMENT.tap()) == [
        "TAP version 14",
        "1..3",
        "ok 1 - iops.rnd_4_kib_rw0.iops at least 180,000 IOPS",
        "# pass: iops.rnd_4_kib_rw0.iops at least 180,000 IOPS: measured 192,186 IOPS",
        "not ok 2 - iops.rnd_4_kib_rw0.p99 at most 1 ms",
        '# fail: iops.rnd_4_kib_rw0.p99 at most 1 ms: measured 1.3 ms, "slow" & more',
        "not ok 3 - no \\#throttling required",
        "# no verdict: no #throttling: the drive counts none",
    ]
