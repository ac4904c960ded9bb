# SPDX-License-Identifier: Apache-2.0
"""Refused operations, one record each: a table of calls with the record that each leaves, on both engines.

Every row has its control: the same call succeeds outside.  Where the record names an option, the same call succeeds with
it; what would have failed outside as well leaves no record."""
import os
import shlex
import shutil

from harness import Skip, check, contains, equal
from hints import elsewhere
from network import UnixServer

LEVELS = ("full", "standard")

# A call of Python, so that it is one system call; its words; op, access and path of its record; whether the option
# of the record lets the call succeed.  {far} is readable for the row, {dark} not granted at all.
CHANGES = [
    ("os.open('{far}/f', os.O_WRONLY)", "open", "write", "{far}/f", True),
    ("os.open('{far}/f', os.O_RDWR)", "open", "write", "{far}/f", True),
    ("os.open('{far}/f', os.O_WRONLY | os.O_APPEND)", "open", "write", "{far}/f", True),
    ("os.open('{far}/f', os.O_WRONLY | os.O_TRUNC)", "open", "write", "{far}/f", True),
    ("os.open('{far}/f', os.O_WRONLY | os.O_CREAT)", "open", "create", "{far}/f", True),
    ("os.open('{far}/new', os.O_WRONLY | os.O_CREAT | os.O_EXCL)", "open", "create", "{far}/new", True),
    ("os.open('{far}/sub/../new', os.O_WRONLY | os.O_CREAT)", "open", "create", "{far}/sub/../new", True),
    ("os.open('{far}/link', os.O_WRONLY)", "open", "write", "{far}/link", True),
    ("os.truncate('{far}/f', 0)", "truncate", "write", "{far}/f", True),
    ("os.mkdir('{far}/d')", "mkdir", "create", "{far}/d", True),
    ("os.open('{far}/a*[b', os.O_WRONLY)", "open", "write", "{far}/a*[b", True),
    ("os.mkfifo('{far}/p')", "mknod", "create", "{far}/p", True),
    ("os.symlink('x', '{far}/s')", "symlink", "create", "{far}/s", True),
    ("os.link('{far}/f', '{far}/h')", "link", "create", "{far}/f", True),
    ("os.rename('{far}/f', '{far}/g')", "rename", "rename", "{far}/f", True),
    ("os.unlink('{far}/f')", "unlink", "delete", "{far}/f", True),
    ("os.rmdir('{far}/sub')", "rmdir", "delete", "{far}/sub", True),
    ("os.chmod('{far}/f', 0o600)", "chmod", "mode", "{far}/f", True),
    ("os.chmod(os.open('{far}/f', os.O_RDONLY), 0o600)", "chmod", "mode", "{far}/f", True),
    ("os.chown('{far}/f', -1, -1)", "chown", "owner", "{far}/f", True),
    ("os.utime('{far}/f', (1, 1))", "utime", "times", "{far}/f", True),
    ("os.setxattr('{far}/f', 'user.a', b'b')", "setxattr", "attributes", "{far}/f", True),
    ("os.removexattr('{far}/f', 'user.a')", "setxattr", "attributes", "{far}/f", None),
    ("os.lchown('{far}/f', os.getuid(), -1)", "chown", "owner", "{far}/f", True),
    ("os.mknod('{far}/new')", "mknod", "create", "{far}/new", True),
    ("os.rename('conf', '{far}/g')", "rename", "rename", "{far}/g", None),
    ("os.link('conf', '{far}/h')", "link", "create", "{far}/h", None),
    ("os.replace('{far}/f', 'conf')", "rename", "rename", "{far}/f", None),
    ("import socket; socket.socket(socket.AF_UNIX).bind('{far}/p')", "bind", "create", "{far}/p", True),
    ("os.rename('{dark}/f', 'x')", "rename", "rename", "{dark}/f", None),
    ("os.rename('conf', '{dark}/g')", "rename", "rename", "{dark}/g", None),
    ("os.symlink('x', '{dark}/s')", "symlink", "create", "{dark}/s", True),
    ("os.chmod('{dark}/f', 0o600)", "chmod", "mode", "{dark}/f", True),
    ("os.utime('{dark}/f', (1, 1))", "utime", "times", "{dark}/f", True),
    ("os.open('{dark}/f', os.O_WRONLY)", "open", "write", "{dark}/f", True),
    ("os.open('{dark}/new', os.O_WRONLY | os.O_CREAT)", "open", "create", "{dark}/new", True),
    ("os.mkdir('{dark}/d')", "mkdir", "create", "{dark}/d", True),
    ("os.unlink('{dark}/f')", "unlink", "delete", "{dark}/f", True),
    ("os.rename('{far}/f', '{dark}/g')", "rename", "rename", "{far}/f", None),
    ("os.rename('{far}/f', '{far}/sub/g')", "rename", "rename", "{far}/f", True),
]

