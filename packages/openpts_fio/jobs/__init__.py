"""Job files of fio as steps: the reader, the table of all options and what becomes of each, jobs as streams.

Does not know how steps are carried out or written for fio.
"""
