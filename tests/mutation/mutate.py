#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Takes one thing out of Corral at a time and asks which test notices.  Speaks TAP.

For every mutant of mutants.py: build it, ask the escape rows that are most likely to
notice, then the golden tables of the filter and the unit tests, and with --thorough
all other escape rows.  A row notices when it is CONTAINED without the mutation and
ESCAPED or OVERBLOCKED with it.  What is already known is kept (outcomes.py), so a run
that was broken off goes on where it stopped.
"""
import argparse
import collections
import hashlib
import json
import os
import random
import re
import sys
import time

sys.dont_write_bytecode = True

import mutants  # noqa: E402
from outcomes import Outcomes  # noqa: E402
from scratch import ROOT, Scratch, Unbuildable, arguments, read  # noqa: E402
from switches import SWITCHES  # noqa: E402
from tables import write_mutation  # noqa: E402

NOTICED = ("ESCAPED", "OVERBLOCKED")
SEED = 1  # a sample is the same sample every time


class Mutant:
    """One thing that is taken out."""

    def __init__(self, table, name, edits, behind=(), rows=""):
        self.table, self.name, self.edits, self.rows = table, name, edits, rows.split()
        self.base = [edit for word in behind for edit in SWITCHES[word]]
        self.number = 1  # of those with this name, such as one option of IPv4 and of IPv6

    def title(self):
        return f"{self.table}: {self.name}" + (f" ({self.number})" if self.number > 1 else "")

    def key(self):
        """Changes when the mutation does, or what stands around it."""
        text = json.dumps([self.table, self.name, self.edits, self.base])
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def split_rows(body):
    """The rows of a C table, each with its comma; comments belong to the row below."""
    rows, start, depth = [], 0, 0
    for token in re.finditer(r'"(?:\\.|[^"\\])*"|/\*.*?\*/|[(){},]', body, re.DOTALL):
        text = token.group()
        depth += text in ("(", "{")
        depth -= text in (")", "}")
        if text == "," and depth == 0:
            rows.append(body[start:token.end()])
            start = token.end()
    return rows


def table_mutants(table):
    file, begin, pattern, behind, rows = mutants.TABLES[table]
    text = read(os.path.join(ROOT, "src", file))
    start = text.index(begin) + len(begin)
    if file.endswith(".inc"):
        body = text[start:]
        parts = body.splitlines(keepends=True)
    else:
        body = text[start:text.index("\n};", start)]
        parts = split_rows(body)
    for part in parts:
        name = re.search(pattern, part)
        if name is None:
            sys.exit(f"mutants.py: no row of {table} is like {part.strip()!r}")
        yield Mutant(table, name.group(1), [(file, begin + body, begin + body.replace(part, "", 1))], behind, rows)


def narrow_mutants():
    file, pattern, free = mutants.NARROW
    for found in re.finditer(pattern, read(os.path.join(ROOT, "src", file))):
        text = found.group()
        yield Mutant("narrow", found.group(1), [(file, text, text.replace(found.group(2), free))])


def all_mutants(only):
    names = collections.Counter()
    for mutant in unnumbered_mutants(only):
        names[mutant.table, mutant.name] += 1
        mutant.number = names[mutant.table, mutant.name]
        yield mutant


def unnumbered_mutants(only):
    for table in mutants.TABLES:
        if not only or table in only:
            yield from table_mutants(table)
    if not only or "steps" in only:
        for name, (edits, behind, rows) in mutants.STEPS.items():
            yield Mutant("steps", name, edits, behind, rows)
    if not only or "narrow" in only:
        yield from narrow_mutants()


class Judge:
    """Who notices a mutant."""

    def __init__(self, scratch, thorough):
        self.scratch, self.thorough = scratch, thorough
        self.user_rows = [ident for ident, row in scratch.rows.items() if "user" in row.passes()]
        self.baselines, self.plain = {}, {}

    def candidates(self, mutant):
        """Likely rows: those that speak of the mutant by name, and the others."""
        word = re.compile(rf"(?<![\w-]){re.escape(mutant.name)}(?![\w-])")
        by_name, wanted = "named" in mutant.rows, set(mutant.rows)
        likely = [ident for ident in self.user_rows
                  if by_name or {ident, ident.split(".")[0], ident[:2]} & wanted]
        named = [ident for ident in likely if word.search(f"{ident} {self.scratch.rows[ident]['attempt']}")]
        named.sort(key=lambda ident: not ident.endswith("." + mutant.name))
        return named, [] if by_name else [ident for ident in likely if ident not in named]

    def standing(self, mutant, idents):
        """Those of the rows that are contained without the mutation."""
        key = json.dumps(mutant.base)
        known = self.baselines.setdefault(key, {})
        new = [ident for ident in idents if ident not in known]
        if new:
            known.update(self.scratch.judge(self.scratch.binary(mutant.base), new))
        return [ident for ident in idents if known[ident][0] == "CONTAINED"]

    def by_rows(self, mutant, idents):
        at, step = 0, self.scratch.jobs  # mostly the first ones notice
        while at < len(idents):
            part = self.standing(mutant, idents[at:at + step])
            at, step = at + step, 4 * self.scratch.jobs
            program = self.scratch.binary(mutant.base + mutant.edits)
            found = self.scratch.judge(program, part)
            for ident in part:
                if found[ident][0] in NOTICED:
                    return f"escape: {ident} {found[ident][0]}"
        return ""

    def verdict(self, mutant):
        """Who notices, or the empty string."""
        key = json.dumps(mutant.base)
        if key not in self.plain:
            self.plain[key] = self.scratch.binary(mutant.base)[1]
        try:
            if self.scratch.binary(mutant.base + mutant.edits)[1] == self.plain[key]:
                return "explained: the program is the same"
        except Unbuildable:
            return "compiler"
        named, others = self.candidates(mutant)
        found = self.by_rows(mutant, named) or self.by_rows(mutant, others) or self.scratch.tests(mutant.edits)
        if not found and self.thorough:
            found = self.by_rows(mutant, [ident for ident in self.user_rows if ident not in named + others])
        return found


def reason(mutant):
    return next((why for pattern, why in mutants.EXPLAINED if re.fullmatch(pattern, f"{mutant.table}: {mutant.name}")), "")


def chosen(options):
    found = list(all_mutants(set(options.only.split(",")) if options.only else None))
    if options.sample and options.sample < len(found):
        keep = set(random.Random(SEED).sample(range(len(found)), options.sample))
        found = [mutant for index, mutant in enumerate(found) if index in keep]
    return found


def run(options, outcomes):
    scratch = Scratch(options, tests=True)
    if scratch.tests([]):
        sys.exit(f"without any mutation there is already: {scratch.tests([])}")
    judge, survivors, begun = Judge(scratch, options.thorough), 0, time.monotonic()
    work = sorted(chosen(options), key=outcomes.age)
    for number, mutant in enumerate(work, 1):
        known = outcomes.found(mutant) and not outcomes.is_stale(mutant) and not options.again
        if not known and options.minutes is not None and time.monotonic() - begun > options.minutes * 60:
            print(f"ok {number} - {mutant.title()} # SKIP no time was left", flush=True)
            continue
        if not known:
            outcomes.keep(mutant, judge.verdict(mutant))
        found, why = outcomes.found(mutant), reason(mutant)
        bad = not found and not why
        survivors += bad
        print(f"{'not ok' if bad else 'ok'} {number} - {mutant.title()} # {found or why or 'SURVIVED'}", flush=True)
    print(f"1..{len(work)}")
    return survivors


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments(parser)
    parser.add_argument("--only", help="tables of mutants.py, steps, narrow")
    parser.add_argument("--sample", type=int, help="so many mutants of those, always the same")
    parser.add_argument("--thorough", action="store_true", help="ask all other escape rows as well: slow")
    parser.add_argument("--again", action="store_true", help="do not believe earlier outcomes")
    parser.add_argument("--minutes", type=float, help="ask no other mutant after this time; a later call continues")
    parser.add_argument("--kept", default=os.path.join(ROOT, "docs", "mutation.jsonl"), help="what is known of each mutant")
    parser.add_argument("--list", action="store_true", help="print the mutants and stop")
    parser.add_argument("--document", default=os.path.join(ROOT, "docs", "mutation.md"), help="the report")
    options = parser.parse_args()
    if options.list:
        for mutant in chosen(options):
            print(mutant.title())
        return 0
    outcomes = Outcomes(options.kept)
    survivors = run(options, outcomes)
    write_mutation(options.document, list(all_mutants(None)), outcomes, reason)
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
