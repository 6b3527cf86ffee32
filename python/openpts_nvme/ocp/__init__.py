"""The OCP Datacenter NVMe SSD Specification 2.7, held against a drive: what it answers, and what it does.

The tables say what each requirement asks and how it is checked. A door to a drive fetches its answers,
and the judge, which knows no drive, holds them against the tables.
"""
