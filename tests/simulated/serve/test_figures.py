"""Every preset is as near to what is published about its class as its file claims."""

import json
import math

import pytest
from click.testing import CliRunner
from msgspec.structs import fields
from scipy import special

from openpts.cli.sim import sim
from openpts.simulation.figures import figures_of
from openpts.simulation.presets import Preset, load_preset, shipped_presets
from openpts_serve.rehearsal.check import Amplification, check_amplification, check_figure
from tests.support.transcript import Golden


@pytest.mark.full_matrix(most=3)
@pytest.mark.parametrize("preset", shipped_presets(), ids=lambda preset: preset.name)
def test_published_figures(preset: Preset) -> None:
    for figure in figures_of(preset):
        checked = check_figure(preset, figure, seed=1)
        assert checked.holds, (
            f"{figure.name}: published {figure.published:,.6g} {figure.unit.value}, model "
            f"{checked.model:,.6g}: {checked.deviation_pct:+.2f} %, claimed {figure.claim}"
        )


def closed_formula(over_provisioning: float) -> float:
    """Greedy collection, large superblocks: alpha / (alpha + W0(-alpha e^-alpha)), by scipy's W0."""
    alpha = 1 + over_provisioning
    return float(alpha / (alpha + special.lambertw(-alpha * math.exp(-alpha)).real))


@pytest.mark.parametrize("over_provisioning", [0.07, 0.09, 0.125, 0.28])
def test_write_amplification_is_that_of_theory(over_provisioning: float) -> None:
    row = check_amplification(load_preset("theory"), over_provisioning, seed=2)
    assert row.holds, f"simulated {row.write_amplification}, theory {row.theory}"
    assert row.nominal_theory == pytest.approx(closed_formula(over_provisioning), rel=1e-9)
    # of the space that takes part the formula says the same, but for the size of superblocks
    assert row.theory == pytest.approx(closed_formula(row.effective_over_provisioning), rel=0.005)


def test_rows_of_theory_as_json() -> None:
    words = ["check", "--preset", "theory", "--over-provisioning", "0.28", "--json"]
    result = CliRunner().invoke(sim, words, catch_exceptions=False)
    assert result.exit_code == 0
    (row,) = json.loads(result.output)["rows"]
    assert row.keys() == {field.name for field in fields(Amplification)}
    assert row["over_provisioning"] == 0.28
    assert row["write_amplification"] == pytest.approx(2.49, rel=0.01)


def test_a_check_prints_a_row_for_each_figure_and_ends_well(golden: Golden) -> None:
    result = CliRunner().invoke(sim, ["check", "oracle"], catch_exceptions=False)
    assert result.exit_code == 0
    assert result.output == golden


def test_a_check_of_ones_own_drive_fails_where_a_figure_is_missed(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    own = tmp_path_factory.mktemp("own") / "own.toml"
    own.write_text(load_preset("oracle").text.replace("published = 300", "published = 400"))
    result = CliRunner().invoke(sim, ["check", "--preset", str(own), "--json"], catch_exceptions=False)
    assert result.exit_code == 1
    (row,) = json.loads(result.output)["figures"]
    assert row["holds"] is False
    assert row["published"] == 400
    assert row["model"] == pytest.approx(300, rel=0.005)
    assert row["deviation_pct"] == pytest.approx(-25, abs=0.5)
