"""Faults of the Rust engine for the self-test and known loads: a number switches one on.

``python -m tests.mutations.rust_faults`` puts the faults of ``rust_faults.toml`` into a copy of the Rust
tree as ``if fault(17) { mutant } else { original }``, builds one native module of it, and runs the self-test
and the known loads with each number. What they do not stop has to show that it changes something at all: in
a report on another drive, or in the engine's own tests. The module stays below ``target/``; nothing of it is
in a product.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import click
import msgspec
from msgspec import Struct

from tests.mutations.seeded_faults import PACKAGES, REFERENCE, answer, environment

ROOT: Final = PACKAGES.parent
LIST: Final = Path(__file__).with_name("rust_faults.toml")
FOUND: Final = Path(__file__).with_name("rust_faults.json")
NUMBER: Final = "OPENPTS_SEEDED_FAULT"
_BUILT: Final = ROOT / "target" / "faults"
_TREE: Final = _BUILT / "tree"
_PARTS: Final = """
import sys
from importlib import import_module
from openpts.temporary_folder import temporary_folder
with temporary_folder("faults") as folder:
    for name, words, attempts in (
        ("tests.support.known_loads", (), 3), ("openpts_line.selftest.known_delays", (0.2,), 3),
        ("openpts_line.selftest.known_answers", (), 1),
    ):
        for attempt in range(attempts):
            place = folder / f"{name}-{attempt}"
            place.mkdir()
            found = import_module(name).check(*words, place)
            findings = found if isinstance(found, tuple) else (found,)
            faults = [f"{one.check}: {one.faults[0]}" for one in findings if one.faults]
            if not faults:
                break
        else:
            sys.exit(faults[0])
"""
"""What may see a fault of the engine, the quickest first."""
_PARTED: Final = [sys.executable, "-c", _PARTS]
_SWITCH: Final = f"""//! Which fault is switched on; this module is of a copy for tests alone.
#![allow(missing_docs)]
use std::sync::LazyLock;
static SEEDED: LazyLock<usize> =
    LazyLock::new(|| std::env::var("{NUMBER}").ok().and_then(|number| number.parse().ok()).unwrap_or(0));
