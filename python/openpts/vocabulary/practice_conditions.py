"""The conditions of the tests beyond the specification."""

from typing import ClassVar

from openpts.vocabulary.conditions import BaseConditions


class PracticeConditions(BaseConditions, frozen=True, kw_only=True):
    """What these tests have in common: no specification to deviate from."""

    of_specification: ClassVar[bool] = False
