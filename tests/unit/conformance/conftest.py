"""Made-up runs and their reports, which a verdict on a whole run is held against."""

from tests.support.report_fixtures import bare, reports

__all__ = ["bare", "reports"]
