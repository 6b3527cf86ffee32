"""What is sealed, by which keys, what a seal says, and the sentence for each that does not count."""

import json
import os
import re
import shutil
import subprocess
import time
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from pyarrow.parquet import read_table

from openpts.cli.main import cli
from openpts.errors import OpenptsError
from openpts.record.batch import write_batch
from openpts.record.manifest import RunState
from openpts.report.batch_index import write_batch_index
from tests.support.batches import suite_entry, suite_of
from tests.support.ssh_keys import SshKeys
from tests.support.synthetic_run import Synthetic, write_synthetic_run
from tests.support.transcript import Golden
from tests.unit.line.seal.folder_changes import SIGNATURE, STATEMENT, canonical, contents_of

NAMESPACE = "openpts-seal"


def said(*words: str | Path) -> str:
    """What a command prints, or the error in which it ends, without what differs each time."""
    result = CliRunner().invoke(cli, [str(word) for word in words])
    text = result.output
    if isinstance(result.exception, OpenptsError):
        text += f"{type(result.exception).__name__}: {result.exception}"
    elif result.exception is not None:
        raise result.exception
    text = re.sub(r"SHA256:[A-Za-z0-9+/]{43}", "SHA256:KEY", text)
    text = re.sub(r"ssh-ed25519 [A-Za-z0-9+/=]+", "ssh-ed25519 KEY", text)
    return re.sub(r"20\d\d-\d\d-\d\dT[0-9:+]+", "TIME", text)


@pytest.fixture
def folder(sealed: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sealed, tmp_path / "run"))


@pytest.fixture
def ann(keys: SshKeys) -> Path:
    return keys.signers("ann-alone", ("ann@lab", "ann"))


def golden_of(golden: Golden, keys: SshKeys) -> Callable[[str], None]:
    def matches(text: str) -> None:
        assert text.replace(str(keys.folder), "KEYS") == golden

    return matches


def restated(folder: Path, change: Callable[[Any], None]) -> bytes:
    statement = json.loads((folder / STATEMENT).read_bytes())
    change(statement)
    content = canonical(statement)
    (folder / STATEMENT).write_bytes(content)
    return content


def sign(folder: Path, keys: SshKeys, key: str, namespace: str = NAMESPACE) -> None:
    content = (folder / STATEMENT).read_bytes()
    (folder / SIGNATURE).write_bytes(keys.signature(content, key, namespace))


def doubled(statement: Any) -> None:
    statement["predicate"]["runs"]["."]["key_values"]["rnd_4_kib_rw0.iops"]["value"] *= 2


def test_a_run_is_sealed_and_verified(reported: Path, tmp_path: Path, keys: SshKeys, golden: Golden) -> None:
    run = shutil.copytree(reported, tmp_path / "run")
    shown = [said("seal", run, "--key", keys.private("ann"))]
    signers = keys.signers("ann-alone", ("ann@lab", "ann"))
    shown += [said("verify", run), said("verify", run, "--signers", signers)]
    shown += [said("verify", run, "--signers", signers, "--json")]
    golden_of(golden, keys)("\n".join(shown))


def test_the_statement_is_one_of_in_toto_and_has_what_was_measured(sealed: Path) -> None:
    """Its form by the specification of in-toto, its digests by hashlib, its values by the report."""
    content = (sealed / STATEMENT).read_bytes()
    statement = json.loads(content)
    assert statement.keys() == {"_type", "subject", "predicateType", "predicate"}
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert canonical(statement) == content
    files = {name: sha256(each).hexdigest() for name, each in contents_of(sealed).items()}
    assert {one["name"]: one["digest"] for one in statement["subject"]} == {
        name: {"sha256": digest} for name, digest in files.items() if name not in {STATEMENT, SIGNATURE}
    }
    run = statement["predicate"]["runs"]["."]
    figures = json.loads(
        CliRunner().invoke(cli, ["report", str(sealed), "--no-csv", "--no-pdf", "--json"]).output
    )
    expected = {key: one["value"] for key, one in figures["measures"].items()}
    assert run["key_values"]
    assert {key: one["value"] for key, one in run["key_values"].items()}.items() <= expected.items()
    assert run["conditions"]["test"] == "iops"