READS = [
    ("os.open('{dark}/f', os.O_RDONLY)", "open", "read", "{dark}/f", True),
    ("os.listdir('{dark}')", "open", "read", "{dark}", True),
    ("os.open('{home}/notes', os.O_RDONLY)", "open", "read", "{home}/notes", True),
    ("os.listdir('{home}/docs')", "open", "read", "{home}/docs", True),
    ("os.open('../home/notes', os.O_RDONLY)", "open", "read", "{home}/notes", True),
    ("os.open('{home}/.ssh/id_rsa', os.O_RDONLY)", "open", "read", "{home}/.ssh/id_rsa", False),
    ("os.open('{home}/.aws/credentials', os.O_RDONLY)", "open", "read", "{home}/.aws/credentials", False),
    ("os.open('{home}/.config/gh/hosts.yml', os.O_RDONLY)", "open", "read", "{home}/.config/gh/hosts.yml", False),
]

# At level standard Landlock lets stat(2) of a hidden file succeed.
LOOKUPS = [
    ("os.stat('{dark}/f')", "stat", "read", "{dark}/f", True),
    ("os.stat('{home}/notes')", "stat", "read", "{home}/notes", True),
    ("os.lstat('{home}/notes')", "stat", "read", "{home}/notes", True),
    ("os.chdir('{home}/docs')", "stat", "read", "{home}/docs", True),
    ("os.access('{home}/notes', os.R_OK) or 1 / 0", "stat", "read", "{home}/notes", True),
]

# Words, call, op, access, path, the option that helps, or None.
RULES = [
    (("--deny", "*.key"), "os.open('a.key', os.O_RDONLY)", "open", "read", "{ws}/a.key", "--deny"),
    (("--deny", "secret"), "os.open('{ws}/secret/f', os.O_RDONLY)", "open", "read", "{ws}/secret/f", "--deny"),
    (("--protect", "conf"), "os.open('conf', os.O_WRONLY)", "open", "write", "{ws}/conf", "--protect"),
    (("--protect", "conf"), "os.unlink('conf')", "unlink", "delete", "{ws}/conf", "--protect"),
    ((), "os.open('.git/config', os.O_WRONLY)", "open", "write", "{ws}/.git/config", "--protect"),
    ((), "os.close(os.open('.git/config.lock', os.O_WRONLY | os.O_CREAT)); os.rename('.git/config.lock', '.git/config')",
     "open", "create", "{ws}/.git/config.lock", "--protect"),  # the option lets both calls succeed
    ((), "os.open('.git/hooks/pre-commit', os.O_WRONLY | os.O_CREAT)", "open", "create", "{ws}/.git/hooks/pre-commit", "--protect"),
    ((), "os.open('.vscode/tasks.json', os.O_WRONLY | os.O_CREAT)", "open", "create", "{ws}/.vscode/tasks.json", "--protect"),
    ((), "os.open('.claude/settings.json', os.O_WRONLY | os.O_CREAT)", "open", "create", "{ws}/.claude/settings.json", "--protect"),
    ((), "os.rename('.git', 'g')", "rename", "rename", "{ws}/.git", None),
]

