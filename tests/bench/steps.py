# SPDX-License-Identifier: Apache-2.0
"""Where the time of a run goes: the steps of `corral run --timings`, at both levels."""
import json
import statistics

from page import Table, us

NAME, TITLE = "steps", "Where the time goes"
ABOUT = ("`corral run --json --timings -- /bin/true`, the median and the fastest of each step; steps below 5 µs are left out. At level full "
         "the early process makes the namespaces while the supervisor plans, so *clone* is the wait for it and the copy of the "
         "memory; at level standard it is the outer warden's. *Start* is processor time, with that of the program that "
         "started it.")
LEVELS = ("full", "standard")
LEAST_US = 5


def measure(bench):
    workspace = bench.make_dir("steps")
    found = {level: {} for level in LEVELS}
    for number in range(31 if bench.quick else 301):
        for level in LEVELS:
            words = bench.corral_words(workspace, "--level", level, "--json", "--timings")
            result = json.loads(bench.output([*words, "/bin/true"], workspace))
            for row in result["timings"] if number > 0 else ():  # the first fills the caches
                found[level].setdefault(row["step"], []).append(row["us"])
    return {"levels": {level: {step: [statistics.median(values), min(values)] for step, values in steps.items()}
                       for level, steps in found.items()}}


def tables(data):
    for level, steps in data["levels"].items():
        yield Table(f"at level {level}", ("step", "median µs", "minimum"),
                    [(step, us(median), us(least)) for step, (median, least) in steps.items() if median >= LEAST_US])


def plots(_data):
    return ()
