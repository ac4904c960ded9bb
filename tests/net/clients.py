#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real clients through the gate: every row of clients.case in the lab.  Speaks TAP.

A row's command runs four times: on the lab's machine without a sandbox, to the allowed name
and to the other one, which proves that both can be reached; and inside `corral run --net
filtered --allow-host allowed.test[:PORT]`, to both.  Inside, the allowed name must give the same
output, and the other one must fail: no request at its origin, no question to the name server,
which is read from the log at the other end, and a record that says what would allow it.

Run as root, rows are run as an unprivileged account and as root; by anybody else, as oneself.
"""
import argparse
import json
import os
import pwd
import re
import secrets
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

import casefile  # noqa: E402  the paths have to be set first
import ladder  # noqa: E402
import lab as labs  # noqa: E402
import world  # noqa: E402

PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
ALLOWED, DENIED = "allowed.test", "evil.test"


class Row(casefile.Row):
    """One command."""

    KEYS = {
        "command": "shell; $HOST is the name, $PROGRAMS and $BUILT are directories, $M is a word of this call's own",
        "about": "one line, where the command does not speak for itself",
        "each": "one row for every word",
        "needs": "programs on PATH, or paths; without them the row is skipped",
        "service": "services of the lab; without them the row is skipped",
        "builds": "what has to be compiled first: go, java",
        "port": "the port that is allowed (default: 80 and 443)",
        "seen": "regular expression of a line that the allowed origin must have logged; - when it logs none",
        "blur": "lines, regular expressions: what matches reads ~ on both sides",
        "seconds": "time limit of each call (default 120)",
        "who": "both: as root too in a quick run",
        "quick": "yes: part of the quick subset",
        "standard": "why it cannot work at level standard",
    }
    REQUIRED = ("command",)

    def title(self):
        return self["about"] or self["command"].split("\n")[0]


class Failed(Exception):
    """The product, or the lab, did something else than it should."""


class Skipped(Exception):
    """The row cannot be judged here."""


class Caller:
    def __init__(self, entry, switch):
        self.name = "root" if entry.pw_uid == 0 else "user"
        self.entry, self.switch = entry, switch

    def setpriv(self):
        words = ["setpriv", f"--reuid={self.entry.pw_uid}", f"--regid={self.entry.pw_gid}", "--clear-groups", "--"]
        return words if self.switch else []


def callers(options):
    me = Caller(pwd.getpwuid(os.geteuid()), False)
    found = [Caller(pwd.getpwnam(options.user), True), me] if os.geteuid() == 0 else [me]
    return [caller for caller in found if options.who in (caller.name, "both")]


class Suite:
    """The lab, a copy of the program, and what had to be compiled."""

    def __init__(self, options, wanted):
        self.options, self.lab = options, None
        base = "/srv" if os.access("/srv", os.W_OK) else None
        self.top = os.path.realpath(tempfile.mkdtemp(prefix="net-", dir=base))
        os.chmod(self.top, 0o755)
        self.corral = shutil.copy(options.corral, f"{self.top}/corral")
        os.chmod(self.corral, 0o755)
        shutil.copytree(f"{HERE}/programs", f"{self.top}/programs")
        os.mkdir(f"{self.top}/built")
        self.lab = labs.Lab(wanted, options.user)

    def build(self, what):
        """Once; the compilers need no network."""
        programs, built = f"{self.top}/programs", f"{self.top}/built"
        done = {"go": [f"{built}/go-static", f"{built}/cgo"], "java": [f"{built}/Get.class"]}[what]
        if all(os.path.exists(path) for path in done):
            return
        env = {"PATH": PATH, "HOME": self.top, "GOCACHE": f"{self.top}/go-cache", "GO111MODULE": "off"}
        if what == "go":
            for cgo, path in enumerate(done):
                subprocess.run(["go", "build", "-o", path, f"{programs}/get.go"], env=env | {"CGO_ENABLED": str(cgo)},
                               cwd=self.top, check=True)
        else:
            subprocess.run(["javac", "-d", built, f"{programs}/Get.java"], env=env, check=True)

    def close(self):
        if self.lab:
            self.lab.close()
        shutil.rmtree(self.top, ignore_errors=True)


class Call:
    """One run of a row's command, and what the other end saw of it."""

    def __init__(self, suite, row, caller, host, inside):
        self.suite, self.row, self.caller, self.host, self.inside = suite, row, caller, host, inside
        self.home = tempfile.mkdtemp(prefix=f"{row.ident}-", dir=suite.top)
        self.work = f"{self.home}/project"
        os.mkdir(self.work)
        for name in ("id", "known_hosts"):
            if os.path.exists(f"{suite.lab.folder}/keys/{name}"):
                shutil.copy(f"{suite.lab.folder}/keys/{name}", self.work)
        if caller.switch:
            subprocess.run(["chown", "-R", f"{caller.entry.pw_uid}:{caller.entry.pw_gid}", self.home], check=True)
        since = suite.lab.mark()
        self.run()
        self.log = [line for line in suite.lab.lines(since)]
        shutil.rmtree(self.home, ignore_errors=True)

    def script(self):
        values = {"HOST": self.host, "PROGRAMS": f"{self.suite.top}/programs", "BUILT": f"{self.suite.top}/built",
                  "M": secrets.token_hex(6), "LAB": self.suite.lab.folder,
                  "SSH": f"ssh -F /dev/null -i {self.work}/id -o UserKnownHostsFile={self.work}/known_hosts "
                         "-o IdentitiesOnly=yes -o BatchMode=yes"}
        return "".join(f"{name}='{value}'\n" for name, value in values.items()) + self.row["command"]

    def corral(self):
        port = f":{self.row['port']}" if self.row["port"] else ""
        return [self.suite.corral, "run", *ladder.ASK[self.suite.options.level], "--no-config", "--net", "filtered",
                "--allow-host", ALLOWED + port, "--read", f"{self.suite.top}/programs", "--read", f"{self.suite.top}/built",
                *(["--json"] if self.host == DENIED else []), "--"]

    def run(self):
        env = {"PATH": PATH, "HOME": self.home, "LANG": "C.UTF-8", "TERM": "dumb"}
        argv = [*self.suite.lab.words(self.work), *self.caller.setpriv(), *(self.corral() if self.inside else []),
                "/bin/sh", "-c", self.script()]
        seconds = float(self.row["seconds"] or 120)
        process = subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   start_new_session=True)
        try:
            self.out, self.err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            self.out, self.err = process.communicate()
            self.err += b"\nhung"
        self.status = process.returncode

    def output(self):
        text = self.out.decode("utf-8", "replace").replace(self.host, "$HOST").replace(self.home, "$HOME")
        for pattern in self.row.lines("blur"):
            text = re.sub(pattern, "~", text, flags=re.MULTILINE)
        return text

    def seen(self):
        """Lines of the origin that $HOST is."""
        addresses = [re.escape(text) for family in world.ADDRESSES[self.host] for text in family]
        mine = re.compile(rf"^(?!dns)\S+ \[?(::ffff:)?({'|'.join(addresses)})\]?:")
        return [line for line in self.log if mine.match(line)]

    def denials(self):
        """Of a result in JSON: (host, the option that would allow it)."""
        try:
            return [(entry["host"], entry["allow_with"]) for entry in json.loads(self.out)["denials"]]
        except ValueError as problem:
            raise Failed(f"no result: {self.said()}") from problem

    def said(self):
        text = (self.err + b" | " + self.out).decode("utf-8", "replace")
        return f"status {self.status}: {' '.join(text.split())[-400:]}"


