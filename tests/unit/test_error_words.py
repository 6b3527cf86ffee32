"""Words of errors, which may hold names that others have given."""

import pytest

from openpts.errors import OpenptsError, UsageError


@pytest.mark.parametrize("between", ["\n", "\r\n", "\u2028", "\x85"])
@pytest.mark.parametrize("kind", [OpenptsError, UsageError])
def test_a_name_with_a_line_break_makes_no_second_line(kind: type[OpenptsError], between: str) -> None:
    error = kind(f"can't apply stream two{between}lines:  it never ends")
    assert str(error) == "can't apply stream two lines:  it never ends"
    assert error.complaints == (str(error),)
