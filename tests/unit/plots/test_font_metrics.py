"""What is known of the fonts is what fontTools reads in them."""

from docs.font_metrics import encoded

from openpts.plots.font_metrics import METRICS


def test_the_metrics_are_those_of_the_fonts() -> None:
    assert METRICS.read_bytes() == encoded()
