"""From records to reports: pages that all tests have, building, merging, HTML, PDF, CSV, summary.

Knows no device, no engine and no clock: the same folder gives the same bytes.
"""
