"""Every byte of a folder of results is in a list of checksums: `openpts verify` names what was changed."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from openpts.cli.main import cli
from openpts.errors import NoVerdictError, RecordError, UsageError
from openpts.record.batch import write_batch
from openpts.record.manifest import RunState
from openpts.report.record_files import record_files
from openpts.report.sources import ReportSource
from openpts.vocabulary.run_request import RunRequest
from openpts_batch.batch_index import write_batch_index
from openpts_batch.side_by_side import new_batch
from openpts_compare.verification import file_faults, read_report
from tests.support.batches import suite_entry, suite_of
from tests.support.manual import ROOT
from tests.support.oracle_presets import write_oracle
from tests.support.synthetic_run import Synthetic, write_synthetic_run

RUNS = ("1-iops", "2-iops")
OF_A_RUN = (
    "run.db",
    "claim.jsonl",
    "input/plan.toml",
    "input/description.toml",
    "capture/capture-0001.parquet",
)


def openpts(*words: str | Path) -> Result:
    return CliRunner().invoke(cli, [str(word) for word in words])


def write_run(folder: Path) -> None:
    """A run folder with everything that may be in one."""
    write_synthetic_run(folder, Synthetic(rounds=5, steady_round=5))
    for name in OF_A_RUN[1:]:
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(f"{name} of {folder.name}: any bytes".encode())


@pytest.fixture(scope="module")
def suite(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("integrity") / "suite"
    entries = [suite_entry("iops", name, state=RunState.COMPLETE) for name in RUNS]
    for name in RUNS:
        write_run(folder / name)
    assert openpts("report", folder / RUNS[0]).exit_code == 0
    assert openpts("report", folder / RUNS[0], "--style", "short", "--no-pdf").exit_code == 0
    assert openpts("report", folder / RUNS[1], "--no-html", "--no-pdf").exit_code == 0
    written = suite_of(*entries)
    write_batch(folder, written)
    write_batch_index(folder, written)
    assert openpts("report", folder, "--no-pdf").exit_code == 0
    return folder


def faults(folder: Path) -> list[str]:
    """What `verify` says of the files of the folder's report."""
    path = folder / "report.json"
    return file_faults(path, read_report(path), record_files(ReportSource.of((folder,)).run_folders))


