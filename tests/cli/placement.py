# SPDX-License-Identifier: Apache-2.0
"""Ids, accounts, HOME, mapped grants and PATH: the places and names of a root made for the run."""
import os

from harness import check, contains, equal

STRICT = ("--profile", "strict")


def runtime(box):
    """A runtime of the host, outside the workspace."""
    box.write("node/bin/node", "#!/bin/sh\necho runtime $0\n", 0o755)
    box.write("node/lib/node_modules/x.js", "module\n")
    return f"{box.dir}/node"


def register(suite):
    test = suite.test

    # The tests of document 002, "Isolation Verification", in their order.
    @test("sandbox cannot read host /etc/passwd", root=True)
    def _(box):
        done = box.run(*STRICT, "cat", "/etc/passwd").exited(0)
        check(box.user.name not in done.out, f"the host's user is named: {done.out}")
        equal([line.split(":")[0] for line in done.out.splitlines()], ["sandbox"], "users")
        done = box.run(*STRICT, "cat", "/etc/group").exited(0)
        equal([line.split(":")[0] for line in done.out.splitlines()], ["sandbox"], "groups")

    @test("sandbox cannot see host processes", root=True)
    def _(box):
        done = box.run(*STRICT, "ps", "aux").exited(0)
        check(len(done.out.split("\n")) < 5, done.out)

    @test("sandbox cannot reach the network")
    def _(box):
        done = box.run(*STRICT, "--net", "none", "-c", "curl -sS --max-time 5 https://example.com 2>&1; exit 0")
        check("Could not resolve host" in done.out or "Connection refused" in done.out, done.out)

    @test("sandbox cannot read other sandboxes")
    def _(box):
        box.mkdir("a")
        box.mkdir("b")
        box.run(*STRICT, "-w", f"{box.dir}/a", "-c", "echo of-a >file").exited(0)
        for path in (f"{box.dir}/a/file", "/workspace/../a/file", "/workspace/file"):
            done = box.run(*STRICT, "-w", f"{box.dir}/b", "cat", path)
            check(done.status != 0 and "of-a" not in done.out, done.out)

    @test("sandbox env does not contain host secrets", root=True)
    def _(box):
        result = box.run(*STRICT, "env", env={**box.env, "SUPER_SECRET": "should-not-leak"}).exited(0).out
        check("SUPER_SECRET" not in result and "should-not-leak" not in result, result)
        check(box.user.name not in result.replace("/usr/games", "").replace("/usr/local/games", ""), result)

    @test("--uid and --gid are the ids inside, and files keep the caller's outside", root=True)
    def _(box):
        done = box.run("--uid", "1000", "--gid", "1000", "-c", "id -u; id -g; stat -c %u:%g .; touch made").exited(0)
        equal(done.out, "1000\n1000\n1000:1000\n", "stdout")
        st = os.stat(f"{box.ws}/made")
        equal((st.st_uid, st.st_gid), (box.user.uid, box.user.gid), "owner outside")
        done = box.run(*STRICT, "--uid", "1000", "--gid", "1000", "-c", "whoami; id -gn; echo $XDG_RUNTIME_DIR")
        equal(done.exited(0).out, "sandbox\nsandbox\n/run/user/1000\n", "names")
        caps = box.run("--uid", "1234", "grep", "^CapEff", "/proc/self/status").exited(0).out
        equal(caps.split()[1], "0" * 16, "capabilities")

    @test("--uid needs a user namespace, and is never 0")
    def _(box):
        for word in ("--uid", "--gid"):
            box.run("--level", "standard", word, "1000", "true").exited(125).said(word[2:], "user namespace")
            box.run(word, "0", "true").exited(2)
            box.run(word, "4294967295", "true").exited(2)

    @test("--home workspace is the workspace at both levels", root=True)
    def _(box):
        for level in ("full", "standard"):
            done = box.run("--level", level, "--home", "workspace", "-c", "echo $HOME; touch ~/made-" + level).exited(0)
            equal(done.out, f"{box.ws}\n", "HOME")
            check(box.exists(f"ws/made-{level}"), "not in the workspace")
        done = box.run(*STRICT, "--home", "workspace", "-c", "echo $HOME; cut -d: -f6 /etc/passwd").exited(0)
        equal(done.out, "/workspace\n/workspace\n", "HOME")
        check(not os.path.exists(f"{box.home}/.local/state/corral/homes"), "a private home was made")

    @test("--home workspace leaves protected names of the workspace protected")
    def _(box):
        box.run("--home", "workspace", "-c", "echo x >~/.bashrc").exited(2)
        check(not box.exists("ws/.bashrc"), "a start-up file was written")

    @test("the environment of document 002, name for name", root=True)
    def _(box):
        node = runtime(box)
        box.mkdir("agent")
        done = box.run(*STRICT, "--uid", "1000", "--gid", "1000", "--home", "workspace", "--agent-dir", f"{box.dir}/agent",
                       "--read", f"{node}:/usr/local/node", "--set", "env.path=/usr/local/node/bin:/usr/bin:/bin",
                       "--allow-dangerous-env", "NODE_PATH", "--env", "NODE_PATH=/usr/local/node/lib/node_modules",
                       "-c", "echo $HOME; echo $PATH; echo $NODE_PATH; node; cat $NODE_PATH/x.js; ls -d /agent").exited(0)
        equal(done.out, "/workspace\n/usr/local/node/bin:/usr/bin:/bin\n/usr/local/node/lib/node_modules\n"
              "runtime /usr/local/node/bin/node\nmodule\n/agent\n", "stdout")

    @test("--read PATH:DEST shows the path at DEST, read-only, and leaves its neighbours", root=True)
    def _(box):
        node = runtime(box)
        outside = sorted(os.listdir("/usr/local"))
        script = ("ls /usr/local; cat /usr/local/node/lib/node_modules/x.js; "
                  "touch /usr/local/node/x /usr/local/x 2>/dev/null; ls -d /usr/local/bin/. >/dev/null && echo beside")
        done = box.run("--read", f"{node}:/usr/local/node", "-c", script).exited(0)
        equal(done.out.split(), sorted({*outside, "node"}) + ["module", "beside"], "stdout")
        for path in ("/usr/local", "/usr/local/bin", "/usr/local/node/bin/node"):
            box.corral_("check", "path", path, "--read", f"{node}:/usr/local/node").exited(0)
        check(not os.path.exists("/usr/local/x") and not os.path.exists(f"{node}/x"), "written")
        for place in ("/node", "/opt/a/b", "/srv/node", "/etc/node"):
            done = box.run("--read", f"{node}:{place}", "cat", f"{place}/lib/node_modules/x.js").exited(0)
            equal(done.out, "module\n", place)
        done = box.run("--read", f"{node}/lib/node_modules/x.js:/data/x.js", "cat", "/data/x.js").exited(0)
        equal(done.out, "module\n", "a file")

    @test("--read PATH:DEST is refused where it cannot be, with the reason")
    def _(box):
        node = runtime(box)
        for place, text in (("/", "whole file system"), ("/usr", "system directory"), ("/proc/x", "procfs"),
                            ("/bin/x", "symlink"), (f"{box.ws}/none", "mount point")):
            box.run("--read", f"{node}:{place}", "true").exited(2).said(text)
        box.run("--level", "standard", "--read", f"{node}:/usr/local/node", "true").exited(125).said(
            "PATH:DEST", "mount namespace")
        box.run("--read", f"{box.dir}/none:/data", "true").exited(2).said("none")
        box.run("--read", f"{box.dir}/none:/data?", "true").exited(0)

    @test("a deny of DEST, of a directory above it or of a path in it wins over --read PATH:DEST")
    def _(box):
        box.write("tree/f", "content\n")
        read = ("--read", f"{box.dir}/tree:/x")
        equal(box.run(*read, "cat", "/x/f").exited(0).out, "content\n", "without a deny")
        for denied in ("/x", "/x/", "/x/f"):
            equal(box.run(*read, "--deny", denied, "cat", "/x/f").exited(1).out, "", denied)
        deep = ("--read", f"{box.dir}/tree:/opt/a/b", "--deny", "/opt/a")
        equal(box.run(*deep, "cat", "/opt/a/b/f").exited(1).out, "", "above")
        contains(box.corral_("explain", *read, "--deny", "/x").exited(0).out, "not mounted: fs.read", "note")

    @test("two grants for one DEST, and the workspace as DEST, are errors that name both")
    def _(box):
        box.mkdir("one"), box.mkdir("two")
        one, two = f"{box.dir}/one", f"{box.dir}/two"
        box.run("--read", f"{one}:/x", "--read", f"{two}:/x", "true").exited(2).said(one, two)
        box.run("--read", f"{one}:{two}", "--write", two, "true").exited(2).said(one, two)
        box.run("--read", f"{one}:{box.ws}", "true").exited(2).said(one, "workspace")
        box.run("--read", f"{one}:/x", "--read", f"{one}:/x", "true").exited(0)

    @test("a mapped grant hides credentials of its source, and prints as it was written")
    def _(box):
        box.write("tree/.ssh/id_ed25519", "secret-key")
        box.write("tree/plain", "plain\n")
        done = box.run("--read", f"{box.dir}/tree:/data", "--deny", f"{box.dir}/tree/.ssh", "-c",
                       "cat /data/plain; cat /data/.ssh/id_ed25519; exit 0").exited(0)
        equal(done.out, "plain\n", "stdout")
        shown = box.corral_("policy", "show", "--read", f"{box.dir}/tree:/data").exited(0)
        contains(shown.out, f'"{box.dir}/tree:/data"', "policy show")
        again = box.corral_("policy", "show", "--no-config", "--policy", box.write("p.toml", shown.out)).exited(0)
        equal(again.out.splitlines()[0], shown.out.splitlines()[0], "sha256")

    @test("a colon before a slash in a name is written with a backslash")
    def _(box):
        box.write("a:/b", "in a:\n")
        done = box.run("--read", f"{box.dir}/a\\:/b", "cat", f"{box.dir}/a:/b").exited(0)
        equal(done.out, "in a:\n", "stdout")

    @test("env.path_prepend comes first, and takes only directories that the command cannot write", root=True)
    def _(box):
        node = runtime(box)
        box.write("ws/bin/node", "#!/bin/sh\necho planted\n", 0o755)
        for level in ("full", "standard"):
            words = ["--level", level, "--read", node, "--set", f"env.path_prepend={node}/bin"]
            equal(box.run(*words, "node").exited(0).out, f"runtime {node}/bin/node\n", level)
            box.run("--level", level, "--set", f"env.path_prepend={box.ws}/bin", "node").exited(126).said("can write it")
            box.run("--level", level, "--set", "env.path_prepend=/nowhere", "true").exited(126).said("does not show it")
            box.run("--level", level, "--set", "env.path_prepend=/nowhere?", "true").exited(0)
            box.run("--level", level, "--read", node, "--set", f"env.path_prepend={node}/gone", "true").exited(126).said("does not exist", "--read")
            # Between HOME and the workspace, which is a directory of the private home inside.
            ws, beside = box.mkdir("home/a/ws"), box.mkdir("home/a/tb")
            words = ["--level", level, "-w", ws, "--set", f"env.path_prepend={beside}"]
            for directory in (beside, f"{box.home}/a", f"{beside}/gone"):
                box.run("--level", level, "-w", ws, "--set", f"env.path_prepend={directory}", "true").exited(126).said("env.path_prepend", "remedy")
            box.run(*words, "--read", beside, "true").exited(0)
        box.run("--read", f"{box.ws}/bin:/opt/tools", "--set", "env.path_prepend=/opt/tools", "node").exited(126).said(
            "can write it at another path")
        equal(box.run("--read", f"{node}/bin:/opt/tools", "--set", "env.path_prepend=/opt/tools", "node").exited(0).out,
              "runtime /opt/tools/node\n", "mapped")
        box.run("--set", "env.path_prepend=/a:b", "true").exited(2).said("colon")
