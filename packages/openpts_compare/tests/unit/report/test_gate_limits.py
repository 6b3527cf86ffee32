"""Limits as an operator writes them: names of measures, bounds with units, the file."""

from fractions import Fraction

import pytest

from openpts.errors import OpenptsError, UsageError
from openpts_compare.limits.limits_file import (
    Allowed,
    RequiredCondition,
    bound_of,
    parse_limits,
    read_limits,
    refuse_unsigned,
)
from openpts_compare.runs.measured_run import percentile_of, tokens_of, words_of
from tests import ROOT

EXAMPLE = ROOT / "packages/openpts_compare/docs/limits.toml"


@pytest.mark.parametrize(
    "text",
    ["p99.99", "P99.99", "99.990000", "99.99 %", "4 nines", "four nines", "4_9s", "p99_99", "lat9999thUsec"],
)
def test_a_percentile_has_many_spellings(text) -> None:
    (word,) = words_of(text)
    assert percentile_of(word) == 99.99


@pytest.mark.parametrize(
    ("text", "percentile"),
    [("p50", 50), ("p99", 99), ("five_nines", 99.999), ("9 nines", 99.9999999), ("P99.9999", 99.9999)],
)
def test_a_percentile_is_read_exactly(text, percentile) -> None:
    assert [percentile_of(word) for word in words_of(text)] == [percentile]


@pytest.mark.parametrize("text", ["p0", "p100", "p101", "p99.99999999999999999"])
def test_what_no_percentile_can_be_is_none(text) -> None:
    assert all(percentile_of(word) is None for word in words_of(text))


@pytest.mark.parametrize(
    "text",
    ["rnd_4_kib_rw0.iops", "iops.rnd-4k-rw0", "IOPS RND4K RW0", "RND 4 KiB RW0 iops", "iops.random_4kb_rw0"],
)
def test_order_and_spelling_of_a_name_are_free(text) -> None:
    assert tokens_of(text) == tokens_of("rnd_4_kib_rw0.iops")


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("m >= 180 k", "IOPS", Fraction(180_000)),
        ("m >= 180000", "IOPS", Fraction(180_000)),
        ("m >= 180,000 IOPS", "IOPS", Fraction(180_000)),
        ("m >= 0.18 MIOPS", "IOPS", Fraction(180_000)),
        ("m ≥ 1.8e5", "IOPS", Fraction(180_000)),
        ("m <= 250 us", "ms", Fraction(1, 4)),
        ("m<=250µs", "ms", Fraction(1, 4)),
        ("m <= 2 s", "ms", Fraction(2000)),
        ("m <= 1 h", "min", Fraction(60)),
        ("m >= 3.5 GB/s", "MB/s", Fraction(3500)),
        ("m >= 1 GiB/s", "MB/s", Fraction(2**30, 10**6)),
        ("m <= 900 mW", "W", Fraction(9, 10)),
        ("m <= 2 TB", "GB", Fraction(2000)),
        ("m <= 5 %", "%", Fraction(5)),
        ("m <= 3", "", Fraction(3)),
        ("m <= 3 k", "", Fraction(3000)),
        ("m <= 4 J/GB", "J/GB", Fraction(4)),
        ("m.lat9999thUsec <= 200", "ms", Fraction(1, 5)),
        ("m.lat9999thUsec <= 200 ms", "ms", Fraction(200)),
        ("m.lat99thnsec <= 4e6", "ms", Fraction(4)),
        ("m <= 200 usec", "ms", Fraction(1, 5)),
        ("m <= 1,500,000.5 us", "ms", Fraction("1500.0005")),
        ("m >= -3", "K", Fraction(-3)),
    ],
)
def test_a_bound_is_converted_exactly(text, unit, value) -> None:
    assert bound_of(text).value_in(unit) == float(value)


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("m >= -3 %", 0.97),
        ("m <= +10%", 1.1),
        ("m <= 1.1 x", 1.1),
        ("m >= 0.97 times", 0.97),
        ("m >= \N{MINUS SIGN}3 %", 0.97),
        ("m >= +0 %", 1.0),
    ],
)
def test_a_sign_or_an_x_makes_a_bound_relative(text, share) -> None:
    bound = bound_of(text)
    assert bound.is_relative
    assert bound.share == share


