"""The libraries of pages: what vl-convert puts together, kept whole or not at all."""

import functools
from pathlib import Path

import pytest
import vl_convert

from openpts.plots import drawing_cache
from openpts.plots.svg import DrawingPool
from openpts.plots.worker_processes import worker_processes


@functools.cache
def bundle() -> str:
    return vl_convert.javascript_bundle()  # type: ignore[call-arg] # the stub lacks its default


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    drawing_cache.javascript_bundle.cache_clear()
    return tmp_path / "openpts"


def again() -> str:
    drawing_cache.javascript_bundle.cache_clear()
    return drawing_cache.javascript_bundle()


def never_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing_cache, "renderer", None)


def test_it_is_put_together_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert again() == bundle()
    (kept,) = cache.iterdir()
    assert kept.name.startswith("vega-")
    never_made(monkeypatch)
    assert again() == bundle()


def test_a_process_that_draws_puts_it_together(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with worker_processes() as workers:
        pool = DrawingPool(workers)
        pool.prepare(libraries=True)
        pool.wait_for_libraries()
    never_made(monkeypatch)
    assert again() == bundle()


@pytest.mark.parametrize("damaged", [b"", b"\x1f\x8b", b"no gzip at all"])
def test_what_is_damaged_is_made_anew(cache: Path, damaged: bytes) -> None:
    again()
    (kept,) = cache.iterdir()
    whole = kept.read_bytes()
    kept.write_bytes(damaged or whole[: len(whole) // 2])
    assert again() == bundle()
    assert kept.read_bytes() == whole


def test_nothing_is_kept_where_that_is_not_wanted(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENPTS_CACHE", "off")
    assert again() == bundle()
    assert not cache.exists()


def test_a_folder_that_can_t_be_written_only_costs_time(cache: Path) -> None:
    cache.write_text("a file where the folder should be")
    assert again() == bundle()
