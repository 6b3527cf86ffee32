"""Presets: those that ship, and what is said about files that make no sense."""

import json
import tomllib

import pytest

from openpts.errors import UsageError
from openpts_sim.presets import SHIPPED, Preset, load_preset, shipped_presets
from tests.support.refusals import refusal

NAMES = [
    "client-qlc", "enterprise-tlc", "log-block", "mlc", "oracle", "pslc", "sata-reduction", "theory", "tlc",
]  # fmt: skip
SMALLEST = """
name = "mine"
summary = "a drive of mine"
capacity_bytes = 1_000_000_000

[oracle.rate]
by = "steps"
every = 1
iops = [100.0]
"""


def own(tmp_path, text: str) -> Preset:
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return load_preset(str(path))


def test_every_preset_ships_under_its_name() -> None:
    assert [preset.name for preset in shipped_presets()] == NAMES
    for name in NAMES:
        assert load_preset(name).name == name
        assert load_preset(name).place == SHIPPED


@pytest.mark.parametrize("preset", shipped_presets(), ids=lambda preset: preset.name)
def test_what_a_shipped_preset_assumes_is_what_it_has(preset) -> None:
    assert len(set(preset.assumed)) == len(preset.assumed)
    for name in preset.assumed:
        table = preset.as_written()
        for part in name.split("."):
            assert part in table, name
            table = table[part]


@pytest.mark.parametrize("preset", shipped_presets(), ids=lambda preset: preset.name)
def test_a_preset_is_read_as_it_is_written(preset) -> None:
    """By Python's own reader, tables and keys in the order of the file."""
    written = tomllib.loads(preset.text)
    assert json.dumps(preset.as_written()) == json.dumps(written)
    assert preset.figures() == written.get("figures", [])
    assert preset.assumed == written.get("assumed", [])
    assert preset.rated == written.get("rated", {})
    assert (preset.name, preset.summary) == (written["name"], written["summary"])
    assert (preset.capacity_bytes, preset.sector_bytes) == (
        written["capacity_bytes"],
        written["sector_bytes"],
    )
    thermal = written.get("page_mapped", {}).get("thermal", {})
    assert preset.limits_c == {name: thermal[name] for name in ("warning_c", "critical_c") if name in thermal}


def test_a_users_own_file_is_read_by_its_path(tmp_path) -> None:
    preset = own(tmp_path, SMALLEST)
    assert preset.name == "mine"
    assert preset.model == "oracle"
    assert preset.sector_bytes == 512
    assert preset.place == str(tmp_path / "mine.toml")
    assert preset.text == SMALLEST


def test_an_unknown_name_lists_all_that_ship() -> None:
    with pytest.raises(UsageError) as caught:
        load_preset("nothing")
    for name in NAMES:
        assert name in str(caught.value)


def test_an_unknown_name_that_is_nearly_one_gets_that_one() -> None:
    with pytest.raises(UsageError, match=r"'entreprise-tlc': did you mean enterprise-tlc\?$"):
        load_preset("entreprise-tlc")


WRONG = (
    SMALLEST.replace("every = 1", "every ="),
    SMALLEST.replace("every = 1", "evry = 1"),
    SMALLEST.replace("every = 1", "every = 1.5"),
    SMALLEST.replace('name = "mine"', ""),
    SMALLEST.replace('"a drive of mine"', "3"),
    SMALLEST.replace("1_000_000_000", "1e9"),
    SMALLEST.replace("1_000_000_000", "true"),
    SMALLEST.replace("[oracle.rate]", "[orakel.rate]"),
    SMALLEST.partition("[oracle")[0],
    load_preset("mlc").text + SMALLEST[SMALLEST.index("[oracle") :],
    SMALLEST + "[rated]\ntbw = 0",
    SMALLEST + "[rated]\ntbw = nan",
    SMALLEST + "[rated]\ntbw = 'much'",
    SMALLEST + "[figures]",
)


def test_a_file_that_makes_no_sense_is_refused_by_name(tmp_path, golden) -> None:
    assert [refusal(own, tmp_path, text) for text in WRONG] == golden


def test_a_missing_file_and_one_that_is_no_text_are_told(tmp_path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        load_preset(str(tmp_path / "none.toml"))
    (tmp_path / "bytes.toml").write_bytes(b"name = \xff")
    with pytest.raises(UsageError, match="byte 7"):
        load_preset(str(tmp_path / "bytes.toml"))


def test_a_file_without_end_is_no_preset() -> None:
    with pytest.raises(UsageError, match="/dev/zero has more than 1,000,000 bytes"):
        load_preset("/dev/zero")


def with_line(line: str) -> str:
    """The smallest preset with its line of that key replaced."""
    key = line.partition(" ")[0]
    lines = [line if old.startswith(f"{key} ") else old for old in SMALLEST.splitlines()]
    assert line in lines
    return "\n".join(lines)


def test_a_name_is_printable_and_a_capacity_above_0(tmp_path, golden) -> None:
    cases = (
        'name = "a\\u001b[31mb"',
        'name = ""',
        "capacity_bytes = -5",
        "capacity_bytes = 0",
        "capacity_bytes = 9223372036854775808",
    )
    assert [refusal(own, tmp_path, with_line(line)) for line in cases] == golden


def test_an_edited_copy_does_not_pass_for_the_preset_that_ships(tmp_path) -> None:
    shipped = load_preset("client-qlc")
    assert shipped.label == "client-qlc"
    assert own(tmp_path, shipped.text).label == "client-qlc"
    assert own(tmp_path, shipped.text + "\n# faster\n").label == "client-qlc as edited in mine.toml"


def test_other_values_by_their_names_are_what_an_edited_file_has() -> None:
    shipped = load_preset("client-qlc")
    changed = load_preset(
        "client-qlc", [("page_mapped.mapping.physical_per_user", "1.2"), ("sector_bytes", "4096")]
    )
    oracle = shipped.as_written()
    oracle["page_mapped"]["mapping"]["physical_per_user"] = 1.2
    oracle["sector_bytes"] = 4096
    assert changed.as_written() == oracle
    assert tomllib.loads(changed.text) == oracle
    assert changed.place != SHIPPED
    assert changed.label == "client-qlc with page_mapped.mapping.physical_per_user = 1.2, sector_bytes = 4096"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("page_mapped.maping.physical_per_user", "1.2"),
        ("page_mapped.mapping", "1.2"),
        ("page_mapped.mapping.physical", "1.2"),
        ("page_mapped.mapping.physical_per_user", "much"),
        ("page_mapped.mapping.physical_per_user", "[1]"),
        ("page_mapped.mapping.physical_per_user", "-1"),
        ("page_mapped.mapping.physical_per_user", '"""'),
        ("name.first", "1"),
    ],
)
def test_other_values_that_make_no_sense_are_refused(name, text, snapshot) -> None:
    with pytest.raises(UsageError) as error:
        load_preset("client-qlc", [(name, text)])
    assert str(error.value) == snapshot


def test_a_target_in_the_place_of_a_preset_is_told_which_part_of_it_is_meant() -> None:
    with pytest.raises(UsageError, match="its preset alone is 'client-qlc'"):
        load_preset("sim:client-qlc?capacity=64GB")
