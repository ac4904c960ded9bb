# SPDX-License-Identifier: Apache-2.0
"""Numbered invariants: defined once, listed, proven by a test and cited by the code that keeps them.

A definition is a line of a comment in src: the number, two blanks, the sentence.

 *  L1  mounts are ordered so that a path comes after every path above it;

A citation is the number in any other comment, with a bracket, a stop or the comment's end behind it."""
import os
import re

from harness import append, check, replace

COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
DEFINITION = re.compile(r"^ \*  ([A-Z]\d+)  \S", re.MULTILINE)
CITATION = re.compile(r"(?<![\w/.])([A-Z]\d+)(?=[),:;.]| \*/)")
ROW = re.compile(r"^\| ([A-Z])1–\1(\d+) \| .* \| `([^`]+)` \|$", re.MULTILINE)


def comments(tree, name):
    return "\n".join(COMMENT.findall(tree.text(name)))


def definitions(tree):
    """(number, file) of each, however often."""
    whole = tree.whole()
    return [(number, name) for name in whole.sources() for number in DEFINITION.findall(comments(whole, name))]


def defined(tree):
    return {number for number, _ in definitions(tree)}


@check("every invariant is defined once, and ARCHITECTURE.md names the file",
       append("src/base/fd.c", "/* Of mounts:\n *  L1  defined again. */\n"),
       append("src/policy/policy.h", "/* One more:\n *  P6  not in the table. */\n"),
       replace("ARCHITECTURE.md", "| R1–R4 |", "| R1–R5 |"),
       replace("ARCHITECTURE.md", "`src/files/tools.h` |\n", "`src/files/place.h` |\n"),
       append("ARCHITECTURE.md", "- L1 defined again.\n"))
def once(tree):
    text = tree.whole().text("ARCHITECTURE.md")
    listed = [(f"{letter}{n}", name) for letter, last, name in ROW.findall(text) for n in range(1, int(last) + 1)]
    found = definitions(tree)
    twice = [f"{number} is defined more than once" for number in sorted(defined(tree))
             if sum(number == other for other, _ in found) > 1]
    return (twice + [f"{number} is defined in {name}, and ARCHITECTURE.md does not say so"
                     for number, name in found if (number, name) not in listed]
            + [f"ARCHITECTURE.md has {number} in {name}, where it is not defined" for number, name in listed
               if (number, name) not in found]
            + [f"ARCHITECTURE.md defines {number} again" for number in re.findall(r"^- ([A-Z]\d+) ", text, re.MULTILINE)])


@check("every invariant is cited by the code that keeps it",
       append("src/run/run.h", "/* One more:\n *  S3  nothing cites it. */\n"))
def kept(tree):
    whole = tree.whole()
    cited = {number for name in whole.sources() for number in CITATION.findall(comments(whole, name))}
    return [f"{number} ({name}) is cited nowhere in src" for number, name in definitions(tree) if number not in cited]


@check("every invariant that is cited is defined", append("src/base/fd.c", "/* By L9. */\n"),
       append("tests/unit/test_base.c", "/* E9: nowhere. */\n"))
def known(tree):
    numbers = defined(tree)
    letters = {number[0] for number in numbers}
    return [f"{name}: {number}" for name in tree.files("src/**/*.[ch]", "tests/**/*.[ch]")
            for number in CITATION.findall(comments(tree, name))
            if number[0] in letters and number not in numbers]


def proofs(tree):
    """(invariant, file, test) of each row of invariants.txt."""
    rows = tree.whole().text("tests/lint/invariants.txt").splitlines()
    return [row.split(None, 2) for row in rows if row and not row.startswith("#")]


@check("every invariant has a test that is there",
       append("src/run/run.h", "/* One more:\n *  S3  an invariant without a test. */\n"),
       append("tests/lint/invariants.txt", "P1 tests/unit/test_policy.c no_such_test\n"),
       append("tests/lint/invariants.txt", "Q9 tests/unit/test_cow.c one_at_a_time\n"))
def proven(tree):
    rows, numbers, whole = proofs(tree), defined(tree), tree.whole()
    tested = {row[0] for row in rows}
    return [f"{number} has no test" for number in sorted(numbers - tested)] + [
        " ".join(row) for row in rows
        if row[0] not in numbers or not os.path.exists(tree.path(row[1])) or row[2] not in whole.text(row[1])]