def demand_reached(call, where):
    if call.status != 0:
        raise Failed(f"{where}: {call.said()}")
    wanted = call.row["seen"]
    if wanted != "-" and not any(re.search(wanted, line) for line in call.seen()):
        raise Failed(f"{where}: the origin has not seen it")


def demand_refused(call):
    if call.seen():
        raise Failed(f"the other origin was reached: {call.seen()[0][:200]}")
    asked = [line for line in call.log if line.startswith("dns ") and DENIED in line.lower()]
    if asked:
        raise Failed(f"the name server was asked: {asked[0]}")
    if call.status == 0:
        raise Failed(f"the other name: {call.said()}")
    if b"hung" in call.err:
        raise Failed("the other name: it hangs instead of failing")
    if (DENIED, f"--allow-host {DENIED}") not in call.denials():
        raise Failed(f"the other name is not recorded with its remedy: {call.denials()}")


def prepare(suite, row):
    """Skips a row that lacks something, and builds what it needs."""
    for name in row.words("needs"):
        if not (os.path.exists(name) if name.startswith("/") else shutil.which(name, path=PATH)):
            raise Skipped(f"{name} is not installed")
    for name in row.words("service"):
        if name in suite.lab.absent:
            raise Skipped(suite.lab.absent[name])
    for what in row.words("builds"):
        suite.build(what)


