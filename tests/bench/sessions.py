# SPDX-License-Identifier: Apache-2.0
"""Sessions: many commands at once in one session, and the cost of idle sessions."""
import json
import os
import subprocess

from bench import LIBRARIES, Skip
from crowd import descendants
from page import Table
from pss import memory

NAME, TITLE = "sessions", "Sessions"
ABOUT = ("*At once*: commands of 200 ms, all started in one session. *Idle*: sessions that have run one command and wait. The latency "
         "of one command is in the section about the start.")
LEVELS = ("full", "standard")


def idle(bench, argv, workspace):
    """What the program says of its sessions, and the memory of their processes while they wait."""
    if os.geteuid() != 0:
        raise Skip("only root can see the memory of Corral's processes, which are not dumpable")
    with subprocess.Popen(argv, cwd=workspace, env=bench.user.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          **bench.user.words) as process:
        line = process.stdout.readline()
        kilobytes = memory(map(int, descendants(process.pid)))
        process.stdin.close()
    if not line:
        raise Skip(f"{argv[1]}: the sessions did not open")
    said = json.loads(line)
    return {**said, "pss_kb": kilobytes // said["sessions"]}


def measure(bench):
    program = bench.program("warm", f"{bench.build}/src/libcorral.a", *LIBRARIES)
    workspace = bench.make_dir("sessions")
    sizes = (10, 50) if bench.quick else (10, 100, 500)
    found = {}
    for level in LEVELS:
        found[level] = {"at-once": [json.loads(bench.output([program, level, "--at-once", str(size)], workspace)) for size in sizes],
                        "idle": [idle(bench, [program, level, "--idle", str(size)], workspace) for size in sizes]}
    return {"levels": found}


def tables(data):
    yield Table("commands of 200 ms at once", ("level", "commands", "all ended after, ms"),
                [(level, row["commands"], f"{row['ms']:.0f}") for level, rows in data["levels"].items() for row in rows["at-once"]])
    yield Table("idle sessions", ("level", "sessions", "ms to open one", "memory of its processes (PSS), kB each"),
                [(level, row["sessions"], f"{row['open_ms']:.1f}", row["pss_kb"]) for level, rows in data["levels"].items()
                 for row in rows["idle"]])


def plots(_data):
    return ()
