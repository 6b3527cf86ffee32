"""What no test after the RWSW PTS can say to follow: requirements that were not checked against its text."""

from collections.abc import Iterable, Iterator
from typing import Final

from openpts.vocabulary.deviation import Deviation

CLAUSE: Final = "RWSW PTS"
_COMMON: Final = {
    "RWS-DEF-04": "capture step and capture",
    "RWS-DEF-05": "applied test workload",
    "RWS-CUM-01": "cumulative workload",
    "RWS-PRE-01": "purge, then pre-conditioning, then test",
    "RWS-RPT-01": "header of the report",
}


def unchecked(used: Iterable[tuple[str, str]]) -> Iterator[Deviation]:
    """An entry for each requirement in use, those that all such tests have before the test's own."""
    for rule, what in (*_COMMON.items(), *used):
        yield Deviation(
            rule,
            CLAUSE,
            "the text of SNIA",
            f"{what}: after the RWSW PTS, reading of openpts",
            "not checked against SNIA's text: figures of other tools need not compare",
        )