def files_of(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def changes_of(path: Path) -> Iterator[bytes]:
    """A bit flipped at both ends and in between, a byte less, a byte more, nothing at all."""
    content = path.read_bytes()
    for place in {0, len(content) // 3, len(content) // 2, len(content) - 1}:
        yield content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
    yield content[:-1]
    yield content + b"\n"
    yield b""


def found(folder: Path, name: str) -> bool:
    """Whether the file is named: by the list, or because it can't be read at all."""
    try:
        said = faults(folder)
    except RecordError as error:
        said = [str(error)]
    return any(name in line for line in said)


def missed(folder: Path, names: list[str]) -> list[tuple[str, int | str]]:
    """Changes of these files that are not found."""
    missed: list[tuple[str, int | str]] = []
    for name in names:
        path = folder / name
        before = path.read_bytes()
        for n, content in enumerate(changes_of(path)):
            path.write_bytes(content)
            if not found(folder, name):
                missed.append((name, n))
        path.unlink()
        # without a list its files are named
        if not (faults(folder) if name.endswith("SHA256SUMS") else found(folder, name)):
            missed.append((name, "missing"))
        path.write_bytes(before)
    assert faults(folder) == []
    return missed


def one_of_each_kind(folder: Path) -> list[str]:
    lists = [name for name in files_of(folder) if name.endswith("SHA256SUMS")]
    kinds = {(Path(name).parent, Path(name).suffix): name for name in files_of(folder)}
    return sorted({*kinds.values(), *lists})


@pytest.mark.slow
def test_a_changed_byte_of_any_file_is_found(suite) -> None:
    assert missed(suite / RUNS[0], files_of(suite / RUNS[0])) == []


@pytest.mark.slow
def test_a_changed_byte_below_a_suite_is_found(suite) -> None:
    assert missed(suite, one_of_each_kind(suite)) == []


@pytest.mark.parametrize(
    "name",
    [
        "notes.txt", "capture/capture-0002.parquet", "input/b", "data/b.csv", "run.db-journal",
        "run.db-wal", "x/y",
    ],
)  # fmt: skip
def test_an_additional_file_is_named(suite, tmp_path, name) -> None:
    copy = tmp_path / "suite"
    shutil.copytree(suite, copy)
    added = copy / RUNS[0] / name
    added.parent.mkdir(exist_ok=True)
    added.write_bytes(b"PAR1")
    assert any(name in line for line in faults(copy / RUNS[0]))
    assert any(f"{RUNS[0]}/{name}" in line for line in faults(copy))


def test_a_capture_that_was_cut_off_before_its_first_byte_was_stored_is_listed(tmp_path) -> None:
    write_synthetic_run(tmp_path / "run", Synthetic(rounds=5, steady_round=5))
    (tmp_path / "run/capture").mkdir()
    (tmp_path / "run/capture/capture-0001.parquet.partial").touch()
    assert openpts("report", tmp_path / "run", "--no-html", "--no-pdf").exit_code == 0
    verified = openpts("verify", tmp_path / "run")
    assert isinstance(verified.exception, NoVerdictError)  # of no version


def test_the_list_is_one_for_sha256sum(suite) -> None:
    listed = {line.split("  ")[1] for line in (suite / RUNS[0] / "SHA256SUMS").read_text().splitlines()}
    assert set(OF_A_RUN) <= listed
    of_suite = {line.split("  ")[1] for line in (suite / "SHA256SUMS").read_text().splitlines()}
    assert {"batch.json", "index.html", *(f"{run}/{name}" for run in RUNS for name in OF_A_RUN)} <= of_suite


def test_a_run_keeps_what_its_operator_wrote(tmp_path) -> None:
    plan, description = tmp_path / "Plan.YML", tmp_path / "drive.toml"
    plan.write_bytes(b"# mine\r\ndescribe: drive.toml\r\nquick: true\r\n")
    description.write_bytes(b'# it\nform_factor = "U.2"\n')
    preset = write_oracle(tmp_path, [20_000.0])
    run = tmp_path / "run"
    words = ("run", "lat", f"sim:{preset}?capacity=64MiB", "--plan", plan, "--out", run, "--no-report")
    done = openpts(*words)
    assert done.exit_code == 0, done.output
    assert (run / "input/plan.yml").read_bytes() == plan.read_bytes()
    assert (run / "input/description.toml").read_bytes() == description.read_bytes()
    assert (run / "input/preset.toml").read_bytes() == preset.read_bytes()
    assert openpts("report", run, "--no-html", "--no-pdf").exit_code == 0
    assert openpts("verify", run).exit_code == 0
    names = [row["head"]["text"] for row in _table(run, "files-record")["rows"]]
    assert names == ["run.db", "claim.jsonl", "input/description.toml", "input/plan.yml", "input/preset.toml"]


def _table(run: Path, table_id: str) -> dict[str, list[dict[str, dict[str, str]]]]:
    report = json.loads((run / "report.json").read_bytes())
    return next(block for page in report["back"] for block in page["blocks"] if block.get("id") == table_id)


def test_the_reports_of_a_batch_are_verified_each(tmp_path) -> None:
    """All of them, whatever is wrong with the first."""
    batch = new_batch([RunRequest(run_id=name, test_words=("iops",), target=f"sim:{name}") for name in "abc"])
    first, second = (tmp_path / "batch" / entry.folder for entry in batch.entries[:2])  # the last was refused
    for run in (first, second):
        write_synthetic_run(run, Synthetic(rounds=5, steady_round=5))
    write_batch(tmp_path / "batch", batch)
    assert openpts("report", second, "--no-html", "--no-pdf", "--no-csv").exit_code == 0
    missing, alone = openpts("verify", first, "--json"), openpts("verify", second, "--json")
    done = openpts("verify", tmp_path / "batch", "--json")
    printed = json.loads(done.stdout)
    assert [one["report"] for one in printed["reports"]] == [f"{first}/report.json", f"{second}/report.json"]
    assert printed["reports"][0]["error"] == str(missing.exception)
    assert printed["reports"][1] == json.loads(alone.stdout)
    (unchecked,) = printed["reports"][1]["unchecked"]
    assert unchecked.startswith(f"script and ledger of {second} were not checked: openpts ")
    assert isinstance(alone.exception, NoVerdictError)
    assert str(alone.exception).startswith(
        f"{second}/report.json: every value matches the record, but script"
    )
    assert isinstance(done.exception, RecordError)
    assert (printed["exit_code"], printed["error"]) == (8, str(done.exception))
    words = openpts("verify", tmp_path / "batch")
    assert isinstance(words.exception, RecordError)
    assert str(words.exception).startswith(f"2 of 2 reports of {tmp_path / 'batch'} are not confirmed by")
    assert words.stdout.splitlines()[-1] == str(alone.exception)
    assert isinstance(openpts("verify", tmp_path / "batch", first).exception, UsageError)


def _lines_on_signatures() -> tuple[list[str], list[str]]:
    """What the manual types to sign a folder, and to check it."""
    page = (ROOT / "packages/openpts/docs/run-folder.md").read_text(encoding="utf-8")
    section = page.partition("## How do I prove that it is mine, and unchanged?")[2].partition("\n## ")[0]
    signing, checking = (block.split("\n    ") for block in re.findall(r"\n    (.+(?:\n    .+)*)", section))
    return signing, checking


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="there is no ssh-keygen")
def test_the_lines_of_the_manual_sign_a_folder_and_refuse_what_was_changed(suite, tmp_path) -> None:
    signing, checking = _lines_on_signatures()
    for owner in (".ssh/id_ed25519", "other"):
        (tmp_path / owner).parent.mkdir(exist_ok=True)
        words = ("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / owner))
        subprocess.run(words, check=True, stdin=subprocess.DEVNULL)
    shutil.copytree(suite / RUNS[0], tmp_path / "RUN")
    shutil.copy(tmp_path / ".ssh/id_ed25519.pub", tmp_path / "ann.pub")

    def typed(*lines: str) -> list[bool]:
        environment = {**os.environ, "HOME": str(tmp_path)}
        done = [
            subprocess.run(line, shell=True, cwd=tmp_path, env=environment, capture_output=True, check=False)
            for line in lines
        ]
        return [one.returncode == 0 for one in done]

    assert all(typed(*signing))
    assert typed(*checking) == [True, True, True]
    for name in OF_A_RUN[:2]:
        path, sums = tmp_path / "RUN" / name, tmp_path / "RUN" / "SHA256SUMS"
        before, listed = path.read_bytes(), sums.read_bytes()
        path.write_bytes(before[:-1] + bytes([before[-1] ^ 1]))
        assert typed(*checking) == [True, True, False]
        assert typed(f"cd RUN && sha256sum {name} > line && sed -i '\\| {name}$|d' SHA256SUMS") == [True]
        sums.write_bytes(sums.read_bytes() + (tmp_path / "RUN" / "line").read_bytes())
        assert typed(*checking) == [True, False, True]
        path.write_bytes(before)
        sums.write_bytes(listed)
    shutil.copy(tmp_path / "other.pub", tmp_path / "ann.pub")
    assert typed(*checking) == [True, False, True]
