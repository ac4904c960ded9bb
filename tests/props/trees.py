# SPDX-License-Identifier: Apache-2.0
"""Random trees, rules and calls: the same calls inside and, where they are allowed, outside.

Each tree exists twice.  In the first a program runs inside one `corral run`, in the
second the same program runs free.  Before every call the rules' definition (rules.py)
says what has to become of it, from the state of files on the host at that moment:

FORBIDDEN   it must fail inside, and nothing may change; it is not made outside
OPEN        it must answer inside what it answers outside, bytes included
EITHER      a refusal is as good: then it is not made outside

In between the host changes both trees.  After every call no denied or protected file
may have changed, and at the end both trees must be the same.
"""
import errno
import os
import random
import shutil
import stat
import subprocess

import rules
from harness import Failure, check
from rules import DENIED, FREE, Rules

FORBIDDEN, OPEN, EITHER = "forbidden", "open", "either"

NAMES = (b"a", b"b", b"c", b"d", b"conf", b"x.key", b"y.pem", b"z.key", b"data.txt", b"Secret", b"sp ace", b"q\xff",
         b"env.d", b".env", b"deep")
PATTERNS = (b"*.key", b"*.pem", b".env", b"conf", b"Secret", b"[a-d]", b"[ab]", b"[!a-z]*", b"a/*", b"a/b", b"b/*.key",
            b"**/conf", b"a/**/x.key", b"a/**", b"*/c", b"conf/*", b"d/data.txt", b"env.d/**/y.pem", b"./a/conf",
            b"*/*/x.key", b"q\xff", b"sp ace", b"q*", b"b/", b"deep/*/*.pem", b"**/d/**", b"x.key", b"S*/",
            b"c/**/conf/*", b"later", b"c/later", b"new*", b"n[a-e]w/*")
FRESH = (b"new1", b"new2", b"new.key", b"later", b"naw", b"new", b".git", b"config", b"hooks")
GIT = b".git"
KEPT_IN_GIT = (b"commondir", b"config", b"config.lock", b"config.worktree", b"config.worktree.lock", b"hooks", b"branches",
               b"remotes")
NO_AT = ("truncate", "attribute", "socket", "chdir", "hold")
ROOT = os.getuid() == 0  # else the harness could not look into a directory that nobody may enter
FOLLOWING = ("read", "openat2", "reopen", "map", "list", "append", "create", "empty", "rewrite", "truncate", "chmod",
             "times", "attribute", "exec", "chdir")
CHANGING = ("append", "create", "exclusive", "empty", "rewrite", "truncate", "mkdir", "fifo", "socket", "unlink", "rmdir",
            "chmod", "times", "attribute")
NAMING = ("create", "exclusive", "mkdir", "fifo", "socket", "unlink", "rmdir", "rename", "exchange", "link", "symlink", "nameless")
MOVING = ("rename", "exchange", "link", "nameless")
READING = ("read", "openat2", "reopen", "map", "list", "exec")


class Side:
    """The program that makes the calls, inside or outside."""

    def __init__(self, box, argv, root):
        self.root = os.fsencode(root)
        self.process = box.start([*argv, root], cwd=root, stdin=subprocess.PIPE)

    def make(self, name, *words):
        """(errno, data) of one call."""
        line = " ".join([name, *(self.own(word).hex() or "-" for word in words)])
        try:
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # it is gone, and the answer will not come
        said = self.process.stdout.readline().split()
        if len(said) != 2:
            raise Failure(f"no answer to {name} {words}: {self.finish()}")
        return int(said[0]), b"" if said[1] == b"-" else bytes.fromhex(said[1].decode())

    def own(self, word):
        return word.replace(b"%ROOT%", self.root)

    def finish(self):
        """Ends it; what it said besides answers."""
        if self.process.stdin.closed:
            return ""
        try:
            out, err = self.process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            out, err = self.process.communicate()
            return f"hangs: {err[-300:]!r}"
        return f"status {self.process.returncode}, {out[-300:]!r} {err[-600:]!r}" if self.process.returncode or err else ""


