#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""False matches and recall of the table of leak kinds, beside other scanners.

    quality.py --build BUILD [--corral PATH] [--only sources|recall] [--write FILE]

*sources*: every kind over the files of 20 source packages of Debian and over
build logs, with PCRE2.  Each finding must be a row of tests/leak/listed.txt:
a true key in a test, or an accepted false match.
*recall*: one file for each row's example under each view; the table counts
the files in which a tool finds anything.  `corral scan` must find all of them.
Needs a package archive and npm; prints TAP and the tables.  Exit 1 when a test
fails.
"""
import argparse
import collections
import concurrent.futures
import fnmatch
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
import kind_table  # noqa: E402
import pcre2  # noqa: E402
import peers  # noqa: E402
import sources  # noqa: E402

LISTED = f"{HERE}/listed.txt"
VERDICTS = ("key", "false")
NUMBER = {"done": 0, "failed": 0}

LIMITS = (
    "The scanner does not find a secret that is compressed, encrypted, shifted (ROT13), quoted-printable, or has other",
    "characters between its own. It also does not find one under three nested encodings. Of reversed text it finds the",
    "values that a run got itself; the kinds would need a second prefilter and a second matcher over every byte, which",
    "halves the throughput.")

KINDS = []  # of each worker process


def test(good, name, notes=()):
    NUMBER["done"] += 1
    NUMBER["failed"] += not good
    print(f"{'ok' if good else 'not ok'} {NUMBER['done']} - {name}")
    for note in notes:
        print(f"# {note}")


def skip(name, reason):
    NUMBER["done"] += 1
    print(f"ok {NUMBER['done']} - {name} # SKIP {reason}")


def listed():
    """(verdict, kind, package, path pattern, reason) of each row."""
    rows = []
    with open(LISTED, encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                verdict, kind, package, pattern, reason = line.split(None, 4)
                if verdict not in VERDICTS:
                    raise ValueError(f"{LISTED}: {line}")
                rows.append((verdict, kind, package, pattern, reason.strip()))
    return rows


def start_worker(dump):
    KINDS.extend(kind_table.load(dump, pcre2.Regex))


def scan(file):
    package, path, data = file
    lower = data.lower()
    return len(data), [(kind.name, package, path) for kind in KINDS if kind.may_match(lower) for _ in kind.find(data)]


def false_matches(place, dump):
    """Markdown lines about the findings in ordinary text."""
    try:
        sources.download(place, sources.PACKAGES)
    except sources.debian.Missing as reason:
        skip("findings in ordinary text", reason)
        yield f"Not run: {reason}"
        return
    sources.build_logs(place)
    rows = listed()
    found, size, count = collections.Counter(), 0, 0
    with concurrent.futures.ProcessPoolExecutor(2, initializer=start_worker, initargs=(dump,)) as workers:
        for length, hits in workers.map(scan, sources.files(place), chunksize=64):
            size += length
            count += 1
            found.update(hits)
    by_row, unlisted = collections.Counter(), collections.Counter()
    for (kind, package, path), hits in found.items():
        row = next((r for r in rows if (kind, package) == r[1:3] and fnmatch.fnmatch(path, r[3])), None)
        if row is None:
            unlisted[kind, package, path] += hits
        else:
            by_row[row] += hits
    test(not unlisted, "every finding in ordinary text is listed",
         [f"{hits} × {kind} in {package}: {path}" for (kind, package, path), hits in sorted(unlisted.items())])
    test(all(row in by_row for row in rows), "every listed finding is found",
         [" ".join(row[:4]) for row in rows if row not in by_row])
    totals = {verdict: sum(hits for row, hits in by_row.items() if row[0] == verdict) for verdict in VERDICTS}
    yield f"{len(sources.PACKAGES)} source packages and {len(sources.BUILDS)} build logs, {count} files, " \
          f"{size / 1e6:.0f} MB: {totals['key']} findings are keys and"
    yield f"passwords of tests, {totals['false']} are false matches, {sum(unlisted.values())} are not listed."
    yield ""
    yield "| verdict | kind | package | files | findings | reason |"
    yield "|---|---|---|---|---:|---|"
    for row in rows:
        yield f"| {row[0]} | {row[1]} | {row[2]} | `{row[3]}` | {by_row[row]} | {row[4]} |"


def recall(place, dump, corral):
    """Markdown lines: which part of the examples each tool finds."""
    kinds = kind_table.load(dump)
    folder = f"{place}/examples"
    written = peers.write_examples(folder, kinds)
    results, versions, skipped = {}, {}, {}
    for tool in peers.TOOLS:
        try:
            versions[tool.name], results[tool.name] = tool.run(place, folder, corral)
        except peers.Missing as reason:
            skipped[tool.name] = str(reason)
    yield f"{len(kinds)} kinds, one file for each example and view. A file counts if the tool finds anything in it."
    yield ""
    yield "| tool | " + " | ".join(peers.VIEWS) + " | all |"
    yield "|---|" + "---:|" * (len(peers.VIEWS) + 1)
    for tool, hits in results.items():
        shares = [len(hits & written[view]) / len(written[view]) for view in peers.VIEWS]
        cells = [f"{100 * share:.1f} %" for share in [*shares, sum(shares) / len(shares)]]
        yield f"| {tool} {versions[tool]}".rstrip() + " | " + " | ".join(cells) + " |"
        if tool == "corral":
            missing = sorted(set().union(*written.values()) - hits)
            test(not missing, "corral finds every example under every view", missing[:40])
    yield ""
    for tool, reason in skipped.items():
        yield f"Not run: {tool}, {reason}."
        skip(f"recall of {tool}", reason)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--corral")
    parser.add_argument("--only", choices=("sources", "recall"))
    parser.add_argument("--write", metavar="FILE", help="the tables as Markdown")
    args = parser.parse_args()
    place = os.path.join(os.path.abspath(args.build), "leak")
    os.makedirs(place, exist_ok=True)
    dump = f"{args.build}/tests/unit/leak_kinds_dump"
    lines = ["# Leak kinds, as last measured", "",
             "`tests/leak/quality.py --build build --corral build/corral --write docs/leaks.md` writes this file. Do not",
             "edit it."]
    if args.only != "recall":
        lines += ["", "## Findings in ordinary text", "", *false_matches(place, dump)]
    if args.only != "sources":
        lines += ["", "## Recall", "", *recall(place, dump, args.corral)]
    lines += ["", "## Limits", "", *LIMITS]
    print("\n".join("# " + line for line in lines))
    if args.write:
        with open(args.write, "w", encoding="utf-8") as out:
            print("\n".join(lines).rstrip(), file=out)
    print(f"1..{NUMBER['done']}")
    return 1 if NUMBER["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
