"""Facts about the machine, its settings and its load.

Knows no test and no engine; only ``setting_file.py`` changes a setting.
"""
