"""Which drives a batch takes, and what is refused before any of them starts."""

import pytest
from msgspec import structs

from openpts.errors import TargetError, UsageError
from openpts.system_files import SystemRoots
from openpts.vocabulary.facts import Fact
from openpts.vocabulary.purge import Consent
from openpts.vocabulary.run_request import RunRequest
from openpts_batch.chosen_drives import (
    _FACTS,
    ChosenDrive,
    RefusedBatchError,
    chosen_drives,
    fits,
    located,
    named_drives,
    parse_query,
    refuse_any,
    selected,
)
from tests.data.system_trees import server

__all__ = ["server"]

ROOTS = SystemRoots()


def chosen(*targets: str, drives: str | None = None) -> list[ChosenDrive]:
    return chosen_drives(named_drives(targets, drives, ROOTS), Consent(), (), (), ROOTS)


def refusals(*targets: str) -> list[str]:
    return [one.refusal for one in chosen(*targets)]


def test_simulated_drives_of_one_name_are_several_of_a_kind() -> None:
    found = chosen("sim:mlc", "sim:mlc", "sim:mlc?seed=2", "sim:tlc", "sim:mlc")
    assert [one.name for one in found] == [
        "sim:mlc",
        "sim:mlc?seed=3",
        "sim:mlc?seed=2",
        "sim:tlc",
        "sim:mlc?seed=4",
    ]
    assert not any(one.refusal for one in found)


def test_the_same_simulated_drive_twice_is_refused() -> None:
    assert refusals("sim:mlc?seed=3", "sim:mlc?seed=3") == ["", "refused [twice]: sim:mlc?seed=3 comes twice"]
    first, second = refusals("sim:mlc?seed=3&scale=1", "sim:mlc?scale=1&seed=3")
    assert not first
    assert second.startswith("refused [twice]")


def test_a_file_under_another_name_is_the_same_drive(tmp_path, golden) -> None:
    (tmp_path / "a").touch()
    (tmp_path / "b").hardlink_to(tmp_path / "a")
    (tmp_path / "c").symlink_to("a")
    names = [f"file:{tmp_path / name}?size=1MiB" for name in ("a", "b", "c", "d", "./d")]
    found = refusals(*names)
    assert [bool(reason) for reason in found] == [False, True, True, False, True]
    assert found[1] == golden


def test_every_refusal_has_a_line_and_the_last_says_that_nothing_runs(tmp_path) -> None:
    (tmp_path / "mine").write_text("data of somebody")
    found = chosen(f"file:{tmp_path / 'mine'}?size=1MiB", "sim:mlc", str(tmp_path / "gone"))
    with pytest.raises(RefusedBatchError) as refused:
        refuse_any(found, ["S9"], [])
    lines = refused.value.complaints
    assert [word in line for word, line in zip(("mine", "gone", "S9", "no drive"), lines, strict=True)] == [
        True
    ] * 4


def test_a_file_says_what_each_drive_has_to_be(tmp_path) -> None:
    path = tmp_path / "drives.toml"
    path.write_text(
        '[[drives]]\ntarget = "sim:mlc?seed=1"\nserial = "SIM0001"\nmodel = "ML*"\nslot = "5"\n'
        'labels = { batch = "7" }\n'
        '[[drives]]\ntarget = "sim:mlc?seed=2"\nserial = "SIM0001"\n'
        '[[drives]]\ntarget = "sim:mlc?seed=3"\nmodel = "tlc"\n'
    )
    found = chosen(drives=str(path))
    assert [one.verdict for one in found] == ["simulated", "no: other serial", "no: other model"]
    request = found[0].request(("iops", "--quick"))
    assert (request.slot, request.serial, request.labels) == ("5", "SIM0001", {"batch": "7"})


