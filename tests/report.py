# SPDX-License-Identifier: Apache-2.0
"""docs/proof.md: what the suites found, counted, from the lines of their --report.

    tests/report.py --escape FILE... --compat FILE... [--hosts FILE] [--suites FILE] [--missing NAME...] >docs/proof.md

A line is one judgement: level, id, category, caller, result, reason; of the corpus
also its tier.  Nothing is written here that no suite has found.
"""
import argparse
import collections
import json
import os
import platform
import re
import subprocess
import textwrap

import ladder

ESCAPE = {
    "DN": "denied and protected files", "EV": "environment and descriptors", "FS": "files outside the roots",
    "IP": "sockets and shared memory", "LM": "known limits", "MT": "asked for by mutation",
    "NN": "network mode none", "NS": "namespaces and mounts", "OU": "output", "PF": "/proc, /sys, devices",
    "PR": "processes, signals, terminal", "PS": "what the host would run later", "PX": "network mode filtered",
    "RS": "resources", "SC": "system calls", "SU": "attacks on the set-up", "UI": "the page of corral ui",
}
COMPAT = {
    "AR": "archives", "BD": "build systems", "BI": "binaries", "CC": "compilers", "CN": "cryptography and net tools",
    "CX": "what C programs do", "DG": "debuggers and sanitizers", "ED": "editors", "FS": "files", "GI": "git",
    "GO": "Go", "JV": "JVM", "LA": "other languages", "ND": "Node", "NE": "sandboxes inside", "PJ": "whole projects",
    "PR": "processes and terminals", "PY": "Python", "RF": "refusals that name their rule", "RS": "Rust",
    "SH": "shell and core utilities", "SV": "services inside", "SY": "the system", "TC": "toolchains in HOME",
    "TX": "text",
}
RESULTS = ("CONTAINED", "LIMIT", "UNPROVEN", "ESCAPED", "OVERBLOCKED")
CALLERS = ("user", "root")


def read(paths):
    found = []
    for path in paths:
        with open(path, encoding="utf-8") as source:
            found += [json.loads(line) for line in source if line.strip()]
    return found


def at_level(answers, level):
    """Of one level; what asked for none had the best that the host has, which is full where a proof is made."""
    return [answer for answer in answers if answer["level"] in ((level, ladder.AUTO) if level == "full" else (level,))]


def table(header, rows):
    yield "| " + " | ".join(header) + " |"
    yield "|---" + "|---:" * (len(header) - 1) + "|"
    for row in rows:
        yield "| " + " | ".join(str(cell) for cell in row) + " |"
    yield ""


def grouped(answers, key):
    found = collections.defaultdict(list)
    for answer in answers:
        found[key(answer)].append(answer)
    return found


def named(names, category):
    return f"{category} {names[category]}" if category in names else category


def escape_row(title, answers):
    counts = collections.Counter(answer["result"] for answer in answers)
    other = sum(counts.values()) - sum(counts[result] for result in RESULTS)
    ids = len({answer["id"] for answer in answers})
    return [title, ids, len(answers)] + [counts[result] for result in RESULTS[:3]] + \
        [counts["ESCAPED"], counts["OVERBLOCKED"] + other]


def escape_part(every):
    answers = at_level(every, "full")
    yield "## Escape rows, level full"
    yield ""
    yield "Each judgement has a control outside that succeeds, the attempt inside, a legitimate neighbour inside, and a"
    yield "verdict from the host's state. As an unprivileged user, and as root where the row concerns root."
    yield ""
    header = ["category", "rows", "judgements", "contained", "known limit", "unproven", "escaped",
              "overblocked or broken"]
    by_category = sorted(grouped(answers, lambda answer: answer["category"]).items())
    rows = [escape_row(named(ESCAPE, name), mine) for name, mine in by_category]
    for caller in CALLERS:
        rows.append(escape_row(f"**as {caller}**", [answer for answer in answers if answer["caller"] == caller]))
    rows.append(escape_row("**all**", answers))
    yield from table(header, rows)
    yield from listed("Unproven on this host, and therefore not passed", answers, "UNPROVEN")
    yield from listed("Known limits: the attempt succeeds, and the row demands that it does", answers, "LIMIT")


def clean(reason):
    """Without the marks that the harness has its commands print."""
    return " ".join(re.sub(r"\bran-mark\w+", "", reason).split())


def listed(title, answers, result):
    reasons = {}
    for answer in answers:
        if answer["result"] == result:
            reasons.setdefault(answer["id"], answer["reason"])
    if reasons:
        yield f"### {title}"
        yield ""
        for ident, reason in reasons.items():
            yield textwrap.fill(f"- {ident}: {clean(reason)}", 118, subsequent_indent="  ", break_long_words=False)
        yield ""


def share(answers):
    proven = [answer for answer in answers if answer["result"] != "UNPROVEN"]
    passed = sum(answer["result"] == "PASSED" for answer in proven)
    return f"{passed} of {len(proven)}" if proven else "–"


def compat_row(title, answers):
    tiers = grouped(answers, lambda answer: answer["tier"])
    unproven = sum(answer["result"] == "UNPROVEN" for answer in answers)
    return [title, len({answer["id"] for answer in answers})] + [share(tiers[tier]) for tier in (1, 2, 3)] + [unproven]


def compat_part(every):
    answers = at_level(every, "full")
    yield "## Compatibility corpus, level full"
    yield ""
    yield "Each command runs outside and inside with no options; exit status and normalised output must be the same, or"
    yield "differ as the row says and why."
    yield ""
    header = ["category", "commands", "tier 1", "tier 2", "tier 3", "unproven"]
    by_category = sorted(grouped(answers, lambda answer: answer["category"]).items())
    rows = [compat_row(named(COMPAT, name), mine) for name, mine in by_category]
    for caller in CALLERS:
        rows.append(compat_row(f"**as {caller}**", [answer for answer in answers if answer["caller"] == caller]))
    rows.append(compat_row("**all**", answers))
    yield from table(header, rows)
    yield from listed("Failures", answers, "FAILED")
    yield from listed("Unproven on this host, and therefore not passed", answers, "UNPROVEN")