def _append(folder: Path, _keys: SshKeys) -> None:
    (folder / "report.html").write_bytes((folder / "report.html").read_bytes() + b"\n")


def _add(folder: Path, _keys: SshKeys) -> None:
    (folder / "data").mkdir()
    (folder / "data/\N{RIGHT-TO-LEFT OVERRIDE}more.csv").write_text("1\n")


def _remove(folder: Path, _keys: SshKeys) -> None:
    for name in ("run.db", "report.html", "report.json", "input/plan.toml"):
        (folder / name).unlink()


def _link(folder: Path, _keys: SshKeys) -> None:
    (folder / "claim.jsonl").rename(folder.parent / "claim.jsonl")
    (folder / "claim.jsonl").symlink_to(folder.parent / "claim.jsonl")


def _false_figure(folder: Path, keys: SshKeys) -> None:
    restated(folder, doubled)
    sign(folder, keys, "ann")


def _with(name: str, old: bytes, new: bytes) -> Callable[[Path, SshKeys], object]:
    return lambda folder, _: (folder / name).write_bytes((folder / name).read_bytes().replace(old, new))


CHANGES: dict[str, Callable[[Path, SshKeys], object]] = {
    "changed file": _append,
    "added file": _add,
    "missing files": _remove,
    "link": _link,
    "no seal": lambda folder, _: (folder / STATEMENT).unlink(),
    "no signature": lambda folder, _: (folder / SIGNATURE).unlink(),
    "no statement": lambda folder, _: (folder / STATEMENT).write_text("{}"),
    "statement with blanks": _with(STATEMENT, b",", b", "),
    "broken signature": _with(SIGNATURE, b"\n", b"\r\n"),
    "statement edited": lambda folder, _: restated(folder, doubled),
    "another namespace": lambda folder, keys: sign(folder, keys, "ann", "file"),
    "unknown signer": lambda folder, keys: sign(folder, keys, "stranger"),
    "false figure, signed": _false_figure,
}


@pytest.mark.parametrize("kind", CHANGES)
def test_a_seal_that_does_not_count(
    folder: Path, ann: Path, keys: SshKeys, golden: Golden, kind: str
) -> None:
    CHANGES[kind](folder, keys)
    golden_of(golden, keys)(said("verify", folder, "--signers", ann))


def test_a_revoked_key(folder: Path, ann: Path, keys: SshKeys, golden: Golden) -> None:
    """By a list of public keys, and by one of ssh-keygen's own form; another key revokes nothing."""
    revoked = keys.folder / "revoked"
    words = ("ssh-keygen", "-q", "-k", "-f", str(revoked), str(keys.public("ann")))
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    shown = [
        said("verify", folder, "--signers", ann, "--revoked", each)
        for each in (keys.public("ann"), revoked, keys.public("stranger"))
    ]
    golden_of(golden, keys)("\n".join(shown))


@pytest.mark.parametrize(
    "entries",
    [
        [("ann@lab,ann@home", "ann")],
        [("*@lab", "ann")],
        [('ann@lab namespaces="git"', "ann")],
        [(f'ann@lab namespaces="git,{NAMESPACE}"', "ann")],
        [('ann@lab valid-before="20200101"', "ann")],
        [("bob@lab", "stranger"), ("ann@lab", "ann")],
        [('ann@lab namespaces="git"', "ann"), ("ann@home", "ann")],
        [],
    ],
    ids=[
        "two identities",
        "a pattern",
        "not for seals",
        "for seals",
        "too late",
        "two signers",
        "two lines",
        "none",
    ],
)
def test_who_may_sign(folder: Path, keys: SshKeys, golden: Golden, entries: list[tuple[str, str]]) -> None:
    golden_of(golden, keys)(said("verify", folder, "--signers", keys.signers("signers", *entries)))


