"""No command follows a link in the place of a record: the folder may come from another lab."""

import pytest
from click.testing import CliRunner

from openpts.cli.main import cli
from openpts.record.writer import DATABASE_NAME
from tests.support.synthetic_run import Synthetic, write_synthetic_run
from tests.support.transcript import Golden

RUN, OTHER, OUT = "RUN", "OTHER", "OUT"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    place = tmp_path_factory.mktemp("runs")
    other = write_synthetic_run(place / "other", Synthetic(rounds=5, steady_round=5))
    linked = write_synthetic_run(place / "linked", Synthetic(rounds=5, steady_round=5))
    (linked / DATABASE_NAME).unlink()
    (linked / DATABASE_NAME).symlink_to(other / DATABASE_NAME)
    return {RUN: str(linked), OTHER: str(other), OUT: str(place / "out")}


@pytest.mark.with_plugins
@pytest.mark.parametrize(
    "words",
    [
        ("report", RUN, "--out", OUT),
        ("report", RUN, "--json"),
        ("resume", RUN),
        ("verify", RUN, "--requirements"),
        ("compare", OTHER, RUN, "--out", OUT),
        ("gate", RUN, "--baseline", OTHER, "--limits", "docs/limits.toml"),
        ("gate", OTHER, "--baseline", RUN, "--limits", "docs/limits.toml"),
        ("export", RUN, "--csv-row", "-"),
    ],
    ids=" ".join,
)
def test_a_linked_record_is_refused(words: tuple[str, ...], runs: dict[str, str], golden: Golden) -> None:
    done = CliRunner().invoke(cli, [runs.get(word, word) for word in words])
    assert done.exit_code != 0
    assert f"{done.output}{done.exception}".replace(runs[RUN], RUN) == golden