class Standing:
    """A directory that the program stands in or holds: where it is now, renamed or not."""

    def __init__(self, path):
        self.fd = os.open(path, os.O_PATH | os.O_DIRECTORY)

    def path(self):
        return os.readlink(b"/proc/self/fd/%d" % self.fd)

    def close(self):
        os.close(self.fd)


def lstat(path):
    try:
        return os.lstat(path)
    except OSError:
        return None


class Walk:
    """A path as the kernel would walk it: .target, or None when it leads nowhere, and .through."""

    def __init__(self, base, rest, follow):
        self.through, self.links = [], 0
        self.target = self.go(base, rest, follow)

    def go(self, at, rest, follow):
        parts = [part for part in rest.split(b"/") if part not in (b"", b".")]
        if rest.startswith(b"/"):
            at = b"/"
        while parts:
            part = parts.pop(0)
            info = lstat(at)
            if info is None or not stat.S_ISDIR(info.st_mode):
                return None
            self.through.append(at)
            if part == b"..":
                at = os.path.dirname(at)
                continue
            here = os.path.join(at, part)
            info = lstat(here)
            if info and stat.S_ISLNK(info.st_mode) and (parts or follow):
                self.links += 1
                if self.links > 30:
                    return None
                leads = os.readlink(here)
                parts = [p for p in leads.split(b"/") if p not in (b"", b".")] + parts
                at = b"/" if leads.startswith(b"/") else at
                continue
            at = here
        return at


