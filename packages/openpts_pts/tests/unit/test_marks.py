"""Marks of tests are read as they are meant, and what is made of them is not stale."""

from pathlib import Path

import pytest

from docs.conformance_marks import MarkError, marked_proofs, requirement_ids
from docs.conformance_page import PROOFS, ROOT, proofs_file

TESTS = """import pytest


@pytest.mark.proves("PTS-IOPS-12", "PTS-IOPS-13..14")
@pytest.mark.proves("PTS-GEN-01")
def test_it() -> None:
    assert "PTS-TP-33"


class TestRoom:
    @pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.proves("PTS-TP-02"))])
    def test_inside(self, x: int) -> None: ...
"""
RUST = """#[cfg(test)]
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
        ("PTS-IOPS-02", ("PTS-IOPS-02",)),
        ("PTS-IOPS-11, 16", ("PTS-IOPS-11", "PTS-IOPS-16")),
        ("PTS-CBW-44..46", ("PTS-CBW-44", "PTS-CBW-45", "PTS-CBW-46")),
        ("PTS-DEF-08, 09, PTS-THR-01", ("PTS-DEF-08", "PTS-DEF-09", "PTS-THR-01")),
        ("SOL-STAT-07..08, TKP-TP-01", ("SOL-STAT-07", "SOL-STAT-08", "TKP-TP-01")),
        ("XPTS-A-1 and PTS-A-123", ()),
    ],
)
def test_lists_and_ranges_are_written_out(text, ids) -> None:
    assert requirement_ids(text) == ids


def source(root: Path, name: str, text: str) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return root


def test_tests_are_marked_by_what_they_prove(tmp_path) -> None:
    source(tmp_path, "tests/test_x.py", TESTS)
    source(tmp_path, "rust/core/src/x.rs", RUST)
    assert marked_proofs(tmp_path) == {
        "PTS-GEN-01": ("tests/test_x.py::test_it",),
        "PTS-RNG-01": ("rust/core/src/x.rs::is_uniform",),
        "PTS-RNG-03": ("rust/core/src/x.rs::is_uniform",),
        "PTS-IOPS-12": ("tests/test_x.py::test_it",),
        "PTS-IOPS-13": ("tests/test_x.py::test_it",),
        "PTS-IOPS-14": ("tests/test_x.py::test_it",),
        "PTS-TP-02": ("tests/test_x.py::TestRoom::test_inside",),
    }


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("tests/test_x.py", TESTS.replace("test_it", "helper")),
        ("tests/test_x.py", TESTS.replace("PTS-GEN-01", "PTS-GEN-99")),
        ("tests/test_x.py", TESTS.replace("PTS-GEN-01", "none")),
        ("tests/test_x.py", f'{TESTS}\npytestmark = pytest.mark.proves("PTS-GEN-01")\n'),
        ("rust/core/src/x.rs", RUST.replace("    #[test]\n", "")),
        ("rust/core/src/x.rs", RUST.replace("fn is_uniform() {}", "const UNIFORM: bool = true;")),
    ],
)
def test_a_mark_on_no_test_or_of_no_requirement_is_refused(tmp_path, name, text) -> None:
    with pytest.raises(MarkError, match=name):
        marked_proofs(source(tmp_path, name, text))


def test_what_is_made_of_the_marks_is_not_stale() -> None:
    proven = marked_proofs(ROOT)
    assert (ROOT / PROOFS).read_text(encoding="utf-8") == proofs_file(proven), (
        "run python -m docs.conformance_page"
    )
