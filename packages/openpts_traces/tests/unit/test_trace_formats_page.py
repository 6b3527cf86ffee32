"""The page on traces lists what the readers read."""

from docs.trace_formats import PAGE, page


def test_the_table_of_formats_is_that_of_the_readers() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run python docs/trace_formats.py"
