"""Faults for `openpts doctor --self-test`: a tool changes one place of engine, record, analysis or report.

``python -m tests.mutations.seeded_faults`` draws faults by a seed from all places that a run and its report
on a simulated drive execute, seeds each into a copy of the packages, and writes which check stopped it. What
check stops counts as a fault if it changes a number of that report, or ends it: what no figure shows can't be
stopped before one. The drive (client-qlc) and the times are others than those of the self-test.
"""

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from queue import Queue
from typing import Final

import click
import msgspec
from msgspec import Struct

from openpts.temporary_folder import temporary_folder

PACKAGES: Final = Path(__file__).parents[2] / "python"
LIST: Final = Path(__file__).with_name("seeded_faults.json")
ROOMS: Final = {
    "engine": ("openpts/engine/program*.py", "openpts/vocabulary/sample.py", "openpts/record/st*.py"),
    "analysis": (
        "openpts/analysis/*.py",
        "openpts/procedures/pts/*/results.py",
        "openpts/procedures/shared/*.py",
    ),
    "report": (
        *("openpts/procedures/pts/*/report.py", "openpts/procedures/pts/*/pages.py", "openpts/pages/*.py"),
        *("openpts/report/summary.py", "openpts/units.py", "openpts/report/executive_page.py"),
    ),
}
_SWAPS: Final[dict[type[ast.AST], tuple[str, str]]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "/"),
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.And: ("and", "or"),
    ast.Or: ("or", "and"),
}
_CALLS: Final = {"min": "max", "max": "min", "any": "all", "all": "any", "sum": "max", "fmean": "max"}
_SELF_TEST: Final = """
import sys
from openpts_line.cli.self_test import all_checks
for finding in all_checks(0.2):
    if finding.faults:
        sys.exit(f"{finding.check}: {finding.faults[0]}")
"""
REFERENCE: Final = "tests.mutations.reference_report"
_TIMEOUT_S: Final = 400


class Fault(Struct, frozen=True, kw_only=True):
    """One changed place. ``stopped_by`` is the check and its first fault, None where none stopped it."""

    room: str
    file: str
    line: int
    before: str
    after: str
    column: int
    old: str
    new: str
    stopped_by: str | None = None


def candidates(room: str, path: Path) -> Iterator[Fault]:
    """All faults that the tool can make of a file."""
    text = path.read_text()
    lines = text.splitlines()
    for node in _code(ast.parse(text)):
        for line, column, old, new in _changes(node, lines):
            before = lines[line - 1]
            after = before[:column] + new + before[column + len(old) :]
            yield Fault(
                room=room,
                file=str(path.relative_to(PACKAGES)),
                line=line,
                before=before.strip(),
                after=after.strip(),
                column=column,
                old=old,
                new=new,
            )


def _code(tree: ast.AST) -> Iterator[ast.AST]:
    """Nodes that compute: without types, errors and assertions."""
    for name, value in ast.iter_fields(tree):
        if name in {"annotation", "returns", "decorator_list", "bases", "keywords"} and not isinstance(
            tree, ast.Call
        ):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, ast.Raise | ast.Assert):
                yield child
                yield from _code(child)


def _changes(node: ast.AST, lines: list[str]) -> Iterator[tuple[int, int, str, str]]:
    match node:
        case ast.BinOp(left=left, op=op, right=right) | ast.Compare(left=left, ops=[op], comparators=[right]):
            yield from _between(left, op, right, lines)
        case ast.BoolOp(op=op, values=[left, right, *_]):
            yield from _between(left, op, right, lines)
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            old = ast.get_source_segment("\n".join(lines), node) or ""
            if old.replace("_", "").isdigit():
                yield node.lineno, node.col_offset, old, str(value + 1)
        case ast.Constant(value=float() as value):
            old = ast.get_source_segment("\n".join(lines), node) or ""
            yield node.lineno, node.col_offset, old, repr(value * 1.1 or 0.1)
        case ast.Call(func=ast.Name(id=name) as func) if name in _CALLS:
            yield func.lineno, func.col_offset, name, _CALLS[name]
        case ast.UnaryOp(op=ast.Not()):
            yield node.lineno, node.col_offset, "not ", ""


def _between(
    left: ast.expr, op: ast.AST, right: ast.expr, lines: list[str]
) -> Iterator[tuple[int, int, str, str]]:
    """The operator, where it is on the line on which its left side ends."""
    swap = _SWAPS.get(type(op))
    if (
        swap is None
        or left.end_lineno is None
        or left.end_col_offset is None
        or right.lineno != left.end_lineno
    ):
        return
    column = lines[left.end_lineno - 1].find(swap[0], left.end_col_offset, right.col_offset)
    if column >= 0:
        yield left.end_lineno, column, *swap


def drawn(seed: int) -> list[Fault]:
    """Faults of lines that a report executes, in the order of their draw, the rooms in turn."""
    executed = _executed_lines()
    chance = random.Random(seed)
    pools = []
    for room, patterns in ROOMS.items():
        files = sorted({path for pattern in patterns for path in PACKAGES.glob(pattern)})
        pool = [one for path in files for one in candidates(room, path) if (one.file, one.line) in executed]
        chance.shuffle(pool)
        pools.append(pool)
    return [one for several in zip(*pools, strict=False) for one in several]


