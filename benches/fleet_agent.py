"""What Slurm keeps on a host while a drive is measured there: memory, processor and wake-ups of each process.

    python -m benches.fleet_agent [SECONDS]

Processes of openpts other than the run itself must not be there at all; the exit code is 1 if there are some,
or if the rest takes 10 MB or more. Memory is PSS: pages that processes share are shared out.
"""

import json
import sys
import time
from pathlib import Path
from typing import Final

from tests.fleet.cluster import Cluster, Machine, missing, slurm_cluster, until

MOST_BYTES: Final = 10_000_000
TEST: Final = ("wsat", "--time-scale", "0.2", "--tc", "1", "--qd", "1", "--telemetry-period", "off")


def of_status(pid: int, name: str) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def pss_bytes(pid: int) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def switches(pid: int) -> int:
    return of_status(pid, "voluntary_ctxt_switches") + of_status(pid, "nonvoluntary_ctxt_switches")


def tasks(pid: int) -> list[int]:
    return [int(task.name) for task in Path(f"/proc/{pid}/task").iterdir()]


def wakeups(pid: int) -> int:
    return sum(switches(task) for task in tasks(pid))


def measured(cluster: Cluster, host: Machine, seconds: float) -> int:
    words = [
        "fleet",
        "submit",
        "--json",
        "--host",
        host.name,
        "--slot",
        "s00",
        "--serial",
        "SN-h1-s00",
        *TEST,
    ]
    run = json.loads(cluster.openpts(*words).stdout)["runs"][0]
    claim = host.folder / "runs" / run["run_id"] / "claim.jsonl"
    until(claim.exists, "the run has begun", 120)
    own = host.pids("python")
    agents = [pid for pid in host.all_pids() if pid not in own]
    before = {pid: wakeups(pid) for pid in agents}
    time.sleep(seconds)
    rows = [
        {
            "process": Path(f"/proc/{pid}/comm").read_text().strip(),
            "pss_bytes": pss_bytes(pid),
            "wakeups_per_s": (wakeups(pid) - before[pid]) / seconds,
        }
        for pid in agents
    ]
    total = sum(int(row["pss_bytes"]) for row in rows)
    print(
        json.dumps({"processes": rows, "pss_bytes": total, "openpts_beside_the_run": len(own) - 1}, indent=1)
    )
    return int(len(own) != 1 or total >= MOST_BYTES)


def main() -> None:
    if why := missing():
        sys.exit(why)
    with slurm_cluster() as cluster:
        code = measured(cluster, cluster.hosts["h1"], float(sys.argv[1]) if len(sys.argv) > 1 else 60.0)
    sys.exit(code)


if __name__ == "__main__":
    main()
