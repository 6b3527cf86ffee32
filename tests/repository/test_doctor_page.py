"""Settings of the host: each has its texts, and each item of the guide is met or explained."""

from openpts_host.advice.table import ADVICE, ADVICE_OF
from tests import ROOT

PAGE = ROOT / "packages/openpts_host/docs/doctor.md"


def test_each_setting_has_one_line_and_words_for_both_scenarios() -> None:
    assert len(ADVICE_OF) == len(ADVICE)
    for advice in ADVICE:
        assert all((advice.title, advice.real_world, advice.synthetic, advice.reason)), advice.key
        assert not advice.reason.endswith("."), advice.key
        # what is never judged can't be judged leniently
        assert advice.suits is not None or not advice.is_minor, advice.key


def test_every_table_of_the_guide_is_met() -> None:
    met = {requirement for advice in ADVICE for requirement in advice.requirements}
    page = PAGE.read_text(encoding="utf-8")
    for family, count in (("BIOS", 6), ("OS", 18), ("PWR", 16)):
        for number in range(1, count + 1):
            requirement = f"SOL-{family}-{number:02}"
            named = requirement in met or _in_list(family, number, page)
            assert named, requirement


def _in_list(family: str, number: int, page: str) -> bool:
    """Whether a row such as ``SOL-OS-02, 03`` or ``SOL-PWR-13 to 16`` names it."""
    for line in page.splitlines():
        cell = line.strip("| ").split(" | ")[0]
        if not cell.startswith(f"SOL-{family}-"):
            continue
        numbers = cell.removeprefix(f"SOL-{family}-")
        if " to " in numbers:
            first, last = (int(text) for text in numbers.split(" to "))
            if first <= number <= last:
                return True
        elif number in {int(text) for text in numbers.replace(f"SOL-{family}-", "").split(", ")}:
            return True
    return False