def escape_cell(answers):
    """What became of a category at a level, without what is nought."""
    counts = collections.Counter(answer["result"] for answer in answers)
    words = {"CONTAINED": "", "LIMIT": " limit", "UNPROVEN": " unproven", "ESCAPED": " **escaped**"}
    broken = sum(counts.values()) - sum(counts[result] for result in words)
    parts = [f"{counts[result]}{word}" for result, word in words.items() if counts[result]]
    return ", ".join(parts + ([f"{broken} **broken**"] if broken else [])) or "–"


def tier_cell(answers):
    proven = [answer for answer in answers if answer["result"] != "UNPROVEN"]
    passed = sum(answer["result"] == "PASSED" for answer in proven)
    return f"{passed} of {len(proven)}, {100.0 * passed / len(proven):.1f} %" if proven else "–"


def matrix_part(escape, compat):
    """Every level beside every other."""
    yield "## Levels"
    yield ""
    yield "The same rows, asked for at each level (`corral run --level`). A bare number is contained. At full and standard each"
    yield "limit is a line of THREAT_MODEL.md; at minimal files and processes are open, at none everything but the environment,"
    yield "limits and time, and a row of those categories that succeeds counts as that limit. Minimal and none run as an"
    yield "unprivileged user only."
    yield ""
    ran = [level for level in ladder.ORDER if at_level(escape, level)]
    header = ["level", "rows", "judgements", "contained", "known limit", "unproven", "escaped", "overblocked or broken"]
    yield from table(header, [escape_row(level, at_level(escape, level)) for level in ran])
    categories = sorted(grouped(escape, lambda answer: answer["category"]).items())
    yield from table(["category"] + ran, [[named(ESCAPE, name)] + [escape_cell(at_level(mine, level)) for level in ran]
                                          for name, mine in categories])
    ran = [level for level in ladder.ORDER if at_level(compat, level)]
    tiers = sorted(grouped(compat, lambda answer: answer["tier"]).items())
    yield from table(["corpus"] + ran, [[f"tier {tier}"] + [tier_cell(at_level(mine, level)) for level in ran]
                                        for tier, mine in tiers])
    full = {answer["id"] for answer in at_level(escape, "full") if answer["result"] == "LIMIT"}
    below = [answer for answer in at_level(escape, "standard") if answer["id"] not in full]
    yield from listed("Known limits of level standard, beyond those of full", below, "LIMIT")
    yield from listed("Escaped at level standard", below, "ESCAPED")
    standard = at_level(compat, "standard")
    yield from listed("What the corpus cannot do at level standard", standard, "KNOWN")
    yield from listed("Failures at level standard", standard, "FAILED")


def hosts_part(hosts):
    yield "## Hosts"
    yield ""
    yield "What `corral run` does by itself on each, from tests/hosts."
    yield ""
    rows = [[host["host"], host["about"], host["caller"], host["engine"], host["level"], host["result"]] for host in hosts]
    yield from table(["host", "how it is made", "caller", "engine", "level", "checks"], rows)


def suites_part(suites):
    yield "## All suites"
    yield ""
    rows = [[suite["name"], suite["passed"], suite["failed"], suite["skipped"]] for suite in suites]
    rows.append(["**all**"] + [sum(row[i] for row in rows) for i in (1, 2, 3)])
    yield from table(["suite", "passed", "failed", "skipped"], rows)


def commit():
    """The commit that was tested, by its first digits."""
    here = os.path.dirname(os.path.abspath(__file__))
    return subprocess.run(["git", "-C", here, "rev-parse", "--short=10", "HEAD"], stdout=subprocess.PIPE, text=True,
                          check=False).stdout.strip() or "unknown"


def missing_part(missing):
    yield "## Not run"
    yield ""
    yield "The proof was interrupted. `make proof` of the same tree goes on from here; these suites have proven nothing yet:"
    yield textwrap.fill(", ".join(missing) + ".", 118, break_long_words=False)
    yield ""


def document(escape, compat, hosts, suites, missing):
    yield "# The proof, as last run"
    yield ""
    yield "`make proof` writes this file after each suite; do not edit it. [attribution.md](attribution.md) lists the layer that"
    yield "stops each attack, [mutation.md](mutation.md) the test that fails when a rule is removed,"
    yield "[THREAT_MODEL.md](THREAT_MODEL.md) the promises and their limits."
    yield ""
    yield f"Commit {commit()}, Linux {platform.release().split('-')[0]}, {platform.machine()}, {os.cpu_count()} processors."
    yield ""
    if missing:
        yield from missing_part(missing)
    if escape or compat:
        yield from matrix_part(escape, compat)
    if hosts:
        yield from hosts_part(hosts)
    if escape:
        yield from escape_part(escape)
    if compat:
        yield from compat_part(compat)
    if suites:
        yield from suites_part(suites)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--escape", default=[], nargs="*")
    parser.add_argument("--compat", default=[], nargs="*")
    parser.add_argument("--hosts")
    parser.add_argument("--suites")
    parser.add_argument("--missing", default=[], nargs="*")
    options = parser.parse_args()
    hosts, suites = (read([path] if path else []) for path in (options.hosts, options.suites))
    print("\n".join(document(read(options.escape), read(options.compat), hosts, suites, options.missing)).rstrip("\n"))


if __name__ == "__main__":
    main()
