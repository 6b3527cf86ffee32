import pytest

from openpts.config_files.written_file import WrittenFileError
from openpts.errors import UsageError
from openpts.parameters.description_file import parse_description, read_description
from openpts.vocabulary.facts import DescribedDrive, Fact, Facts
from tests import ROOT

EXAMPLE = ROOT / "packages/openpts_drives/docs/devices.md"
TOLD: Facts = {
    "serial": Fact("S795NC0T100001", "sysfs"),
    "manufacturer": Fact("Samsung", "pci.ids"),
    "form_factor": Fact(None, "NVMe has no field for it"),
    "nand_type": Fact("TLC", "the drive"),
}


def _read(text: str) -> DescribedDrive:
    return parse_description(text.encode(), "lab.toml")


def test_what_the_drive_does_not_tell_is_added_with_its_line() -> None:
    facts = _read('serial = "S795NC0T100001"\nform_factor = "E3.S"\ncontroller = "Elpis"\n').added_to(TOLD)
    assert facts["form_factor"] == Fact("E3.S", "lab.toml:2:1, stated by the operator")
    assert facts["controller"] == Fact("Elpis", "lab.toml:3:1, stated by the operator")
    assert facts["manufacturer"] == TOLD["manufacturer"]


def test_what_the_drive_tells_stays_and_both_are_shown() -> None:
    facts = _read('manufacturer = "Samsung"\nnand_type = "QLC"').added_to(TOLD)
    assert facts["manufacturer"] == TOLD["manufacturer"]
    assert facts["nand_type"] == Fact(
        "TLC (described as QLC)", "the drive; lab.toml:2:1, stated by the operator"
    )


def test_the_description_of_another_drive_is_refused() -> None:
    with pytest.raises(UsageError, match="describes the drive of serial number X, and this one has S795"):
        _read('serial = "X"').added_to(TOLD)
    with pytest.raises(UsageError, match="and this one has none"):
        _read('serial = "X"').added_to({"serial": Fact(None, "a file")})


def test_no_description_changes_nothing() -> None:
    assert DescribedDrive().added_to(TOLD) == TOLD
    assert _read("").added_to(TOLD) == TOLD


WRONG = ('controler = "x"', "\n  price = 99\n", 'notes = ""', f'notes = "{"x" * 501}"', "[notes]\n")


def test_what_makes_no_sense_is_told_with_its_place(golden) -> None:
    said = {}
    for text in WRONG:
        with pytest.raises(WrittenFileError) as raised:
            _read(text)
        said[text] = str(raised.value)
    assert said == golden


@pytest.mark.parametrize(("text", "line"), [('notes = "a', 1), ('dram = "1"\ndram = "2"', 2)])
def test_what_is_no_toml_is_told_with_its_line(text, line) -> None:
    with pytest.raises(WrittenFileError) as raised:
        _read(text)
    assert str(raised.value).startswith(f"lab.toml:{line}:")


def test_all_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(WrittenFileError) as raised:
        _read('color = "red"\nprice = 3')
    assert len(raised.value.complaints) == 2


def test_control_characters_reach_no_report() -> None:
    facts = _read('notes = "a\\u001b[2Jb"').added_to(TOLD)
    assert facts["notes"].value == "a\N{REPLACEMENT CHARACTER}[2Jb"


def test_a_file_that_is_none(tmp_path) -> None:
    with pytest.raises(UsageError, match="can't be read"):
        read_description(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b'notes = "\n\xff"')
    with pytest.raises(WrittenFileError, match=r"latin.toml:2:1: is not UTF-8"):
        read_description(tmp_path / "latin.toml")
    (tmp_path / "large.toml").write_bytes(b"#" * 70_000)
    with pytest.raises(UsageError, match="larger than 64 KiB"):
        read_description(tmp_path / "large.toml")


def test_the_example_of_the_manual_is_one() -> None:
    example = EXAMPLE.read_text().split("```toml\n")[1].split("```")[0]
    described = parse_description(example.encode(), "packages/openpts_drives/docs/devices.md")
    assert described.serial
    assert len(described.facts) >= 6
