"""Log pages as tables of fields: one declaration decodes, encodes, serves, documents and fuzzes a page.

`tables/` has a file for each page, which the testbench includes, too; `declaration.py` says what a row may
hold. It knows no run and no record.
"""
