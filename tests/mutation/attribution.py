#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what `layers` says of every escape row by taking those layers away.  Speaks TAP.

`layers` is one or more groups, separated by spaces, and every group is needed; in a
group, `+` separates layers of which each one suffices.  So for each group

    without all of its layers          the row must be ESCAPED
    with one of several layers left    the row must be CONTAINED

A layer that cannot be switched off (switches.FIXED) always stands; a group that
has one must then hold without all the others.  A word such as landlock(6) means
"from that ABI on".  --find measures what the rows' layers really are.
"""
import argparse
import os
import re
import sys

sys.dont_write_bytecode = True

from scratch import ROOT, Scratch, arguments  # noqa: E402
from switches import FIXED, SWITCHES  # noqa: E402
from tables import write_attribution  # noqa: E402

ESCAPED, CONTAINED, UNPROVEN = "ESCAPED", "CONTAINED", "UNPROVEN"


class BadWord(Exception):
    """A layer that neither table knows."""


def groups(row):
    """The groups of a row's layers, without the ABI numbers."""
    found = [re.sub(r"\([0-9]+\)", "", group).split("+") for group in row.words("layers")]
    for word in sum(found, []):
        if word not in SWITCHES and word not in FIXED:
            raise BadWord(f"{row.where}: {row.ident}: layers: {word!r} is in neither table of switches.py")
    return found


def expectations(row):
    """Yields (layers taken away, expected result)."""
    for group in groups(row):
        off = frozenset(word for word in group if word in SWITCHES)
        fixed = len(off) < len(group)
        if off:
            yield off, CONTAINED if fixed else ESCAPED
        if len(off) > 1 and not fixed:
            for word in sorted(off):
                yield off - {word}, CONTAINED


def edits(off):
    return [edit for word in sorted(off) for edit in SWITCHES[word]]


def chosen(scratch, only):
    wanted = set(only.split(",")) if only else None
    for row in scratch.rows.values():
        if row["limit"] or not row.concerns("full"):
            continue  # nothing stops it, or nothing that is measured here
        if wanted is None or {row.ident, row.ident.split(".")[0], row.ident[:2]} & wanted:
            yield row


def measure(scratch, work):
    """work: {layers taken away: rows}; yields (layers, ident, result, reason)."""
    for off in sorted(work, key=lambda off: (len(off), sorted(off))):
        found = scratch.judge(scratch.binary(edits(off)), work[off], twins=False)
        for ident in work[off]:
            yield (off, ident, *found[ident])


class Tap:
    """Prints lines and remembers what they said."""

    def __init__(self):
        self.number, self.failed = 0, 0

    def line(self, good, name, skip=""):
        self.number += 1
        self.failed += not good
        print(f"{'ok' if good else 'not ok'} {self.number} - {name}" + (f" # SKIP {skip}" if skip else ""), flush=True)


def skip_reason(row):
    if "user" not in row.passes():
        return "the row is for root, and mutants never run as root"
    if not any(True for _ in expectations(row)):
        words = [word for group in groups(row) for word in group]
        return "; ".join(f"{word}: {FIXED[word]}" for word in words)
    return ""


def check(scratch, options):
    tap, work, expected, results = Tap(), {}, {}, []
    for row in chosen(scratch, options.only):
        why = skip_reason(row)
        if why:
            tap.line(True, f"{row.ident} ({row['layers']})", skip=why)
            continue
        for off, result in expectations(row):
            work.setdefault(off, []).append(row.ident)
            expected[off, row.ident] = result
    for off, ident, result, reason in measure(scratch, work):
        wanted, name = expected[off, ident], f"{ident} without {'+'.join(sorted(off))} is {expected[off, ident]}"
        if result == UNPROVEN:
            tap.line(True, name, skip=f"UNPROVEN {reason}")
        else:
            tap.line(result == wanted, name)
        if result not in (wanted, UNPROVEN):
            print(f"# {scratch.rows[ident].where}: {scratch.rows[ident]['layers']}: {result} {reason}")
        results.append((ident, off, wanted, result))
    print(f"1..{tap.number}")
    if options.document and not options.only:
        write_attribution(options.document, list(chosen(scratch, None)), groups, results)
    return 1 if tap.failed else 0


def escapes(scratch, off, idents):
    return {ident for _, ident, result, _ in measure(scratch, {frozenset(off): idents}) if result == ESCAPED}


def find(scratch, options):
    """Prints for every row the smallest groups that were found."""
    idents = [row.ident for row in chosen(scratch, options.only) if "user" in row.passes()]
    found = {ident: [] for ident in idents}
    for word in SWITCHES:
        for ident in escapes(scratch, {word}, idents):
            found[ident].append({word})
    rest = [ident for ident in idents if not found[ident]]
    off = dict.fromkeys(escapes(scratch, SWITCHES, rest), frozenset(SWITCHES))
    for word in SWITCHES:  # give back what is not needed for the escape
        for smaller in {have - {word} for have in off.values()}:
            same = [ident for ident, have in off.items() if have - {word} == smaller and smaller]
            off.update(dict.fromkeys(escapes(scratch, smaller, same), smaller) if same else {})
    for ident in idents:
        cuts = found[ident] or ([off[ident]] if ident in off else [])
        text = " ".join("+".join(word for word in SWITCHES if word in cut) for cut in cuts)
        print(f"{ident}: {text or 'none'} (says {scratch.rows[ident]['layers']})", flush=True)
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments(parser)
    parser.add_argument("--only", help="ids, section names or categories: FS01,PR")
    parser.add_argument("--find", action="store_true", help="measure instead of checking")
    parser.add_argument("--document", default=os.path.join(ROOT, "docs", "attribution.md"), help="the matrix")
    options = parser.parse_args()
    scratch = Scratch(options)
    return find(scratch, options) if options.find else check(scratch, options)


if __name__ == "__main__":
    sys.exit(main())