class World:
    """One tree, its twin, its rules, and the judgement of calls."""

    def __init__(self, seed, root, twin):
        self.chance = random.Random(seed)
        self.root, self.twin = os.fsencode(root), os.fsencode(twin)
        self.tokens = 0
        self.secret, self.open = set(), set()
        self.log = []
        self.stood = None  # inodes of what is guarded when the run begins
        self.build()
        self.rules = self.make_rules()
        self.add_repositories()
        self.link_hard()
        self.stood = {self.inode(path) for path in self.all() if self.kind(path) != FREE or self.is_kept(path)}
        self.pinned = self.directories_above_places()
        self.mounts = bool(self.rules.places) or self.finds_repository()
        self.unsearched = False
        self.stand = {"": Standing(self.root), "0": Standing(self.root), "1": Standing(self.root)}
        self.learn()

    # -- making --

    def token(self):
        self.tokens += 1
        return b"tok%08x%04x" % (self.chance.getrandbits(32), self.tokens)

    def both(self, act, *names):
        """The same on the tree and on its twin, by the host."""
        for top in (self.root, self.twin):
            act(*(os.path.join(top, name) for name in names))

    def put(self, name, content, mode=0o644):
        def write(path):
            with open(path, "wb") as file:
                file.write(content)
            os.chmod(path, mode)
        self.both(write, name)

    def build(self):
        chance, dirs = self.chance, [b""]
        for _ in range(chance.randrange(3, 9)):
            name = os.path.join(chance.choice(dirs), chance.choice(NAMES))
            if not os.path.lexists(os.path.join(self.root, name)):
                self.both(os.mkdir, name)
                dirs.append(name)
        for _ in range(chance.randrange(6, 16)):
            name = os.path.join(chance.choice(dirs), chance.choice(NAMES))
            if not os.path.lexists(os.path.join(self.root, name)):
                script = chance.random() < 0.2
                self.put(name, b"#!/bin/sh\necho " * script + self.token() + b"\n", 0o755 if script else 0o644)
        for _ in range(chance.randrange(0, 4)):
            name = os.path.join(chance.choice(dirs), b"l%d" % chance.randrange(9))
            leads = chance.choice(list(self.all()) or [b"a"])
            if not os.path.lexists(os.path.join(self.root, name)):
                self.link_soft(name, leads, chance.random() < 0.5)

    def add_repositories(self):
        """Further down, where none is looked for when a run begins."""
        dirs = [path for path in self.all() if path.count(b"/") and os.path.isdir(os.path.join(self.root, path))
                and not os.path.islink(os.path.join(self.root, path))]
        for _ in range(self.chance.randrange(0, 3)):
            top = os.path.join(self.chance.choice(dirs), GIT) if dirs else b""
            if not top or os.path.lexists(os.path.join(self.root, top)):
                continue
            if self.chance.random() < 0.2:
                self.put(top, b"gitdir: elsewhere\n")
                continue
            self.both(os.mkdir, top)
            self.put(os.path.join(top, b"HEAD"), b"ref: x\n")
            for name in KEPT_IN_GIT[1:2] if self.chance.random() < 0.7 else ():
                self.put(os.path.join(top, name), self.token() + b"\n")
            if self.chance.random() < 0.7:
                self.both(os.mkdir, os.path.join(top, b"hooks"))
                self.put(os.path.join(top, b"hooks", b"pre-commit"), self.token() + b"\n", 0o755)

    def link_soft(self, name, leads, absolute):
        for top in (self.root, self.twin):
            to = os.path.join(top, leads) if absolute else os.path.relpath(b"/" + leads, b"/" + os.path.dirname(name))
            os.symlink(to, os.path.join(top, name))

    def link_hard(self):
        """Between names of one kind; other links a run finds and reports, which is another test."""
        files = [name for name in self.all() if stat.S_ISREG(os.lstat(os.path.join(self.root, name)).st_mode)]
        for number in range(self.chance.randrange(0, 3)):
            if not files:
                return
            name = self.chance.choice(files)
            alias = os.path.join(os.path.dirname(name), b"h%d" % number)
            rules_ = self.rules.deny + self.rules.protect
            if self.kind(name) == self.kind(alias) and not os.path.lexists(os.path.join(self.root, alias)) and \
                    not any(rule.plain and rule.holds(name) for rule in rules_):
                self.both(os.link, name, alias)

    def make_rules(self):
        lists = []
        for most in (5, 4):
            found = []
            for _ in range(self.chance.randrange(0, most)):
                text = self.derived() if self.chance.random() < 0.5 else self.chance.choice(PATTERNS)
                if self.chance.random() < 0.15:
                    text = self.root + b"/" + text.removeprefix(b"./")
                if found and self.chance.random() < 0.3:
                    text = b"!" + text
                found.append(text)
            lists.append(found)
        return Rules(*lists, self.root)

    def derived(self):
        """A pattern that something in the tree was bent into."""
        chance = self.chance
        # The path of a link is also a rule about what it leads to.
        parts = chance.choice([p for p in self.all() if not os.path.islink(os.path.join(self.root, p))] or [b"a"]).split(b"/")
        at = chance.randrange(len(parts))
        name = parts[at]
        parts[at] = chance.choice((name, name, b"[" + name[:1] + b"]*", b"?" * (len(name.decode(errors="replace")) - 1) + b"[!~]",
                                   b"*" + name[-1:] if len(parts) > 1 else name))
        if chance.random() < 0.2:
            parts[at] = b"**" if 0 < at < len(parts) - 1 else parts[at]
        return b"/".join(parts)

    # -- looking --

    def all(self, top=b""):
        """Every path below, relative to the root."""
        for name in sorted(os.listdir(os.path.join(self.root, top))):
            path = os.path.join(top, name)
            yield path
            if stat.S_ISDIR(os.lstat(os.path.join(self.root, path)).st_mode):
                yield from self.all(path)

    def relative(self, path):
        """Below the root, or None."""
        if path == self.root:
            return b""
        return path[len(self.root) + 1:] if path.startswith(self.root + b"/") else None

    def inode(self, path):
        info = lstat(os.path.join(self.root, path))
        return info.st_ino if info else 0

    def stands(self, path):
        """It was there when the run began."""
        return self.inode(path) in self.stood

    def kind(self, path):
        """What is said of a path: by the rules, or because it belongs to a repository that was there before."""
        kind, parts = self.rules.of(path), path.split(b"/")
        if kind != FREE or GIT not in parts:
            return kind
        at = len(parts) - parts[::-1].index(GIT)
        top = b"/".join(parts[:at])
        info = lstat(os.path.join(self.root, top))
        if info is None or (self.stood is not None and not self.stands(top)):
            return FREE
        if at == len(parts):
            return FREE if stat.S_ISDIR(info.st_mode) or self.is_given_up(path) else rules.PROTECTED
        if self.is_excepted(path):
            return FREE
        return rules.PROTECTED if parts[at] in KEPT_IN_GIT else FREE

    def is_excepted(self, path):
        """The user's exceptions stand behind what is built in."""
        holding = [rule for rule in self.rules.protect if rule.holds(path)]
        return bool(holding) and holding[-1].exception

    def is_given_up(self, path):
        """Whether exceptions let the command change both the configuration and the hooks of a repository."""
        return all(self.is_excepted(path + name) for name in (b"/config", b"/hooks"))

    def is_kept(self, path):
        """A repository that was there before, which is neither removed nor moved."""
        return (path is not None and os.path.basename(path) == GIT and not self.is_given_up(path)
                and (self.stood is None or self.stands(path)))

    def directories_above_places(self):
        """Inodes of the directories above each path of a rule that is there: they are mount points, and the kernel
        removes none of them, not even after the host has removed the file."""
        found = set()
        for place in self.rules.places:
            while self.inode(place) and os.path.dirname(place):
                place = os.path.dirname(place)
                found.add(self.inode(place))
        return found

    def finds_repository(self):
        """Whether a run sees a repository when it begins, and mounts its files: directly in a directory of the
        workspace.  That is also the end of a link, whose directory may be further down."""
        return any(os.path.lexists(os.path.join(self.root, name, GIT)) for name in os.listdir(self.root))

    def has_closed(self, top=b""):
        """Whether the owner cannot list or search a directory, top or one beneath it."""
        infos = (lstat(os.path.join(self.root, path)) for path in (top, *self.all(top)))
        return any(stat.S_ISDIR(info.st_mode) and info.st_mode & 0o500 != 0o500 for info in infos)

    def places(self):
        """Where what stood there before is, and has to stay."""
        return {path: self.inode(path) for path in self.all() if self.stands(path)}

    @staticmethod
    def state(path):
        info = os.lstat(path)
        content = b""
        if stat.S_ISREG(info.st_mode):
            with open(path, "rb") as file:
                content = file.read()
        elif stat.S_ISLNK(info.st_mode):
            content = os.readlink(path)
        when = 0 if stat.S_ISDIR(info.st_mode) else info.st_mtime_ns
        return info.st_ino, info.st_mode, when, content, tuple(os.listxattr(path, follow_symlinks=False))

    def guarded(self):
        """What must stay as it is: path → (kind of rule, state)."""
        found = {}
        for path in self.all():
            kind = self.kind(path)
            if kind != FREE:
                found[path] = (kind, self.state(os.path.join(self.root, path)))
        return found

    def learn(self):
        """Which contents may be seen inside, and which must not."""
        for path in self.all():
            _, mode, _, content, _ = self.state(os.path.join(self.root, path))
            if stat.S_ISREG(mode) and content:
                (self.secret if self.kind(path) == DENIED else self.open).add(content)

    def shape(self, top):
        """A tree without what differs between twins."""
        found = {}
        for folder, dirs, files in os.walk(top):
            for name in dirs + files:
                path = os.path.join(folder, name)
                _, mode, _, content, attributes = self.state(path)
                found[path[len(top) + 1:]] = (mode, content.replace(top, b"%ROOT%"), attributes)
        return found

    # -- judging --

    def walk(self, word, follow):
        how, _, rest = word.partition(b":")
        how = how.decode()
        if how in ("w", "r"):
            base = self.root
        else:
            base = self.stand["" if how == "c" else how.removeprefix("p")].path()
        walked = Walk(base, rest, follow)
        walked.dots = os.path.basename(rest) in (b".", b"..")
        walked.kind = FREE
        walked.rel = self.relative(walked.target) if walked.target else None
        if walked.rel is not None:
            walked.kind = self.kind(walked.rel)
        walked.past = any(self.relative(at) is not None and self.kind(self.relative(at)) == DENIED
                          for at in walked.through)
        return walked

    def leaves(self, name, words):
        """Whether a call leads out of the workspace, as through a relative link that was moved."""
        words = words[1:] if name in ("symlink", "hold") else words[:2] if name in MOVING else words[:1]
        walks = [self.walk(word, name in (*FOLLOWING, "hold") or (name == "nameless" and number == 0))
                 for number, word in enumerate(words)]
        return any(walked.target and walked.rel is None for walked in walks)

    def judge(self, name, words):
        if name in ("rename", "exchange"):
            return self.judge_rename(name, *words)
        if name == "link":
            found = [self.walk(words[0], False), self.walk(words[1], False)]
        elif name == "symlink":
            found = [self.walk(words[1], False)]
        elif name == "nameless":
            found = [self.walk(words[1], False)]
            if self.walk(words[0], True).kind != FREE and found[0].kind == FREE:
                return EITHER
        elif name == "hold":
            found = [self.walk(words[1], True)]
            return EITHER if found[0].past or found[0].kind == DENIED else OPEN
        else:
            found = [self.walk(words[0], name in FOLLOWING)]
        if name == "chdir":
            return EITHER if found[0].past or found[0].kind == DENIED else OPEN
        if name in READING:
            bad = found[0].kind == DENIED
        else:
            bad = any(walked.kind != FREE for walked in found)
        if bad or (name in ("unlink", "rmdir") and self.is_kept(found[0].rel)):
            return FORBIDDEN
        if any(walked.past for walked in found) or self.in_guarded(name, found[-1]):
            return EITHER
        if name in FOLLOWING and self.may_have_denied_name(found[0]):
            return EITHER
        if name == "symlink" or (name == "link" and self.is_link(found[0].rel)):
            return EITHER if self.rules.anchored else OPEN
        return OPEN

    def may_have_denied_name(self, walked):
        """A file with several hard links is refused after the search for denied names among them has failed.  The
        search begins with the first such file that is opened or changed, and fails at a directory that the command
        has closed."""
        info = lstat(walked.target) if walked.target and self.rules.deny else None
        if info is None or not stat.S_ISREG(info.st_mode) or info.st_nlink < 2:
            return False
        self.unsearched = self.unsearched or self.has_closed()
        return self.unsearched

    def is_link(self, path):
        """Where a rule names a place, a link is perhaps not made that leads past it."""
        return path is not None and os.path.islink(os.path.join(self.root, path))

    def in_guarded(self, name, walked):
        """A name in a directory that is guarded itself, or a directory that holds something guarded."""
        if name not in NAMING or walked.rel is None:
            return False
        if walked.dots:
            return True  # the kernel makes and removes no such name, but a pattern may match it first
        if self.kind(os.path.dirname(walked.rel)) != FREE or self.inode(walked.rel) in self.pinned:
            return True
        info = lstat(walked.target)
        return bool(info and stat.S_ISDIR(info.st_mode)) and any(self.kind(p) != FREE for p in self.all(walked.rel))

    def judge_rename(self, name, one, other):
        a, b = self.walk(one, False), self.walk(other, False)
        if a.kind != FREE or b.kind != FREE or self.is_kept(a.rel) or self.is_kept(b.rel):
            return FORBIDDEN
        if a.rel is None or b.rel is None:
            return OPEN  # it leads nowhere
        moved = [(a.rel, b.rel)] + ([(b.rel, a.rel)] if name == "exchange" else [])
        answer = EITHER if any(w.past or self.in_guarded(name, w) for w in (a, b)) else OPEN
        for old, new in moved:
            if self.is_link(old) and self.rules.anchored:
                answer = EITHER
            info = lstat(os.path.join(self.root, old))
            if info is None or not stat.S_ISDIR(info.st_mode):
                continue
            kinds = [(self.kind(path), self.kind(new + path[len(old):])) for path in self.all(old)]
            if any(before != after for before, after in kinds) and GIT not in (old + b"/" + new).split(b"/"):
                return FORBIDDEN
            if any(self.stands(path) for path in self.all(old)):
                return FORBIDDEN  # what was there before stays where it is
            if self.has_closed(old):
                answer = EITHER  # it cannot be searched for names that stay where they are
            # A rule that names a place may keep what leads to the place.
            if self.rules.anchored or GIT in (old + b"/" + new).split(b"/") or any(before != FREE for before, _ in kinds):
                answer = EITHER
        return answer

    # -- choosing --

    def some_path(self):
        """A path relative to the root, and the directory that stands for its beginning."""
        paths = list(self.all())
        chance = self.chance
        guarded = [path for path in paths if self.kind(path) != FREE]
        if guarded and chance.random() < 0.25:
            return chance.choice(guarded)
        if paths and chance.random() < 0.65:
            return chance.choice(paths)
        dirs = [b""] + [p for p in paths if stat.S_ISDIR(os.lstat(os.path.join(self.root, p)).st_mode)]
        return os.path.join(chance.choice(dirs), chance.choice(NAMES + FRESH))

    def spelled(self, path):
        """The same path in other words."""
        chance = self.chance
        if chance.random() < 0.2 and b"/" in path:
            first, _, rest = path.partition(b"/")
            path = first + chance.choice((b"//", b"/./", b"/../" + first + b"/")) + rest
        if chance.random() < 0.15:
            links = [p for p in self.all() if os.path.islink(os.path.join(self.root, p))
                     and os.path.isdir(os.path.join(self.root, p))]
            for link in links:
                leads = self.relative(os.path.realpath(os.path.join(self.root, link)))
                if leads and path.startswith(leads + b"/"):
                    return link + path[len(leads):]
        return path

    def word(self, name, path=None):
        """A path with the way to it."""
        chance = self.chance
        path = self.spelled(self.some_path() if path is None else path) or b"."
        hows = ["", "", "w", "r", "c", "0", "1", "p0", "p1"]
        how = chance.choice([h for h in hows if not (name in NO_AT and h in ("0", "1"))])
        if name == "socket":
            how = ""  # the name of a socket is short
        if how in ("w", "r"):
            return how.encode() + b":" + path
        at = self.relative(self.stand["" if how == "c" else how.removeprefix("p")].path().removesuffix(b" (deleted)"))
        return how.encode() + b":" + os.path.relpath(b"/" + path, b"/" + (at or b""))

    def call(self):
        """One random call: (name, words)."""
        chance = self.chance
        name = chance.choice((*READING, *READING, *CHANGING, *CHANGING, "rename", "rename", "rename", "exchange", "link",
                              "link", "symlink", "nameless", "chdir", "hold"))
        word = self.word(name)
        if name in ("append", "create", "exclusive", "rewrite"):
            return name, (word, b"in%d" % chance.randrange(1000))
        if name == "chmod":
            return name, (word, chance.choice((b"755", b"700", b"644" if ROOT else b"744")))
        if name in ("rename", "exchange", "link"):
            return name, (word, self.word(name))
        if name == "symlink":
            leads = self.some_path()
            return name, (b"%ROOT%/" + leads if chance.random() < 0.5 else leads, word)
        if name == "nameless":
            return name, (self.word(name, os.path.dirname(self.some_path())), word, b"in")
        if name == "hold":
            return name, (chance.choice((b"0", b"1")), word)
        return name, (word,)

    def host_acts(self):
        """The host makes, changes, moves or removes something in both trees."""
        chance, name = self.chance, self.some_path()
        path, twin = os.path.join(self.root, name), os.path.join(self.twin, name)
        info = lstat(path)
        if not os.path.isdir(os.path.dirname(path)) or os.path.islink(os.path.dirname(path)) or GIT in name.split(b"/"):
            return
        if info is None:
            made = chance.random()
            self.log.append(f"host makes {name!r}")
            if made < 0.3:
                self.both(os.mkdir, name)
            else:
                self.put(name, self.token() + b"\n")
        elif stat.S_ISREG(info.st_mode) and chance.random() < 0.5:
            self.log.append(f"host rewrites {name!r}")
            content = self.token() + b"\n"
            for at in (path, twin):
                with open(at + b"~", "wb") as file:
                    file.write(content)
                os.rename(at + b"~", at)
        elif stat.S_ISREG(info.st_mode):
            self.log.append(f"host removes {name!r}")
            self.both(os.unlink, name)
        self.stood &= {self.inode(path) for path in self.all()}
        self.learn()

    def close(self):
        for standing in self.stand.values():
            standing.close()