#[inline]
pub fn fault(number: usize) -> bool {{
    *SEEDED == number
}}
"""


class RustFault(Struct, frozen=True):
    """A mistake: ``place`` stands once in ``file``, which is below rust/; ``mutant`` takes the place of what
    is between « and » in it, or of all.
    """

    says: str
    file: str
    place: str
    mutant: str

    @property
    def original(self) -> str:
        """The expression or statement."""
        return self.place.partition("«")[2].partition("»")[0] or self.place

    def span_in(self, text: str) -> tuple[int, int]:
        """Where that is before the tests. Raises ValueError unless it is in exactly one place."""
        place = self.place.replace("«", "").replace("»", "")
        count = text.partition("#[cfg(test)]")[0].count(place)
        if count != 1:
            raise ValueError(f"{self.file} has {place!r} {count} times")
        start = text.index(place) + max(0, self.place.find("«"))
        return start, start + len(self.original)


class Found(Struct, frozen=True):
    """What became of a fault: ``stopped_by`` is the check and its first fault; None where none stopped it,
    and ``shown_by`` says what else shows that the fault changes something.
    """

    says: str
    stopped_by: str | None
    shown_by: str | None = None


def faults() -> tuple[RustFault, ...]:
    """All, in the order of their numbers, which begin at 1."""
    return msgspec.convert(tomllib.loads(LIST.read_text())["fault"], tuple[RustFault, ...])


def seeded(text: str, numbered: Iterable[tuple[int, RustFault]]) -> str:
    """A file with some faults, none of which is on."""
    places: dict[tuple[int, int], list[tuple[int, RustFault]]] = defaultdict(list)
    for number, fault in numbered:
        places[fault.span_in(text)].append((number, fault))
    for (start, end), several in sorted(places.items(), reverse=True):
        chain = text[start:end]
        crate = "openpts_core" if several[0][1].file.startswith("python/") else "crate"
        for number, fault in several:
            chain = f"if {crate}::seeded::fault({number}) {{ {fault.mutant} }} else {{ {chain} }}"
        is_statement = several[0][1].original.endswith(";")
        text = text[:start] + (chain if is_statement else f"({chain})") + text[end:]
    return text


def build() -> Path:
    """The native module with all faults."""
    by_file = defaultdict(list)
    for number, fault in enumerate(faults(), start=1):
        by_file[Path("rust", fault.file)].append((number, fault))
    tracked = subprocess.run(
        ["git", "ls-files", "rust", "Cargo.toml", "Cargo.lock"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    texts = {Path(name): (ROOT / name).read_bytes() for name in tracked.stdout.splitlines()}
    for name, numbered in by_file.items():
        texts[name] = seeded(texts[name].decode(), numbered).encode()
    library = Path("rust/core/src/lib.rs")
    texts[library] += b"pub mod seeded;\n"
    texts[library.with_name("seeded.rs")] = _SWITCH.encode()
    for name, text in texts.items():
        path = _TREE / name
        if not path.exists() or path.read_bytes() != text:  # cargo compiles what has another time
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text)
    _cargo("build", "-p", "openpts-python")
    return _BUILT / "debug" / "libopenpts_native.so"


def _cargo(*words: str) -> str:
    command = ["cargo", *words, "--locked", "--target-dir", str(_BUILT)]
    return subprocess.run(command, cwd=_TREE, check=True, capture_output=True, text=True).stdout


def packages_with(module: Path) -> Path:
    """A copy of the Python packages with that native module."""
    copy = _BUILT / "packages"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(PACKAGES, copy, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    shutil.copy(module, copy / "openpts" / "_native.abi3.so")
    return copy


def tried(number: int, fault: RustFault, copy: Path, reference: str) -> Found:
    """Run the self-test with a fault; where that passes, what else shows it."""
    with_fault = environment(copy) | {NUMBER: str(number)}
    if stopped := answer(_PARTED, with_fault):
        return Found(fault.says, stopped)
    if other := answer([sys.executable, "-m", REFERENCE], with_fault, wanted=reference):
        return Found(fault.says, None, f"a report on another drive: {other}")
    return Found(fault.says, None, _failing_tests(with_fault))


def _failing_tests(with_fault: dict[str, str]) -> str | None:
    """Tests of the engine, in the copy, that fail with the fault."""
    ended = subprocess.run(
        ["cargo", "test", "--locked", "--target-dir", str(_BUILT), "-p", "openpts-core", "--no-fail-fast"],
        cwd=_TREE,
        env=with_fault,
        capture_output=True,
        text=True,
        check=False,
    )
    failed = [line.split()[1] for line in ended.stdout.splitlines() if line.endswith("... FAILED")]
    return f"tests of the engine: {', '.join(failed[:3])}" if failed else None


def tried_all(numbers: Sequence[int], at_once: int) -> list[Found]:
    """Build, and try the faults of these numbers."""
    copy = packages_with(build())
    sound = answer(_PARTED, environment(copy))
    if sound is not None:
        raise click.ClickException(f"without a fault: {sound}")
    reference = subprocess.run(
        [sys.executable, "-m", REFERENCE], env=environment(copy), capture_output=True, text=True, check=True
    ).stdout
    listed = faults()
    found = []
    with ThreadPoolExecutor(at_once) as threads:
        results = threads.map(lambda number: tried(number, listed[number - 1], copy, reference), numbers)
        for number, result in zip(numbers, results, strict=True):
            click.echo(f"{number:3} {result.says}: {result.stopped_by or f'NOT STOPPED ({result.shown_by})'}")
            found.append(result)
    return found


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("numbers", type=int, nargs="*", help="default: all, and write what was found")
    words.add_argument("--at-once", type=int, default=os.cpu_count() or 1)
    given = words.parse_args()
    found = tried_all(given.numbers or range(1, len(faults()) + 1), given.at_once)
    if not given.numbers:
        FOUND.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n")
    stopped = sum(one.stopped_by is not None for one in found)
    click.echo(f"{stopped} of {len(found)} stopped")


if __name__ == "__main__":
    main()
