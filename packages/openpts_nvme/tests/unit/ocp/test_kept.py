"""The answers of a drive in a run folder, which may come from another lab."""

import pytest

from openpts.errors import RecordError
from openpts_nvme.dssd.answers import NAME, kept


@pytest.mark.parametrize("content", [b'{"\xff":1}', b"[" * 100_000, b'{"a":', b"[1]"])
def test_answers_that_make_no_sense_are_refused_by_name(content, tmp_path) -> None:
    assert kept(tmp_path) == {}
    (tmp_path / NAME).write_bytes(content)
    with pytest.raises(RecordError, match=f"can't read {tmp_path / NAME}"):
        kept(tmp_path)
