# SPDX-License-Identifier: Apache-2.0
"""The start of a run: what each sandbox adds to a bare spawn of /bin/true, as an ordinary account and as root."""
from bench import figures
from contenders import BARE, BWRAP, starts
from page import Bars, Table, us

NAME, TITLE = "start", "Start of a run"
ABOUT = ("One interleaved run of `/bin/true`: each round runs every command once, in another order. *Added* is the median over that of a bare "
         "spawn. *Ratio* is the added time over that of bubblewrap with `--unshare-all`, of medians and of the fastest runs, which other load "
         "disturbs least. *In process* is `corral_run()`; *session* is "
         "`corral_session_run()`, *handle* `corral_session_exec()` and *session exec* the verb, in a session that is open. Slow programs have their turn in every eighth round.")


def measure(bench):
    found = {}
    for account in bench.accounts(NAME):
        workspace = bench.make_dir(f"start-{account.kind}", account)
        rounds, seconds = (40, 15) if bench.quick else (400, 240)
        raced = bench.race(list(starts(bench, account, workspace)), rounds, seconds, workspace, account)
        found[account.kind] = {name: figures(values) for name, values in raced.items()}
    return {"accounts": found}


def added(rows, name, figure="median"):
    return rows[name][figure] - rows[BARE][figure]


def ratio(rows, name, figure):
    return f"{added(rows, name, figure) / added(rows, BWRAP, figure):.2f}" if BWRAP in rows and name != BARE else ""


def tables(data):
    for kind, rows in data["accounts"].items():
        listed = sorted(rows, key=lambda name: rows[name]["median"])
        yield Table(f"as {'an ordinary account' if kind == 'user' else 'root'}",
                    ("command", "median µs", "minimum", "p99", "added µs", "added p99", "ratio", "ratio of minima", "rounds"),
                    [(name, us(rows[name]["median"]), us(rows[name]["min"]), us(rows[name]["p99"]),
                      us(added(rows, name)) if name != BARE else "", us(rows[name]["p99"] - rows[BARE]["median"]) if name != BARE else "",
                      ratio(rows, name, "median"), ratio(rows, name, "min"), rows[name]["n"]) for name in listed])


def plots(data):
    rows = data["accounts"]["user"]
    yield "start", Bars("Added to a bare spawn of /bin/true, ms (median, ordinary account)",
                        [(name, added(rows, name) / 1000) for name in sorted(rows, key=lambda name: rows[name]["median"])
                         if name != BARE], mark="corral")
