# SPDX-License-Identifier: Apache-2.0
"""What a layer can do that may only narrow: random hostile project files against what stands without them; and the
floor of /etc/corral against options, files and levels that are all hostile.

A case is a user's file, options, and an untrusted .corral.toml that repeats, excepts, empties and respells whatever
stands there.  A command inside tries to read and write every sample.  Three things are held against it: what the
same run without the project's file could do, what the rules mean by a model of their own, and every value of
`policy show`, key by key.  A key without a row here fails: whoever adds one says what narrowing it means.
"""
import json
import math
import os
import random
import re

import floors
from harness import Failure, check, equal
from rules import Rule, Rules

SETS = {  # of the samples, what each set speaks of
    "agents": {".mcp.json"}, "corral": {".corral.toml"}, "editors": {".vscode/tasks.json"}, "git": {".gitmodules"},
    "packages": {".npmrc"}, "startup": {".envrc"}, "secrets": {"my-secret.txt"}, "sensitive": {".env", "id_rsa", "a.key", "b.pem"},
}
BUILT_IN = ["@agents", "@corral", "@editors", "@git", "@packages", "@startup"]
SAMPLES = (".vscode/tasks.json", ".envrc", ".npmrc", ".mcp.json", ".gitmodules", ".env", "id_rsa", "a.key", "b.pem", "plain.txt",
           "notes.md", "my-secret.txt", "sub/a.txt", "sub/x/deep.txt", "linked.txt", "twin.txt")
SCRIPT = "cd \"$CORRAL_WORKSPACE\"; " + "".join(f"for p in '{name}'; do {{ true <\"$p\"; }} 2>/dev/null && echo \"r $p\"; "
                 f"{{ true >>\"$p\"; }} 2>/dev/null && echo \"w $p\"; done; " for name in SAMPLES) + "true"

RULES = ["plain.txt", "notes.md", "sub", "sub/x", "*.md", "sub/**", "**/deep.txt", "*.pem", "@sensitive", "@secrets", "linked.txt"]
EXCEPTIONS = ["!notes.md", "!sub/x/**", "!*.pem"]
HOSTILE = ["!**", "!*", "!**/*", "!/**", "!@editors", "!@sensitive", "!@secrets", "!@git", "!.envrc", "!sub/**", "!.env", "!notes.md"]


# ---- what narrowing means, key by key ----

def number(value):
    """A limit; none is the largest."""
    if value in (None, "none"):
        return math.inf
    text = str(value)
    match = re.fullmatch(r"([0-9.]+)(ms|s|m|h|d|[KMG])?", text)
    check(match, f"no number: {text}")
    return float(match[1]) * {None: 1, "ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "K": 1 << 10, "M": 1 << 20,
                              "G": 1 << 30}[match[2]]


def same(old, new):
    return old == new


def smaller(old, new):
    return number(new) <= number(old)


def among(*choices):
    """The choices, narrowest first."""
    return lambda old, new: choices.index(new) <= choices.index(old)


def grown(old, new):
    """Every item is there still, in its order."""
    rest = iter(new)
    return all(item in rest for item in old)


STRICTEST = ("kill", "block", "redact", "warn", "off")  # of the leak scanner

