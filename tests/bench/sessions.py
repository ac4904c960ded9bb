# SPDX-License-Identifier: Apache-2.0
"""Sessions: many commands at once in one session, and the cost of idle sessions."""
import json

from bench import LIBRARIES
from page import Table

NAME, TITLE = "sessions", "Sessions"
ABOUT = ("*At once*: commands of 200 ms, all started in one session. *Idle*: sessions that have run one command and wait. The latency "
         "of one command is in the section about the start.")
LEVELS = ("full", "standard")


def measure(bench):
    program = bench.program("warm", f"{bench.build}/src/libcorral.a", *LIBRARIES)
    workspace = bench.make_dir("sessions")
    sizes = (10, 50) if bench.quick else (10, 100, 500)
    found = {}
    for level in LEVELS:
        found[level] = {kind: [json.loads(bench.output([program, level, f"--{kind}", str(size)], workspace)) for size in sizes]
                        for kind in ("at-once", "idle")}
    return {"levels": found}


def tables(data):
    yield Table("commands of 200 ms at once", ("level", "commands", "all ended after, ms"),
                [(level, row["commands"], f"{row['ms']:.0f}") for level, rows in data["levels"].items() for row in rows["at-once"]])
    yield Table("idle sessions", ("level", "sessions", "ms to open one", "memory of its processes (PSS), kB each"),
                [(level, row["sessions"], f"{row['open_ms']:.1f}", row["pss_kb"]) for level, rows in data["levels"].items()
                 for row in rows["idle"]])


def plots(_data):
    return ()
