# SPDX-License-Identifier: Apache-2.0
"""Requests of skills against a model: what a skill gets is what the policy grants and the skill requests, and no more.

The model does not compare rules with rules.  It decides about single files, hosts with ports, commands and names, one
by one, from the texts of the policy and the skill; the product's lists are decided about in the same way.  For each:

    sound      the skill has it        =>  the policy grants it
    closed     the skill has it        =>  the skill requests it, or every run has it
    complete   a request is refused    =>  the policy refuses some part of it, or the product says that a rule is near
"""
import fnmatch
import ipaddress
import itertools
import json
import os
import random
import subprocess

from harness import Skip, check, equal

# ---- files ----

FILES = ("data/a/x.txt", "data/a/deep/y.txt", "data/b/x.txt", "data/b/secret.key", "data/private/z.txt", "data/private/in/z.txt",
         "data/repo/.git/hooks/pre", "data/repo/src/m.c", "data/link-free.txt", "other/o.txt", "other/a/o.txt", "ws/w.txt",
         "ws/sub/w.txt", "home/h.txt", "home/.ssh/id_rsa", "home/work/n.txt")
LINKS = {"data/out": "../other", "data/b/self": "../a", "data/up": "..", "ws/leak": "../data/private"}
DIRS = sorted({"/".join(f.split("/")[:n]) for f in FILES for n in range(1, f.count("/") + 2)})
DENIES = ("data/private", "data/b", "data/a/deep", "other/a", "*.key", "**/private/in", "**/in/z.txt", "/{top}/data/*/x.txt", "**/.git",
          "dee[p]", "**/b/*.txt")
PROTECTS = ("data/a", "data/repo", "x.tx[t]", "**/src/m.c", "*.txt", "**/a/deep")


def plant(top):
    for name in FILES:
        os.makedirs(os.path.join(top, os.path.dirname(name)), exist_ok=True)
        with open(os.path.join(top, name), "w", encoding="ascii"):
            pass
    for name, target in LINKS.items():
        os.symlink(target, os.path.join(top, name))


def within(path, tree):
    return path == tree or path.startswith(tree.rstrip("/") + "/")


class Rule:
    """A rule of fs.deny or fs.protect: a path, an absolute pattern, or one that holds beneath each granted tree."""

    def __init__(self, text, top):
        self.text = text
        magic = any(c in text for c in "*?[")
        self.floats = magic and not text.startswith("/") and ("/" not in text or text.startswith("**/"))
        whole = text if text.startswith("/") or self.floats else f"{top}/ws/{text}"
        self.plain = None if any(c in whole for c in "*?[") or self.floats else os.path.realpath(whole)
        self.names = whole.removeprefix("**/").strip("/").split("/")

    def holds(self, path, tree):
        """Of a file whose deepest granted tree is `tree`."""
        if self.plain:
            return within(path, self.plain)
        names = path[len(tree):].strip("/").split("/") if self.floats else path.strip("/").split("/")
        starts = range(len(names)) if self.floats else (0,)
        return any(len(names) - at >= len(self.names) and
                   all(fnmatch.fnmatchcase(n, p) for n, p in zip(names[at:], self.names)) for at in starts)


class Files:
    """Which files a policy lets a command read and write: the deepest granted tree decides."""

    def __init__(self, top, mode, read, write, deny, protect):
        self.trees = {os.path.realpath(p): False for p in read}
        self.trees.update({os.path.realpath(p): mode != "read-only" for p in write})
        self.trees[f"{top}/ws"] = mode != "read-only"
        self.deny, self.protect = [Rule(d, top) for d in deny], [Rule(d, top) for d in protect]

    def may(self, path, write):
        holding = [t for t in self.trees if within(path, t)]
        if not holding:
            return False
        tree = max(holding, key=len)
        for rule in self.deny:  # a grant beneath a denied directory opens its part
            if rule.holds(path, tree) and not (rule.plain and within(tree, rule.plain) and tree != rule.plain):
                if not (not rule.floats and not rule.plain and rule.holds(tree, "/")):
                    return False
        hidden = within(path, os.path.realpath(CREDENTIALS[0])) and not within(tree, CREDENTIALS[0])
        if hidden or (write and (not self.trees[tree] or any(r.holds(path, tree) for r in self.protect))):
            return False
        return not write or "/.git/" not in path[len(tree):] + "/"


CREDENTIALS = [""]  # the directory of keys in the home


# ---- hosts ----

NAMES = ("example.com", "a.example.com", "b.a.example.com", "xexample.com", "test.org", "a.test.org", "10.1.2.3", "10.1.9.9", "10.0.5.5", "192.0.2.7", "2001:db8::1")
PORTS = (22, 80, 443, 8080)
HOSTS = ("example.com", "*.example.com", "*.a.example.com", "a.example.com", "b.a.example.com", "test.org", "*.test.org", "10.1.2.3", "10.1.0.0/16", "10.0.0.0/8", "10.0.0.0/16",
         "192.0.2.0/24", "[2001:db8::]/32")