def judge(suite, row, caller):
    prepare(suite, row)
    outside = {}
    for host in (ALLOWED, DENIED):
        outside[host] = Call(suite, row, caller, host, False)
        try:
            demand_reached(outside[host], "the control")
        except Failed as problem:
            raise Skipped(f"UNPROVEN {problem}") from problem
    inside = Call(suite, row, caller, ALLOWED, True)
    demand_reached(inside, "inside")
    if inside.output() != outside[ALLOWED].output():
        raise Failed(f"inside prints {inside.output()[-300:]!r}, outside {outside[ALLOWED].output()[-300:]!r}")
    demand_refused(Call(suite, row, caller, DENIED, True))


def work_list(options):
    only = set(options.only.split(",")) if options.only else None
    found = callers(options)
    for row in casefile.read_rows(HERE, Row):
        if only and not {row.ident, row.ident.split(".")[0], row.ident[:2]} & only:
            continue
        if options.quick and not row["quick"]:
            continue
        for caller in found:
            if caller.name == "user" or len(found) == 1 or not options.quick or row["who"] == "both":
                yield row, caller


def run(suite, work, judged=judge):
    """judged(suite, row, caller) returns a note for the line, or None."""
    failed = 0
    for number, (row, caller) in enumerate(work, 1):
        name = f"{row.ident} {caller.name}: {row.title()}".replace("#", "")
        try:
            if suite.options.level == "standard" and row.reason("standard"):
                raise Skipped(f"NOT AT THIS LEVEL {row.reason('standard')}")
            note = judged(suite, row, caller)
            print(f"ok {number} - {name}{f': {note}' if note else ''}", flush=True)
        except Skipped as reason:
            print(f"ok {number} - {row.ident} {caller.name} # SKIP {reason}", flush=True)
        except Failed as problem:
            failed += 1
            print(f"# {problem}\nnot ok {number} - {name}", flush=True)
    print(f"1..{len(work)}")
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corral", required=True, help="the binary under test")
    parser.add_argument("--user", default="games", help="the account of the unprivileged pass")
    parser.add_argument("--as", dest="who", choices=("user", "root", "both"), default="both")
    parser.add_argument("--quick", action="store_true", help="only the quick subset")
    parser.add_argument("--only", help="ids, section names or categories: CU01,ND01.fetch,GI")
    ladder.add_option(parser)
    options = parser.parse_args()
    os.umask(0o022)
    work = list(work_list(options))
    wanted = sorted({name for row, _ in work for name in row.words("service")})
    try:
        suite = Suite(options, wanted)
    except labs.NoLab as problem:
        print(f"ok 1 - the lab # SKIP {problem}\n1..1")
        return 0
    try:
        return run(suite, work)
    finally:
        suite.close()


if __name__ == "__main__":
    sys.exit(main())
