"""Hooks of mkdocs: pages of packages join the manual, and its search needs no server."""

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Name each source by its path in the repository, so that links hold in both; the site stays flat."""
    repository = Path(config.config_file_path).parent
    folders = [Path(config.docs_dir), *sorted(repository.glob("packages/*/docs"))]
    sources = [(folder, path) for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()]
    joined = Files([file for file in files if file.src_dir != config.docs_dir])
    taken = {}
    for folder, path in sources:
        in_site = File(path.relative_to(folder).as_posix(), None, config.site_dir, config.use_directory_urls)
        source = path.relative_to(repository).as_posix()
        if (other := taken.setdefault(in_site.dest_uri, source)) != source:
            raise ValueError(f"{source} and {other} would be one page of the manual: rename one")
        joined.append(
            File(
                source, str(repository), config.site_dir, config.use_directory_urls, dest_uri=in_site.dest_uri
            )
        )
    return joined


def on_post_build(config: MkDocsConfig) -> None:
    """Write the search's index as a script, for docs/theme/search/main.js: a page on a disk loads no JSON."""
    index = Path(config.site_dir, "search", "search_index.json")
    index.with_suffix(".js").write_text(f"const search_index = {index.read_text()};\n", encoding="utf-8")
