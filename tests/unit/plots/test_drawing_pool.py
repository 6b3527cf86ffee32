"""Drawings are the same whoever makes them, and are made even if nobody helps."""

import pytest

from openpts.plots import drawing_pool
from openpts.plots.drawing_pool import DrawingPool
from openpts.plots.svg import draw_figures
from tests.support.sample_figures import all_figures, gallery

REPORT = gallery()


@pytest.fixture(scope="module")
def drawn_here() -> dict[str, str]:
    return draw_figures(REPORT)


@pytest.fixture(autouse=True)
def nothing_kept(drawn_here: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Else nothing would be left to draw."""
    monkeypatch.setenv("OPENPTS_CACHE", "off")


@pytest.mark.parametrize("processes", [1, 3])
def test_any_number_of_processes_draws_the_same(drawn_here: dict[str, str], processes: int) -> None:
    with DrawingPool(processes) as pool:
        assert draw_figures(REPORT, pool) == drawn_here


def test_what_was_begun_early_is_drawn_once(
    drawn_here: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with DrawingPool(1) as pool:
        pool.begin(REPORT.pages())
        monkeypatch.setattr(drawing_pool, "vega_lite_spec", None)  # a second drawing would need one
        assert draw_figures(REPORT, pool) == drawn_here


def test_without_processes_plots_are_drawn_here(
    drawn_here: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drawing_pool, "_COMMAND", ("/nowhere/python",))
    with DrawingPool(2) as pool:
        assert draw_figures(REPORT, pool) == drawn_here


def test_a_process_that_ends_leaves_its_work_to_this_one(
    drawn_here: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drawing_pool, "_COMMAND", ("/bin/true",))
    with DrawingPool(1) as pool:
        assert draw_figures(REPORT, pool) == drawn_here


def test_what_vega_refuses_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing_pool, "vega_lite_spec", lambda *_: {"mark": "nonsense"})
    figure, table = all_figures()[0]
    with DrawingPool(1) as pool, pytest.raises(ValueError, match="Vega-Lite to SVG"):
        pool.plot_svg(figure, {table.id: table})
