# SPDX-License-Identifier: Apache-2.0
"""Words that are wrong: exit 2, the culprit named, nothing run, nothing left."""
import os

from harness import Skip, check, contains, equal

RAN = ("--", "touch", "ran")

# (words before the command, what stderr has to name).  A remedy is wanted where
# a third element says so.
WRONG = [
    (("run", "--bogus"), ["--bogus"]),
    (("run", "--tiemout", "3"), ["--tiemout", "--timeout"], True),
    (("run", "-Z"), ["-Z"]),
    (("run", "--json=yes"), ["--json"]),
    (("run", "--set", "limits.tmeout=3"), ["limits.tmeout"], True),
    (("run", "--set", "timeout"), ["timeout"], True),
    (("run", "--set", "nonsense.key=1"), ["nonsense.key"], True),
    (("run", "--timeout", "soon"), ["soon", "--timeout"]),
    (("run", "--timeout", "0"), ["limits.timeout", "0"]),
    (("run", "--timeout", "-1"), ["-1"]),
    (("run", "--timeout", "99999999999999999999"), ["99999999999999999999"]),
    (("run", "--timeout", ""), ["--timeout"]),
    (("run", "--grace", "2h"), ["2h"]),
    (("run", "--processes", "0"), ["limits.processes"]),
    (("run", "--processes", "12x"), ["12x"]),
    (("run", "--processes", "1.5"), ["1.5"]),
    (("run", "--open-files", "3"), ["limits.open_files"]),
    (("run", "--open-files", "99999999"), ["99999999"]),
    (("run", "--memory", "1"), ["limits.memory"]),
    (("run", "--memory", "12Q"), ["12Q"]),
    (("run", "--cpus", "0"), ["limits.cpus"]),
    (("run", "--cpus", "1.23456"), ["1.23456"]),
    (("run", "--cpu-time", "10ms"), ["limits.cpu_time"]),
    (("run", "--max-output", "2G"), ["limits.output"]),
    (("run", "--tmp-size", "1"), ["limits.tmp_size"]),
    (("run", "--tmp-size", "none"), ["limits.tmp_size"]),
    (("run", "--level", "medium"), ["medium", "full"]),
    (("run", "--min-level", "auto"), ["auto"]),
    (("run", "--mode", "rw"), ["rw", "read-only"]),
    (("run", "--net", "wifi"), ["wifi", "none"]),
    (("run", "--home", "away"), ["away", "ephemeral"]),
    (("run", "--require", "fs.wrote"), ["fs.wrote"]),
    (("run", "--require", ""), ["--require"]),
    (("run", "--profile", "worksapce"), ["worksapce"], True),
    (("run", "--tty", "sometimes"), ["sometimes"], True),
    (("run", "--tty", "always"), ["--tty"], True),
    (("run", "--tty", "always", "--json"), ["--json"], True),
    (("run", "--stdin"), ["--stdin"], True),
    (("run", "--mode", "full-acess"), ["full-acess", "full-access"]),
    (("run", "--dangerously-allow-full-access"), ["no effect", "workspace-write"], True),
    (("run", "--allow-degraded", "fs.wrote"), ["fs.wrote"]),
    (("run", "--allow-host", "https://u:secret@a.example/x"), ["URL", "a.example"], True),
    (("run", "--allow-host", "*.example"), ["*.example", "top-level"], True),
    (("run", "--allow-host", "0177.0.0.1"), ["0177.0.0.1", "127.0.0.1"], True),
    (("run", "--allow-host", "localhost:80"), ["--host-port 80"], True),
    (("run", "--net", "none", "--allow-host", "a.example"), ["--net", "--allow-host", "contradicts"], True),
    (("run", "--net", "full", "--deny-host", "a.example"), ["--net", "--deny-host", "contradicts"], True),
    (("run", "--deny-host", "@remotes"), ["net.allow"], True),
    (("run", "--allow-private", "169.254.0.0/16"), ["link-local"], True),
    (("run", "--proxy"), ["--proxy", "--net filtered"], True),
    (("run", "--publish", "0"), ["net.publish", "65535"], True),
    (("run", "--publish", "3000", "--host-port", "3000"), ["--publish", "--host-port"], True),
    (("run", "--host-port", "80:81"), ["net.host_ports"], True),
    (("run", "--net", "filtered", "--allow-host", "a.example", "--host-port", "53"), ["--host-port 53", "resolver"], True),
    (("run", "--deny", "a[b"), ["a[b", "class"], True),
    (("run", "--deny", "**.pem"), ["**.pem", "between slashes"], True),
    (("run", "--protect", "@nosuch"), ["nosuch", "@startup"], True),
    (("run", "--set", "commands.git.allow=x"), ["commands.git.allow", "unknown key"], True),
    (("run", "--workspace", "nowhere"), ["nowhere"], True),
    (("run", "--workspace", "a-file"), ["a-file"], True),
    (("run", "--workspace", "/usr"), ["/usr"], True),
    (("run", "--workspace", "/"), ["/"], True),
    (("run", "--workspace", "/tmp"), ["/tmp"], True),
    (("run", "--workspace", "~"), ["HOME"], True),
    (("run", "--workspace", ""), ["workspace"]),
    (("run", "--read", "nowhere"), ["nowhere", "--read"], True),
    (("run", "--write", "nowhere"), ["nowhere", "--write"], True),
    (("run", "--read", ""), ["fs.read"]),
    (("run", "--read", "/proc/1"), ["/proc"]),
    (("run", "--write", "/dev"), ["/dev"]),
    (("run", "--agent-dir", "nowhere"), ["nowhere"], True),
    (("run", "--chdir", "nowhere"), ["nowhere"]),
    (("run", "--chdir", "/var/log"), ["/var/log"], True),
    (("run", "--policy", "nowhere.toml"), ["nowhere.toml"]),
    (("run", "--policy", "a-folder"), ["a-folder"]),
    (("run", "--policy", "fd:99"), ["fd:99"]),
    (("run", "--policy", "fd:x"), ["fd:x"]),
    (("run", "--policy", "/dev/zero"), ["/dev/zero"]),
    (("run", "--env", "NOVALUE"), ["NOVALUE"]),
    (("run", "--env", "=x"), ["=x"]),
    (("run", "--env", "1A=x"), ["1A"]),
    (("run", "--env", "LD_PRELOAD=/x.so"), ["LD_PRELOAD", "allow_dangerous"], True),
    (("run", "--env", "BASH_ENV=/x"), ["BASH_ENV"], True),
    (("run", "--env", "NODE_OPTIONS=-r /x"), ["NODE_OPTIONS"], True),
    (("run", "--env", "GIT_SSH_COMMAND=x"), ["GIT_SSH_COMMAND"], True),
    (("run", "--pass-env", "LD_LIBRARY_PATH"), ["LD_LIBRARY_PATH"], True),
    (("run", "--pass-env", "A B"), ["A B"]),
    (("run", "--env", "CORRAL_LEVEL=full"), ["CORRAL_LEVEL", "reserved"], True),
    (("run", "--pass-env", "CORRAL_X"), ["CORRAL_X", "reserved"], True),
    (("run", "--allow-dangerous-env", "CORRAL_X", "--env", "CORRAL_X=1"), ["CORRAL_X", "reserved"], True),
    (("run", "--env", "PATH=/x"), ["PATH", "env.path"], True),
    (("run", "--env", "HOME=/x"), ["HOME"], True),
    (("run", "--set", "env.path=bin:/usr/bin"), ["env.path"]),
    (("run", "-c", "touch ran", "-c", "touch ran"), ["-c"]),
]