class Match:
    """A world with both sides running in it."""

    def __init__(self, box, seed, level, calls, told=True):
        self.box, self.seed, self.level, self.calls = box, seed, level, calls
        self.counts = dict.fromkeys((FORBIDDEN, OPEN, EITHER), 0)
        root, twin = (box.mkdir(f"{kind}/{seed}") for kind in ("t", "u"))
        self.world = World(seed, root, twin)
        for top in (root, twin):
            self.give(top)
        doer = f"{box.dir}/bin/doer"
        self.argv = [box.corral, "run", "--no-config", "--level", level, "--workspace", root, "--read", os.path.dirname(doer),
                     *(os.fsdecode(word) for word in self.world.rules.words() if told), "--", doer]
        self.inside, self.outside = Side(box, self.argv, root), Side(box, [doer], twin)
        self.inside.make("list", b"p0:.")  # it is set up before the host changes the tree: a path to hide may not vanish

    def give(self, top):
        if self.box.user.drop:
            for folder, dirs, files in os.walk(top):
                for name in [".", *dirs, *files]:
                    os.lchown(os.path.join(folder, name), self.box.user.uid, self.box.user.gid)

    def fail(self, text):
        world = self.world
        words = " ".join(repr(os.fsdecode(word)) for word in world.rules.words())
        log = "\n".join(world.log[-12:])
        raise Failure(f"seed {self.seed}, level {self.level}: {text}\nrules: {words}\n{log}\n"
                      f"tree: {[(p, world.kind(p)) for p in world.all()]}")

    def step(self):
        world = self.world
        name, words = world.call()
        if world.leaves(name, words):
            return  # the two sides have different files there
        wanted, before, places = world.judge(name, words), world.guarded(), world.places()
        self.counts[wanted] += 1
        answer = self.inside.make(name, *words)
        world.log.append(f"{name} {words} {wanted}: {errno.errorcode.get(answer[0], 'done')} {answer[1][:40]!r}")
        self.unchanged(before, name, answer)
        if places != world.places():
            self.fail(f"what was there before the run moved: {places.items() ^ world.places().items()}")
        if wanted == FORBIDDEN:
            if answer[0] == 0:
                self.fail("a forbidden call was made")
        elif answer[0] == 0 or (wanted == OPEN and not self.between_mounts(name, answer)):
            control = self.outside.make(name, *words)
            if not self.same(name, answer, control):
                self.fail(f"outside it answers {errno.errorcode.get(control[0], 'done')} {control[1][:60]!r}")
        if answer[0] == 0 and name in ("chdir", "hold"):
            self.moved(name, words)

    def between_mounts(self, name, answer):
        return self.world.mounts and name in MOVING and answer[0] == errno.EXDEV

    @staticmethod
    def same(name, answer, control):
        if answer[0] and control[0] and (name == "exec" or answer[0] in (errno.EBUSY, errno.EXDEV)):
            return True  # two reasons to refuse, of which each side names another
        return answer == control

    def unchanged(self, before, name, answer):
        after = self.world.guarded()
        if name in ("rename", "exchange") and answer[0] == 0:
            # Whole directories may have moved, with what is in them.
            before, after = sorted(before.values()), sorted(after.values())
        if before != after:
            changed = before.items() ^ after.items() if isinstance(before, dict) else (before, after)
            self.fail(f"what is denied or protected changed: {changed}")
        leaked = [token for token in self.world.secret - self.world.open if token.strip() in answer[1]]
        if leaked:
            self.fail(f"a denied content was read: {leaked}")

    def moved(self, name, words):
        slot = "" if name == "chdir" else words[0].decode()
        target = self.world.walk(words[-1], True).target
        self.world.stand[slot].close()
        self.world.stand[slot] = Standing(target)

    def finish(self):
        """Ends both sides; what was wrong with their ends."""
        return " ".join(filter(None, (side.finish() for side in (self.inside, self.outside))))

    def play(self):
        for _ in range(self.calls):
            if self.world.chance.random() < 0.08:
                self.world.host_acts()
                self.give(os.fsdecode(self.world.root))
                self.give(os.fsdecode(self.world.twin))
            self.step()
        said = self.finish()
        if said:
            self.fail(f"the end: {said}")
        left, right = (self.world.shape(top) for top in (self.world.root, self.world.twin))
        if left != right:
            self.fail(f"the trees differ: {left.items() ^ right.items()}")
        self.world.close()


