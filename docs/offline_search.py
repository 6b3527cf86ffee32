"""Writes the index of the manual's search as a script too: a page on a disk may load that, and no JSON."""

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig


def on_post_build(config: MkDocsConfig) -> None:
    """Write search/search_index.js, which docs/theme/search/main.js loads."""
    index = Path(config.site_dir, "search", "search_index.json")
    index.with_suffix(".js").write_text(f"const search_index = {index.read_text()};\n", encoding="utf-8")
