"""Drawings are kept under all that they depend on; whether they were kept, no report shows."""

import os
from concurrent.futures import Executor, Future
from html import escape
from pathlib import Path

import pytest
from msgspec.structs import replace

from openpts import kept_files
from openpts_pages.plots import svg as drawing_cache
from openpts_pages.plots import theme
from openpts_pages.plots.svg import DRAWINGS, DrawingPool, draw_figures, kept_drawing, made_drawing
from openpts_pages.plots.worker_processes import worker_processes
from tests.support.sample_figures import all_figures, gallery

REPORT = gallery("nines", "bars", "cpu")
SPEC = '{"mark":"point","data":{"values":[{"x":%d}]},"encoding":{"x":{"field":"x","type":"quantitative"}}}'


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "openpts" / "drawings"


@pytest.fixture(scope="module")
def drawn_anew() -> dict[str, str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENPTS_CACHE", "off")
        return draw_figures(REPORT)


def never_drawn(monkeypatch) -> None:
    monkeypatch.setattr(drawing_cache, "drawing", None)


def test_what_processes_drew_is_not_drawn_again(drawn_anew, monkeypatch) -> None:
    with worker_processes() as workers:
        assert draw_figures(REPORT, DrawingPool(workers)) == drawn_anew
    never_drawn(monkeypatch)
    assert draw_figures(REPORT) == drawn_anew
    with worker_processes() as workers:
        assert draw_figures(REPORT, DrawingPool(workers)) == drawn_anew


def test_figures_of_the_same_content_share_a_drawing(monkeypatch) -> None:
    figure, table = all_figures()[0]
    first = draw_figures(gallery(figure.id))[figure.id]
    never_drawn(monkeypatch)
    with worker_processes() as workers:
        drawn = DrawingPool(workers).plot_svg(replace(figure, id="another-id"), {table.id: table})
    assert drawn == first.replace(f'="{figure.id}-', '="another-id-').replace(
        f"#{figure.id}-", "#another-id-"
    )
    assert "another-id-0" in drawn


@pytest.mark.parametrize("damaged", [b"", b"\x78\x01", b"no drawing at all"])
def test_what_is_damaged_is_drawn_anew(cache, damaged) -> None:
    made = made_drawing(SPEC % 1)
    (kept,) = cache.iterdir()
    whole = kept.read_bytes()
    kept.write_bytes(damaged or whole[: len(whole) // 2])
    assert not kept_drawing(SPEC % 1)
    assert made_drawing(SPEC % 1) == made
    assert kept.read_bytes() == whole


def test_a_drawing_is_kept_under_all_that_it_depends_on(tmp_path, monkeypatch) -> None:
    made_drawing(SPEC % 1)
    assert kept_drawing(SPEC % 1)
    assert not kept_drawing(SPEC % 2)
    fonts = tmp_path / "fonts"
    fonts.mkdir()
    for name, changed in {
        "version": lambda package: "0",
        "vega_config": lambda scheme: {**theme.vega_config(scheme), "background": "red"},
        "MEASURED_FONT_DIRECTORY": fonts,
    }.items():
        with monkeypatch.context() as patch:
            patch.setattr(drawing_cache, name, changed)
            drawing_cache._all_else.cache_clear()
            assert not kept_drawing(SPEC % 1), name
        drawing_cache._all_else.cache_clear()
    assert kept_drawing(SPEC % 1)


def test_nothing_is_kept_where_that_is_not_wanted(cache, monkeypatch) -> None:
    monkeypatch.setenv("OPENPTS_CACHE", "off")
    made_drawing(SPEC % 1)
    assert not kept_drawing(SPEC % 1)
    assert not DRAWINGS.any()
    assert not cache.exists()


def test_a_folder_that_can_t_be_written_only_costs_time(tmp_path) -> None:
    (tmp_path / "openpts").write_text("a file where the folder should be")
    assert made_drawing(SPEC % 1).startswith("<svg")
    assert not kept_drawing(SPEC % 1)
    assert not DRAWINGS.any()


def test_those_that_were_not_used_for_longest_make_room(cache, monkeypatch) -> None:
    monkeypatch.setattr(kept_files, "_CHECKED", "no name starts like this")
    sizes: list[tuple[Path, int]] = []
    for n in range(4):
        made_drawing(SPEC % n)
        (newest,) = set(cache.iterdir()) - {path for path, _ in sizes}
        sizes.append((newest, newest.stat().st_size))
        os.utime(newest, (n, n))
    assert kept_drawing(SPEC % 0)  # in use again
    monkeypatch.setattr(kept_files, "_CHECKED", "")
    monkeypatch.setattr(DRAWINGS, "most_bytes", sum(size for _, size in sizes) - 1)
    made_drawing(SPEC % 3)
    assert [bool(kept_drawing(SPEC % n)) for n in range(4)] == [True, False, True, True]


def test_nothing_is_asked_of_workers_that_is_kept() -> None:
    class NoWorkers(Executor):
        def submit(self, *_arguments: object, **_named: object) -> Future[object]:  # type: ignore[override]
            pytest.fail("a process would be started")

    draw_figures(REPORT)
    pool = DrawingPool(NoWorkers())
    pool.prepare()
    draw_figures(REPORT, pool)


@pytest.mark.parametrize("text", ["a & <b>", "\u1e01", "  in the middle "])
def test_texts_are_drawn_as_they_are_in_frames_of_either_size(text) -> None:
    mark = {"type": "text", "text": text}
    for frame in ("none", "fit"):
        spec = {"autosize": {"type": frame}, "data": {"values": [{}]}, "layer": [{"mark": mark}]}
        assert f">{escape(text.strip(), quote=False)}</text>" in drawing_cache.drawing(
            drawing_cache.spec_json(spec)
        )
