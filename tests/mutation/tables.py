# SPDX-License-Identifier: Apache-2.0
"""The documents: docs/attribution.md and docs/mutation.md, written from what was measured."""
import os

from switches import FIXED, SWITCHES

ATTRIBUTION = """# Which layer holds which escape row

Measured by `make attribution` (tests/mutation/attribution.py), not written by hand: each layer is taken out of a
scratch copy of the sources, and the rows of tests/escape that name it are run against what is left.

In `layers`, `a+b` means that either of the two holds the row alone: it stays contained without a and without b, and
escapes without both. Words separated by a space are all needed: it escapes without any one of them. Only what an
ordinary user calls is measured here: a sandbox with a hole is never run as root.

Words that name nothing that could be switched off:

"""

MUTATION = """# What notices when a rule is gone

Measured by `make mutation` (tests/mutation/mutate.py): one row of a table, one flag or one step is taken out of a
scratch copy of the sources at a time, and the tests are asked. `escape` is a live attempt that got through, or its
legitimate twin that no longer works; `golden` the verdict tables of the system call filter; `unit` a unit test;
`compiler` means that the rest does not compile without it. A mutant is **explained** when no test here can notice,
and the reason is given below; a **survivor** is one that nothing noticed and nobody has explained; **not run** was
never asked; **older** are those of the others whose source has changed since they were asked. mutation.jsonl has the
commit and the day of each. `make mutation ONLY=TABLE` runs one table, `MINUTES=60` stops after an hour; the next call
goes on there, on any machine.

"""


def write(path, lines):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as out:
        out.write("\n".join(lines) + "\n")


def table(head, rows):
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(str(cell) for cell in row) + " |"


def counts_by_category(idents):
    """Per category and layer: rows that this layer alone holds + rows that it holds with others."""
    found = {}
    for row, groups in idents:
        line = found.setdefault(row.ident[:2], {})
        for group in groups:
            for word in group:
                alone, shared = line.get(word, (0, 0))
                line[word] = (alone + (len(group) == 1), shared + (len(group) > 1))
    return found


def matrix(idents):
    found = counts_by_category(idents)
    words = [word for word in list(SWITCHES) + list(FIXED) if any(word in line for line in found.values())]

    def cell(line, word):
        alone, shared = line.get(word, (0, 0))
        return f"{alone or ''}{f'+{shared}' if shared else ''}"

    return table(["", *words], ([category, *(cell(line, word) for word in words)]
                                for category, line in sorted(found.items())))


def measured(results):
    """{ident: (checks that agree, all checks that were made)}"""
    found = {}
    for ident, _, wanted, result in results:
        agree, made = found.get(ident, (0, 0))
        if result != "UNPROVEN":
            found[ident] = (agree + (result == wanted), made + 1)
    return found


def write_attribution(path, rows, groups, results):
    idents = [(row, groups(row)) for row in rows]
    checks = measured(results)
    lines = [ATTRIBUTION.rstrip("\n"), ""] + [f"- `{word}`: {why}" for word, why in FIXED.items()]
    lines += ["", "## Rows per category and layer", "",
              "`n+m`: n rows that this layer alone holds, m that it holds together with others.", ""]
    lines += matrix(idents)
    lines += ["", "## Every row", "",
              "Checks: how many of the measurements agree with `layers`; none where nothing could be switched off,",
              "where the row is for root, or where this host cannot show the attack.", ""]
    lines += table(["row", "layers", "checks"],
                   ((row.ident, row["layers"], "%d of %d" % checks[row.ident] if row.ident in checks else "")
                    for row, _ in idents))
    write(path, lines)


def write_mutation(path, everything, outcomes, reason):
    kinds = ("escape", "golden", "unit", "compiler", "explained", "survivor", "not run")
    counts, notes, older = {}, [], {}
    for mutant in everything:
        found, why = outcomes.found(mutant), reason(mutant)
        older[mutant.table] = older.get(mutant.table, 0) + outcomes.is_stale(mutant)
        kind = "not run" if found is None else found.split(":")[0] if found else "explained" if why else "survivor"
        line = counts.setdefault(mutant.table, dict.fromkeys(kinds, 0))
        line[kind] += 1
        if found == "":
            notes.append((mutant.table, mutant.name, why or "**survivor**"))
        elif found and kind == "golden" and mutant.table == "syscall_rules":
            notes.append((mutant.table, mutant.name, "golden only: " + (why or "**no live row**")))
    total = [sum(line[kind] for line in counts.values()) for kind in kinds]
    rows = [(name, sum(line.values()), *line.values(), older[name]) for name, line in counts.items()]
    lines = [MUTATION.rstrip("\n"), ""]
    lines += table(["table", "mutants", *kinds, "older"], rows + [("**all**", sum(total), *total, sum(older.values()))])
    lines += ["", "## What no live attempt notices, and why", ""]
    lines += table(["table", "mutant", "why"], notes)
    write(path, lines)
