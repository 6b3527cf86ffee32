"""What `openpts fit` and `openpts predict` answer programs with."""

from typing import Any

from msgspec import Struct

from openpts.vocabulary.document import Document


class FitDocument(Document, frozen=True, kw_only=True, tag="openpts.fit/1"):
    """A twin: where it is, from what it was made, and how near it is to that.

    ``fitted`` are values by their dotted names, ``assumed`` names of those that no run showed.
    ``error_pct`` are standard deviations by kind of figure.
    """

    preset: str
    drive: str
    like: str
    runs: tuple[str, ...]
    fitted: dict[str, Any]
    assumed: tuple[str, ...]
    error_pct: dict[str, float]
    trials: int


class Prediction(Struct, frozen=True, kw_only=True):
    """A value predicted, not measured; ``low`` and ``high`` hold 95 %, null without a fit.

    ``error_pct`` is in per cent of what was measured; of a value in per cent the difference itself.
    """

    key: str
    label: str
    unit: str
    value: float
    low: float | None
    high: float | None
    measured: float | None
    error_pct: float | None


class PredictionDocument(Document, frozen=True, kw_only=True, tag="openpts.prediction/1"):
    """What a twin predicts of a test, beside a run (``against``) where one was named."""

    preset: str
    test: str
    against: str | None
    predictions: tuple[Prediction, ...]