@pytest.mark.parametrize("kind", ["blanks around", "a part without use"])
def test_a_signature_is_only_as_ssh_keygen_writes_it(folder: Path, ann: Path, kind: str) -> None:
    """Which takes more than it writes: else a seal could be changed and count."""
    before = (folder / SIGNATURE).read_bytes()
    if kind == "blanks around":
        after = before + b"\n"
    else:
        begin, *lines, end = before.splitlines()
        blob = b64decode(b"".join(lines))
        place = blob.index(NAMESPACE.encode()) + len(NAMESPACE)
        assert blob[place : place + 4] == bytes(4)
        changed = b64encode(blob[:place] + b"\0\0\0\1x" + blob[place + 4 :])
        after = b"\n".join([begin, *(changed[n : n + 70] for n in range(0, len(changed), 70)), end, b""])
    (folder / SIGNATURE).write_bytes(after)
    words = ("ssh-keygen", "-Y", "check-novalidate", "-n", NAMESPACE, "-s", str(folder / SIGNATURE))
    subprocess.run(words, input=(folder / STATEMENT).read_bytes(), check=True, capture_output=True)
    assert "its signature is damaged" in said("verify", folder, "--signers", ann)


def test_a_key_counts_at_the_moment_of_the_seal(folder: Path, keys: SshKeys) -> None:
    """As for git: what was signed before a key expired stays signed."""

    def backdated(statement: Any) -> None:
        statement["predicate"]["sealed_at"] = "2019-12-31T23:59:59Z"

    restated(folder, backdated)
    sign(folder, keys, "ann")
    entry = 'ann@lab valid-before="20200101000000Z"' if _knows_zones() else 'ann@lab valid-before="20200101"'
    assert "sealed by ann@lab" in said("verify", folder, "--signers", keys.signers("signers", (entry, "ann")))


def _knows_zones() -> bool:
    """Since OpenSSH 9.1."""
    version = subprocess.run(["ssh", "-V"], capture_output=True, text=True, check=True).stderr
    found = re.search(r"OpenSSH_(\d+)\.(\d+)", version)
    return found is not None and (int(found[1]), int(found[2])) >= (9, 1)


@pytest.mark.parametrize("kind", ["ecdsa", "rsa"])
def test_other_kinds_of_keys(reported: Path, tmp_path: Path, keys: SshKeys, kind: str) -> None:
    run = shutil.copytree(reported, tmp_path / "run")
    said("seal", run, "--key", keys.private(kind, kind))
    signers = keys.signers("signers", ("ann@lab", kind))
    assert "sealed by ann@lab" in said("verify", run, "--signers", signers)


@contextmanager
def agent_with(key: Path, folder: Path) -> Iterator[str]:
    socket = folder / "agent"
    with subprocess.Popen(["ssh-agent", "-D", "-a", str(socket)], stdout=subprocess.DEVNULL) as agent:
        try:
            while not socket.exists():
                time.sleep(0.01)
            environment = {**os.environ, "SSH_AUTH_SOCK": str(socket)}
            subprocess.run(["ssh-add", "-q", str(key)], check=True, env=environment)
            yield str(socket)
        finally:
            agent.terminate()


