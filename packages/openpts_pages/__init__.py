"""What a page is made of: model, measures, cells, axes, and the kit that declares tables, plots and pages.

Knows no record, no test and not how a page is drawn.
"""