KEYS = {
    "profile": same, "mode": among("read-only", "workspace-write", "full-access"), "workspace": same, "any_workspace": same,
    "chdir": lambda old, new: True, "backend": same, "docker.image": same, "level": same, "min_level": among("full", "standard", "minimal", "none"), "require": grown,
    "allow_degraded": same, "accept_no_sandbox": same, "nested": same, "fs.view": among("minimal", "system", "host"),
    "fs.read": same, "fs.write": same, "fs.deny": grown, "fs.protect": grown, "fs.protect_names": grown,
    "fs.home": among("ephemeral", "persistent", "workspace"), "fs.toolchains": among(False, True), "fs.workspace_at": same, "fs.agent": same,
    "fs.cow": among(True, False), "net.mode": among("none", "filtered", "restricted", "full"), "net.allow": same,
    "net.deny": grown, "net.private": same, "net.proxy": same, "net.publish": same, "net.host_ports": same,
    "net.sockets": same, "env.pass": same, "env.set": grown, "env.allow_dangerous": same, "env.path": same,
    "env.secrets": same, "env.agent": same, "env.tools": same, "skill": same, "fs.tools": among("workspace", "view"), "commands.NAME": grown,
    "commands.default": among("deny", "allow"), "limits.timeout": smaller, "limits.idle_timeout": smaller,
    "limits.grace": smaller,
    "limits.output": smaller, "limits.processes": smaller, "limits.open_files": smaller, "limits.file_size": smaller,
    "limits.cpu_time": smaller, "limits.memory": smaller, "limits.cpus": smaller, "limits.disk": smaller,
    "limits.tmp_size": smaller, "accept_full_access": same, "uid": same, "gid": same, "env.prefix": same, "env.labels": same,
    "env.path_prepend": same, "seccomp.extra_deny": grown, "scan.args": among(*STRICTEST), "scan.output": among(*STRICTEST),
    "scan.files": among(*STRICTEST), "scan.net": among(*STRICTEST),
    "denials": among("all", "changes", "off"),
    "ask.timeout": smaller, "providers": same, "lock": among("workspace", "none"), "lock_wait": lambda old, new: True, "daemon.start": same, "daemon.idle": same,
    "session.timeout": smaller, "session.idle_timeout": smaller, "session.cpu_total": smaller,
    "audit.enabled": among(True, False), "audit.required": among(True, False), "daemon.pool": smaller,
}

# What a hostile file says of each key: as it stands, narrower, and what must be refused.
SAYS = {
    "mode": ['"workspace-write"', '"read-only"'], "min_level": ['"standard"', '"minimal"', '"none"'],
    "require": ["[]", '["env"]', '["pid"]'], "fs.view": ['"system"', '"host"'], "fs.protect_names": ["[]", '["plain.txt"]'],
    "fs.home": ['"persistent"', '"ephemeral"'], "fs.toolchains": ["true", "false"], "net.mode": ['"none"', '"full"', '"filtered"'],
    "net.deny": ["[]", '["a.example"]'], "env.set": ['{A = "1"}', '{A = "2"}', '{B = "3"}', "{}"], "chdir": ['"sub"', '"."'],
    "commands.default": ['"allow"', '"deny"'], "limits.timeout": ['"none"', "60"], "limits.grace": ["0", '"2s"', "9"],
    "limits.processes": ["512", '"none"', "100"], "limits.open_files": ["4096", "100000", "64"],
    "limits.file_size": ['"8G"', '"none"', '"1M"'], "limits.tmp_size": ['"1G"', '"2G"', '"1M"'], "limits.memory": ['"none"'],
    "limits.disk": ['"none"'],
    "limits.cpus": ['"none"'], "limits.cpu_time": ['"none"'], "limits.output": ['"none"'], "limits.idle_timeout": ['"none"'],
    "fs.cow": ["false"], "fs.read": ['["/etc"]', "[]"], "fs.write": ["[]"], "allow_degraded": ["[]", '["fs.deny"]'],
    "accept_no_sandbox": ["true", "false"], "level": ['"none"', '"auto"'], "nested": ["true"], "profile": ['"workspace"'],
    "workspace": ['"."'], "any_workspace": ["true"], "fs.workspace_at": ['"/w"'], "fs.agent": ['"sub"'], "net.allow": ['["a.example"]'],
    "net.private": ['["10.0.0.0/8"]'], "net.proxy": ["true", "false"], "net.publish": ["[3000]"], "net.host_ports": ["[3000]"],
    "net.sockets": ['["/run/x"]'], "env.pass": ['["EDITOR"]'], "env.allow_dangerous": ['["LD_PRELOAD"]'], "env.path": ['"/bin"'],
    "env.secrets": ['["A"]', "[]"], "env.agent": ['"bot"'], "accept_full_access": ["2026-11-17"], "uid": ["1000"], "gid": ["1000"],
    "env.prefix": ['"ASH"'], "env.labels": ['{A = "1"}'], "env.path_prepend": ['["/bin"]'], "seccomp.extra_deny": ["[]", '["ptrace"]'],
    "scan.args": ['"off"', '"warn"', '"block"'], "scan.output": ['"off"', '"redact"', '"kill"'], "scan.files": ['"off"', '"block"'],
    "scan.net": ['"off"', '"warn"', '"kill"'], "fs.tools": ['"view"', '"workspace"'], "denials": ['"off"', '"changes"', '"all"'],
    "audit.enabled": ["true", "false"], "audit.required": ["false", "true"], "ask.timeout": ["9", "60", "90"],
    "lock": ['"none"', '"workspace"'], "lock_wait": ["0", "9"], "daemon.start": ['"no"', '"on-demand"'], "daemon.idle": ["9", "600"],
    "session.timeout": ['"1d"', "9"], "session.idle_timeout": ['"none"', "9"], "session.cpu_total": ['"none"', "9"],
    "providers": ['["anthropic"]', "[]"], "skill": ['"sub"'], "env.tools": ['["a"]'], "daemon.pool": ["0", "1"],
}
QUIET = [key for key in SAYS if KEYS[key] is not same]  # a file that only says these may be accepted


