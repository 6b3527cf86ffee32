"""What a short report must not leave out."""

from msgspec.structs import replace

from openpts.report.run_part import part_of
from openpts.report.short.build import short_report
from tests.support.made_up_run import made_up_run

DATE = "2026-11-21T08:00:00Z"


def test_what_the_drive_s_log_says_against_a_run_stands_on_every_page() -> None:
    part = replace(part_of(made_up_run("iops"), DATE), health_alerts=("2 media errors during the run",))
    assert short_report([part], DATE).red_line == "2 media errors during the run"
    both = short_report([part, part_of(made_up_run("lat"), DATE)], DATE)
    assert both.red_line == "IOPS: 2 media errors during the run"