SUFFIXES = ("", "", ":443", ":80", ":*", ":8080")


def host_rule(chance):
    host, port = chance.choice(HOSTS), chance.choice(SUFFIXES)
    if host.startswith("["):
        return "2001:db8::/32" if not port else f"[2001:db8::/32]{port}"
    return host + port


def reaches(rule, name, port):
    """Whether a rule of net.allow lets a command reach a host, by its name or its address."""
    host, want = rule, None
    if rule.startswith("["):
        host, _, want = rule[1:].partition("]")
        want = want.lstrip(":") or None
    elif rule.count(":") == 1:
        host, want = rule.split(":")
    if want is None and port not in (80, 443) or want not in (None, "*") and int(want) != port:
        return False
    try:
        return ipaddress.ip_address(name) in ipaddress.ip_network(host)
    except ValueError:
        return name == host or host.startswith("*.") and name.endswith(host[1:])


class Net:
    def __init__(self, mode, allow):
        self.mode, self.allow = mode, allow if mode in ("filtered", "restricted") else []

    def may(self, name, port):
        is_name = not name[0].isdigit()
        return (self.mode == "full" or self.mode == "restricted" and is_name and port in (80, 443)
                or any(reaches(rule, name, port) for rule in self.allow))


# ---- cases ----

COMMANDS = ("git", "make", "sh", "curl")
VARIABLES = ("FOO", "BAR", "EDITOR")
LIMITS = {"limits.timeout": (5, 60, 600, "none"), "limits.memory": (1 << 24, 1 << 30, "none"), "limits.processes": (8, 512, 4000, "none")}


def some(chance, choices, most=3):
    return chance.sample(choices, chance.randint(0, min(most, len(choices))))


def value(v):
    return json.dumps(v)


class Case:
    def __init__(self, chance, top):
        places = [f"{top}/{d}" for d in DIRS + list(FILES) + list(LINKS)]
        rules = [f"{top}/{d}" if d.startswith(("data", "other")) else d.replace("{top}", top.strip("/")) for d in DENIES]
        guards = [f"{top}/{d}" if d.startswith("data") else d for d in PROTECTS]
        trees = [f"{top}/data", f"{top}/data/a", f"{top}/data/b", f"{top}/other", f"{top}/home/work", f"{top}/data/repo", f"{top}/ws/sub", f"{top}/home"]
        self.top, self.chance = top, chance
        self.base = {"mode": chance.choice(("workspace-write",) * 4 + ("read-only",)), "fs.read": some(chance, trees), "fs.write": some(chance, trees, 2),
                     "fs.deny": some(chance, rules, 2), "fs.protect": some(chance, guards, 1), "env.pass": some(chance, VARIABLES),
                     "net.mode": chance.choice(("none", "filtered", "filtered", "restricted", "full")),
                     "commands.default": chance.choice(("allow", "deny"))}
        if self.base["mode"] == "read-only":
            self.base["fs.write"] = []
        taken = [os.path.realpath(p) for p in self.base["fs.read"] + self.base["fs.write"]]
        self.base["fs.deny"] = [d for d in self.base["fs.deny"] if d not in taken]  # that is a contradiction
        self.base["net.allow"] = [host_rule(chance) for _ in range(chance.randint(0, 3))] if self.base["net.mode"] in ("filtered", "restricted") else []
        self.base.update({k: chance.choice(v) for k, v in LIMITS.items() if chance.random() < 0.6})
        self.listed = some(chance, COMMANDS)
        self.asked = {"fs.read": some(chance, places, 4), "fs.write": some(chance, places, 3), "net.allow": [host_rule(chance) for _ in range(chance.randint(0, 4))],
                      "env.pass": some(chance, VARIABLES)}
        self.asked.update({k: chance.choice(v) for k, v in LIMITS.items() if chance.random() < 0.5})
        if chance.random() < 0.3:
            self.asked["net.mode"] = chance.choice(("none", "filtered", "restricted", "full"))
        if chance.random() < 0.5:
            self.asked["commands"] = some(chance, COMMANDS)
        if chance.random() < 0.2:
            self.asked["mode"] = chance.choice(("read-only", "workspace-write"))

    def line(self):
        lines = [f"{k} = {value(v)}" for k, v in self.base.items()] + [f"commands.{c} = {{}}" for c in self.listed]
        asks = ["name = \"it\"", "[requires]"] + [f"{k} = {value(v)}" for k, v in self.asked.items()]
        return " ".join((self.top, "\n".join(lines).encode().hex(), "\n".join(asks).encode().hex()))

    # ---- what holds ----

    def check_files(self, given, refused):
        protect = [p for p in self.base["fs.protect"]]
        before = Files(self.top, self.base["mode"], self.base["fs.read"], self.base["fs.write"], self.base["fs.deny"], protect)
        after = Files(self.top, given["mode"], given["fs.read"], given["fs.write"], self.base["fs.deny"], protect)
        wish = {write: [os.path.realpath(p) for p in self.asked["fs.write" if write else "fs.read"]] for write in (False, True)}
        ws = f"{self.top}/ws"
        for name, write in itertools.product(FILES, (False, True)):
            path = f"{self.top}/{name}"
            if not after.may(path, write):
                continue
            check(before.may(path, write), f"{self}: {name} write={write} is more than the policy grants")
            wished = wish[True] + ([] if write else wish[False])
            check(within(path, ws) or any(within(path, w) for w in wished), f"{self}: {name} write={write} was not requested")
        for key, text, why in refused:
            if key not in ("fs.read", "fs.write"):
                continue
            write, real = key == "fs.write", os.path.realpath(text)
            beneath = [f"{self.top}/{f}" for f in FILES if within(f"{self.top}/{f}", real)]
            mode = "read-only" if "read-only" in (self.base["mode"], self.asked.get("mode")) else self.base["mode"]
            stands = Files(self.top, mode, self.base["fs.read"], self.base["fs.write"], self.base["fs.deny"], protect)
            needless = beneath and all(stands.may(f, write) for f in beneath)
            check(not needless or "a name in it" in why or within(real, f"{self.top}/home/.ssh"), f"{self}: {key} {text} is refused: {why}")

    def check_net(self, given, refused):
        before, after = Net(self.base["net.mode"], self.base["net.allow"]), Net(given["net.mode"], given["net.allow"])
        asked = self.asked.get("net.mode")
        for name, port in itertools.product(NAMES, PORTS):
            wished = any(reaches(rule, name, port) for rule in self.asked["net.allow"]) or Net(asked or "none", []).may(name, port)
            has = after.may(name, port)
            check(not has or before.may(name, port), f"{self}: {name}:{port} is more than the policy grants")
            check(not has or wished, f"{self}: {name}:{port} was not requested")
        for key, rule, _ in refused:
            parts = [(n, p) for n, p in itertools.product(NAMES, PORTS) if reaches(rule, n, p)] if key == "net.allow" else []
            if parts and not rule.endswith(":*") and "/" not in rule and "*" not in rule:
                check(not all(before.may(n, p) for n, p in parts), f"{self}: {rule} is refused")

    def check_rest(self, given):
        for key in LIMITS:
            size = [float("inf") if v in (None, "none") else number(v) for v in (self.base.get(key), self.asked.get(key), given[key])]
            default = {"limits.timeout": float("inf"), "limits.memory": float("inf"), "limits.processes": 512}[key]
            base = default if key not in self.base else size[0]
            equal(size[2], min(base, size[1] if key in self.asked else base), f"{self}: {key}")
        equal(sorted(given["env.pass"]), sorted(set(self.base["env.pass"]) & set(self.asked["env.pass"])), f"{self}: env.pass")
        before = set(COMMANDS) if self.base["commands.default"] == "allow" else set(self.listed)
        after = set(COMMANDS) if given["commands.default"] == "allow" else {c for c in COMMANDS if any(r.split(" ")[0] == c for r in given["commands.NAME"])}
        equal(after, before & set(self.asked.get("commands", COMMANDS)), f"{self}: commands")

    def __str__(self):
        return f"{json.dumps(self.base)} commands {self.listed} asked {json.dumps(self.asked)}"


