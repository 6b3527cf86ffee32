from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="session")
def _own_cache_and_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What openpts keeps between runs stays out of the home and the journal of whoever runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("OPENPTS_STATE", str(tmp_path_factory.mktemp("state")))
        yield
