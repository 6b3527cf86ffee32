"""Offsets of the checks, held against the tables of log pages, which were written apart from them."""

import re

from openpts_nvme.dssd.judge import lines
from openpts_nvme.dssd.rules import unrolled
from openpts_nvme.logs.page import Log, declared_logs

FIRST = re.compile(r"L(?P<log>[0-9A-F]{2})'?\[(?P<first>\d+)(?::(?P<last>\d+))?\]")


def places(log: Log, requirement: str) -> set[int]:
    """The bytes of the fields that a table gives to a requirement."""
    found = set()
    for field in log.fields:
        if field.requirement == requirement:
            for index in range(field.count or 1):
                at, _, _ = field.place(index)
                found |= set(range(at, at + field.width))
    return found


def test_each_check_looks_at_bytes_that_the_log_tables_give_to_its_requirement() -> None:
    by_number = {log.id: log for log in declared_logs().values() if not log.is_feature and log.ocp}
    compared, wrong = set(), []
    for requirement, texts in lines().items():
        for line in texts:
            for each in unrolled(line):
                atom = FIRST.match(each)
                log = by_number.get(int(atom["log"], 16)) if atom else None
                if atom is None or log is None or not (bytes_of := places(log, requirement)):
                    continue
                compared.add(requirement)
                looked = set(range(int(atom["first"]), int(atom["last"] or atom["first"]) + 1))
                # reserved bytes beside a field are the requirement's too
                near = set(range(min(bytes_of) - 4, max(bytes_of) + 5))
                if not looked & near:
                    wrong.append(f"{requirement}: {each}, and the table has {sorted(bytes_of)}")
    assert wrong == []
    assert len(compared) >= 75
