"""Marks are read as they are meant, and the table made of them has no gap and is not stale."""

from pathlib import Path

import pytest
from docs.conformance_marks import (
    implementing_marks,
    places,
    proving_marks,
    requirement_ids,
)
from docs.conformance_page import PAGE, PLACES, ROOT, page, places_file, unfounded

from openpts.conformance.catalogue import Level, by_id, catalogue
from openpts.conformance.unimplemented import PARTLY, unimplemented

MODULE = '''"""A module (PTS-GEN-01)."""

# of the constant (PTS-GEN-02)
LIMIT = 5
"""Also of the constant: PTS-GEN-03."""


def outer() -> None:
    """Of the function: PTS-IOPS-12 to 14,
    16 and PTS-TP-01.
    """
    # of the function, in two
    # lines (PTS-DAT-01)
    work()  # PTS-DAT-02


class Room:
    def inside(self) -> str:
        # PTS-DAT-03
        return "PTS-TP-33 is a value and no mark"
'''
TESTS = """import pytest

pytestmark = pytest.mark.proves("PTS-GEN-01")


@pytest.mark.proves("PTS-IOPS-12", "PTS-IOPS-13..14")
def test_it() -> None:
    assert "PTS-TP-33"


class TestRoom:
    @pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.proves("PTS-TP-02"))])
    def test_inside(self, x: int) -> None: ...
"""
RUST = """//! Of the file: PTS-RNG-02.

/// Of the generator (PTS-RNG-01).
#[derive(Clone)]
pub struct Generator;

impl Generator {
    pub fn next(&mut self) -> u64 {
        0 // PTS-RNG-03
    }
}

#[cfg(test)]
mod tests {
    // proves: PTS-RNG-01, 03
    #[test]
    fn is_uniform() {}
}
"""


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("nothing", ()),
        ("(PTS-IOPS-02)", ("PTS-IOPS-02",)),
        ("PTS-IOPS-11, 16)", ("PTS-IOPS-11", "PTS-IOPS-16")),
        ("PTS-FLOW-01 to 03, PTS-SS-07", ("PTS-FLOW-01", "PTS-FLOW-02", "PTS-FLOW-03", "PTS-SS-07")),
        ("PTS-CBW-44..46", ("PTS-CBW-44", "PTS-CBW-45", "PTS-CBW-46")),
        ("PTS-A-01, 03 to 05 and 07.", ("PTS-A-01", "PTS-A-03", "PTS-A-04", "PTS-A-05", "PTS-A-07")),
        ("PTS-A-01 to PTS-A-03", ("PTS-A-01", "PTS-A-02", "PTS-A-03")),
        ("PTS-A-01, 16 KiB of it", ("PTS-A-01",)),
        ("PTS-A-01\n    to 02", ("PTS-A-01", "PTS-A-02")),
        ("XPTS-A-1 and PTS-A-123", ()),
    ],
)
def test_lists_and_ranges_are_written_out(text: str, ids: tuple[str, ...]) -> None:
    assert requirement_ids(text) == ids


def sources(root: Path, **files: str) -> Path:
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("_py", ".py").replace("_rs", ".rs")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def test_code_is_marked_by_comments_and_docstrings(tmp_path: Path) -> None:
    root = sources(tmp_path, python__openpts__pts__x_py=MODULE)
    file = "python/openpts/pts/x.py"
    assert places(implementing_marks(root)) == {
        "PTS-GEN-01": (file,),
        "PTS-GEN-02": (f"{file}:LIMIT",),
        "PTS-GEN-03": (f"{file}:LIMIT",),
        "PTS-IOPS-12": (f"{file}:outer",),
        "PTS-IOPS-13": (f"{file}:outer",),
        "PTS-IOPS-14": (f"{file}:outer",),
        "PTS-IOPS-16": (f"{file}:outer",),
        "PTS-TP-01": (f"{file}:outer",),
        "PTS-DAT-01": (f"{file}:outer",),
        "PTS-DAT-02": (f"{file}:outer",),
        "PTS-DAT-03": (f"{file}:Room.inside",),
    }


def test_tests_are_marked_by_what_they_prove(tmp_path: Path) -> None:
    root = sources(tmp_path, tests__test_x_py=TESTS, rust__core__src__x_rs=RUST)
    file, rust = "tests/test_x.py", "rust/core/src/x.rs"
    assert places(proving_marks(root)) == {
        "PTS-GEN-01": (file,),
        "PTS-IOPS-12": (f"{file}::test_it",),
        "PTS-IOPS-13": (f"{file}::test_it",),
        "PTS-IOPS-14": (f"{file}::test_it",),
        "PTS-TP-02": (f"{file}::TestRoom.test_inside",),
        "PTS-RNG-01": (f"{rust}:is_uniform",),
        "PTS-RNG-03": (f"{rust}:is_uniform",),
    }
    assert places(implementing_marks(root)) == {
        "PTS-RNG-01": (f"{rust}:Generator",),
        "PTS-RNG-02": (rust,),
        "PTS-RNG-03": (f"{rust}:next",),
    }


def test_every_shall_and_should_is_implemented_and_proven() -> None:
    missing = unfounded(places(implementing_marks(ROOT)), places(proving_marks(ROOT)))
    assert missing == {}, "mark the code with the ID in a comment, the test with @pytest.mark.proves"


def test_marks_name_requirements_that_exist() -> None:
    strays = {
        f"{mark.place}: {mark.requirement_id}"
        for mark in (*implementing_marks(ROOT), *proving_marks(ROOT))
        if mark.requirement_id not in by_id()
    }
    assert strays == set()


def test_what_is_not_implemented_stands_in_the_list_with_its_reason() -> None:
    implemented = places(implementing_marks(ROOT))
    left = {
        requirement.id
        for requirement in catalogue()
        if requirement.level is Level.MAY and requirement.id not in implemented
    }
    assert left <= set(unimplemented())
    assert set(unimplemented()) <= set(by_id())
    in_part = {id_ for id_, reason in unimplemented().items() if reason.kind == PARTLY}
    assert set(unimplemented()) & set(implemented) == in_part


def test_the_table_is_not_stale() -> None:
    implemented, proven = places(implementing_marks(ROOT)), places(proving_marks(ROOT))
    remedy = "make it anew: python -m docs.conformance_page"
    assert (ROOT / PAGE).read_text(encoding="utf-8") == page(implemented, proven), remedy
    assert (ROOT / PLACES).read_text(encoding="utf-8") == places_file(implemented), remedy
