"""Job files of others: what openpts makes of them, against what fio 3.33 does with them."""

import pytest

from openpts.config_files.written_file import WrittenFileError
from openpts.vocabulary.facts import TargetFacts, TargetKind
from openpts.vocabulary.stimulus import BlockSize, IoCount, OperationWeights
from openpts.vocabulary.translation import Translation
from openpts_fio.jobs.job_file import parse_jobs, read_jobs
from openpts_fio.jobs.options import BY_WORD, OptionHandling
from openpts_fio.jobs.translation import translate
from tests import DATA

CASES = DATA / "cases"
DRIVE = TargetFacts(TargetKind.BLOCK, "drive", "/dev/drive", 1_600_321_314_816, 512)
ZONED = ("zonesize=1m", "zonerange=1m", "zoneskip=1m", "zonesize=1m\nzonemode=none")
WORKING_SET = ("dedupe_mode=working_set", "dedupe_mode=working_set\ndedupe_global=1")


def of_file(name: str) -> Translation:
    return translate(read_jobs(CASES / name), DRIVE)


def of_options(options: str) -> Translation:
    return translate(parse_jobs(f"[x]\ndirect=1\n{options}".splitlines(), "x.fio", {}), DRIVE)


def refusal(options: str) -> str:
    with pytest.raises(WrittenFileError) as raised:
        of_options(options)
    return str(raised.value)


@pytest.mark.parametrize(
    "name",
    [
        "fio-dedupe-mode/dedupe.fio",
        "fio-zonesize-without-mode/zs.fio",
        "fio-zonesize-without-mode/zs-strided.fio",
        "fio-flow-negative/flow.fio",
        "fio-job-etcd/etcd.fio",
    ],
)
def test_a_load_that_openpts_has_not_is_refused_by_name(name, snapshot) -> None:
    with pytest.raises(WrittenFileError) as raised:
        of_file(name)
    assert [one.replace(f"{CASES}/", "") for one in raised.value.complaints] == snapshot


@pytest.mark.parametrize("options", ZONED)
def test_strides_of_zones_are_no_plain_sequence(options) -> None:
    assert options.splitlines()[0] in refusal(f"rw=read\n{options}")
    assert of_options(f"rw=read\n{options.replace('1m', '0')}").steps


@pytest.mark.parametrize("options", WORKING_SET)
def test_duplicates_of_a_set_are_refused_where_there_are_any(options) -> None:
    assert "dedupe_mode=working_set" in refusal(f"rw=write\ndedupe_percentage=40\n{options}")
    for other in ("rw=write", "rw=read\ndedupe_percentage=40", "rw=write\ndedupe_percentage=0"):
        assert of_options(f"{other}\n{options}").steps
    assert of_options("rw=write\ndedupe_percentage=40\ndedupe_mode=repeat").steps


def test_a_file_of_placement_handles_is_refused_where_they_are_used() -> None:
    scheme = "rw=write\nplids=1\nplid_select=scheme\ndp_scheme=/s"
    assert "plid_select=scheme" in refusal(f"{scheme}\nfdp=1")
    assert of_options(scheme).steps
    assert of_options("rw=write\nfdp=1\nplids=1\nplid_select=roundrobin").steps


def test_what_an_option_without_effect_needs_is_refused_wherever_it_is_on() -> None:
    needs = {
        partner: name
        for name, option in BY_WORD.items()
        if option.treatment is OptionHandling.IGNORED and option.says.startswith("has no effect without ")
        for partner in option.says.removeprefix("has no effect without ").split(" or ")
    }
    assert len(needs) > 15
    by_value = {partner for partner in needs if "=" in partner}
    assert by_value == {"dedupe_mode=working_set", "plid_select=scheme"}
    for partner in needs.keys() - by_value:
        assert BY_WORD[partner].treatment is OptionHandling.REFUSED, needs[partner]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ("rw=write\nbs=1000", "bs=1000: 1,000 B is no multiple of the sector, 512 B"),
        ("rw=write\nbs=513", "bs=513: 513 B"),
        ("rw=randread\nbssplit=4k/50:1000/50", "bssplit=4k/50:1000/50: 1,000 B"),
        ("rw=randread\nbsrange=256-1k", "bsrange=256-1k: 256 B"),
        ("rw=randread\nbs=4k\nba=1000", "ba=1000: 1,000 B"),
        ("rw=read:1000\nbs=4k", "rw=read:1000: 5,096 B"),
    ],
)
def test_what_is_no_multiple_of_the_sector_is_refused_with_its_line(options, named) -> None:
    assert named in refusal(options)
    assert "check --for commit" not in refusal(options)


def test_a_list_of_sizes_in_bs_is_read_as_fio_does() -> None:
    """fio 3.33 with that list: 16 reads of 131,072 B, 16 writes of 8,192 B, 16 trims of 12,288 B."""
    (step,) = (found := of_file("fiosynth-blocksize-list/blocksize-list.fio")).steps
    assert step.stimuli[0].block_sizes == (BlockSize(131_072),)
    assert step.stop == IoCount(400)
    assert any("blocksize=131072/92" in note and "bssplit" in note for note in found.notes)
    sizes = "bs=131072/92:8192/4:12288/2:4096/1:262144/1"
    for rw, size in (("write", 8192), ("trim", 12_288)):
        assert of_options(f"rw={rw}\n{sizes}").steps[0].stimuli[0].block_size_bytes == size
    assert "more values than one each" in refusal("rw=read\nbs=4k:8k:16k:32k")


def test_ranges_are_those_of_fio() -> None:
    """fio's manual: a start in per cent is aligned to the block, upwards; a size in per cent downwards."""
    quarter, block = DRIVE.user_capacity_bytes // 4, 65_536
    starts = [-(-number * quarter // block) * block for number in range(3)]
    length = quarter // block * block
    steps = of_file("p-jobs/quarters.fio").steps
    assert [_range(step.stimuli[0]) for step in steps] == [(start, start + length) for start in starts]
    (both,) = of_file("p-jobs/actuators.fio").steps
    assert [_range(one) for one in both.stimuli] == [(0, 1 << 30), (8 << 30, 9 << 30)]
    assert all(one.operations == OperationWeights(write=1) for one in both.stimuli)
    first, second = of_file("p-jobs/thirty.fio").steps
    assert _range(first.stimuli[0]) == (0, 16_002_318_336)
    assert second.stimuli[0].block_size_bytes == 1 << 20


def _range(stimulus: object) -> tuple[int, int]:
    found: tuple[int, int] = stimulus.active_range.bytes_of(  # type: ignore[attr-defined]
        DRIVE.user_capacity_bytes, DRIVE.sector_bytes
    )
    return found


def test_a_file_that_begins_with_a_mark_of_the_byte_order_is_read(tmp_path) -> None:
    path = tmp_path / "windows.fio"
    path.write_bytes(b"\xef\xbb\xbf[global]\r\nrw=read\r\ndirect=1\r\n[x]\r\n")
    assert [section.name for section in read_jobs(path).sections] == ["x"]
