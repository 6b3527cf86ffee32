"""The libraries of pages: what vl-convert puts together."""

import zlib

import pytest
import vl_convert

from openpts_pages.html import VEGA


@pytest.mark.slow  # two seconds of a processor, and only another vl-convert changes what is found
def test_the_script_of_pages_is_that_of_the_renderer() -> None:
    ours = vl_convert.javascript_bundle()  # type: ignore[call-arg] # the stub lacks its default
    assert zlib.decompress(VEGA.read_bytes()).decode() == ours, "renew it: python -m docs.vega_bundle"
