"""Which tests `make test P=changed` runs."""

import pytest

from tests.support.changed import imported_packages, touched

IMPORTS = {"core": set(), "pages": {"core"}, "tests": {"core", "pages"}, "web": {"tests"}, "other": {"core"}}


@pytest.mark.parametrize(
    ("files", "packages"),
    [
        (["packages/other/x.py"], {"other"}),
        (["packages/pages/x.py", "README.md"], {"pages", "tests", "web"}),
        (["packages/web/tests/unit/test_x.py"], {"web"}),
        (["packages/core/x.py"], set(IMPORTS)),
        (["rust/core/src/lib.rs"], set(IMPORTS)),
        (["docs/index.md", "packages/testbench/README.md"], set()),
    ],
)
def test_what_differs_and_what_imports_it(files: list[str], packages: set[str]) -> None:
    assert touched(files, IMPORTS) == packages


def test_all_packages_import_the_core_or_nothing() -> None:
    imports = imported_packages()
    assert touched(["packages/openpts/units.py"], imports) >= set(imports) - {"openpts_contents"}
