# SPDX-License-Identifier: Apache-2.0
"""docs/kernels.md and the lines that run.py prints, from the reports of the machines.

Nothing is written here that no machine has found; a kernel without a report has
a line that says why.
"""
import collections
import textwrap

BAD = ("ESCAPED", "OVERBLOCKED", "CLOSED", "BROKEN")
QUOTAS = ("memory", "processes", "processes_alone", "cpu")
NOT_A_VERB = "is not a verb"
ABOUT = """`make kernels` writes this file; nobody edits it. It boots Debian's kernels in emulated machines (no hardware
virtualisation, one processor, 1 GiB, a clock that counts instructions). In each it runs, as an ordinary user and as root,
quick rows of the escape suite: all, or the first of every section ("these rows"). It also runs `corral test`, and tries
the limits that need control groups of version 2, for root and for a user to whom a group was delegated: memory (a run
that exceeds it ends with the reason `oom`), processes (also as the only limit), processors; no group may be left behind.
*without user namespaces*: `user.max_user_namespaces` is 0, and corral falls back by itself."""
HEAD = ("kernel", "ABI", "machine", "as", "level", "engine", "rows", "contained", "known limit", "unproven", "escaped",
        "overblocked", "memory", "processes", "processes alone", "cpu", "left behind", "corral test", "seconds")


def held(quota):
    """The cell of one quota; a dash when it was not tried."""
    if quota is None:
        return "–"
    return "no" if quota.startswith("NOT HELD") else "yes"


def judged(answer):
    """(mode, caller, what was found) of every configuration of one machine."""
    for mode in answer.get("report", {}).get("modes", ()):
        for caller, found in mode["callers"].items():
            yield mode["name"], caller, found


def verb_failures(found):
    """Where corral's own report or test fails, or disagrees with its plan."""
    for name in ("status", "test"):
        said = found.get(name)
        if said and NOT_A_VERB not in said.get("said", ""):
            if said["status"] != 0:
                yield f"corral {name}: status {said['status']}: {'; '.join(said.get('failed', ())) or said.get('said')}"
            if said.get("level") != found["plan"]["level"]:
                yield f"corral {name} says level {said.get('level')}, explain {found['plan']['level']}"


def tested(found):
    """The cell of `corral test`."""
    counts = found["test"].get("counts")
    return f"{counts['pass']} passed, {counts['limit']} limits, {counts['fail'] + counts['skip']} failed" if counts else "–"


def failures(answer):
    """Every reason for which this kernel has not passed."""
    if "failed" in answer:
        yield f"no report: {answer['failed'].strip().splitlines()[-1]}"
    for mode, caller, found in judged(answer):
        where = f"{mode}, as {caller}"
        yield from (f"{where}: {reason}" for reason in verb_failures(found))
        for name, quota in found.get("quotas", {}).items():
            if held(quota) == "no":
                yield f"{where}: {name}: {quota}"
        rows = found.get("escape")
        if rows:
            guilty = [row for row in rows["others"] if row[1] in BAD]
            yield from (f"{where}: {row[0]} {row[1]}: {plain(row[2])}" for row in guilty)
            if rows["status"] != 0 and not guilty:
                yield f"{where}: the escape suite ended with status {rows['status']}"
            if not rows["rows"]:
                yield f"{where}: no row was judged"


def bad(answer):
    return any(True for _ in failures(answer))


def cells(answer):
    """The table's rows of one kernel."""
    name, report = answer["name"], answer.get("report")
    if not report or "failed" in answer:
        why = "FAILED" if "failed" in answer else f"not run: {answer['not run']}"
        yield [name, "", why] + [""] * (len(HEAD) - 3)
    if not report:
        return
    for mode, caller, found in judged(answer):
        plan = found["plan"]
        start = [report["release"], report["landlock_abi"], mode, caller]
        if "error" in plan:
            yield start + ["not reached"] + [""] * (len(HEAD) - 5)
            continue
        if found.get("same"):
            yield start + [plan["level"], plan["engine"], f"the plan of: {found['same']}"] + [""] * (len(HEAD) - 7)
            continue
        rows = found["escape"]
        counts = collections.Counter(rows["counts"])
        numbers = [rows["rows"]] + [counts[key] for key in ("CONTAINED", "LIMIT", "UNPROVEN", "ESCAPED")]
        numbers.append(counts["OVERBLOCKED"] + counts["CLOSED"] + counts["BROKEN"])
        yield start + [plan["level"], plan["engine"]] + numbers + \
            [held(found["quotas"].get(key)) for key in QUOTAS] + \
            [found["quotas"]["left behind"], tested(found), rows["seconds"]]
    for mode in (mode for mode, done in answer["done"].items() if not done):
        yield [report["release"], report["landlock_abi"], mode, "", "not run"] + [""] * (len(HEAD) - 5)