# ---- the model of rules ----

class Item:
    """One item of fs.deny or fs.protect, over the samples."""

    def __init__(self, text, top):
        self.exception = text.startswith("!")
        name = text.lstrip("!")
        self.set = SETS.get(name[1:], set()) if name.startswith("@") else None
        self.rule = None if self.set is not None else Rule(text.encode(), top)

    def holds(self, path):
        return path in self.set if self.set is not None else self.rule.holds(path.encode())

    @property
    def plain(self):
        return self.rule is not None and self.rule.plain


def ruled(texts, top):
    """The samples that a list of one group's rules speaks of."""
    items = [Item(text, top) for text in texts]
    if not any(item.exception and item.set is None for item in items):
        items.sort(key=lambda item: item.plain)  # nothing undoes a path
    return {path for path in SAMPLES if Rules.decided(items, path)}


# ---- cases ----

def toml_list(items):
    return "[" + ", ".join('"' + item.replace("\\", "\\\\") + '"' for item in items) + "]"


class Case:
    """One random policy of the user's, and a hostile file beside it."""

    def __init__(self, seed, top):
        self.chance = random.Random(seed)
        pick = self.chance
        self.top = top
        self.deny, self.protect = self.some_rules(3), self.some_rules(3)
        self.options = []
        self.profile = pick.choice([None, None, "strict", "readonly", "minimal", "data-analysis"])
        if self.profile:
            self.options += ["--profile", self.profile]
        self.set = pick.random() < 0.5
        self.typed = {"deny": [], "protect": []}
        for option, items in self.typed.items():
            if pick.random() < 0.4:
                items.append(pick.choice(RULES + EXCEPTIONS))
                self.options += ["--" + option, items[0]]
        self.hostile = self.hostile_file()

    def some_rules(self, most):
        pick = self.chance
        found = [pick.choice(RULES) for _ in range(pick.randrange(most))]
        return found + ([pick.choice(EXCEPTIONS)] if pick.random() < 0.3 else [])

    def user_file(self):
        text = f"[fs]\ndeny = {toml_list(self.deny)}\nprotect = {toml_list(self.protect)}\n"
        return text + ('[env.set]\nA = "1"\n' if self.set else "")

    def lists(self):
        """Our rules without the hostile file: deny, protect."""
        strict = ["@sensitive", "@secrets"] if self.profile == "strict" else []
        return (strict + self.deny + self.typed["deny"], BUILT_IN + self.protect + self.typed["protect"])

    def respelt(self, text):
        pick = self.chance
        if text[0] in "@!*" or pick.random() < 0.7:
            return text
        return pick.choice(["./" + text, text + "/", f"{self.top}/{text}", text.replace("/", "//"), text + "?"])

    def hostile_file(self):
        """Repeats what stands, and excepts it; says something of other keys."""
        pick = self.chance
        deny, protect = self.lists()
        parts = {}
        for key, items in (("fs.deny", deny), ("fs.protect", protect)):
            if pick.random() < 0.8:
                mine = [self.respelt(item) for item in items if pick.random() < 0.9]
                mine += [pick.choice(HOSTILE + RULES) for _ in range(pick.randrange(3))]
                pick.shuffle(mine)
                parts[key] = toml_list(mine + [pick.choice(HOSTILE)])
        for _ in range(pick.randrange(3)):
            key = pick.choice(QUIET if pick.random() < 0.8 else list(SAYS))
            parts[key] = pick.choice(SAYS[key])
        return "".join(f"{key} = {value}\n" for key, value in parts.items())