@pytest.mark.parametrize("form", ["file", "key::", ""])
def test_the_key_by_which_git_signs_is_in_an_agent(
    reported: Path, tmp_path: Path, keys: SshKeys, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    if not shutil.which("git"):
        pytest.skip("there is no git")
    run = shutil.copytree(reported, tmp_path / "run")
    public = tmp_path / "only.pub"  # no private key beside it
    shutil.copy(keys.public("ann"), public)
    value = str(public) if form == "file" else form + " ".join(public.read_text().split()[:2])
    (tmp_path / "gitconfig").write_text(f'[gpg]\nformat = ssh\n[user]\nsigningkey = "{value}"\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    monkeypatch.chdir(tmp_path)
    with agent_with(keys.private("ann"), keys.folder) as socket:
        monkeypatch.setenv("SSH_AUTH_SOCK", socket)
        said("seal", run)
    signers = keys.signers("signers", ("ann@lab", "ann"))
    assert "sealed by ann@lab" in said("verify", run, "--signers", signers)


def test_what_can_not_be_sealed(
    reported: Path,
    folder: Path,
    tmp_path: Path,
    keys: SshKeys,
    golden: Golden,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = shutil.copytree(reported, tmp_path / "other")
    locked = keys.private("locked", phrase="some words")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    monkeypatch.chdir(tmp_path)
    # without a terminal, and with no program that asks in its place
    monkeypatch.setattr(subprocess, "run", _in_a_session_of_its_own(subprocess.run))
    shown = {
        "sealed already": said("seal", folder),
        "no key": said("seal", run),
        "no such key": said("seal", run, "--key", tmp_path / "missing"),
        "a passphrase, and no terminal": said("seal", run, "--key", locked),
        "no run": said("seal", tmp_path),
    }
    unnamed = run / "input" / os.fsdecode(b"\xff.txt")
    unnamed.touch()
    said("report", run, "--no-csv", "--no-pdf")
    shown["a name that is no text"] = said("seal", run, "--key", keys.private("ann"))
    unnamed.unlink()
    (run / "report.html").write_text("better")
    shown["a report that was changed"] = said("seal", run, "--key", keys.private("ann"))
    running = tmp_path / "running"
    write_synthetic_run(running, Synthetic(rounds=5, steady_round=5, state=RunState.RUNNING))
    said("report", running, "--no-csv", "--no-pdf")
    shown["a run that goes on"] = said("seal", running, "--key", keys.private("ann"))
    shown["revoked without signers"] = said("verify", folder, "--revoked", locked)
    shown["no file of signers"] = said("verify", folder, "--signers", tmp_path / "missing")
    monkeypatch.setattr("openpts_line.seal.signature.find_program", lambda _name: None)
    shown["no ssh-keygen"] = said("verify", folder, "--signers", keys.public("ann"))
    monkeypatch.setattr("openpts.cli.verify.service", lambda _name: None)
    shown["no plug-in"] = said("verify", folder, "--signers", keys.public("ann"))
    golden_of(golden, keys)("\n\n".join(f"{case}:\n{text}" for case, text in shown.items()))


def _in_a_session_of_its_own(run: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *words, **options: run(*words, start_new_session=True, **options)


def test_a_report_that_is_made_again_leaves_the_seal_as_it_is(
    folder: Path, ann: Path, golden: Golden
) -> None:
    before = contents_of(folder)
    said("report", folder, "--no-csv", "--no-pdf")
    assert contents_of(folder) == before
    assert "sealed by ann@lab" in said("verify", folder, "--signers", ann)
    said("report", folder, "--style", "short", "--no-csv", "--no-pdf", "--out", folder.parent / "short")
    assert "sealed by ann@lab" in said("verify", folder, "--signers", ann)
    said("report", folder, "--style", "short", "--no-csv", "--no-pdf")
    assert said("verify", folder, "--signers", ann) == golden


@pytest.mark.slow
def test_a_suite_is_sealed_with_its_runs(tmp_path: Path, keys: SshKeys, ann: Path) -> None:
    """Those that have a seal of their own keep it."""
    suite = tmp_path / "suite"
    names = ("1-iops", "2-iops")
    for name in names:
        write_synthetic_run(suite / name, Synthetic(rounds=5, steady_round=5))
        said("report", suite / name, "--no-csv", "--no-pdf")
    whole = suite_of(*(suite_entry("iops", name, state=RunState.COMPLETE) for name in names))
    write_batch(suite, whole)
    write_batch_index(suite, whole)
    said("report", suite, "--no-csv", "--no-pdf")
    for folder in (suite / names[0], suite):
        said("seal", folder, "--key", keys.private("ann"))
    assert list(json.loads((suite / STATEMENT).read_bytes())["predicate"]["runs"]) == list(names)
    for folder in (suite / names[0], suite):
        assert "sealed by ann@lab" in said("verify", folder, "--signers", ann)
    (suite / names[0] / SIGNATURE).unlink()
    assert "1-iops/seal.json.sig is missing" in said("verify", suite, "--signers", ann)


def test_an_archive_has_the_digest_that_was_sealed(sealed: Path, tmp_path: Path) -> None:
    said("archive", "add", sealed, "--to", tmp_path / "archive")
    (entry,) = (tmp_path / "archive" / "catalogue").rglob("*.parquet")
    subjects = {
        one["name"]: one["digest"] for one in json.loads((sealed / STATEMENT).read_bytes())["subject"]
    }
    assert read_table(entry)["content_sha256"].to_pylist() == [subjects["run.db"]["sha256"]]