# Failures that are the program's own: the host has no such file either, or does not let the caller.
NONE = [
    "os.open('{home}/missing', os.O_RDONLY)",
    "os.open('{ws}/missing', os.O_RDONLY)",
    "os.stat('/usr/include/no/such.h')",
    "os.mkdir('{far}/no/such')",
    "os.unlink('{far}/missing')",
    "os.mkdir('{ws}/conf')",
    "os.open('/etc/shadow', os.O_RDONLY)",
    "os.open('/etc/passwd', os.O_WRONLY)",
    "os.rmdir('{ws}/secret')",
]


class World:
    """A readable directory, one that is not granted, a HOME with files, a repository."""

    def __init__(self, box):
        self.box, self.far, self.dark = box, elsewhere(box), elsewhere(box)
        for path in (self.far, self.dark):
            box.own(os.mkdir(f"{path}/sub") or f"{path}/sub")
            os.symlink("f", f"{path}/link")
            with open(f"{path}/a*[b", "w", encoding="utf-8"):
                box.own(f"{path}/a*[b")
        box.write("home/notes", "x\n")
        box.write("home/docs/a", "x\n")
        box.write("home/.ssh/id_rsa", "x\n")
        box.write("home/.aws/credentials", "x\n")
        box.write("home/.config/gh/hosts.yml", "x\n")
        for name in ("a.key", "secret/f", "conf", ".vscode/settings.json", ".claude/notes"):
            box.write(f"ws/{name}", "x\n")
        box.execute(["git", "init", "-q", box.ws]).exited(0)

    def text(self, text):
        return text.format(far=self.far, dark=self.dark, home=self.box.home, ws=self.box.ws)

    def restore(self):
        """After a call that succeeded."""
        for path in (self.far, self.dark):
            for name in ("new", "d", "p", "s", "h", "g"):
                at = f"{path}/{name}"
                if os.path.isdir(at):
                    os.rmdir(at)
                elif os.path.lexists(at):
                    os.unlink(at)
            with open(f"{path}/f", "w", encoding="utf-8") as out:
                out.write("far\n")
            self.box.own(f"{path}/f")
            os.chmod(f"{path}/f", 0o644)
            if not os.path.isdir(f"{path}/sub"):
                self.box.own(os.mkdir(f"{path}/sub") or f"{path}/sub")
        self.box.write("ws/conf", "x\n")

    def words(self, level, *more):
        return ("--no-config", "--level", level, "--denials", "all", "--read", self.far, *more)

    def call(self, text):
        return ("python3", "-c", f"import os\n{self.text(text)}")

    def run(self, level, words, text):
        return self.box.json(*self.words(level, *words), "--", *self.call(text))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.far)
        shutil.rmtree(self.dark)


def one(result, row):
    """The only record of a run that failed."""
    check(result["exit_code"] != 0, f"{row}: it succeeds")
    equal(result["denials_recorded"], True, "denials_recorded")
    # The interpreter looks for its own settings in HOME as well.
    found = [d for d in result["denials"] if "python" not in d.get("path", "").lower() or "/.local/lib" not in d["path"]]
    equal(len(found), 1, f"{row}: records {found}")
    return found[0]


def fits(world, record, row, op, access, path):
    equal((record["op"], record["access"], record.get("path")), (op, access, world.text(path)), f"{row}: op, access, path")
    check(record["errno"] in ("EACCES", "EROFS", "ENOENT", "EPERM", "EBUSY", "EXDEV"), f"{row}: errno {record}")
    for key in ("rule", "origin", "why", "remedy"):
        check(record[key], f"{row}: no {key}: {record}")
    equal(record["count"], 1, f"{row}: count")


def helps(world, level, words, text, option):
    done = world.box.run(*world.words(level, *words, *shlex.split(option)), "--", *world.call(text))
    check(done.status == 0, f"{option} does not help {text} at {level}: {done}")


