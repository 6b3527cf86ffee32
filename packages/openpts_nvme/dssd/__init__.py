"""The OCP Datacenter NVMe SSD (DSSD) Specification 2.7: its requirements, their checks, and the judge.

The tables say what each requirement asks and how it is checked. The judge, which knows no drive, holds the
answers of one against the tables.
"""
