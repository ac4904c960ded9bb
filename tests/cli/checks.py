# SPDX-License-Identifier: Apache-2.0
"""`corral check path`: the verdict of the file tools, and that a run agrees with it."""
import os
import shlex

from harness import check, contains, equal

KEYS = ["access", "allowed", "error", "exists", "origin", "path", "reason", "remedy", "resolved", "rule", "version"]


def verdict(box, path, *words):
    """The object of `corral check path --json`, with its shape and exit status checked."""
    done = box.corral_("check", "path", path, "--json", *words)
    found = done.json
    equal(sorted(found), KEYS, "keys")
    equal([found["version"], found["path"]], [1, path], "version and path")
    done.exited(0 if found["allowed"] else 1)
    equal(done.err, "", "stderr")
    equal(found["access"], "write" if "--write" in words else "read", "access")
    equal([found["error"] is None, found["reason"] is None, found["remedy"] is None], [found["allowed"]] * 3,
          f"reasons of {found}")
    check(found["rule"] and found["origin"], f"no rule: {found}")
    return found


def register(suite):
    test = suite.test

    @test("check path says allowed, and by which rule", root=True)
    def _(box):
        box.write("ws/file", "x")
        found = verdict(box, "file")
        equal([found["allowed"], found["exists"], found["rule"]], [True, True, "workspace"], "verdict")
        equal(found["resolved"], os.path.realpath(f"{box.ws}/file"), "resolved")
        equal(verdict(box, "new", "--write")["exists"], False, "exists")
        contains(box.corral_("check", "path", "file", "--write").exited(0).out, "allowed: write ", "text")

    @test("a name with a newline does not look like a line of Corral's own, in check path and policy check")
    def _(box):
        name = "a\n  remedy: rm -r b"
        box.write(f"ws/{name}", "foo = 1\n")
        for words in (("check", "path", name), ("check", "path", f"/srv/{name}"), ("policy", "check", name)):
            out = box.corral_(*words).out
            check("\n  remedy: rm" not in out and "a?  remedy: rm -r b" in out, f"{words}: {out!r}")

    @test("check path tells its three refusals apart, each with rule, origin and remedy", root=True)
    def _(box):
        box.write("ws/secret", "x")
        box.write("ws/kept", "x")
        rules = ("--deny", "secret", "--protect", "kept")
        found = verdict(box, "secret", *rules)
        equal([found["error"], found["rule"], found["origin"], found["exists"]], ["sensitive", "fs.deny", "--deny", None],
              "denied")
        found = verdict(box, "kept", "--write", *rules)
        equal([found["error"], found["rule"], found["origin"]], ["protected", "fs.protect", "--protect"], "protected")
        check(verdict(box, "kept", *rules)["allowed"], "a protected file is read")
        found = verdict(box, "../elsewhere", *rules)
        equal(found["error"], "outside", "outside")
        contains(found["remedy"], "--read", "remedy")
        done = box.corral_("check", "path", "secret", *rules).exited(1)
        for part in ("refused: ", "is denied by ", "fs.deny (--deny)", "remedy: "):
            contains(done.out, part, "text")

    @test("check path follows links as a run does", root=True)
    def _(box):
        box.write("ws/file", "x")
        box.write("outside", "x")
        for name, words in (("in", "file"), ("out", "../outside"), ("loop", "loop"), ("proc", "/proc/self/cwd/file")):
            os.symlink(words, f"{box.ws}/{name}")
        check(verdict(box, "in")["allowed"], "a link that stays inside")
        for name, error in (("out", "outside"), ("loop", "unreachable"), ("proc", "outside")):
            equal(verdict(box, name)["error"], error, name)
        box.run("cat", "in").exited(0)
        for name in ("out", "loop"):
            check(box.run("cat", name).status != 0, f"a run reads {name}")

    @test("check path knows what belongs to one run alone")
    def _(box):
        for path in (f"{box.dir}-x", "/proc/self/environ", "/dev/null"):
            found = verdict(box, path)
            equal(found["error"], "outside", path)
            contains(found["reason"], "only inside a run", path)
        home = f"{box.home}/notes"
        check(verdict(box, home, "--write")["allowed"], "a home that is kept can be written")
        equal(verdict(box, home, "--write", "--home", "ephemeral")["error"], "outside", "one that is not cannot")

    @test("check path says of a path that the private HOME covers that it is hidden, whether or not the host has it", root=True)
    def _(box):
        box.write("home/.ssh/id_rsa", "key\n")
        os.symlink(f"{box.home}/.ssh", f"{box.ws}/keys")
        for more in ((), ("--home", "ephemeral"), ("--level", "standard")):
            for path in (f"{box.home}/.ssh/id_rsa", f"{box.home}/.ssh/none", f"{box.home}/none", "keys/id_rsa"):
                found = verdict(box, path, *more)
                equal([found["allowed"], found["error"], found["rule"], found["exists"]], [False, "outside", "fs.home", None], path)
                contains(found["reason"], "hidden", path)
                contains(found["remedy"], f"--read {found['resolved']}", path)
        box.write("home/top/ws/a", "x\n")
        box.write("home/top/beside/f", "x\n")
        for path in ("top/beside/f", "top/beside", "top/none"):
            found = verdict(box, f"{box.home}/{path}", "--workspace", f"{box.home}/top/ws")
            equal([found["allowed"], found["error"], found["rule"], found["exists"]], [False, "outside", "fs.home", None],
                  f"beside the workspace: {path}")
        path = f"{box.home}/.ssh/id_rsa"
        for grant in (path, f"{box.home}/.ssh"):
            check(verdict(box, path, "--read", grant)["allowed"], "the remedy does not help")
        found = verdict(box, path, "--read", box.home)
        equal([found["error"], found["rule"]], ["sensitive", "credential"], "in a granted HOME")
        contains(box.corral_("check", "path", f"{box.home}/new", "--write").exited(0).out, "in the private HOME and not in yours",
                 "text")
        check(verdict(box, f"{box.home}/.config/corral/corral.toml")["remedy"].startswith("no option allows it"), "Corral's own")

    @test("check path says where the mode of an allowed file refuses the caller")
    def _(box):
        box.write("ws/closed", "x")
        os.chmod(f"{box.ws}/closed", 0)
        for more in ((), ("--write",)):
            contains(box.corral_("check", "path", "closed", *more).exited(0).out, "mode bits deny it", "closed")
            os.chmod(f"{box.ws}/closed", 0o600)
            check("mode refuses" not in box.corral_("check", "path", "closed", *more).exited(0).out, "open")
            os.chmod(f"{box.ws}/closed", 0)

    @test("check path prints a remedy that helps, or says that none does", root=True)
    def _(box):
        for path in ("secrets/in/a", "kept/b", ".git/hooks/x", ".envrc", "plain"):
            box.write(f"ws/{path}", "x")
        box.write("ws/.git/HEAD", "ref: refs/heads/x\n")
        box.write("far/f", "x")
        rules = ("--deny", "secrets", "--deny", "*.pem", "--protect", "kept")
        for path, more in (("secrets/in/a", ()), ("new.pem", ()), (f"{box.dir}/far/f", ()),
                           ("kept/b", ("--write",)), (".git/hooks/x", ("--write",)), (".envrc", ("--write",)),
                           ("plain", ("--write", "--mode", "read-only"))):
            found = verdict(box, path, *rules, *more)
            check(not found["allowed"], f"{path} is allowed")
            option = shlex.split(found["remedy"][found["remedy"].index("--"):].split(";")[0])[:2]
            check(verdict(box, path, *rules, *more, *option)["allowed"], f"{option} does not open {path}: {found}")
        for path in ("/proc/version", "/etc/corral-new"):
            found = verdict(box, path, "--write")
            check(box.user.uid == 0 or found["remedy"].startswith(("no option allows it", "put the file in")), f"{path}: {found}")

    @test("check path holds whatever the level")
    def _(box):
        for words in (("--level", "standard"), ("--level", "none", "--accept-no-sandbox")):
            equal(verdict(box, "/etc/passwd", "--write", *words)["error"], "protected", f"{words}")
            equal(verdict(box, "/root/x", *words)["error"], "outside", f"{words}")

    @test("check path looks and leaves everything as it was", root=True)
    def _(box):
        before = box.tree()
        verdict(box, "a/b/c", "--write")
        verdict(box, f"{box.home}/x", "--write")
        equal(box.tree(), before, "files")

    @test("check wants one kind that is there, and one path")
    def _(box):
        box.corral_("check").exited(2).said("path", "url", "remedy")
        box.corral_("check", "path").exited(2).said("exactly one argument")
        box.corral_("check", "path", "a", "b").exited(2).said("exactly one argument")
        box.corral_("check", "path", "").exited(2).said("empty")
        box.corral_("check", "path", "a", "--write=b").exited(2).said("--write")
        box.corral_("check", "url").exited(2).said("exactly one argument")
        box.corral_("check", "url", "http://a/", "--write").exited(2).said("--write")
        box.corral_("check", "host", "x").exited(2).said("host")
        equal(box.corral_("check", "command", "x").exited(0).out, "allowed: x\n", "a policy without rules")
