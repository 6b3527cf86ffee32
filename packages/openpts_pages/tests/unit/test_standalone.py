"""Plots for notebooks: the drawings of the report, and specifications that Altair takes."""

import io
from typing import Any

import numpy as np
import pytest
from PIL import Image

import openpts
from openpts_pages.plots.svg import renderer
from openpts_pages.plots.theme import LIGHT, vega_config
from openpts_pages.plots.vega_lite import standalone, vega_lite_spec
from tests.support.made_up_run import made_up_run

TESTS = (
    *("iops", "tp", "lat", "wsat", "hir", "xsr", "cbw", "dirth"),
    *("fill", "qos", "thermal", "trim", "precon", "sustained", "entropy", "app", "lifetime"),
)
MOST_CHANGED_SHARE = 0.001


@pytest.mark.slow  # Altair tries each branch of the schema
@pytest.mark.full_matrix
@pytest.mark.parametrize("test", TESTS)
def test_altair_takes_each_plot(test) -> None:
    altair = pytest.importorskip("altair", reason="altair is not installed (it is no requirement)")
    plots = openpts.vega_lite(made_up_run(test))
    assert plots
    for name, plot in plots.items():
        chart = altair.Chart.from_dict(plot)  # raises for what the schema does not know
        assert chart.to_dict()["layer"], name


@pytest.mark.parametrize("test", ["app"])
def test_a_plot_by_itself_looks_like_that_of_the_report(test) -> None:
    report = openpts.build_report(made_up_run(test))
    tables = report.tables()
    for figure in (one for one in report.figures() if one.kind != "columns3d"):
        spec = vega_lite_spec(figure, tables)
        drawn, alone = _pixels({**spec, "config": vega_config(LIGHT)}), _pixels(standalone(spec))
        assert drawn.shape == alone.shape
        assert float(np.mean(drawn != alone)) <= MOST_CHANGED_SHARE, figure.id


def _pixels(spec: dict[str, Any]) -> np.ndarray:
    picture = Image.open(io.BytesIO(renderer().vegalite_to_png(spec, scale=0.5)))
    return np.asarray(picture.convert("L"))
