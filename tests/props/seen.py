# SPDX-License-Identifier: Apache-2.0
"""Both sides of a workspace at the same time: the host edits it while a command runs in it.

What either side does the other sees at once, a name that was looked up inside while
it was absent included.  Rules leave nothing on the host: no name appears while a run
lasts, and none stays when it is killed.
"""
import ctypes
import errno
import os
import random
import signal
import struct
import threading
import time

import traces
from harness import check, contains, equal, wait_until
from trees import Side, bring_doer

RULES = ("--deny", "secret*", "--deny", "hidden/**", "--protect", "kept", "--protect", "settings/tasks.json",
         "--protect", "*.rc", "--protect", ".agent", "--deny", "**/private/*.key")
# Names of which these rules speak.  None of them exists when a run starts.
RULED = ("secret", "secret.txt", "hidden/a", "kept", "kept/in", "settings/tasks.json", "start.rc", "deep/start.rc", ".agent",
         ".agent/settings.json", "private/a.key", "deep/private/b.key")
IN_CREATE, IN_MOVED_TO, IN_CLOSE_WRITE, IN_DELETE = 0x100, 0x80, 0x8, 0x200
ROUNDS = 120  # of kills, at each level


class Watcher:
    """inotify on directories of the host."""

    def __init__(self, *paths):
        libc = ctypes.CDLL(None, use_errno=True)
        self.fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        for path in paths:
            mask = IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE | IN_DELETE
            check(libc.inotify_add_watch(self.fd, os.fsencode(path), mask) >= 0, f"no watch on {path}")

    def heard(self):
        """Names of events since the last question."""
        try:
            raw = os.read(self.fd, 1 << 20)
        except BlockingIOError:
            return []
        names, at = [], 0
        while at < len(raw):
            _, mask, _, length = struct.unpack_from("iIII", raw, at)
            names.append((mask & 0xfff, raw[at + 16:at + 16 + length].rstrip(b"\0").decode()))
            at += 16 + length
        return names

    def close(self):
        os.close(self.fd)


class Pair:
    """A run inside, and the host's hands on the same directory."""

    def __init__(self, box, suite, level):
        self.box = box
        bring_doer(box, suite)
        for name in ("settings", "hidden", "private", "deep", "deep/private", "plain"):
            box.mkdir(f"ws/{name}")
        self.side = Side(box, [box.corral, "run", "--no-config", "--level", level, *RULES, "--read", f"{box.dir}/bin", "--",
                               f"{box.dir}/bin/doer"], box.ws)
        equal(self.inside("list", b":plain")[0], 0, "the start")

    def inside(self, name, *words):
        return self.side.make(name, *words)

    def put(self, name, text):
        """As an editor saves: a new file in the place of the old one."""
        path = f"{self.box.ws}/{name}"
        with open(path + "~", "w", encoding="utf-8") as out:
            out.write(text)
        os.chmod(path + "~", 0o644)
        self.box.own(path + "~")
        os.rename(path + "~", path)


def word(name):
    return b":" + name.encode()


def host_then_inside(pair):
    """Absent, made, replaced, written in place, removed and made again by the host."""
    for name in ("free", "plain/free", "kept", "settings/tasks.json", "deep/start.rc", ".agent"):
        for number in range(3):
            equal(pair.inside("read", word(name))[0], errno.ENOENT, f"{name} before the host makes it")
            pair.put(name, f"first {number}")
            equal(pair.inside("read", word(name)), (0, f"first {number}".encode()), f"{name} when it was made")
            pair.put(name, f"second {number}")
            equal(pair.inside("read", word(name)), (0, f"second {number}".encode()), f"{name} when it was replaced")
            with open(f"{pair.box.ws}/{name}", "a", encoding="utf-8") as out:
                out.write("+")
            equal(pair.inside("read", word(name)), (0, f"second {number}+".encode()), f"{name} when it grew")
            os.unlink(f"{pair.box.ws}/{name}")
    for name in ("plain/dir", "kept", ".agent"):
        equal(pair.inside("list", word(name))[0], errno.ENOENT, f"{name} before the host makes it")
        pair.box.mkdir(f"ws/{name}")
        pair.put(f"{name}/in", "in it")
        equal(pair.inside("list", word(name)), (0, b".\0..\0in\0"), f"the new directory {name}")
        equal(pair.inside("read", word(f"{name}/in")), (0, b"in it"), f"a file of the new directory {name}")


def host_makes_ruled(pair):
    """What a rule names is under the rule from the moment at which the host makes it."""
    for name in ("secret", "secret.txt", "hidden/a", "private/a.key", "deep/private/b.key"):
        check(pair.inside("read", word(name))[0] in (errno.ENOENT, errno.EACCES), f"{name} was absent")
        pair.put(name, "token")
        for call in ("read", "reopen", "openat2", "map"):
            equal(pair.inside(call, word(name)), (errno.EACCES, b""), f"{call} of {name}, which the host made")
        check(pair.inside("unlink", word(name))[0] != 0, f"{name} was removed inside")
        equal(pair.box.read(f"ws/{name}"), "token", name)
    for name in ("kept", "settings/tasks.json", "start.rc", "deep/start.rc"):
        pair.put(name, "mine")
        for call in ("append", "create", "rewrite"):
            equal(pair.inside(call, word(name), b"theirs")[0], errno.EROFS, f"{call} of {name}, which the host made")
        check(pair.inside("unlink", word(name))[0] != 0, f"{name} was removed inside")
        check(pair.inside("rename", word(name), b":plain/away")[0] != 0, f"{name} was renamed inside")
        equal(pair.box.read(f"ws/{name}"), "mine", name)


