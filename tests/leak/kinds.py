#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests each row of the table of leak kinds with Python's `re`.

    kinds.py LEAK_KINDS_DUMP

The example must match and the near miss must not; a character of the row's
edges directly before or after the example must end the match.  Prints TAP;
exit 1 when a test fails.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import kind_table  # noqa: E402

# A published dummy token: the checksum of this test is npm's.
PUBLISHED = b"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"


def whole(kind, example):
    """The match, if it reaches to both ends or leaves only text that the pattern does not cover."""
    return next(iter(kind.find(example)), None)


def faults(kind):
    example, near = kind.row["match"].encode(), kind.row["miss"].encode()
    match = whole(kind, example)
    if match is None:
        yield "the example does not match"
        return
    if next(iter(kind.find(near)), None) is not None:
        yield "the near miss matches"
    for text in (b"x = \"" + example + b"\"\n", b"\n" + example + b"\n", b"<" + example + b">"):
        if next(iter(kind.find(text)), None) is None:
            yield f"the example does not match in {text!r}"
    if kind.row["before"] != "none" and next(iter(kind.find(b"a" + match.group(0))), None) is not None:
        yield "the edge before the match does not count"
    if kind.row["after"] != "none":
        longer = [m for m in kind.find(match.group(0) + b"a") if m.end() == match.end()]
        if longer:
            yield "the edge after the match does not count"


def main():
    kinds = kind_table.load(sys.argv[1])
    failed = 0
    for number, kind in enumerate(kinds, 1):
        found = list(faults(kind))
        failed += bool(found)
        print(f"{'not ok' if found else 'ok'} {number} - {kind.name}")
        for fault in found:
            print(f"# {fault}")
    good = kind_table.base62_crc32(PUBLISHED[4:34]) == PUBLISHED[34:]
    failed += not good
    print(f"{'ok' if good else 'not ok'} {len(kinds) + 1} - the checksum of a published token")
    print(f"1..{len(kinds) + 1}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
