"""Serves drives from port 4420, until its input ends: SERIAL,SECURITY,READY-AFTER,MEDIA-AFTER[,ANSWERS]."""

import json
import sys
from contextlib import ExitStack
from pathlib import Path

from openpts_sim.simulated_target import parse_simulated_target
from openpts_testbench.overrides import read_overrides
from openpts_testbench.serve import ServeOrder, serve_drive
from openpts_testbench.served_drive import Access, Faults

with ExitStack() as held:
    for number, words in enumerate(sys.argv[1:]):
        serial, security, ready_after_s, media_after_s, *answers = words.split(",")
        order = ServeOrder(
            parse_simulated_target(f"client-qlc?capacity=200MB&seed={number + 1}"),
            f"127.0.0.1:{4420 + number}",
            serial=serial,
            access=Access(security, float(ready_after_s), float(media_after_s)),
            faults=Faults(overrides=read_overrides(Path(answers[0])) if answers else ()),
        )
        drive = held.enter_context(serve_drive(order))
        names = {"nqn": drive.names.nqn, "port": 4420 + number, "psid": drive.names.psid, "serial": serial}
        sys.stdout.write(json.dumps(names) + "\n")
        sys.stdout.flush()
    sys.stdin.read()
