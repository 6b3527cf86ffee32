"""Names of key values in plain words; the oracle is PTS 2.0.1: RW65 is 65 % reads, five nines 99.999 %."""

import math
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openpts.escaped_text import visible_line
from openpts.procedures.registry import procedure_of
from openpts.record.reader import Run
from openpts.report.cover_page import card_words, plain_words
from openpts.vocabulary.verdict import Better
from openpts_pages import cells, ticks
from openpts_pages.measure import NO_STEADY_STATE, Measured
from openpts_pages.model import Cell
from openpts_pages.plots.axes import _apart
from openpts_pages.plots.theme import showable_json
from openpts_pages.texts import brief
from tests.support.made_up_run import made_up_run, restless_rate


@pytest.mark.proves("PTS-UNIT-03")
@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [
        (187453.5, 1, "187,453.5"),
        (-0.0, 1, "0.0"),
        (-0.04, 1, "0.0"),
        (12e6, 0, "12,000,000"),
        (-2.5, 3, "-2.500"),
    ],
)
def test_fixed(value, decimals, text) -> None:
    assert cells.fixed(value, decimals) == text


@pytest.mark.parametrize(
    ("value", "text"), [(1.938, "+1.94"), (-1.98, "-1.98"), (0.001, "0.00"), (0.0, "0.00")]
)
def test_signed(value, text) -> None:
    assert cells.signed(value, 2) == text


@given(st.floats(0, 1e9), st.floats(1e-3, 1e9))
def test_linear_ticks_are_round_and_cover_the_values(low, span) -> None:
    axis = ticks.linear_axis("x", low, low + span)
    assert axis.ticks[0] <= low + 1e-6 * span
    assert axis.ticks[-1] >= (low + span) * (1 - 1e-9)
    assert 2 <= len(axis.ticks) <= 10


@given(st.floats(1e-3, 1e9), st.floats(0, 1e-3))
def test_noise_of_a_flat_line_does_not_fill_its_axis(level, noise) -> None:
    low, high = ticks.linear_axis("x", level, level * (1 + noise)).domain
    assert high - low >= 0.05 * level
    assert low <= level * (1 + 1e-9)
    assert level * (1 + noise) <= high * (1 + 1e-9)


def test_amounts_are_logarithmic_beyond_ten_to_one() -> None:
    assert ticks.amount_axis("IOPS", [100, 1001]).scale == "log"
    assert ticks.amount_axis("IOPS", [100, 1000]).domain[0] == 0
    assert ticks.amount_axis("IOPS", []).scale == "linear"


def test_window_axis_reaches_a_quarter_to_each_side_unless_the_data_need_more() -> None:
    assert ticks.around_axis("IOPS", 100, 0.25, [99, 101]).domain == (75, 125)
    wide = ticks.around_axis("IOPS", 100, 0.25, [20, 180])
    assert wide.domain[0] < 20
    assert wide.domain[1] > 180
    assert all(math.isclose(tick % 5, 0, abs_tol=1e-9) for tick in wide.ticks)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_end_labels_do_not_touch(places) -> None:
    spread = _apart(sorted(places), 320)
    gaps = [b - a for a, b in pairwise(spread)]
    assert all(gap >= 14 / 320 * 0.999 for gap in gaps)
    assert spread[0] >= -1e-9


@given(st.text())
def test_any_text_becomes_one_visible_line(text) -> None:
    line = visible_line(text)
    assert line.isprintable()
    assert line == visible_line(line)
    assert len(brief(line)) <= 64


def test_a_text_that_no_machine_says_is_cut() -> None:
    assert visible_line("x" * 10**6) == f"{'x' * 4093}..."


def test_escapes_are_visible() -> None:
    assert visible_line("a\x1b[31m\n\u202eb") == "a\\x1b[31m\\n\\u202eb"


def test_the_font_s_gaps_are_written_as_code_points() -> None:
    assert shown("Grüße ±10 %") == "Grüße ±10 %"
    assert shown("測\U0001f680") == "[U+6E2C][U+1F680]"
    assert shown('"\\n\\"\n\x01') == '"\\n\\"[U+000A][U+0001]'


