#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names while the host's resolv.conf and hosts file change, in the lab.  Speaks TAP.

A machine that changes networks replaces these files, or writes them anew; a run that goes on has to find
names all the same.  Inside, resolv.conf is a text of Corral's own and stays; the gate asks the host's new servers.
"""
import os
import shutil
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

import gate  # noqa: E402  the paths have to be set first
import world  # noqa: E402
from gate import ASK, check, test  # noqa: E402

gate.TESTS.clear()  # those are the other suite's
DEAD = "11.0.0.99"  # nobody has it


class Names:
    """A run that asks for names, on a machine whose files for names are changed meanwhile."""

    def __init__(self, visit, *options):
        self.etc = f"{visit.lab.folder}/etc"
        self.start = lambda: visit.gate(
            f"echo began; while read name; do {ASK} $name 2>&- || echo no; grep nameserver /etc/resolv.conf; echo .; done",
            *options)
        self.running = None
        self.count = 0

    def __enter__(self):
        for name in ("resolv.conf", "hosts"):
            shutil.copy(f"{self.etc}/{name}", f"{self.etc}/{name}.kept")
        return self

    def __exit__(self, *_):
        for name in ("resolv.conf", "hosts"):
            os.rename(f"{self.etc}/{name}.kept", f"{self.etc}/{name}")
        if self.running:
            self.running.close()

    def server(self, address, in_place=False):
        self.text("resolv.conf", f"nameserver {address}\noptions timeout:1 attempts:1\n", in_place)

    def text(self, name, text, in_place=False):
        path = f"{self.etc}/{name}"
        with open(path if in_place else f"{path}.new", "w", encoding="ascii") as out:
            out.write(text)
        if not in_place:
            os.rename(f"{path}.new", path)

    def link(self, target):
        os.symlink(target, f"{self.etc}/resolv.conf.new")
        os.rename(f"{self.etc}/resolv.conf.new", f"{self.etc}/resolv.conf")

    def ask(self, name):
        """What the run says of a name: its addresses or "no", and whom the file inside names."""
        self.running = self.running or self.start()
        self.running.process.stdin.write(f"{name}\n")
        self.running.process.stdin.flush()
        return [line.rstrip() for line in iter(self.running.process.stdout.readline, ".\n")]

    def wait(self, wanted, name=None):
        """Until a name that was never asked for, or this one, is answered so."""
        end = time.monotonic() + gate.PATIENCE
        while True:
            self.count += 1
            said = self.ask(name or f"n{self.count}.ok.test")
            if wanted in said:
                return said
            check(time.monotonic() < end, f"{wanted} is not said, but {said}")
            time.sleep(0.3)


OWN = "nameserver 127.0.0.53"


def at_home(visit, names, said):
    """With namespaces the run has a file of its own, a moment after the host has replaced its own."""
    if visit.suite.options.level != "standard" and OWN not in said:
        names.wait(OWN)


@test("names follow the host's servers, replaced or rewritten, there and back", quick=True)
def servers_change(visit):
    for in_place in (False, True):
        with Names(visit, "--allow-host", "*.ok.test") as names:
            names.server(DEAD)
            check("no" in names.ask("n0.ok.test"), "a server that is not there answers")
            for address, wanted in ((world.DNS4, "11.0.0.11"), (DEAD, "no"), (world.DNS4, "11.0.0.11")):
                names.server(address, in_place)
                at_home(visit, names, names.wait(wanted))
            # The name that failed is not a failure any more.
            names.wait("11.0.0.11", "n0.ok.test")


@test("a file that is empty or half-written changes nothing, nor does one that is gone for a while")
def half_written(visit):
    with Names(visit, "--allow-host", "*.ok.test") as names:
        names.wait("11.0.0.11")
        for text in ("", "# being written\n", "nameserver"):
            names.text("resolv.conf", text, True)
            time.sleep(1.2)  # so that it is asked about
            for _ in range(2):
                check("no" not in names.wait("11.0.0.11"), f"{text!r} was believed")
        # The line could be a whole one, and is not finished.
        names.text("resolv.conf", f"nameserver {DEAD}"[:-1], True)
        check("no" not in names.ask("whole.ok.test"), "half a line was believed")
        os.unlink(f"{names.etc}/resolv.conf")
        names.ask("gone.ok.test")
        names.server(world.DNS6)
        at_home(visit, names, names.wait("11.0.0.11"))


@test("a resolv.conf that is a link becomes another one, or a file")
def link_changes(visit):
    with Names(visit, "--allow-host", "*.ok.test") as names:
        names.text("first.conf", f"nameserver {DEAD}\noptions timeout:1 attempts:1\n")
        names.text("second.conf", f"nameserver {world.DNS4}\n")
        names.link("first.conf")
        check("no" in names.ask("n0.ok.test"), "a server that is not there answers")
        names.link("second.conf")
        at_home(visit, names, names.wait("11.0.0.11"))
        names.server(DEAD)
        at_home(visit, names, names.wait("no"))
        names.link("/run/no such file")
        time.sleep(0.5)
        names.link("second.conf")
        at_home(visit, names, names.wait("11.0.0.11"))


@test("names follow the host's hosts file", quick=True)
def hosts_change(visit):
    with Names(visit, "--allow-host", "added.test") as names:
        check("no" in names.ask("added.test"), "a name that nobody has is known")
        names.text("hosts", f"{world.HOSTS}11.0.0.10 added.test\n")
        names.wait("11.0.0.10", "added.test")
        get = "until curl -sf http://added.test/; do sleep 0.3; done"
        running = visit.gate(f"echo began; read x; timeout 40 sh -c '{get}'", "--allow-host", "added.test")
        names.text("hosts", f"{world.HOSTS}11.0.0.11 added.test\n")
        running.go()
        check("GET added.test" in running.finish(), "the new address is not reached")


if __name__ == "__main__":
    sys.exit(gate.main())