WRONG = (
    "iops.rnd-4k-rw0", ">= 5", "m == 5", "m > 5", "m >= many", "m >=", "m >= -100 %", "m <= 0 x",
    "m <= 1,5 ms", "m >= 3,25 GB/s",
)  # fmt: skip
WRONG_UNITS = (
    ("m >= 5 ms", "IOPS"),
    ("m >= 5e9999", "IOPS"),
    ("m >= 5 k", "ms"),
    ("m >= 5 furlongs", "MB/s"),
    ("m >= 5 %", "IOPS"),
    ("m >= 2 W", ""),
    ("m >= -3", "IOPS"),
    ("m <= -5 us", "ms"),
)
WRONG_FILES = (
    "", "limits = []", "limits = [", 'limit = ["m >= 5"]', 'limits = ["m >= 5", "m > 5",\n  "n"]',
    'limits = [{ measure = "m" }, { at_least = 5 }]',
    'limits = [{ measure = "m", at_least = "5 k", at_most = "4 k" }]',
    'require = ["steadi", "no throttle"]', 'allow = ["unsteady"]',
    "[statistics]\nfalse_alarm_pct = 0\nmost_runs = 1", 'limits = "m >= 5"',
)  # fmt: skip


def complaint(make: object) -> str:
    assert callable(make)
    with pytest.raises(OpenptsError) as raised:
        make()
    assert raised.value.exit_code == 2
    return "\n".join(raised.value.complaints)


def test_what_is_wrong_is_said_with_its_place(snapshot) -> None:
    said = [f"{text}\n  {complaint(lambda text=text: bound_of(text))}" for text in WRONG]
    for text, unit in WRONG_UNITS:

        def used(text: str = text, unit: str = unit) -> None:
            refuse_unsigned(bound_of(text), unit)
            bound_of(text).value_in(unit)

        said.append(f"{text}, measured in {unit or 'no unit'}\n  {complaint(used)}")
    said += [
        f"{text}\n  {complaint(lambda text=text: parse_limits(text.encode(), 'l.toml'))}"
        for text in WRONG_FILES
    ]
    assert "\n\n".join(said) == snapshot


def test_the_example_has_all_that_a_file_may_have() -> None:
    limits = read_limits(EXAMPLE)
    assert set(limits.required) == set(RequiredCondition)
    assert limits.allowed == (Allowed.DEVIATIONS,)
    assert {bound.is_relative for bound in limits.bounds} == {True, False}
    assert any(bound.note for bound in limits.bounds)
    assert limits.rule.rows == sum(bound.is_relative for bound in limits.bounds)
    assert limits.raw == EXAMPLE.read_bytes()


def test_a_file_may_begin_with_a_byte_order_mark() -> None:
    marked = b'\xef\xbb\xbflimits = ["m >= 5"]\r\n'
    assert [bound.measure for bound in parse_limits(marked, "l.toml").bounds] == ["m"]


def test_lines_beside_a_file_are_limits_too() -> None:
    limits = parse_limits(b'limits = ["m >= 5"]', "l.toml", ["n <= 1.1 x"])
    assert [bound.measure for bound in limits.bounds] == ["m", "n"]
    assert limits.rule.rows == 1


def test_nothing_invisible_gets_into_names_and_notes() -> None:
    (bound,) = parse_limits(b'limits = [{ measure = "a\\u202eb", at_most = 5, note = "x\\ny" }]', "l").bounds
    assert "\u202e" not in bound.measure
    assert "\n" not in bound.note


def test_a_file_that_is_none_is_refused(tmp_path) -> None:
    with pytest.raises(UsageError, match="can't be read"):
        read_limits(tmp_path / "none.toml")
