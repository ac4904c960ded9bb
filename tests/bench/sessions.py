# SPDX-License-Identifier: Apache-2.0
"""Sessions: one command in one, many at once, and the cost of idle sessions."""
import json
import os
import subprocess

from bench import LIBRARIES, Skip, figures
from contenders import BARE, in_session
from crowd import descendants
from page import Table, us
from pss import memory

NAME, TITLE = "sessions", "Sessions"
ABOUT = ("*One command*: `/bin/true` in a session that is open, in turn with a bare spawn and nothing else: in the section about the "
         "start, the kernel still removes the namespaces of the run before. *Binary alone* is `corral --version`: a client has to start. "
         "*At once*: commands of 200 ms, all started in one session. *Idle*: sessions that have run one command and wait.")
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


def one_command(bench, account):
    """name → figures, of each way into a session."""
    workspace = bench.make_dir(f"session-{account.kind}", account)
    rows = [(BARE, ["/bin/true"]), ("binary alone", [bench.corral, "--version"]), *in_session(bench, account, workspace)]
    raced = bench.race(rows, *((40, 10) if bench.quick else (1000, 60)), workspace, account)
    return {name: figures(values) for name, values in raced.items()}


def measure(bench):
    program = bench.program("warm", f"{bench.build}/src/libcorral.a", *LIBRARIES)
    workspace = bench.make_dir("sessions")
    sizes = (10, 50) if bench.quick else (10, 100, 500)
    one, found = {account.kind: one_command(bench, account) for account in bench.accounts(NAME)}, {}
    for level in LEVELS:
        found[level] = {"at-once": [json.loads(bench.output([program, level, "--at-once", str(size)], workspace)) for size in sizes],
                        "idle": [idle(bench, [program, level, "--idle", str(size)], workspace) for size in sizes]}
    return {"one": one, "levels": found}


def tables(data):
    for kind, rows in data["one"].items():
        yield Table(f"one command, as {'an ordinary account' if kind == 'user' else 'root'}",
                    ("command", "median µs", "minimum", "p99", "added µs", "added, minimum", "rounds"),
                    [(name, us(row["median"]), us(row["min"]), us(row["p99"]),
                      *(us(row[figure] - rows[BARE][figure]) if name.startswith("corral") else "" for figure in ("median", "min")), row["n"])
                     for name, row in sorted(rows.items(), key=lambda item: item[1]["median"])])
    yield Table("commands of 200 ms at once", ("level", "commands", "all ended after, ms"),
                [(level, row["commands"], f"{row['ms']:.0f}") for level, rows in data["levels"].items() for row in rows["at-once"]])
    yield Table("idle sessions", ("level", "sessions", "ms to open one", "memory of its processes (PSS), kB each"),
                [(level, row["sessions"], f"{row['open_ms']:.1f}", row["pss_kb"]) for level, rows in data["levels"].items()
                 for row in rows["idle"]])


def plots(_data):
    return ()
