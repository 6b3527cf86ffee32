"""The golden report is drawn as it was when it was last looked at, byte for byte and to the eye."""

import json
import shutil

import numpy as np
import pytest

from tests.support.golden_report import HASHES, pictures, rendered, stored_pictures, versions

RENEW = "if that is wanted: python -m tests.support.golden_report, and look at the pages"
A_CHANGED_PIXEL = 48
MOST_CHANGED_SHARE = 0.002


@pytest.fixture(scope="module")
def now() -> tuple[dict[str, str], bytes]:
    return rendered()


def test_bytes_are_those_of_the_golden_report(now) -> None:
    stored = json.loads(HASHES.read_text())
    if stored["versions"] != versions():
        pytest.skip(f"the hashes are those of {stored['versions']}, here is {versions()}")
    differ = sorted(
        name for name in now[0] | stored["sha256"] if now[0].get(name) != stored["sha256"].get(name)
    )
    assert differ == [], RENEW


def test_pages_look_like_the_golden_report(now) -> None:
    if shutil.which("pdftoppm") is None:
        pytest.skip("pdftoppm is not installed (package poppler-utils)")
    shown, stored = pictures(now[1]), stored_pictures()
    assert [page.shape for page in shown] == [page.shape for page in stored], RENEW
    for number, (page, golden) in enumerate(zip(shown, stored, strict=True), start=1):
        assert changed_share(page, golden) <= MOST_CHANGED_SHARE, f"page {number}: {RENEW}"


def changed_share(page: np.ndarray, golden: np.ndarray) -> float:
    return float(np.mean(np.abs(page.astype(int) - golden.astype(int)) > A_CHANGED_PIXEL))


def test_another_page_is_seen_as_another() -> None:
    first, second, *_ = stored_pictures()
    assert changed_share(first, second) > 10 * MOST_CHANGED_SHARE
    moved = np.roll(first, 2, axis=0)
    assert changed_share(first, moved) > MOST_CHANGED_SHARE
