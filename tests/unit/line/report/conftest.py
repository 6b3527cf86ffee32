"""What tests of reports share."""

from tests.support.report_fixtures import bare, reports, texts, transcript

__all__ = ["bare", "reports", "texts", "transcript"]