def inside_then_host(pair):
    watcher = Watcher(pair.box.ws, f"{pair.box.ws}/plain")
    for number in range(20):
        name = f"plain/made{number}"
        equal(pair.inside("create", word(name), b"by inside")[0], 0, "a file is made inside")
        equal(pair.box.read(f"ws/{name}"), "by inside", "what the host sees of it")
        heard = watcher.heard()
        contains(heard, (IN_CREATE, f"made{number}"), "what a watcher outside heard")
        # Whoever made the file on the command's behalf may close it a moment after the command.
        check((IN_CLOSE_WRITE, f"made{number}") in heard or
              wait_until(lambda: (IN_CLOSE_WRITE, f"made{number}") in watcher.heard()), "no watcher heard it closed")
        equal(pair.inside("rename", word(name), b":top")[0], 0, "a file is renamed inside")
        equal(pair.box.read("ws/top"), "by inside", "what the host sees of it")
        contains([event for _, event in watcher.heard()], "top", "a watcher outside")
        equal(pair.inside("unlink", b":top")[0], 0, "a file is removed inside")
        check(not pair.box.exists("ws/top"), "it is gone outside")
        watcher.heard()
    watcher.close()


def watcher_inside(pair):
    equal(pair.inside("watch", b":plain")[0], 0, "a watch inside")
    equal(pair.inside("watch", b":settings")[0], 0, "a watch inside")
    for number in range(20):
        pair.put(f"plain/host{number}", "x")
        pair.put("settings/tasks.json", "x")
        heard = pair.inside("heard")[1].decode().split()
        contains(heard, f"host{number}", "what a watcher inside heard")
        contains(heard, "tasks.json", "what a watcher inside heard")


def nothing_appears(pair):
    """While the command tries every ruled name, the host never sees one, nor an event of one."""
    folders = [pair.box.ws] + [f"{pair.box.ws}/{d}" for d in ("settings", "hidden", "private", "deep", "deep/private")]
    watcher, before = Watcher(*folders), {f: sorted(os.listdir(f)) for f in folders}
    stop, seen = threading.Event(), []

    def look():
        while not stop.is_set():
            seen.extend(f for f in folders if sorted(os.listdir(f)) != before[f])
            time.sleep(0)
    looker = threading.Thread(target=look)
    looker.start()
    try:
        for name in RULED * 3:
            for call, more in (("create", (b"x",)), ("exclusive", (b"x",)), ("mkdir", ()), ("fifo", ()), ("socket", ())):
                check(pair.inside(call, word(name), *more)[0] != 0, f"{call} of {name} was made")
            check(pair.inside("symlink", b"plain", word(name))[0] != 0, f"a symlink {name} was made")
            check(pair.inside("nameless", b":plain", word(name), b"x")[0] != 0, f"a nameless file got the name {name}")
    finally:
        stop.set()
        looker.join()
    equal(seen, [], "directories in which something appeared")
    equal(watcher.heard(), [], "events that a watcher heard")
    watcher.close()
    equal(pair.inside("create", b":plain/ok", b"x")[0], 0, "a name beside them")


CONVERSATIONS = (
    ("what the host does is seen inside at once", host_then_inside),
    ("what the host makes under a ruled name is under the rule at once", host_makes_ruled),
    ("what is done inside is seen by the host and its watchers at once", inside_then_host),
    ("a watcher inside hears what the host does", watcher_inside),
    ("no ruled name appears on the host while a run lasts", nothing_appears),
)


def own_directories(box):
    return traces.directories(box.user.uid)


def sweep(box, level, others):
    """Who is killed before its guard lives leaves its directory in /tmp to later runs of its engine."""
    left = own_directories(box) - others
    for _ in range(400):
        left &= own_directories(box)
        if not left:
            break
        box.run("--no-config", "--level", level, "--home", "ephemeral", "--", "true").exited(0)
    equal(left, set(), "directories that later runs do not sweep")


def kill_rounds(box, level, seed):
    """The supervisor is killed at random moments, most of them within the set-up."""
    chance = random.Random(seed)
    for name in ("settings", "deep"):
        box.mkdir(f"ws/{name}")
    before, others = box.tree(), own_directories(box)
    script = "while :; do for n in kept secret start.rc .agent; do : >$n; mkdir $n; done 2>/dev/null; done"
    for number in range(ROUNDS):
        process = box.start([box.corral, "run", "--no-config", "--level", level, "--home", "ephemeral", *RULES, "--",
                             "/bin/sh", "-c", script])
        time.sleep(chance.random() * (0.008 if number % 3 else 0.03))
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        process.stderr.close()
        left = {path for path in box.tree().keys() - before.keys() if path.startswith(box.ws)}
        equal(left, set(), f"what round {number} left in the workspace")
    check(wait_until(lambda: not box.remains()), f"left: {box.remains()[:3]}")
    if level == "standard":  # the other engine makes no directory there
        sweep(box, level, others)
    left = {path for path in box.tree().keys() - before.keys() if path.startswith(box.ws)}
    equal(left, set(), "what the runs left in the workspace")


def register(suite):
    for level in suite.levels:
        for title, talk in CONVERSATIONS:
            @suite.test(f"{title} at level {level}")
            def _(box, talk=talk, level=level):
                pair = Pair(box, suite, level)
                try:
                    talk(pair)
                finally:
                    said = pair.side.finish()
                equal(said, "", "the end")

        @suite.test(f"a run that is killed at any moment leaves nothing at level {level}")
        def _(box, level=level):
            kill_rounds(box, level, suite.seed)