def number(v):
    """As `policy show` prints it, or as the case has it."""
    text = str(v)
    for unit, factor in (("ms", 0.001), ("K", 1 << 10), ("M", 1 << 20), ("G", 1 << 30), ("s", 1), ("m", 60), ("h", 3600)):
        if text.endswith(unit):
            return float(text[:-len(unit)]) * factor
    return float(text)


def register(suite):
    @suite.test("a skill gets what the policy grants and the skill requests, by a model")
    def _(box):
        program = os.path.join(os.path.abspath(suite.build), "tests/props/requests")
        if not os.access(program, os.X_OK):
            raise Skip("the build has no program for requests")
        top = os.path.realpath(os.path.join(box.ws, "requests"))
        plant(top)
        CREDENTIALS[0] = f"{top}/home/.ssh"
        chance = random.Random(suite.seed)
        cases = [Case(chance, top) for _ in range(suite.patterns)]
        done = subprocess.run([program], input="".join(c.line() + "\n" for c in cases), stdout=subprocess.PIPE, text=True, timeout=600, check=False)
        equal(done.returncode, 0, "the end of the program")
        answers = {"granted": 0, "reduced": 0, "refused": 0}
        for case, line in zip(cases, done.stdout.splitlines(), strict=True):
            said = json.loads(line)
            given = {k: v["value"] for k, v in said["given"]["values"].items()}
            for r in said["requests"]:
                answers[r["answer"]] += 1
                check(r["answer"] == "granted" or r["reason"], f"{case}: no reason: {r}")
            refused = [(r["key"], r["value"], r["reason"]) for r in said["requests"] if r["answer"] == "refused"]
            case.check_files(given, refused)
            case.check_net(given, refused)
            case.check_rest(given)
        check(min(answers.values()) > len(cases) / 20, f"too few of a kind: {answers}")
