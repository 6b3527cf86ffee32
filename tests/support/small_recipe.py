"""A recipe of an operator's own that fits anywhere, with I/Os in foreground and in background."""

from pathlib import Path
from typing import Final

FOREGROUND: Final = {"read": 300, "write": 60, "flush": 7}
BACKGROUND_WRITES: Final = 100
_RECIPE: Final = """
name = "small"
label = "a small program works while files are copied"
model = "Reads in bursts; copies in background."
footprint_mib = 64
seed = {seed}

[expect]
reads = 300
writes = 160
read_mb = 2
written_mb = 9

[[actor]]
name = "program"
operation = "read"
sizes_kib = [[4, 3], [16, 1]]
ios = 300
depth = 4
run_ios = 1
place_mib = [0, 32]
think = {{ mean_us = 4000, burst_ios = 20 }}

[[actor]]
name = "log"
operation = "write"
sizes_kib = [[4, 1]]
ios = 60
run_ios = 0
place_mib = [32, 8]
flush_every = 8
think = {{ mean_us = 500, burst_ios = 3 }}

[[actor]]
name = "copies"
operation = "write"
sizes_kib = [[64, 1]]
ios = 100
depth = 8
run_ios = 0
place_mib = [40, 24]
background = true
"""


def write_recipe(path: Path, seed: int) -> Path:
    """The recipe as a file; with another seed it is another trace."""
    path.write_text(_RECIPE.format(seed=seed))
    return path