def listed() -> list[Fault]:
    """Faults of the list whose lines are still there, where they are now."""
    found = []
    for fault in msgspec.json.decode(LIST.read_bytes(), type=list[Fault]):
        lines = (PACKAGES / fault.file).read_text().splitlines()
        places = [number for number, line in enumerate(lines, start=1) if line.strip() == fault.before]
        if places:
            place = min(places, key=lambda number: abs(number - fault.line))
            line = lines[place - 1]
            column = len(line) - len(line.lstrip()) + _column_within(fault)
            found.append(msgspec.structs.replace(fault, line=place, column=column, stopped_by=None))
    return found


def _column_within(fault: Fault) -> int:
    """Where a fault begins in its line without indentation."""
    return next(
        place
        for place in range(len(fault.before))
        if fault.before[:place] + fault.new + fault.before[place + len(fault.old) :] == fault.after
        and fault.before[place:].startswith(fault.old)
    )


def _executed_lines() -> set[tuple[str, int]]:
    found = subprocess.run(
        [sys.executable, "-m", REFERENCE, "--lines", str(PACKAGES)],
        env=environment(PACKAGES),
        capture_output=True,
        text=True,
        check=True,
    )
    return {(file, line) for file, line in msgspec.json.decode(found.stdout)}


def environment(packages: Path) -> dict[str, str]:
    """That of a program that has these packages."""
    paths = (str(packages), os.environ.get("PYTHONPATH", ""), str(PACKAGES.parent))
    return {
        **os.environ,
        "PYTHONPATH": ":".join(paths),
        "PYTHONDONTWRITEBYTECODE": "1",
        "OPENPTS_CACHE": "off",
    }


class Copies:
    """Copies of the packages, one for each fault that is tried at the same time."""

    def __init__(self, folder: Path, count: int) -> None:
        self._free: Queue[Path] = Queue()
        for number in range(count):
            copy = folder / str(number)
            shutil.copytree(PACKAGES, copy, ignore=shutil.ignore_patterns("*.so"))
            native = next((PACKAGES / "openpts").glob("_native*.so"))
            (copy / "openpts" / native.name).symlink_to(native)
            self._free.put(copy)

    def tried(self, fault: Fault, reference: str) -> Fault | None:
        """The fault with what stopped it; None for one that no figure of the reference shows."""
        copy = self._free.get()
        path = copy / fault.file
        whole = path.read_text()
        lines = whole.splitlines(keepends=True)
        line = lines[fault.line - 1]
        lines[fault.line - 1] = line[: fault.column] + fault.new + line[fault.column + len(fault.old) :]
        path.write_text("".join(lines))
        try:
            stopped = answer(self_test(), environment(copy))
            shown = stopped or answer([sys.executable, "-m", REFERENCE], environment(copy), wanted=reference)
        finally:
            path.write_text(whole)
            self._free.put(copy)
        return None if shown is None else msgspec.structs.replace(fault, stopped_by=stopped)


def self_test() -> list[str]:
    """A program that ends with an error at the first finding."""
    return [sys.executable, "-c", _SELF_TEST]


def answer(command: list[str], variables: dict[str, str], wanted: str = "") -> str | None:
    """None if the program ends well and prints what is wanted, else what it says."""
    try:
        ended = subprocess.run(
            command, env=variables, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S
        )
    except subprocess.TimeoutExpired:
        return "no answer"
    if ended.returncode:
        return (ended.stderr.strip().splitlines() or ["ended"])[-1][:160]
    return None if ended.stdout == wanted else "other figures"


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--count", type=int, default=100)
    words.add_argument("--seed", type=int, default=36)
    words.add_argument("--at-once", type=int, default=2)
    words.add_argument("--out", type=Path, default=LIST)
    words.add_argument("--again", action="store_true", help="those of the list, as far as they are there")
    given = words.parse_args()
    reference = subprocess.run(
        [sys.executable, "-m", REFERENCE],
        env=environment(PACKAGES),
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    found: list[Fault] = []
    tried = 0
    with temporary_folder("faults") as folder, ThreadPoolExecutor(given.at_once) as threads:
        copies, faults = Copies(folder, given.at_once), iter(listed() if given.again else drawn(given.seed))
        while len(found) < given.count and (
            some := list(islice(faults, min(4 * given.at_once, given.count - len(found))))
        ):
            for fault, result in zip(
                some, threads.map(lambda one: copies.tried(one, reference), some), strict=True
            ):
                outcome = "changes no figure" if result is None else result.stopped_by or "NOT STOPPED"
                click.echo(f"{fault.file}:{fault.line}: {fault.old!r} -> {fault.new!r}: {outcome}")
                found += [] if result is None else [result]
            tried += len(some)
            given.out.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n")
    stopped = sum(fault.stopped_by is not None for fault in found)
    click.echo(f"{stopped} of {len(found)} stopped; {tried - len(found)} more change no figure")


if __name__ == "__main__":
    main()
