"""A figure as Vega-Lite and as SVG: axes, labels, theme, 3D columns, drawing in other processes.

Knows no record, no test and no report.
"""