def furnish(box):
    for name in SAMPLES:
        if name != "twin.txt":
            box.write(f"ws/{name}", f"{name}\n")
    os.link(f"{box.ws}/linked.txt", f"{box.ws}/twin.txt")  # a rule about one name alone is refused


class Seen:
    """What a policy says and allows: values and rights, or None where it is refused."""

    def __init__(self, box, case, level):
        words = [word for word in case.options]
        shown = box.corral_("policy", "show", "--json", *words)
        done = box.run("--level", level, *words, "-c", SCRIPT)
        self.values = shown.json["values"] if shown.status == 0 else None
        self.rights = set(done.out.splitlines()) if done.status == 0 else None
        self.said = done.err


def guilty(case, what):
    raise Failure(f"{what}\noptions {case.options}\nuser's file\n{case.user_file()}\nproject's file\n{case.hostile}")


def compare_values(case, old, new):
    for key in sorted(set(old.values) | set(new.values)):
        if key not in KEYS:
            guilty(case, f"{key}: no row says what narrowing it means")
        before, after = old.values[key]["value"], new.values[key]["value"]
        if not KEYS[key](before, after):
            guilty(case, f"{key}: {before} without the file, {after} with it")
    for key in KEYS:
        check(key in new.values, f"{key} is no key any more")


def compare_rights(case, old, new):
    if new.rights is None:
        return
    if old.rights is None:
        # Narrower values may be possible where wider ones are not; a denied file with a second name is not.
        if "hard links" in old.said:
            guilty(case, f"refused without the file, and runs with it: {old.said}")
        return
    if new.rights - old.rights:
        guilty(case, f"possible with the file alone: {sorted(new.rights - old.rights)}")
    top = os.fsencode(case.top)
    deny, protect = (ruled(items, top) for items in case.lists())
    wrong = {f"r {path}" for path in deny} | {f"w {path}" for path in deny | protect}
    if new.rights & wrong:
        guilty(case, f"possible against the rules: {sorted(new.rights & wrong)}")


def play(box, level, seeds):
    furnish(box)
    counts = {"refused": 0, "ran": 0}
    for seed in seeds:
        case = Case(seed, box.ws)
        box.write("home/.config/corral/corral.toml", case.user_file())
        old = Seen(box, case, level)
        box.write("ws/.corral.toml", case.hostile)
        new = Seen(box, case, level)
        os.unlink(f"{box.ws}/.corral.toml")
        counts["ran" if new.rights is not None else "refused"] += 1
        try:
            if new.values is not None:
                if old.values is None:
                    guilty(case, "refused without the file, and not with it")
                compare_values(case, old, new)
            compare_rights(case, old, new)
        except Failure as failure:
            raise Failure(f"seed {seed} at level {level}: {failure}") from None
    check(counts["ran"] * 10 > len(seeds), f"too few cases run at all: {counts}")


# ---- the floor, with everything else hostile ----

