# SPDX-License-Identifier: Apache-2.0
"""docs/proof.md: what the suites found, counted, from the lines of their --report.

    tests/report.py --escape FILE... --compat FILE... [--hosts FILE] [--suites FILE] [--missing NAME...] [--before FILE] >FILE

A line is one judgement: level, id, category, caller, result, reason; of the corpus
also its tier.  Nothing is written here that no suite has found.

A proof takes longer than an evening.  So every part names the commit and the day of its run, and a part that this
proof has not reached yet is kept from the document before it (--before).
"""
import argparse
import collections
import json
import os
import platform
import re
import textwrap

import ladder
from stamp import stamp

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
ABOUT_LEVEL = {
    "full": "As an unprivileged user, and as root where the row\nconcerns root.",
    "standard": "As an unprivileged user, and as root where the row\nconcerns root. Each limit is a line of THREAT_MODEL.md.",
    "minimal": "The quick rows, as an unprivileged user. Files and\nprocesses are open at this level: a row of those categories that succeeds counts as that limit.",
    "none": "The quick rows, as an unprivileged user. Everything\nbut environment, limits and time is open: a row of another category that succeeds counts as that limit.",
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


def escape_part(every, level):
    answers = at_level(every, level)
    yield ""
    yield "Each judgement has a control outside that succeeds, the attempt inside, a legitimate neighbour inside, and a"
    yield f"verdict from the host's state. {ABOUT_LEVEL[level]}"
    yield ""
    header = ["category", "rows", "judgements", "contained", "known limit", "unproven", "escaped",
              "overblocked or broken"]
    by_category = sorted(grouped(answers, lambda answer: answer["category"]).items())
    rows = [escape_row(named(ESCAPE, name), mine) for name, mine in by_category]
    for caller in CALLERS:
        rows.append(escape_row(f"**as {caller}**", [answer for answer in answers if answer["caller"] == caller]))
    rows.append(escape_row("**all**", answers))
    yield from table(header, rows)
    yield from listed("Escaped", answers, "ESCAPED")
    if level in ("full", "standard"):
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


def compat_part(every, level):
    answers = at_level(every, level)
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
    yield from listed("What the corpus cannot do at this level", answers, "KNOWN")
    yield from listed("Unproven on this host, and therefore not passed", answers, "UNPROVEN")


def hosts_part(hosts):
    yield ""
    yield "What `corral run` does by itself on each, from tests/hosts."
    yield ""
    rows = [[host["host"], host["about"], host["caller"], host["engine"], host["level"], " ".join(host["weaker"]), host["result"]]
            for host in hosts]
    yield from table(["host", "how it is made", "caller", "engine", "level", "not enforced, or weaker", "checks"], rows)


# Of a part that is kept, and of a line of the last table.
STAMPED = re.compile(r"^Run: [0-9a-f]{10}, \d{4}-\d\d-\d\d\.$", re.MULTILINE)
SUITE_LINE = re.compile(r"^\| ([^|*]+) \| (\d+) \| (\d+) \| (\d+) \| ([0-9a-f]{10}, \d{4}-\d\d-\d\d) \|$", re.MULTILINE)
SUITES = "All suites"


def days_of_suites(path):
    """suite: the day of its last run, of the document."""
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as source:
        return {line.group(1): line.group(5).split(", ")[1] for line in SUITE_LINE.finditer(source.read())}


def parts_before(text):
    """title: lines of the parts that name their run."""
    found = {}
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        title, _, rest = part.partition("\n")
        if title != SUITES and STAMPED.search(rest):
            found[title] = rest.rstrip("\n").split("\n")
    return found


def parts_now(escape, compat, hosts):
    """title: lines of what this proof has run, in their order."""
    found = {"Hosts": hosts_part(hosts)} if hosts else {}
    for level in ladder.ORDER:
        if at_level(escape, level):
            found[f"Escape rows, level {level}"] = escape_part(escape, level)
    for level in ladder.ORDER:
        if at_level(compat, level):
            found[f"Compatibility corpus, level {level}"] = compat_part(compat, level)
    return {title: ["", f"Run: {stamp()}.", *lines] for title, lines in found.items()}


def suite_rows(suites, before):
    """Every suite by its last run."""
    rows = {name: [name, int(passed), int(failed), int(skipped), run]
            for name, passed, failed, skipped, run in SUITE_LINE.findall(before)}
    rows |= {suite["name"]: [suite["name"], suite["passed"], suite["failed"], suite["skipped"], stamp()] for suite in suites}
    return list(rows.values())


def suites_part(rows):
    yield f"## {SUITES}"
    yield ""
    total = ["**all**", *(sum(row[i] for row in rows) for i in (1, 2, 3)), ""]
    yield from table(["suite", "passed", "failed", "skipped", "run"], [*rows, total])


def missing_part(missing):
    yield "## Not run"
    yield ""
    yield "`make proof` of the same tree goes on from here; these suites have proven nothing yet:"
    yield textwrap.fill(", ".join(missing) + ".", 118, break_long_words=False)
    yield ""


def document(now, before, suites, missing):
    yield "# The proof, as last run"
    yield ""
    yield "`make proof` writes this file after each suite; do not edit it. [attribution.md](attribution.md) lists the layer that"
    yield "stops each attack, [mutation.md](mutation.md) the test that fails when a rule is removed,"
    yield "[THREAT_MODEL.md](THREAT_MODEL.md) the promises and their limits. The whole takes hours: each part names the commit and"
    yield "the day of its last run."
    yield ""
    yield f"Linux {platform.release().split('-')[0]}, {platform.machine()}, {os.cpu_count()} processors."
    yield ""
    rows = suite_rows(suites, before)
    never = [name for name in missing if name not in {row[0] for row in rows}]
    if never:
        yield from missing_part(never)
    parts = {**parts_before(before), **now}
    for title in sorted(parts, key=order):
        yield f"## {title}"
        yield from parts[title]
        yield ""
    if rows:
        yield from suites_part(rows)


def order(title):
    """Hosts, then each level from the strongest, attacks before the corpus."""
    level = title.rsplit(" ", 1)[-1]
    return (title != "Hosts", title.startswith("Compat"), ladder.ORDER.index(level) if level in ladder.ORDER else 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--escape", default=[], nargs="*")
    parser.add_argument("--compat", default=[], nargs="*")
    parser.add_argument("--hosts")
    parser.add_argument("--suites")
    parser.add_argument("--missing", default=[], nargs="*")
    parser.add_argument("--before", help="the document as it is")
    options = parser.parse_args()
    hosts, suites = (read([path] if path else []) for path in (options.hosts, options.suites))
    now = parts_now(read(options.escape), read(options.compat), hosts)
    before = ""
    if options.before and os.path.exists(options.before):
        with open(options.before, encoding="utf-8") as source:
            before = source.read()
    text = "\n".join(document(now, before, suites, options.missing))
    print(re.sub(r"\n{3,}", "\n\n", text).rstrip("\n"))


if __name__ == "__main__":
    main()
