# SPDX-License-Identifier: Apache-2.0
"""The code blocks of a document, and what a shell makes of them.

A block ```sh is run, and every command of it has to succeed; all blocks of a document are one script.
A block ```sh source is run in the source tree, by the account that runs the suite, with the reader's HOME.
A block ```console holds "$ command" lines, each with the output that it prints, both streams together; "…" stands
for any text of one line.  The commands of a block share a shell, and each block has a scratch project of its own.
"""
import re

BLOCK = re.compile(r"^```(sh source|sh|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MARK = "@@@ end of command @@@"
HOME = "/home/you"  # as documents write the reader's home


class Block:
    def __init__(self, kind, text, line, span):
        self.kind, self.text, self.line, self.span = kind, text, line, span


def blocks(text, kind):
    """Every block of a kind, with the line that it begins in."""
    for match in BLOCK.finditer(text):
        if match.group(1) == kind:
            yield Block(kind, match.group(2), text.count("\n", 0, match.start()) + 2, match.span(2))


def commands(block):
    """(command, lines of output) of a console block."""
    found = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return found


def script(block):
    """Runs each command, says where its output ends, and leaves $? as it was."""
    lines = ["exec 2>&1"]
    for command, _ in commands(block):
        lines += [command, f"status=$?; printf '%s\\n' '{MARK}'; (exit $status)"]
    return "\n".join(lines) + "\ntrue\n"


def as_written(text, home):
    """With the reader's home, and without what differs from one run to the next."""
    text = text.replace(home, HOME)
    text = re.sub(r"\b[0-9a-f]{32}-", "…-", text)  # the name of a private home
    text = re.sub(r"\bafter \d+ ms\b", "after … ms", text)  # curl's own clock
    return re.sub(r"^(/bin/sh|sh): \d+: ", r"\1: ", text, flags=re.MULTILINE)


def printed(output, home):
    """The output of each command, as lines."""
    parts = as_written(output, home).split(MARK + "\n")
    return [part.splitlines() for part in parts[:-1]]


def like(line, wanted):
    """Whether a line is the one that is written; "…" is any text."""
    return re.fullmatch(".*".join(map(re.escape, wanted.split("…"))), line) is not None


def differences(wanted, got):
    """The lines of one command that are not as they are written."""
    if len(wanted) == len(got) and all(map(like, got, wanted)):
        return []
    return [f"documented: {line}" for line in wanted] + [f"printed:    {line}" for line in got]


def renewed(block, outputs):
    """The block with what the commands print now; a line that still fits stays as it is written."""
    lines = []
    for (command, wanted), got in zip(commands(block), outputs):
        lines += [f"$ {command}", *(wanted if not differences(wanted, got) else got)]
    return "".join(line + "\n" for line in lines)
