"""`openpts sim`: lists and parameters, as text and as JSON."""

import json

import pytest
from click.testing import CliRunner

from openpts.errors import OpenptsError, UsageError
from openpts_sim.cli.sim import sim, unit_of
from openpts_sim.presets import load_preset, shipped_presets


def said(*words: str) -> str:
    result = CliRunner().invoke(sim, list(words), catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


def refused(*words: str) -> str:
    with pytest.raises(OpenptsError) as caught:
        CliRunner().invoke(sim, list(words), catch_exceptions=False)
    assert isinstance(caught.value, UsageError)
    return str(caught.value)


def test_a_line_for_each_preset() -> None:
    heading, *lines = said("list").splitlines()
    assert heading.split() == ["Name", "Model", "Capacity", "Scale", "Stands", "for"]
    assert [line.split()[0] for line in lines] == [preset.name for preset in shipped_presets()]
    enterprise = lines[1].split()
    assert enterprise[1:5] == ["page-mapped", "1,600", "GB", "67"]
    assert load_preset("enterprise-tlc").summary in lines[1]


def test_at_80_columns_no_value_is_cut_and_a_preset_has_two_lines_at_most(monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = said("list")
    assert text.splitlines()[0].split() == ["Name", "Capacity", "Stands", "for"]
    assert "…" not in text
    assert all(len(line) <= 80 for line in text.splitlines())
    assert len(text.splitlines()) <= 1 + 2 * len(list(shipped_presets()))
    words = text.split()
    assert all(word in words for preset in shipped_presets() for word in preset.summary.split())


def test_the_list_as_json() -> None:
    listed = {each["name"]: each for each in json.loads(said("list", "--json"))["presets"]}
    assert listed["client-qlc"]["capacity_bytes"] == 1_024_209_543_168
    assert listed["client-qlc"]["default_scale"] == 43
    assert listed["client-qlc"]["rated"]["tbw"] == 400
    assert listed["oracle"]["model"] == "oracle"


@pytest.mark.parametrize("preset", shipped_presets(), ids=lambda preset: preset.name)
def test_every_parameter_has_a_line_and_what_is_assumed_is_marked(preset) -> None:
    title, _, _, *lines = said("show", preset.name).splitlines()
    assert title == f"{preset.name}: {preset.summary}"
    marked = {line.split()[0]: line.rstrip().endswith("assumed") for line in lines}
    assert len(marked) == len(lines)
    for name, is_marked in marked.items():
        table_or_value = name.split(".")
        prefixes = {".".join(table_or_value[:end]) for end in range(1, len(table_or_value) + 1)}
        assert is_marked == bool(prefixes & set(preset.assumed))
    for assumed in preset.assumed:
        assert any(name == assumed or name.startswith(f"{assumed}.") for name in marked), assumed
    assert "capacity_bytes" in marked
    assert not any(name.startswith("figures") for name in marked)


def test_values_have_their_units() -> None:
    lines = {line.split()[0]: line.split()[1:] for line in said("show", "enterprise-tlc").splitlines()[3:]}
    assert lines["page_mapped.nand.program_us"] == ["2,880", "us"]
    assert lines["page_mapped.link.read_bytes_per_s"] == ["3,370,000,000", "bytes/s"]
    assert lines["page_mapped.thermal.throttle.1.from_c"] == ["75", "C", "assumed"]
    assert lines["page_mapped.collection.victim"] == ["greedy"]
    assert lines["rated.tbw"] == ["12,250", "TB"]


@pytest.mark.parametrize(
    ("name", "unit"),
    [("a.stall_ms", "ms"), ("a.controller_k_per_w", "K/W"), ("a.dies", ""), ("a.controller_j_per_k", "J/K")],
)
def test_a_unit_is_the_end_of_a_name(name, unit) -> None:
    assert unit_of(name) == unit


def test_the_file_itself_can_be_copied_and_edited(tmp_path) -> None:
    for preset in shipped_presets():
        printed = said("show", preset.name, "--toml")
        assert printed == preset.text
    (tmp_path / "mine.toml").write_text(printed)
    assert said("show", str(tmp_path / "mine.toml")) == said("show", "tlc")


def test_parameters_as_json_hold_the_whole_file() -> None:
    (shown,) = json.loads(said("show", "mlc", "--json"))["presets"]
    assert shown["parameters"]["page_mapped"]["mapping"]["physical_per_user"] == 1.224
    assert shown["figures"] == 2


def test_what_makes_no_sense_is_refused(golden) -> None:
    assert refused("show", "mlc", "--toml", "--json") == golden
    assert refused("show", "nothing") == golden