@given(st.text())
def test_what_the_font_has_stays_as_it_is_between_what_it_lacks(text) -> None:
    assert shown(text) == "".join(shown(character) for character in text)


def shown(text: str) -> str:
    return msgspec.json.decode(showable_json(msgspec.json.encode(text)), type=str)


@given(st.lists(st.floats(1e-3, 1e8), min_size=1, max_size=20))
def test_logarithmic_axis_has_enough_ticks_to_be_read_and_not_too_many(values) -> None:
    found = ticks.log_axis("x", values).ticks
    assert 2 <= len(found) <= 12
    assert list(found) == sorted(set(found))


@pytest.mark.parametrize(
    ("label", "words"),
    [
        ("RND 4 KiB RW0", "random writes of 4 KiB"),
        ("RND 0.5 KiB RW100", "random reads of 0.5 KiB"),
        ("RND 8 KiB RW65", "random I/O, 65 % reads, of 8 KiB"),
        ("SEQ 1024 KiB W", "sequential writes of 1024 KiB"),
        ("SEQ 128 KiB R", "sequential reads of 128 KiB"),
        ("RND 4 KiB RW0, ART", "random writes of 4 KiB, mean response time"),
        ("RND 4 KiB RW0, FOB plateau", "random writes of 4 KiB, fresh out of the box"),
        ("RND 4 KiB RW100, 3 9s", "random reads of 4 KiB, 99.9 % are faster"),
        ("RND 4 KiB RW0, 5 9s", "random writes of 4 KiB, 99.999 % are faster"),
        ("RND 4 KiB RW0, histogram 2 9s", "random writes of 4 KiB, 99 % are faster"),
        ("Cache, GB", ""),
    ],
)
def test_a_name_says_what_it_stands_for(label, words) -> None:
    assert plain_words(label) == words


@pytest.mark.parametrize(
    ("words", "steady", "state", "shown"),
    [
        ("", "reached in Round 5", "", "random writes of 4 KiB, settled"),
        ("", "found in Tracking Round 7", "", "random writes of 4 KiB, settled"),
        ("", "found in Tracking Round 7", "another level at the end", "random writes of 4 KiB, not settled"),
        ("", "not reached", "", "random writes of 4 KiB, not settled"),
        ("", NO_STEADY_STATE, "", "random writes of 4 KiB"),
        ("SEQ 1024 KiB RW0", "n.a.", "", "sequential writes of 1024 KiB"),
        ("one at a time", "reached", "", "one at a time, settled"),
    ],
)
def test_a_large_figure_says_whether_it_lasts(words, steady, state, shown) -> None:
    label = "RND 4 KiB RW0"
    one = Measured(
        "key",
        label,
        "IOPS",
        Cell("1", 1.0),
        Better.HIGHER,
        "",
        state,
        steady,
        cover_label=label,
        explanation=words,
    )
    assert card_words(one) == shown


def key_values(run: Run) -> list[Measured]:
    found = procedure_of(run.manifest.conditions.test).report(run).measures
    return [one for one in found if one.is_key]


@pytest.mark.parametrize("name", ["iops", "tp", "lat", "cbw", "dirth"])
def test_key_values_of_other_tests_say_that_they_are_not_steady(name) -> None:
    values = key_values(made_up_run(name, rate=restless_rate))
    assert values
    assert all(value.state for value in values if value.value is not None)
    assert {value.state for value in key_values(made_up_run(name))} == {""}


@pytest.mark.parametrize(("name", "words"), [("wsat", "Steady State not found"), ("hir", "not measured")])
def test_key_values_say_that_an_end_was_not_steady(name, words) -> None:
    found = key_values(made_up_run(name, rate=restless_rate))
    assert [value for value in found if words in value.noted_cell.note]
    assert not [value for value in key_values(made_up_run(name)) if words in value.noted_cell.note]