def bring_doer(box, suite):
    box.mkdir("bin")
    shutil.copy(suite.doer, f"{box.dir}/bin/doer")
    os.chmod(f"{box.dir}/bin/doer", 0o755)


def play(box, suite, level, seeds):
    bring_doer(box, suite)
    counts = dict.fromkeys((FORBIDDEN, OPEN, EITHER), 0)
    for seed in seeds:
        match = Match(box, seed, level, suite.calls)
        try:
            match.play()
        except (OSError, ValueError) as problem:
            match.fail(f"{type(problem).__name__} {problem}")
        finally:
            match.finish()
        for kind, count in match.counts.items():
            counts[kind] += count
    if len(seeds) > 5:
        check(all(counts[kind] for kind in (FORBIDDEN, OPEN)), f"too few of a kind: {counts}")


def play_untold(box, suite):
    """Runs that were not told the rules: the judge must see it in most trees that have any."""
    bring_doer(box, suite)
    seen = had = 0
    for seed in range(suite.seed, suite.seed + 10):
        match = Match(box, seed, suite.levels[0], suite.calls, told=False)
        had += any(match.world.rules.words())
        try:
            match.play()
        except Failure:
            seen += 1
            match.finish()
    check(had >= 5 and seen > had / 2, f"{seen} of {had} runs without their rules were found guilty")


def register(suite):
    suite.test("a run that is not told the rules is found guilty")(lambda box: play_untold(box, suite))
    for level in suite.levels:
        for first in range(suite.seed, suite.seed + suite.trees, suite.portion):
            seeds = range(first, min(first + suite.portion, suite.seed + suite.trees))
            suite.test(f"random calls in the trees {seeds[0]} to {seeds[-1]} at level {level}")(
                lambda box, level=level, seeds=seeds: play(box, suite, level, seeds))