# The same for calls that name no command.
WRONG_ALONE = [
    ((), ["no verb"], True),
    (("frobnicate",), ["frobnicate"], True),
    (("rnu",), ["rnu", "run"], True),
    (("--json", "run"), ["--json"], True),
    (("run",), ["no command"], True),
    (("run", "--json"), ["no command"], True),
    (("run", "--timeout"), ["--timeout", "needs a value"]),
    (("shell", "ls"), ["ls"], True),
    (("shell",), ["terminal"], True),
    (("shell", "--json"), ["--json"]),
    (("explain", "--tty", "never"), ["--tty"]),
    (("explain", "--bogus"), ["--bogus"]),
    (("policy",), ["policy"], True),
    (("policy", "shw"), ["shw", "show"], True),
    (("policy", "show", "word"), ["word"]),
    (("policy", "schema", "word"), ["word"]),
    (("policy", "check"), ["file"], True),
    (("policy", "check", "nowhere.toml"), ["are invalid"]),
    (("policy", "trust"), ["file"], True),
    (("policy", "trust", "other.toml"), ["other.toml"], True),
    (("policy", "trust", "nowhere/.corral.toml"), ["nowhere"]),
    (("completion",), ["bash"], True),
    (("completion", "tcsh"), ["bash"], True),
    (("help", "frobnicate"), ["frobnicate"], True),
]