def test_a_serial_number_alone_is_the_drive_wherever_it_is(tmp_path, server) -> None:
    sdb, sdc = (server.sys / f"block/{name}/device/vpd_pg80" for name in ("sdb", "sdc"))
    wanted = RunRequest(run_id="", test_words=(), serial="HLJ00101")
    assert located(wanted, server).target == f"{server.dev}/sdb"
    with pytest.raises(TargetError, match=r"/sdb is a \S.*, not PM9A3$"):
        located(structs.replace(wanted, model="PM9A3"), server)
    sdc.write_bytes(sdb.read_bytes())
    with pytest.raises(TargetError, match=r"HLJ00101 is that of \S*/sdb and \S*/sdc: name it by its target"):
        located(wanted, server)
    path = tmp_path / "drives.toml"
    path.write_text('[[drives]]\nserial = "HLJ0010"\n')
    (gone,) = chosen_drives(named_drives((), str(path), server), Consent(), (), (), server)
    assert gone.name == "serial HLJ0010"
    assert gone.refusal == "serial number HLJ0010 is of no drive: `openpts devices` lists all"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('[[drives]]\ntarget = "sim:mlc"\nseril = "x"\n', ":3:1: "),
        ('[[drives]]\nmodel = "x"\n', "drive 1 has no target, slot or serial"),
        ("drives = []\n", "lists no drive"),
        ("[[drives]\n", ":1:"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused_with_the_place(tmp_path, text, place) -> None:
    path = tmp_path / "drives.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=place):
        named_drives((), str(path), ROOTS)


@pytest.mark.parametrize(
    ("value", "word", "is_one"),
    [
        ("SAMSUNG MZ1", "samsung*", True),
        ("3", "3-8", True),
        ("8", "3-8", True),
        ("9", "3-8", False),
        ("0:0:8:0/4", "3-8", True),
        ("8-1", "8-1", True),
        ("pci-0000:01:00.0-nvme-1", "*nvme-1", True),
        ("pci-0000:01:00.0-nvme-1", "1-3", False),
    ],
)
def test_a_word_of_a_query_is_a_pattern_or_a_range(value, word, is_one) -> None:
    assert fits(value, word) is is_one


def test_a_part_without_a_key_is_one_more_word_of_the_key_before() -> None:
    assert parse_query("slot=1,3-5,model=X 1*") == {"slot": ["1", "3-5"], "model": ["X 1*"]}


def test_a_slot_whose_name_looks_like_a_range_is_that_slot(tmp_path, monkeypatch) -> None:
    """As the kernel calls the second slot of number 0."""
    monkeypatch.setattr("openpts_batch.chosen_drives.whole_drives", lambda _: ["0", "0-2", "2", "3"])
    monkeypatch.setitem(_FACTS, "slot", lambda disk, _: Fact(disk, ""))
    roots = SystemRoots(sys=tmp_path)
    found = {text: selected(parse_query(f"slot={text}"), roots) for text in ("0-2", "0-3", "2", "0-2,3")}
    assert found == {"0-2": ["0-2"], "0-3": ["0", "2", "3"], "2": ["2"], "0-2,3": ["0-2", "3"]}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("modl=X", "modl is none of slot, model, serial: did you mean model?"),
        ("size=3", "size is none of slot, model, serial: write for example model=SAMSUNG*,slot=3-8"),
        ("slot=", "slot= names nothing: write for example model=SAMSUNG*,slot=3-8"),
        ("slot=3,,4", "slot= names nothing: write for example model=SAMSUNG*,slot=3-8"),
        ("3,slot=4", "3 stands behind no key: write for example model=SAMSUNG*,slot=3-8"),
        ("=3", "3 stands behind no key: write for example model=SAMSUNG*,slot=3-8"),
    ],
)
def test_what_is_no_query_is_refused(text, reason) -> None:
    with pytest.raises(UsageError) as refused:
        parse_query(text)
    assert str(refused.value) == f"--drives {text!r}: {reason}"


def test_a_word_that_is_of_no_drive_is_refused_also_beside_others(tmp_path, monkeypatch) -> None:
    """Else a mistyped serial number would be a drive less, unnoticed."""
    monkeypatch.setattr("openpts_batch.chosen_drives.whole_drives", lambda _: ["A1", "A2"])
    monkeypatch.setitem(_FACTS, "serial", lambda disk, _: Fact(disk, ""))
    roots = SystemRoots(sys=tmp_path)
    assert selected(parse_query("serial=A1,A*"), roots) == ["A1", "A2"]
    with pytest.raises(UsageError, match="serial=A3 selects no drive"):
        selected(parse_query("serial=A1,A3"), roots)
