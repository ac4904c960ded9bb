#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Documents and examples, tried: their commands are run, their messages compared with the program's.  Speaks TAP.

    tests/docs/run.py --corral build/corral --build build [--user games] [--update] [PATTERN]

--update writes the messages that the program prints now into the documents; read the change before you commit it.
"""
import argparse
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "cli")]

import blocks  # noqa: E402  the path has to be set first
import examples  # noqa: E402
import harness  # noqa: E402
from harness import Skip, check  # noqa: E402

RUN = ("docs/guide.md",)
COMPARED = ("docs/guide.md", "docs/troubleshooting.md")


def text_of(name):
    with open(f"{ROOT}/{name}", encoding="utf-8") as file:
        return file.read()


def prepare(box):
    """A project in a home that has a credential, a note and the program, as the documents assume."""
    box.env["PATH"] = f"{box.home}/.local/bin:{box.env['PATH']}"
    box.mkdir("home/.local/bin")
    box.ws = box.mkdir("home/project")
    box.write("home/notes/plan.txt", "the plan\n")
    box.write("home/.ssh/id_ed25519", "a private key\n", 0o600)
    box.write("home/project/.env", "API_KEY=secret\n")
    box.write("home/project/README.md", "A project.\n")


def install(box):
    os.symlink(box.corral, f"{box.home}/.local/bin/corral")


def needs_full(box):
    """The documents show level full; the messages of other levels differ."""
    level = box.json("--no-config", "--", "true")["level"]
    if level != "full":
        raise Skip(f"the document shows level full, this host has {level}")


def source(box, build, block):
    """In the source tree, by the account that built it."""
    env = {**box.env, "BUILD": build}
    done = box.execute(["/bin/sh", "-euc", block.text.replace("build/", f"{build}/")], cwd=ROOT, env=env, timeout=600, user=None, group=None,
                       extra_groups=None)
    check(done.status == 0, f"line {block.line}: {done}")
    for base, dirs, files in os.walk(box.home):
        for entry in dirs + files:
            box.own(f"{base}/{entry}")


def run_document(box, build, name):
    text = text_of(name)
    prepare(box)
    for block in blocks.blocks(text, "sh source"):
        source(box, build, block)
    if not os.path.exists(f"{box.home}/.local/bin/corral"):
        install(box)
    script = [f"at() {{ echo \"{name}:$1\" >&2; }}"]
    found = list(blocks.blocks(text, "sh"))
    check(found, f"{name} has no command")
    for block in found:
        script += [f"at {block.line}", block.text]
    done = box.execute(["/bin/sh", "-euc", "\n".join(script)], timeout=600)
    check(done.status == 0, f"a command fails, see the last line number: {done.err[-2000:]}")


def outputs_of(box, block):
    needs_full(box)
    prepare(box)
    install(box)
    done = box.execute(["/bin/sh", "-c", blocks.script(block)])
    return blocks.printed(done.out, box.home)


def compare(box, block, changes):
    outputs = outputs_of(box, block)
    check(len(outputs) == len(blocks.commands(block)), f"only {len(outputs)} commands ended: {outputs}")
    if changes is not None:
        changes.append((block.span, blocks.renewed(block, outputs)))
        return
    bad = [line for (_, wanted), got in zip(blocks.commands(block), outputs) for line in blocks.differences(wanted, got)]
    check(not bad, "\n".join([*bad, "tests/docs/run.py --update writes what is printed into the document"]))


def register(suite, build, changes):
    for name in RUN:
        suite.test(f"{name}: every command succeeds")(lambda box, name=name: run_document(box, build, name))
    for name in COMPARED:
        for block in blocks.blocks(text_of(name), "console"):
            mine = changes.setdefault(name, []) if changes is not None else None
            suite.test(f"{name}:{block.line}: {blocks.commands(block)[0][0]}")(
                lambda box, block=block, mine=mine: compare(box, block, mine))
    examples.register(suite, build)


def update(changes):
    for name, spans in changes.items():
        text = text_of(name)
        for (start, end), new in sorted(spans, reverse=True):
            text = text[:start] + new + text[end:]
        with open(f"{ROOT}/{name}", "w", encoding="utf-8") as file:
            file.write(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corral", required=True)
    parser.add_argument("--build", required=True)
    parser.add_argument("--user", default="games")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--update", action="store_true", help="write what the program prints into the documents")
    parser.add_argument("only", nargs="?", help="a regular expression for names of tests")
    args = parser.parse_args()
    changes = {} if args.update else None
    suite = harness.Suite(args.corral, args.user)
    register(suite, os.path.abspath(args.build), changes)
    status = suite.run(args.only, args.jobs)
    if changes and status == 0:
        update(changes)
    return status


if __name__ == "__main__":
    sys.exit(main())