FLOORS = {
    "min_level": ['"standard"', '"minimal"', '"full"'], "mode": ['"read-only"', '"workspace-write"'], "require": ['["env"]'],
    "fs.view": ['"system"', '"minimal"'], "fs.home": ['"ephemeral"'], "fs.toolchains": ["false"], "net.mode": ['"none"', '"filtered"'],
    "net.sockets": ["[]"], "net.host_ports": ["[5432]", "[]"], "net.publish": ["[]"], "net.allow": ['["a.example"]'], "env.pass": ["[]"],
    "limits.timeout": ["60"], "limits.open_files": ["512"], "limits.file_size": ['"1M"'], "allow_degraded": ["[]"],
    "accept_no_sandbox": ["false"], "nested": ["false"], "fs.protect_names": ['["plain.txt"]'], "any_workspace": ["false"],
    "commands.default": ['"allow"'], "env.allow_dangerous": ["[]"], "fs.cow": ["true"], "fs.read": ['["/opt"]'], "fs.write": ["[]"],
    "limits.cpu_time": ["60"], "limits.cpus": ["1"], "limits.disk": ['"1G"'], "limits.grace": ["1"], "limits.idle_timeout": ["60"],
    "limits.memory": ['"1G"'], "limits.output": ['"1M"'], "limits.processes": ["100"], "limits.tmp_size": ['"1M"'],
    "net.deny": ['["a.example"]'], "net.private": ["[]"], "net.proxy": ["false"], "env.secrets": ["[]"], "env.tools": ["[]"],
    "env.labels": ["{}"], "env.path_prepend": ["[]"], "fs.tools": ['"workspace"'], "seccomp.extra_deny": ['["ptrace"]'], "scan.args": ['"block"', '"warn"'],
    "scan.output": ['"redact"', '"kill"'], "scan.files": ['"block"'], "scan.net": ['"block"', '"kill"'], "denials": ['"changes"', '"all"'],
    "audit.enabled": ["true"], "audit.required": ["true", "false"], "ask.timeout": ["30"], "providers": ["[]"],
    "lock": ['"workspace"'], "daemon.pool": ["0"],
    "session.timeout": ['"5m"'], "session.idle_timeout": ['"5m"'], "session.cpu_total": ['"1m"'],
}
EVERYTHING = ("fs.write,fs.read,fs.deny,net,net.names,ipc,pid,env,limits.time,limits.output,limits.memory,limits.processes,"
              "limits.cpu,limits.disk,lifetime,exec,privileges,leaks")
AGAINST = [
    ["--level", "none", "--accept-no-sandbox"], ["--level", "minimal"], ["--level", "standard"], ["--allow-degraded", EVERYTHING],
    ["--min-level", "none"], ["--allow-nested"], ["--net", "full"], ["--net", "restricted"], ["--socket", "/run/x"],
    ["--host-port", "5433"], ["--publish", "3000"], ["--allow-host", "b.example"], ["--set", "fs.view=host"], ["--home", "persistent"],
    ["--timeout", "none"], ["--set", "limits.open_files=4096"], ["--set", "limits.file_size=none"], ["--pass-env", "USER"], ["--secret", "A"],
    ["--set", "mode=workspace-write"], ["--no-config"], ["--profile", "host-read"], ["--profile", "data-analysis"], ["--deny", "!**"],
    ["--protect", "!**"], ["--protect", "!@editors"], ["--write", "."], ["--cow"], ["--read", "/usr"], ["--set", "fs.cow=false"],
    ["--set", "limits.memory=none"], ["--set", "limits.processes=none"], ["--set", "limits.disk=none"], ["--set", "limits.grace=9"],
    ["--scan-output", "off"], ["--scan-args", "off"], ["--set", "scan.files=off"], ["--set", "fs.tools=view"],
    ["--set", "limits.cpus=none"], ["--set", "limits.tmp_size=2G"], ["--allow-private", "10.0.0.0/8"], ["--proxy"],
]
# Nothing is enforced at level none: what the floor says either needs nothing enforced, or refuses the run.
UNHELD = ["--level", "none", "--accept-no-sandbox", "--allow-degraded", EVERYTHING]


