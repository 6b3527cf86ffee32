"""Serves a drive in each state of its locking, on ports from 4420, until its standard input ends."""

import json
import sys
from contextlib import ExitStack

from openpts.device.targets.simulated_target import parse_simulated_target
from openpts_serve.serve import ServeOrder, serve_drive
from openpts_serve.served_drive import Access

with ExitStack() as held:
    for number, state in enumerate(sys.argv[1:]):
        order = ServeOrder(
            parse_simulated_target(f"client-qlc?capacity=200MB&seed={number + 1}"),
            f"127.0.0.1:{4420 + number}",
            serial=state,
            access=Access(state),
        )
        drive = held.enter_context(serve_drive(order))
        names = {"nqn": drive.names.nqn, "port": 4420 + number, "psid": drive.names.psid, "state": state}
        sys.stdout.write(json.dumps(names) + "\n")
        sys.stdout.flush()
    sys.stdin.read()
