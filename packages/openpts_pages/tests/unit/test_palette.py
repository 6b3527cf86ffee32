"""The colors stay apart for all eyes: CIEDE2000 and Machado 2009, written here as the oracle."""

from itertools import combinations
from math import atan2, cos, degrees, exp, hypot, radians, sin, sqrt

import numpy as np
import pytest

from openpts_pages.plots.theme import DARK, LIGHT, MARKERS

SMALLEST_DISTANCE = 15
SMALLEST_CONTRAST = 3

# Machado, Oliveira, Fernandes 2009: severity 1.0, linear RGB.
SIMULATIONS = {
    "normal": np.eye(3),
    "protan": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deutan": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritan": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}

# Sharma, Wu, Dalal 2005: pairs of CIELAB colors and their distance.
SHARMA = [
    ((50.0000, 2.6772, -79.7751), (50.0000, 0.0000, -82.7485), 2.0425),
    ((50.0000, 3.1571, -77.2803), (50.0000, 0.0000, -82.7485), 2.8615),
    ((50.0000, -1.3802, -84.2814), (50.0000, 0.0000, -82.7485), 1.0000),
    ((50.0000, 0.0000, 0.0000), (50.0000, -1.0000, 2.0000), 2.3669),
    ((50.0000, 2.4900, -0.0010), (50.0000, -2.4900, 0.0009), 7.1792),
    ((50.0000, 2.5000, 0.0000), (73.0000, 25.0000, -18.0000), 27.1492),
    ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
    ((22.7233, 20.0904, -46.6940), (23.0331, 14.9730, -42.5619), 2.0373),
    ((90.8027, -2.0831, 1.4410), (91.1528, -1.6435, 0.0447), 1.4441),
    ((2.0776, 0.0795, -1.1350), (0.9033, -0.0636, -0.5514), 0.9082),
]

Lab = tuple[float, float, float]


def linear(color: str) -> np.ndarray:
    encoded = np.array([int(color[n : n + 2], 16) for n in (1, 3, 5)]) / 255
    return np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)


def lab(rgb: np.ndarray) -> Lab:
    to_xyz = np.array(
        [
            [0.4124564, 0.3575761, 0.1804375],
            [0.2126729, 0.7151522, 0.0721750],
            [0.0193339, 0.1191920, 0.9503041],
        ]
    )
    ratios = (to_xyz @ np.clip(rgb, 0, 1)) / np.array([0.95047, 1.0, 1.08883])
    x, y, z = (r ** (1 / 3) if r > 216 / 24389 else (24389 / 27 * r + 16) / 116 for r in ratios)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def ciede2000(first: Lab, second: Lab) -> float:
    (l1, a1, b1), (l2, a2, b2) = first, second
    mean_c = (hypot(a1, b1) + hypot(a2, b2)) / 2
    g = 0.5 * (1 - sqrt(mean_c**7 / (mean_c**7 + 25**7)))
    a1, a2 = (1 + g) * a1, (1 + g) * a2
    c1, c2 = hypot(a1, b1), hypot(a2, b2)
    h1, h2 = (degrees(atan2(b, a)) % 360 if (a or b) else 0.0 for a, b in ((a1, b1), (a2, b2)))
    dh = 0.0 if c1 * c2 == 0 else (h2 - h1 + 180) % 360 - 180
    if c1 * c2 and dh == -180 and h2 > h1:
        dh = 180.0
    d_l, d_c, d_h = l2 - l1, c2 - c1, 2 * sqrt(c1 * c2) * sin(radians(dh / 2))
    mean_l, mean_c = (l1 + l2) / 2, (c1 + c2) / 2
    if c1 * c2 == 0:
        mean_h = h1 + h2
    elif abs(h1 - h2) <= 180:
        mean_h = (h1 + h2) / 2
    else:
        mean_h = (h1 + h2 + (360 if h1 + h2 < 360 else -360)) / 2
    t = (
        1
        - 0.17 * cos(radians(mean_h - 30))
        + 0.24 * cos(radians(2 * mean_h))
        + 0.32 * cos(radians(3 * mean_h + 6))
        - 0.20 * cos(radians(4 * mean_h - 63))
    )
    s_l = 1 + 0.015 * (mean_l - 50) ** 2 / sqrt(20 + (mean_l - 50) ** 2)
    s_c, s_h = 1 + 0.045 * mean_c, 1 + 0.015 * mean_c * t
    rotation = (
        -2 * sqrt(mean_c**7 / (mean_c**7 + 25**7)) * sin(radians(60 * exp(-(((mean_h - 275) / 25) ** 2))))
    )
    return sqrt((d_l / s_l) ** 2 + (d_c / s_c) ** 2 + (d_h / s_h) ** 2 + rotation * (d_c / s_c) * (d_h / s_h))


def contrast(first: str, second: str) -> float:
    weights = np.array([0.2126, 0.7152, 0.0722])
    dark, light = sorted(float(weights @ linear(color)) for color in (first, second))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize(("first", "second", "distance"), SHARMA)
def test_the_measure_is_the_published_one(first, second, distance) -> None:
    assert ciede2000(first, second) == pytest.approx(distance, abs=1e-4)


@pytest.mark.parametrize("sight", SIMULATIONS)
@pytest.mark.parametrize("scheme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("palette", ["series", "mix"])
def test_series_are_told_apart(scheme, palette, sight) -> None:
    colors = {color: lab(SIMULATIONS[sight] @ linear(color)) for color in getattr(scheme, palette)}
    for first, second in combinations(colors, 2):
        assert ciede2000(colors[first], colors[second]) >= SMALLEST_DISTANCE, (first, second)


@pytest.mark.parametrize("scheme", [LIGHT, DARK], ids=["light", "dark"])
def test_every_line_and_text_stands_out_from_its_ground(scheme) -> None:
    lines = (*scheme.series, *scheme.mix, scheme.fit, scheme.limit)
    assert all(contrast(color, scheme.surface) >= SMALLEST_CONTRAST for color in lines)
    texts = [(scheme.ink, scheme.surface), (scheme.muted, scheme.surface), (scheme.alert, scheme.surface)]
    texts += [
        (scheme.passed, scheme.surface),
        (scheme.title_ink, scheme.title_bar),
        (scheme.ink, scheme.panel),
    ]
    texts += [
        (scheme.centre_ink, scheme.centre),
        (scheme.ink, scheme.heat_high),
        (scheme.ink, scheme.heat_low),
    ]
    texts += [
        (scheme.ink, tint)
        for tint in (scheme.platform, scheme.dut, scheme.setup, scheme.test, scheme.test_bar)
    ]
    assert all(contrast(text, ground) >= 4.5 for text, ground in texts)


def test_each_light_color_has_one_name_so_that_drawings_can_be_themed() -> None:
    assert len(set(LIGHT.tokens().values())) == len(LIGHT.tokens())
    assert set(LIGHT.tokens()) == set(DARK.tokens())


def test_every_series_has_a_marker_of_its_own() -> None:
    assert len(set(MARKERS)) == len(MARKERS) >= len(LIGHT.series)