class FloorCase:
    """A random floor, and options, a user's file and a project's file against it."""

    def __init__(self, seed):
        pick = random.Random(seed)
        self.deny = [pick.choice(RULES) for _ in range(pick.randrange(3))]
        self.protect = [pick.choice(RULES + BUILT_IN) for _ in range(pick.randrange(3))]
        self.keys = {key: pick.choice(FLOORS[key]) for key in pick.sample(sorted(FLOORS), pick.randrange(3))}
        self.options = [word for words in pick.sample(AGAINST, pick.randrange(1, 4)) for word in words]
        if pick.random() < 0.2:
            self.options = UNHELD
        mine = self.deny + [pick.choice(HOSTILE)]
        kept = self.protect + [pick.choice(HOSTILE)]
        self.hostile = f"[fs]\ndeny = {toml_list(mine)}\nprotect = {toml_list(kept)}\n"
        self.pinned = pick.random() < 0.5

    def floor(self):
        keys = "".join(f"{key} = {value}\n" for key, value in self.keys.items())
        return f"[floor]\n{keys}fs.deny = {toml_list(self.deny)}\nfs.protect = {toml_list(self.protect)}\n"

    def user_file(self):
        return self.hostile

    def forbidden(self, top):
        deny, protect = ruled(self.deny, top), ruled(self.protect, top)
        protect |= {"plain.txt"} if "fs.protect_names" in self.keys else set()
        wrong = {f"r {path}" for path in deny} | {f"w {path}" for path in deny | protect}
        return wrong | ({f"w {path}" for path in SAMPLES} if self.keys.get("mode") == '"read-only"' else set())


def within_floor(case, values):
    for key, text in case.keys.items():
        value = values[key]["value"]
        bound = json.loads(text)
        if KEYS[key] is grown:
            good = set(bound) <= set(value)
        elif isinstance(bound, list):
            good = set(value) <= {str(item) for item in bound}
        elif KEYS[key] is same:
            good = value == bound or not (value or bound)  # a table without items is shown as a list
        else:
            good = KEYS[key](bound, value)
        if not good:
            guilty(case, f"{key} is {value}, and the floor {text}\nfloor\n{case.floor()}")


def may_have_floor(node, above=""):
    for name, below in node["properties"].items():
        if "properties" in below:
            yield from may_have_floor(below, above + name + ".")
        else:
            yield above + name


def play_floor(box, seeds):
    furnish(box)
    schema = json.loads(box.corral_("policy", "schema").exited(0).out)
    equal(sorted(may_have_floor(schema["properties"]["floor"])), sorted([*FLOORS, "fs.deny", "fs.protect"]), "keys with a floor")
    counts = {"refused": 0, "ran": 0}
    for seed in seeds:
        case = FloorCase(seed)
        floors.with_floor(box, "")
        box.write("home/.config/corral/corral.toml", case.user_file())
        box.write("ws/.corral.toml", case.hostile)
        if case.pinned:
            floors.administered(box, "policy", "trust", ".corral.toml").exited(0)
        floors.with_floor(box, case.floor())
        shown = floors.administered(box, "policy", "show", "--json", *case.options)
        done = floors.administered(box, "run", *case.options, "-c", SCRIPT)
        counts["ran" if done.status == 0 else "refused"] += 1
        try:
            if shown.status == 0:
                within_floor(case, shown.json["values"])
            beyond = set(done.out.splitlines()) & case.forbidden(os.fsencode(box.ws))
            if beyond:
                guilty(case, f"possible against the floor: {sorted(beyond)}\nfloor\n{case.floor()}")
        except Failure as failure:
            raise Failure(f"seed {seed}: {failure}") from None
    check(counts["ran"] * 10 > len(seeds), f"too few cases run at all: {counts}")


def register(suite):
    for first in range(suite.seed, suite.seed + suite.layers, suite.portion):
        seeds = range(first, min(first + suite.portion, suite.seed + suite.layers))
        suite.test(f"nothing passes the floors {seeds[0]} to {seeds[-1]}", root=True)(
            lambda box, seeds=seeds: play_floor(box, seeds))
    for level in suite.levels:
        for first in range(suite.seed, suite.seed + suite.layers, suite.portion):
            seeds = range(first, min(first + suite.portion, suite.seed + suite.layers))
            suite.test(f"untrusted layers {seeds[0]} to {seeds[-1]} only narrow at level {level}")(
                lambda box, level=level, seeds=seeds: play(box, level, seeds))
