"""Limits on measures by key, held against runs and against a baseline of runs: what a run's own limits need.

Knows no test by name and no device.
"""

from typing import Final

from openpts.procedures.kit.judge import Judge

JUDGE: Final = Judge(
    "limits",
    options="openpts_compare.cli.limit_options:limit_options",
    asked="openpts_compare.cli.run_limits:asked",
    stop="openpts_compare.cli.run_limits:StopOnFail",
    end="openpts_compare.cli.run_limits:end_judged",
    page="openpts_compare.limits.page:limits_page",
    figures="openpts_compare.limits.judge:limit_figures",
)