def lines(answer):
    """What the driver prints of one kernel."""
    if "not run" in answer:
        yield f"{answer['name']}: NOT RUN: {answer['not run']}"
        return
    for row in cells(answer):
        yield "  ".join(f"{name} {value}" for name, value in zip(HEAD, row) if value != "")
    yield from (f"  {line}" for line in new_calls([answer]))
    for reason in failures(answer):
        yield f"  FAILED {reason}"


def table(rows):
    yield "| " + " | ".join(HEAD) + " |"
    yield "|---|---:|---|---|---|---" + "|---:" * (len(HEAD) - 6) + "|"
    for row in rows:
        yield "| " + " | ".join(str(cell) for cell in row) + " |"
    yield ""


def listed(title, reasons):
    if reasons:
        yield f"## {title}"
        yield ""
        for reason in reasons:
            yield textwrap.fill(f"- {reason}", 118, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
        yield ""


def unproven(answers):
    """row → why, with the kernels on which that is so."""
    found = collections.defaultdict(set)
    for answer in answers:
        for _, _, mine in judged(answer):
            for ident, result, reason in mine.get("escape", {}).get("others", ()):
                if result == "UNPROVEN":
                    found[ident, plain(reason)].add(answer["name"])
    return [f"{ident} on {', '.join(sorted(names))}: {reason}" for (ident, reason), names in sorted(found.items())]


def plain(reason):
    """Without the marks that the harness has its commands print."""
    return " ".join(word for word in reason.split() if not word.startswith("ran-mark"))


def new_calls(answers):
    """Calls that the filter's table does not have: closed, and to be reviewed."""
    for answer in answers:
        found = answer.get("report", {}).get("calls")
        if found and (found["numbers"] or found["names"]):
            numbers = " ".join(map(str, found["numbers"])) or "none"
            yield f"{answer['name']}: numbers {numbers}; names {' '.join(found['names']) or 'none'}"


def unreached(answers):
    for answer in answers:
        for mode, caller, found in judged(answer):
            if "error" in found["plan"]:
                yield f"{answer['name']}, {mode}, as {caller}: {' '.join(found['plan']['error'].split())}"


def guarantees(answers):
    """One line for each different set of answers that are not `enforced`."""
    found = collections.defaultdict(list)
    for answer in answers:
        for mode, caller, mine in judged(answer):
            states = mine["plan"].get("guarantees", {})
            weak = ", ".join(f"{name} {state}" for name, state in states.items() if state != "enforced")
            if states:
                found[weak].append(f"{answer['name']} {mode} as {caller}")
    return [f"{'; '.join(where)}: {weak or 'all enforced'}" for weak, where in found.items()]


def said(answer):
    """When, and what of the rows in each configuration."""
    runs = answer["runs"]
    text = f"{answer['name']}, {runs[0]}" if len(runs) == 1 else f"{answer['name']}, from {runs[0]} to {runs[-1]}"
    rows = "all quick" if answer["rows"] == "quick" else "these"
    shares = collections.defaultdict(list)
    for mode, done in answer["done"].items():
        whole = done == answer["slices"] and answer["sample"] == 1
        share = f"{rows} rows" if whole else f"{done} in {answer['slices'] * answer['sample']} of {rows} rows"
        shares[share if done else "no row"].append(mode)
    return f"{text}: " + ", ".join(f"{share} ({'; '.join(modes)})" for share, modes in shares.items())


def document(answers):
    """The whole of docs/kernels.md."""
    yield "# On other kernels, as last run"
    yield ""
    yield textwrap.fill(ABOUT, 118, break_on_hyphens=False)
    yield ""
    yield textwrap.fill("A machine that was not run, or a level that was not reached, has not passed; – was not tried.", 118)
    yield ""
    yield from listed("Runs", [said(answer) for answer in answers if "runs" in answer])
    yield "## Results"
    yield ""
    yield from table([row for answer in answers for row in cells(answer)])
    yield from listed("Failures", [f"{answer['name']}: {reason}" for answer in answers for reason in failures(answer)])
    yield from listed("Not reached", list(unreached(answers)))
    yield from listed("Guarantees that are not `enforced`, without options", guarantees(answers))
    yield from listed("System calls that the filter's table does not have, and answers with ENOSYS", list(new_calls(answers)))
    yield from listed("Unproven, and therefore not passed", unproven(answers))