# Policy documents that are wrong: (name, content, what stderr names).
DOCUMENTS = [
    ("key.toml", "tmeout = 3\n", ["tmeout", "key.toml:1"]),
    ("table.toml", "[limits]\n\ntmeout = 3\n", ["limits.tmeout", "table.toml:3"]),
    ("type.toml", "[limits]\nprocesses = true\n", ["limits.processes", "type.toml:2"]),
    ("text.toml", "[limits]\nprocesses = \"12\"\n", ["limits.processes", "text.toml:2"]),
    ("list.toml", "[fs]\nread = \"/usr\"\n", ["fs.read", "list"]),
    ("scalar.toml", "fs = 3\n", ["fs", "table"]),
    ("range.toml", "[limits]\nopen_files = 2\n", ["limits.open_files", "2"]),
    ("version.toml", "version = 2\n", ["version"]),
    ("twice.toml", "mode = \"read-only\"\nmode = \"read-only\"\n", ["twice.toml"]),
    ("syntax.toml", "[limits\n", ["syntax.toml"]),
    ("floor.toml", "[floor]\nmode = \"read-only\"\n", ["floor"]),
    ("utf8.toml", b"mode = \"\xff\xfe\"\n", ["utf8.toml"]),
    ("nul.toml", b"mode = \"read-only\"\n\0", ["nul.toml"]),
    ("later.toml", "scan.net = \"redact\"\n", ["scan.net", "the nearest action is block"]),
    ("commands.toml", "[commands.git]\nallowed = []\n", ["commands.git.allowed", "at least one"]),
    ("host.toml", "[net]\nallow = [\"a.example\", \"a.*.example\"]\n", ["host.toml:2", "a.*.example"]),
    ("port.toml", "[net]\nhost_ports = [5432, 70000]\n", ["port.toml:2", "70000"]),
    ("syntax.json", "{\"mode\": \"read-only\"", ["syntax.json"]),
    ("twice.json", "{\"mode\":\"read-only\",\"mode\":\"workspace-write\"}", ["twice.json"]),
    ("key.json", "{\"tmeout\": 3}", ["tmeout"]),
    ("type.json", "{\"limits\": {\"processes\": [1]}}", ["limits.processes"]),
    ("list.json", "[]", ["list.json"]),
    ("empty.json", "", ["empty.json"]),
    ("tag.yaml", "mode: !!python/object:os.system x\n", ["tag.yaml"]),
    ("anchor.yaml", "mode: &a read-only\nprofile: *a\n", ["anchor.yaml"]),
    ("twice.yaml", "mode: read-only\nmode: read-only\n", ["twice.yaml"]),
    ("key.yaml", "limits:\n  tmeout: 3\n", ["limits.tmeout", "key.yaml:2"]),
    ("deep.json", "{\"fs\":" * 5000 + "1" + "}" * 5000, ["deep.json"]),
    ("deep.toml", "a = " + "[" * 5000 + "]" * 5000 + "\n", ["deep.toml"]),
    ("garbage.toml", None, ["garbage.toml"]),
    ("garbage.yaml", None, ["garbage.yaml"]),
    ("garbage.json", None, ["garbage.json"]),
    ("large.toml", b"#" * (1024 * 1024 + 1), ["large.toml"]),
]


def wrong(box, words, named, remedy):
    """The verdict on one call that must not run anything."""
    before = box.tree()
    done = box.corral_(*words)
    done.exited(2)
    equal(done.out if "check" not in words else "", "", f"stdout of {words}")
    lines = done.err.splitlines()
    check(lines and lines[0].startswith("corral: ") and lines[0].count(": ") >= 2, f"no layer: {done}")
    for part in named:
        contains(done.err, part, f"stderr of {' '.join(words)[:200]}")
    if remedy:
        check(any(line.startswith("  remedy: ") for line in lines), f"no remedy: {done}")
    check(all(31 < ord(c) or c == "\n" for c in done.err), f"control characters: {done}")
    check(not box.exists("ws/ran"), f"something ran: {done}")
    equal(box.tree(), before, f"files of home and workspace after {words}")