def register(suite):
    test = suite.test

    def table(world, rows, levels=LEVELS):
        for text, op, access, path, opens in rows:
            for level in levels:
                row = f"{text} at {level}"
                record = one(world.run(level, (), text), row)
                fits(world, record, row, op, access, path)
                if opens is False:
                    equal((record["allow_with"], "sensitive" in record["why"]), (None, True), f"{row}: a credential")
                elif opens:
                    check(record["allow_with"], f"{row}: no option: {record}")
                    helps(world, level, (), text, record["allow_with"])
                    world.restore()

    @test("denials: each refused change leaves one record, and its option helps")
    def _(box):
        with World(box) as world:
            table(world, CHANGES)

    @test("denials: each read of a hidden file leaves one record, and its option helps")
    def _(box):
        with World(box) as world:
            table(world, READS)
            table(world, LOOKUPS, ("full",))

    @test("denials: rules about names, and the mode")
    def _(box):
        with World(box) as world:
            for words, text, op, access, path, option in RULES:
                for level in LEVELS:
                    row = f"{text} with {words} at {level}"
                    record = one(world.run(level, words, text), row)
                    fits(world, record, row, op, access, path)
                    if option is None:
                        equal(record["allow_with"], None, f"{row}: option")
                        continue
                    contains(record["allow_with"] or "", option, f"{row}: option")
                    helps(world, level, words, text, record["allow_with"])
                    world.restore()

    @test("denials: what fails outside as well is none")
    def _(box):
        with World(box) as world:
            for text in NONE:
                check(box.execute(world.call(text)).status != 0, f"{text} succeeds outside")
                for level in LEVELS:
                    result = world.run(level, (), text)
                    check(result["exit_code"] != 0, f"{text} succeeds at {level}")
                    equal(result["denials"], [], f"{text} at {level}")

    @test("denials: a credential is listed whether it exists or not")
    def _(box):
        for exists in (False, True):
            if exists:
                box.write("home/.netrc", "x\n")
            found = box.json("--no-config", "--level", "full", "--denials", "all", "--", "cat", f"{box.home}/.netrc")["denials"]
            equal([d["path"] for d in found], [f"{box.home}/.netrc"], f"exists {exists}")
            equal(found[0]["allow_with"], None, "option")

    @test("denials: a file of .config that holds no credential is none; an unknown one is")
    def _(box):
        ignored, token = f"{box.home}/.config/git/ignore", f"{box.home}/.config/unknown-program/token"
        words = ("--no-config", "--level", "full", "--denials", "all")
        equal(box.json(*words, "--", "cat", ignored)["denials"], [], "the host has none either")
        box.write("home/.config/git/ignore", "*.o\n")
        found = box.json(*words, "--", "cat", ignored)["denials"]
        equal([(d["path"], d["allow_with"]) for d in found], [(ignored, f"--read {ignored}")], "the host has one")
        equal(box.run(*words, *shlex.split(found[0]["allow_with"]), "--", "cat", ignored).exited(0).out, "*.o\n", "granted")
        found = box.json(*words, "--", "cat", token)["denials"]
        equal([(d["path"], d["allow_with"]) for d in found], [(token, None)], "an unknown program's")

    @test("denials: hint, denial and why agree about a credential of the hidden HOME")
    def _(box):
        box.write("home/.netrc", "x\n")
        path = f"{box.home}/.netrc"
        for level in LEVELS:
            words = ("--no-config", "--level", level, "--denials", "all")
            result = box.json(*words, "--", "cat", path)
            contains(result["hint"]["text"], "sensitive file", f"hint at {level}")
            equal([(d["allow_with"], "sensitive file" in d["why"]) for d in result["denials"]], [(None, True)], f"denials at {level}")
            contains(box.corral_("why", "--no-config", "--level", level, path).out, "no grant: it holds credentials", f"why at {level}")

    @test("denials: a failed rename to the name of a credential leaves the same records whether it exists or not")
    def _(box):
        box.write("ws/f", "x\n")
        call = f"import os; os.rename('f', '{box.home}/.netrc')"
        words = ("--no-config", "--level", "full", "--denials", "all", "--", "/usr/bin/python3", "-I", "-c", call)
        before = box.json(*words)["denials"]
        box.write("home/.netrc", "x\n")
        equal(box.json(*words)["denials"], before, "denials")

    @test("denials: no option is proposed for Corral's own files in a granted HOME")
    def _(box):
        box.write("home/.config/corral/config.toml", "")
        box.run("true").exited(0)  # creates the state directory
        path = f"{box.home}/.local/state/corral/audit/0000000001.jsonl"
        for level in LEVELS:
            found = box.json("--no-config", "--level", level, "--write", box.home, "--", "sh", "-c", f"echo x >>{path}; exit 1")["denials"]
            own = [d for d in found if d["path"] == path]
            equal([(d["allow_with"], d["remedy"].split(":")[0]) for d in own], [(None, "no option allows it")], f"{level}: {found}")

    @test("denials: connections without a network, through the gate, and to a socket file")
    def _(box):
        connect = "import socket; socket.create_connection(('192.0.2.1', 443), 5)"
        for level in LEVELS:
            record = box.json("--no-config", "--level", level, "--", "python3", "-c", connect)["denials"]
            equal([(d["op"], d["host"], d["allow_with"]) for d in record],
                  [("connect", "192.0.2.1:443", "--allow-host 192.0.2.1:443")], level)
        lookup = "import socket; socket.create_connection(('name.example.org', 443), 5)"
        equal(box.json("--no-config", "--", "python3", "-c", lookup)["denials"], [], "a look-up without a network")
        refused = box.json("--no-config", "--allow-host", "allowed.example.org", "--", "python3", "-c", connect)["denials"]
        equal([(d["op"], d["host"], d["port"], d["allow_with"]) for d in refused],
              [("connect", "192.0.2.1", 443, "--allow-host 192.0.2.1:443")], "the gate's")
        far = elsewhere(box)
        try:
            with UnixServer(f"{far}/s"):
                box.own(f"{far}/s")
                code = f"import socket; socket.socket(socket.AF_UNIX).connect('{far}/s')"
                for level in LEVELS:
                    words = ("--no-config", "--level", level, "--read", far)
                    found = box.json(*words, "--", "python3", "-c", code)["denials"]
                    equal([(d["op"], d["path"], d["allow_with"]) for d in found],
                          [("connect", f"{far}/s", f"--socket {far}/s")], level)
                    box.run(*words, *shlex.split(found[0]["allow_with"]), "--", "python3", "-c", code).exited(0)
        finally:
            shutil.rmtree(far)

    @test("denials: equal ones are counted, and a flood is bounded")
    def _(box):
        far = elsewhere(box)
        try:
            many = (f"import os\nfor i in range(20000):\n try: os.mkdir('{far}/d%d' % (i % 9000))\n except OSError: pass\n"
                    f"for i in range(50):\n try: os.mkdir('{far}/one')\n except OSError: pass\nraise SystemExit(1)")
            for level in LEVELS:
                result = box.json("--no-config", "--level", level, "--read", far, "--", "python3", "-c", many)
                equal(len(result["denials"]), 100, f"listed at {level}")
                check(result["denials_more"] > 1000, f"more at {level}: {result['denials_more']}")
                check(result["denials"][0]["count"] in (2, 3), f"count at {level}: {result['denials'][0]}")
        finally:
            shutil.rmtree(far)

    @test("denials: a secret in a path is in no record, result or log")
    def _(box):
        far, value = elsewhere(box), "s3cret-" + os.urandom(12).hex()
        try:
            box.env["GITHUB_TOKEN"] = value
            words = ("--no-config", "--pass-env", "GITHUB_TOKEN", "--read", far, "--")
            script = f"import os\ntry: os.mkdir('{far}/x-' + os.environ['GITHUB_TOKEN'])\nexcept OSError: raise SystemExit(4)"
            result = box.run("--json", *words, "python3", "-c", script)
            check(value not in result.out, f"in the result: {result}")
            equal([(d["op"], d["allow_with"]) for d in result.json["denials"]], [("mkdir", None)], "record")
            contains(result.json["denials"][0]["path"], "redacted", "path")
            done = box.run(*words, "python3", "-c", script).exited(4)
            check(value not in done.err, f"on stderr: {done}")
            check(value not in box.corral_("audit", "list", "--json").out, "in the audit log")
            check(value not in box.corral_("why", "--last").out, "in why")
        finally:
            shutil.rmtree(far)

    @test("denials: a refused system call, and none that the host refuses as well", root=True)
    def _(box):
        script = ("import ctypes, os, sys\nlibc = ctypes.CDLL(None, use_errno=True)\n"
                  "key = libc.syscall(250, 0, -3, 0, 0, 0)\nassert key == -1 and ctypes.get_errno() == 1, ctypes.get_errno()\n"
                  "new = libc.mount(b'none', b'/mnt', b'tmpfs', 0, None)\nassert new == -1 and ctypes.get_errno() == 1\nsys.exit(5)")
        if os.uname().machine != "x86_64":
            raise Skip("the numbers are of x86-64")
        for level in LEVELS:
            result = box.json("--no-config", "--level", level, "--denials", "all", "--", "python3", "-c", script)
            equal(result["exit_code"], 5, f"at {level}: {result['stderr']}")
            calls = [(d["op"], d["access"], d["errno"], d["rule"]) for d in result["denials"] if d["access"] == "syscall"]
            wanted = [("keyctl", "syscall", "EPERM", "seccomp")]
            if box.user.uid == 0:
                wanted.append(("mount", "syscall", "EPERM", "seccomp"))
            equal(calls, wanted, f"at {level}")
            contains(box.corral_("audit", "list", "--kind", "deny.syscall").out, "keyctl", "the audit log")

    @test("denials: a name that is only missing in the private HOME is no refusal, a hidden file is one")
    def _(box):
        box.write("home/.claude/settings.json", "{}")
        for level in LEVELS:
            result = box.json("--no-config", "--level", level, "--denials", "all", "-c",
                              "mkdir ~/.claude/backups; mv ~/.claude/a ~/.claude/b; cat ~/.claude/settings.json; exit 1")
            equal([d["op"] for d in result["denials"] if d["op"] in ("mkdir", "rename")], [], f"at {level}")
            check(any(d["access"] == "read" for d in result["denials"]), f"the hidden file, at {level}: {result['denials']}")

    @test("denials: off records nothing and says so; changes records no reads")
    def _(box):
        box.write("home/notes", "x\n")
        script = f"cat {box.home}/notes; mkdir /var/lib/corral-test-none 2>/dev/null; mkdir .git && echo x >.git/config; exit 1"
        for which, recorded in (("off", False), ("changes", True), ("all", True)):
            result = box.json("--no-config", "--level", "full", "--denials", which, "--", "sh", "-c", script)
            equal(result["denials_recorded"], recorded, which)
            equal(any(d.get("path") == f"{box.home}/notes" for d in result["denials"]), which == "all", f"reads with {which}")

    @test("denials: a person reads them after a failure, controls escaped")
    def _(box):
        far = elsewhere(box)
        try:
            name = "a\x1b[31mb"
            done = box.run("--no-config", "--read", far, "--", "python3", "-c",
                           f"import os, sys\ntry: os.mkdir({far + '/' + name!r})\nexcept OSError: sys.exit(3)")
            done.exited(3).said("corral: refused: mkdir (EROFS)", f"--write {far}")
            check("\x1b" not in done.err, f"a control character: {done}")
            done = box.run("--no-config", "--read", far, "--", "python3", "-c",
                           f"import os, sys\ntry: os.mkdir('{far}/d')\nexcept OSError: pass")
            check("refused" not in done.exited(0).err, f"after a success: {done}")
        finally:
            shutil.rmtree(far)
