"""Every preset is as near to what is published about its class as its file claims."""

import pytest

from openpts_sim.presets import Preset, shipped_presets
from tests.support.published_figures import figures_of, model_of

LONG = {"enterprise-tlc", "sata-reduction"}
"""Models whose figures take seconds."""


@pytest.mark.parametrize(
    "preset",
    [
        pytest.param(preset, id=preset.name, marks=[pytest.mark.slow] if preset.name in LONG else [])
        for preset in shipped_presets()
    ],
)
def test_published_figures(preset: Preset) -> None:
    for figure in figures_of(preset):
        model = model_of(preset, figure, seed=1)
        assert figure.holds(model), (
            f"{figure.name}: published {figure.published:,.6g} {figure.unit.value}, model {model:,.6g}: "
            f"{figure.deviation_pct(model):+.2f} %, claimed {figure.claim}"
        )