def register(suite):
    test = suite.test

    for row in WRONG:
        @test(f"refused with 2: {' '.join(row[0])}")
        def _(box, row=row):
            box.write("ws/a-file", "x")
            box.mkdir("ws/a-folder")
            words = row[0] if "-c" in row[0] else row[0] + RAN
            wrong(box, words, row[1], len(row) > 2)

    for row in WRONG_ALONE:
        @test(f"refused with 2: corral {' '.join(row[0])}")
        def _(box, row=row):
            box.write("ws/other.toml", "")
            wrong(box, row[0], row[1], len(row) > 2)

    for name, content, named in DOCUMENTS:
        @test(f"refused with 2: the policy file {name}")
        def _(box, name=name, content=content, named=named):
            text = os.urandom(1024 * 1024) if content is None else content
            box.write(f"ws/{name}", text)
            wrong(box, ("run", "--policy", name) + RAN, named, False)
            if name != "floor.toml":  # right in the system's file, so right for the check
                done = box.corral_("policy", "check", name).exited(2)
                contains(done.out, name, "policy check names the file")

    @test("a word that is no verb, and an empty one, get a remedy that fits")
    def _(box):
        box.corral_("session", "destroy").exited(2).said("session destroy is not a verb", "corral session create|exec|")
        box.corral_("policy", "chek").exited(2).said("did you mean `corral policy check`?")
        for group in ("policy", "secret", "session"):
            box.corral_(group, "").exited(2).said(f"`corral {group}` needs a subcommand", f"remedy: corral {group} ")
        box.corral_("").exited(2).said('"" is not a verb', "corral help")
        box.run("").exited(2).said("no command was given", "corral run -- COMMAND")
        for words in (("status", "x"), ("test", "x"), ("policy", "schema", "x"), ("audit", "verify", "x")):
            check("remedy: " in box.corral_(*words).exited(2).err, f"{words} has no remedy")
        box.run("--write", "/", "true").exited(2).said("the whole file system cannot be granted", "--profile host-read")

    @test("an unreadable policy file is refused")
    def _(box):
        if box.user.uid == 0:
            raise Skip("root reads everything")
        box.write("ws/p.toml", "mode = \"read-only\"\n", 0)
        wrong(box, ("run", "--policy", "p.toml") + RAN, ["p.toml", "Permission denied"], False)

    @test("an unreadable standing file is refused, not passed over")
    def _(box):
        if box.user.uid == 0:
            raise Skip("root reads everything")
        box.write("home/.config/corral/corral.toml", "mode = \"read-only\"\n", 0)
        wrong(box, ("run",) + RAN, ["corral.toml"], False)

    @test("a project file that is a link, a directory or a fifo is refused")
    def _(box):
        box.write("ws/real.toml", "")
        os.symlink("real.toml", f"{box.ws}/.corral.toml")
        wrong(box, ("run",) + RAN, [".corral.toml", "link"], True)
        os.unlink(f"{box.ws}/.corral.toml")
        box.mkdir("ws/.corral.toml")
        wrong(box, ("run",) + RAN, [".corral.toml"], False)
        os.rmdir(f"{box.ws}/.corral.toml")
        os.mkfifo(f"{box.ws}/.corral.toml")
        wrong(box, ("run",) + RAN, [".corral.toml"], False)

    @test("a workspace that nobody named is called the current directory")
    def _(box):
        done = box.corral_("run", "true", cwd="/").exited(2)
        done.said("/ (the current directory) cannot be the workspace", "--workspace DIR")
        box.run("--chdir", "/var/log", "true").exited(2).said(f"contradicts workspace {box.ws} (the current directory)")

    @test("a directory above the workspace is not offered as a grant; the remedy works", root=True)
    def _(box):
        for place in ("/", os.path.dirname(box.ws)):
            done = box.run("--chdir", place, "true").exited(2)
            done.said(f"chdir {place} (--chdir) contradicts", f"-c 'cd {place} && COMMAND'")
            check("--read" not in done.err, f"a grant of {place}: {done}")
            for level in ("full", "standard"):
                equal(box.run("--level", level, "-c", f"cd {place} && pwd").exited(0).out, f"{place}\n", f"{place} at {level}")

    @test("a user's file in the current directory is refused as what it is")
    def _(box):
        box.mkdir("ws/sub")
        box.write("here/corral/corral.toml", "", 0o600)
        for where, words, place in ((f"{box.dir}/here", ("-w", box.ws), "the current directory"),
                                    (box.ws, ("-w", f"{box.dir}/here"), "the workspace")):
            done = box.corral_("run", *words, "true", cwd=where, env={**box.env, "XDG_CONFIG_HOME": f"{box.dir}/here"}).exited(126)
            done.said(f"corral.toml lies in {place}: ", f"a directory outside {place}")

    @test("an empty policy file is a policy without wishes")
    def _(box):
        box.write("ws/empty.toml", "")
        plain = box.corral_("policy", "show", "--json").exited(0).json["sha256"]
        same = box.corral_("policy", "show", "--json", "--policy", "empty.toml").exited(0).json["sha256"]
        equal(same, plain, "sha256")
        box.run("--policy", "empty.toml", "--", "true").exited(0)

    @test("a missing path with a trailing ? is skipped", root=True)
    def _(box):
        for option in ("--read", "--write", "--deny", "--protect"):
            box.run(option, "nowhere?", "--", "test", "!", "-e", "nowhere").exited(0)
        check(not box.exists("ws/nowhere"), "the missing path was made")

    @test("workspaces with odd names work")
    def _(box):
        for name in ("a b", "n\nl", "ü€", "co:lon", "back\\slash", "per%cent", "-dash", "q?", "st*r", "[b]", "qu'o\"te",
                     "/".join(["d" * 200] * 12)):
            where = box.mkdir(f"odd/{name}")
            box.run("touch", "made", cwd=where).exited(0)
            check(os.path.exists(f"{where}/made"), f"nothing was written in {name!r}")
            box.run("--deny", "made", "--", "cat", "made", cwd=where).exited(1)
            equal(box.run("--profile", "strict", "pwd", cwd=where).exited(0).out, "/workspace\n", "strict")

    @test("a directory that is gone is reported")
    def _(box):
        done = box.sh("mkdir gone; cd gone; rmdir ../gone; \"$CORRAL\" run touch ran")
        check(done.status in (2, 125), f"status {done.status}")
        done.said("corral: ", "remedy")

    @test("a workspace reached through a link is its target")
    def _(box):
        os.symlink("ws", f"{box.dir}/link")
        equal(box.run("pwd", cwd=f"{box.dir}/link").exited(0).out, f"{box.ws}\n", "as directory")
        equal(box.run("-w", f"{box.dir}/link", "pwd", cwd="/").exited(0).out, f"{box.ws}\n", "as option")

    @test("single files can be granted, denied and protected")
    def _(box):
        box.write("file", "readable\n")
        box.write("target", "old\n")
        box.write("beside", "secret\n")
        box.write("ws/kept", "kept\n")
        script = ("cat ../file ../beside; echo new >../target; echo x >../file; echo n >t; mv t kept; rm -f kept; "
                  "echo x >kept; ln -f t kept; exit 0")
        done = box.run("-r", "../file", "--write", "../target", "--protect", "kept", "-c", script).exited(0)
        equal(done.out, "readable\n", "stdout")
        equal([box.read("file"), box.read("target"), box.read("ws/kept")], ["readable\n", "new\n", "kept\n"], "files")
        box.run("--deny", "/usr/bin/perl", "perl", "-e", "1").exited(126)

    @test("control characters of a name do not reach the terminal")
    def _(box):
        for words in (("run", "--bad\x1b[31m"), ("run", "--read", "x\x1b]0;t\x07\r"), ("x\x1b[2J",)):
            done = box.corral_(*words, *RAN).exited(2)
            check(all(31 < ord(c) or c == "\n" for c in done.err), f"control characters: {done}")

    @test("a usage error under --json leaves stdout empty")
    def _(box):
        done = box.run("--json", "--timeout", "soon", "--", "true").exited(2)
        equal(done.out, "", "stdout")

    @test("a failed run leaves nothing behind", root=True)
    def _(box):
        box.write("ws/plain", "x", 0o644)
        box.run("--home", "ephemeral", "true").exited(0)
        before = box.files()
        for words, status in (((("--home", "ephemeral", "--", "./plain")), 126),
                              (("--home", "ephemeral", "--", "nowhere"), 127),
                              (("--home", "ephemeral", "--set", "fs.deny=/"), 2),
                              (("--home", "ephemeral", "--require", "net.names", "--", "true"), 125)):
            box.run(*words).exited(status)
            equal(box.files(), before, f"files after {words}")
            equal(box.remains(), [], f"remains after {words}")

    @test("a good run leaves nothing in the workspace that the command did not write", root=True)
    def _(box):
        box.write("ws/kept", "x")
        box.mkdir("ws/.git")
        before = {p: v for p, v in box.tree().items() if p.startswith(box.ws)}
        box.run("true").exited(0)
        box.run("--profile", "strict", "true").exited(0)
        box.run("--deny", "kept", "true").exited(0)
        box.run("--protect", ".git", "--protect", "later?", "--deny", "more/files?", "true").exited(0)
        after = {p: v for p, v in box.tree().items() if p.startswith(box.ws)}
        equal(after, before, "the workspace")
