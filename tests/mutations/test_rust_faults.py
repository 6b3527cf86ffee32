"""The list of Rust faults is one of places that are there, and each makes another program."""

import msgspec
import pytest

from tests.mutations.rust_faults import FOUND, ROOT, Found, RustFault, faults, seeded


@pytest.mark.parametrize("fault", faults(), ids=lambda fault: fault.says)
def test_each_fault_has_its_place(fault: RustFault) -> None:
    text = (ROOT / "rust" / fault.file).read_text()
    start, end = fault.span_in(text)
    assert text[start:end] == fault.original
    changed = seeded(text, [(17, fault)])
    condition = "seeded::fault(17)"
    assert changed.count(condition) == 1
    assert len(changed) - len(text) > len(condition) + len(fault.mutant)


def test_several_faults_of_a_place_are_one_chain() -> None:
    faults_of_a_place = [RustFault("", "core/src/a.rs", "a + «b»", mutant) for mutant in ("c", "d")]
    assert seeded("x = a + b;\n#[cfg(test)]\na + b", enumerate(faults_of_a_place, start=1)) == (
        "x = a + (if crate::seeded::fault(2) { d } else { if crate::seeded::fault(1) { c } else { b } });\n"
        "#[cfg(test)]\na + b"
    )


def test_a_place_that_is_there_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="2 times"):
        seeded("a + a + ", [(1, RustFault("", "core/src/a.rs", "a + ", "b + "))])


def test_what_was_found_is_of_these_faults() -> None:
    found = msgspec.json.decode(FOUND.read_bytes(), type=tuple[Found, ...])
    assert [one.says for one in found] == [fault.says for fault in faults()]
    assert sum(one.stopped_by is not None for one in found) >= 0.95 * len(found)
