# SPDX-License-Identifier: Apache-2.0
"""--cow, and diff, apply and discard: changes of a workspace that are kept apart."""
import os
import random
import signal
import shutil
import socket
import stat
import subprocess
import time

from harness import PATIENCE, Failure, Skip, check, contains, equal, needs, wait_until

# A command that does of everything something.
WORK = r"""
echo four >>text; rm gone; mv moved there; rm -rf tree; mkdir tree; echo 2 >tree/2; chmod 755 mode
mv dir dir2; echo new >'na	me "x"'; ln -sf gone link; printf '\0\1' >>binary; mkdir -p deep/er; echo d >deep/er/file
rm -r turns; echo flat >turns; rm flat; mkdir flat; echo in >flat/in
"""


def furnish(box, at="ws"):
    for name, content in (("text", "one\ntwo\nthree\n"), ("gone", "gone\n"), ("moved", "a content of its own\n"),
                          ("tree/1", "1\n"), ("dir/x", "x marks\n"), ("dir/sub/y", "y follows\n"), ("mode", "m\n"),
                          ("binary", b"bin\0ary"), ("turns/file", "t\n"), ("flat", "f\n"), ("same", "same\n")):
        box.write(f"{at}/{name}", content)
    os.symlink("text", f"{box.dir}/{at}/link")
    os.lchown(f"{box.dir}/{at}/link", box.user.uid, box.user.gid)
    time.sleep(0.02)  # files are stamped by ticks


def contents(top):
    """Every path with its kind, mode and content."""
    found = {}
    for base, dirs, files in os.walk(top):
        for name in dirs + files:
            path = os.path.join(base, name)
            st = os.lstat(path)
            if stat.S_ISLNK(st.st_mode):
                content = os.readlink(path)
            elif stat.S_ISREG(st.st_mode):
                with open(path, "rb") as file:
                    content = file.read()
            else:
                content = None
            found[os.path.relpath(path, top)] = (st.st_mode, content)
    return found


def pending(box):
    return box.corral_("diff", "--json").exited(0).json["pending"]


def kept(box):
    """What lies in the state, whether it is listed or not."""
    place = f"{box.env.get('XDG_STATE_HOME', box.home + '/.local/state')}/corral/cow"
    return os.listdir(place) if os.path.isdir(place) else []


def change(box, script, *words, **more):
    """Runs with --cow; the id of what it changed."""
    result = box.json("--cow", *words, "-c", script, **more)
    equal(result["exit_code"], 0, f"the command ({result.get('stderr')}, {result.get('error')})")
    return result["cow"]["id"]


def in_namespace(box, script, **more):
    """A shell in a mount namespace of its own, as root, for hosts that this one is not."""
    return box.execute(["unshare", "-m", "/bin/sh", "-ec", script], **more)


# Each of them copies a file of several names, and the copy has one.
COPIES = ("chmod 600 {0}/h", "touch -d @1 {0}/h", "mv {0}/h {0}/g", "ln {0}/h {0}/g", "chgrp $(id -g) {0}/h",
          "python3 -c 'import os; os.setxattr(\"{0}/h\", \"user.t\", b\"x\")'", "mv {0} {0}x", "exec 9<{0}/h", "echo x >>{0}/h")


def register(suite):
    test = suite.test

    @test("--cow: what a pattern denies is not read by a copy of another of its names", root=True)
    def _(box):
        box.write("ws/a.key", "hidden\n")
        box.write("ws/open", "shown\n")
        os.link(f"{box.ws}/open", f"{box.ws}/open-too")
        for at, _command in enumerate(COPIES):
            os.mkdir(f"{box.ws}/d{at}")
            os.chown(f"{box.ws}/d{at}", box.user.uid, box.user.gid)
            os.link(f"{box.ws}/a.key", f"{box.ws}/d{at}/h")
        script = "cat open; " + "".join(f"({command.format(f'd{at}')}); cat d{at}*/*; " for at, command in enumerate(COPIES))
        done = box.json("--cow", "--deny", "*.key", "-c", script + "chmod 600 open && mv open-too moved && cat open moved")
        equal(done["stdout"], "shown\nshown\nshown\n", f"what was read ({done['stderr']})")

    @test("--cow: the command sees its changes, the workspace does not", root=True)
    def _(box):
        furnish(box)
        before = contents(box.ws)
        done = box.run("--cow", "-c", WORK + "cat text tree/2 deep/er/file; test ! -e gone && test -d flat").exited(0)
        equal(done.out, "one\ntwo\nthree\nfour\n2\nd\n", "inside")
        equal(contents(box.ws), before, "the workspace")
        entry, = pending(box)
        done.said(f"{entry['changes']} changes pending: corral diff {entry['id']}, corral apply {entry['id']}, "
                  f"corral discard {entry['id']}")
        equal(entry["workspace"], box.ws, "whose")

    @test("--cow: a workspace without permission to write is copied as it is")
    def _(box):
        box.write("ws/file", "old\n")
        os.chmod(box.ws, 0o500)
        try:
            done = box.run("--cow", "-c", "! touch new 2>&1; stat -c %a .; echo more >>file; cat file").exited(0)
            check(done.out.endswith("500\nold\nmore\n") and "Permission denied" in done.out, f"inside: {done}")
            box.corral_("discard", "--all").exited(0)
            box.run("--cow", "true").exited(0)
        finally:
            os.chmod(box.ws, 0o700)
        equal((box.read("ws/file"), sorted(os.listdir(box.ws))), ("old\n", ["file"]), "on the host")
        equal(os.listdir(f"{box.home}/.local/state/corral/cow"), [], "left")

    @test("--cow: apply makes what the command would have made", root=True)
    def _(box):
        furnish(box)
        furnish(box, "twin")
        box.run("-c", WORK, cwd=f"{box.dir}/twin").exited(0)
        name = change(box, WORK)
        done = box.corral_("apply", name).exited(0)
        contains(done.out, f"to {box.ws}\n", "stdout")
        equal(contents(box.ws), contents(f"{box.dir}/twin"), "the workspace")
        equal(kept(box), [], "pending")
        box.corral_("apply", name).exited(2).said("no pending changes called", "corral diff")

    @test("--cow: the diff is a patch that git applies")
    def _(box):
        needs(box, "git")
        furnish(box)
        furnish(box, "twin")
        script = WORK.replace(r"printf '\0\1' >>binary;", "")
        name = change(box, script)
        patch = box.corral_("diff", name).exited(0).raw_out
        contains(patch.decode(), "rename from moved\nrename to there\n", "patch")
        contains(patch.decode(), 'diff --git "a/na\\tme \\"x\\"" "b/na\\tme \\"x\\""\n', "patch")
        done = box.execute(["git", "apply", "--whitespace=nowarn", "-"], cwd=f"{box.dir}/twin", stdin=patch)
        done.exited(0)
        box.corral_("apply", name).exited(0)
        wanted = {path: what for path, what in contents(box.ws).items() if not stat.S_ISDIR(what[0])}
        got = {path: what for path, what in contents(f"{box.dir}/twin").items() if not stat.S_ISDIR(what[0])}
        equal(got, wanted, "what git made")

    @test("--cow: the diff knows every kind of change, as text and as JSON")
    def _(box):
        furnish(box)
        name = change(box, WORK)
        found = box.corral_("diff", "--json", name).exited(0).json
        kinds = {(c["kind"], c["path"]) for c in found["changes"]}
        for wanted in (("changed", "text"), ("deleted", "gone"), ("renamed", "there"), ("mode", "mode"),
                       ("renamed", "dir2/sub/y"), ("deleted", "dir"), ("added", "tree/2"), ("deleted", "tree/1"),
                       ("changed", "link"), ("changed", "binary"), ("type", "turns"), ("type", "flat"),
                       ("added", "deep/er/file"), ("added", 'na\tme "x"')):
            check(wanted in kinds, f"{wanted} is not in {sorted(kinds)}")
        row = {c["path"]: c for c in found["changes"]}
        equal(row["there"]["from"], "moved", "from")
        equal(row["binary"]["binary"], True, "binary")
        equal((row["mode"]["mode_was"], row["mode"]["mode"]), ("100644", "100755"), "modes")
        equal(row["link"]["type"], "symlink", "type")
        text = box.corral_("diff", name, "text", "binary").exited(0).out
        contains(text, "@@ -1,3 +1,4 @@\n one\n two\n three\n+four\n", "text")
        contains(text, "Binary files a/binary and b/binary differ\n", "text")
        check("tree" not in text, f"not asked for: {text}")

    @test("--cow: a run that changes nothing leaves nothing, and says nothing", root=True)
    def _(box):
        furnish(box)
        for script in ("cat text", "echo x >y; rm y", "exec 3<>text; exec 3>>same", "true"):
            done = box.run("--cow", "-c", script).exited(0)
            equal(done.err, "", f"stderr of {script}")
            equal(kept(box), [], f"kept after {script}")
        equal(box.json("--cow", "true")["cow"], {"id": None, "changes": 0}, "the result")
        equal(box.json("true")["cow"], None, "the result without it")
        equal(box.json("--cow", "--level", "full", "--min-level", "full", "/nowhere")["cow"], None, "that of no run")
        box.corral_("explain", "--cow").exited(0)
        equal(kept(box), [], "kept after explain")

    @test("--cow: parts are applied by name, the rest stays pending")
    def _(box):
        furnish(box)
        name = change(box, WORK)
        before = pending(box)[0]["changes"]
        done = box.corral_("apply", "--json", name, "text", "deep/er/file").exited(0).json
        equal(sorted(c["path"] for c in done["applied"]), ["deep", "deep/er", "deep/er/file", "text"], "applied")
        equal(box.read("ws/text"), "one\ntwo\nthree\nfour\n", "text")
        check(box.exists("ws/gone") and not box.exists("ws/there"), "more was applied")
        equal(pending(box)[0]["changes"], before - 4, "pending")
        box.write("ws/text", "edited since\n")
        equal(pending(box)[0]["changes"], before - 4, "pending after an edit of what was applied")
        box.corral_("apply", name, "nowhere").exited(2).said("there is no pending change at nowhere")
        box.corral_("apply", name, "/etc/passwd").exited(2).said("not in the workspace")
        box.corral_("apply", name, "y", cwd=f"{box.ws}/dir").exited(2)  # dir/y: relative to where one stands
        box.corral_("apply", name, "sub", cwd=f"{box.ws}/dir").exited(0)
        box.corral_("apply", name).exited(0)
        equal((box.read("ws/text"), kept(box)), ("edited since\n", []), "in the end")

    @test("--cow: what the host changed meanwhile is not overwritten unless forced", root=True)
    def _(box):
        furnish(box)
        name = change(box, "for f in text same mode flat; do echo inside >>$f; done; echo inside >both; rm gone")
        box.write("ws/text", "outside\n")
        box.write("ws/both", "outside\n")
        os.unlink(f"{box.ws}/flat")
        box.write("ws/gone", "still needed\n")
        before = contents(box.ws)
        box.corral_("apply", name).exited(126).said("nothing was applied", "the host ", f"corral diff {name}",
                                                    "--force")
        equal(contents(box.ws), before, "the workspace after a refusal")
        text = box.corral_("diff", name).out
        for words in ("changed it since the run: text", "created it too: both", "deleted it: flat",
                      "changed it since the run: gone"):
            contains(text, f"# conflict, the host {words}\n", "the diff")
        box.corral_("apply", name, "same", "mode").exited(0)
        equal(box.read("ws/same"), "same\ninside\n", "same")
        box.corral_("apply", "--force", name).exited(0)
        equal((box.read("ws/text"), box.read("ws/both"), box.exists("ws/gone")),
              ("one\ntwo\nthree\ninside\n", "inside\n", False), "forced")

    @test("--cow: a change of the host during the run is a conflict")
    def _(box):
        furnish(box)
        process = box.start([box.corral, "run", "--cow", "-c", "echo ready; read x; echo inside >>text"],
                            stdin=subprocess.PIPE)
        equal(process.stdout.readline(), b"ready\n", "inside")
        time.sleep(0.02)
        box.write("ws/text", "during\n")
        process.communicate(b"go\n", timeout=PATIENCE)
        box.corral_("apply", pending(box)[0]["id"]).exited(126).said("text", "during the run")
        equal(box.read("ws/text"), "during\n", "text")

    @test("--cow: while the run goes on its changes are listed and nobody's", root=True)
    def _(box):
        furnish(box)
        process = box.start([box.corral, "run", "--cow", "-c", "echo x >new; echo ready; read x"],
                            stdin=subprocess.PIPE)
        equal(process.stdout.readline(), b"ready\n", "inside")
        entry, = pending(box)
        contains(entry["fault"], "in use", "the list")
        for words in (("diff", entry["id"]), ("apply", entry["id"]), ("discard", entry["id"])):
            box.corral_(*words).exited(126).said("in use", "wait")
        box.corral_("discard", "--all").exited(0)
        process.communicate(b"go\n", timeout=PATIENCE)
        equal(pending(box)[0]["changes"], 1, "changes")

    @test("--cow: SIGKILL of corral leaves no mount, and the changes pending", root=True)
    def _(box):
        furnish(box)
        process = box.start([box.corral, "run", "--cow", "-c", "echo x >new; rm gone; echo ready; sleep 600"])
        equal(process.stdout.readline(), b"ready\n", "inside")
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        check(wait_until(lambda: not box.strays()), "something still runs")
        check(wait_until(lambda: pending(box)[0]["fault"] is None), f"the list: {pending(box)}")
        entry, = pending(box)
        equal(entry["changes"], 2, "changes")
        box.corral_("apply", entry["id"]).exited(0)
        equal((box.read("ws/new"), box.exists("ws/gone"), kept(box)), ("x\n", False, []), "applied")
        box.run("true").exited(0)  # the next run sweeps the control group that nobody else could

    @test("--cow: a run killed at any moment of its set-up leaves nothing that stays")
    def _(box):
        furnish(box)
        rng = random.Random(5)
        for _ in range(40):
            process = box.start([box.corral, "run", "--cow", "-c", "echo x >new; rm gone"])
            time.sleep(rng.random() * 0.012)
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        check(wait_until(lambda: not box.strays()), "something still runs")
        for entry in pending(box):
            check(entry["fault"] is None or "no valid record" in entry["fault"], f"entry {entry}")
        equal(sorted(os.listdir(box.ws)), sorted({p.split("/")[0] for p in contents(box.ws)}), "names")
        check(not box.exists("ws/new") and box.exists("ws/gone"), "the workspace was changed")
        box.corral_("discard", "--all").exited(0)
        equal(kept(box), [], "kept")

    @test("--cow: an apply killed at any moment is finished by the next")
    def _(box):
        rng = random.Random(9)
        furnish(box, "plain")
        make = WORK + "for i in $(seq 300); do echo $i >many.$i; done"
        box.run("-c", make, cwd=f"{box.dir}/plain").exited(0)
        wanted = contents(f"{box.dir}/plain")
        for turn in range(12):
            furnish(box, f"ws{turn}")
            ws = f"{box.dir}/ws{turn}"
            name = change(box, make, cwd=ws)
            for _ in range(3):
                process = box.start([box.corral, "apply", name])
                time.sleep(rng.random() * 0.03)
                os.kill(process.pid, signal.SIGKILL)
                process.wait()
            if pending(box):
                box.corral_("apply", name).exited(0)
            equal(contents(ws), wanted, f"turn {turn}")
            equal(kept(box), [], "kept")

    @test("--cow: discard removes what was named, or all, and nothing else", root=True)
    def _(box):
        furnish(box)
        before = contents(box.ws)
        one, two, three = (change(box, WORK) for _ in range(3))
        box.corral_("discard", two).exited(0)
        equal(sorted(e["id"] for e in pending(box)), sorted([one, three]), "pending")
        box.corral_("discard").exited(2).said("no id given")
        box.corral_("discard", "--all", one).exited(2)
        box.corral_("discard", "../../ws").exited(2).said("no pending changes called")
        box.corral_("discard", "--all").exited(0)
        equal((kept(box), contents(box.ws)), ([], before), "in the end")
        equal(box.corral_("diff").exited(0).out, "no changes are pending\n", "the list")

    @test("--cow: discard takes more levels than a path can name")
    def _(box):
        # Names are judged, and so none is made deeper than one can be written: two halves are joined.  The one that
        # moves is searched for what stood there before the run, which ends at 128 levels.
        deep = ("import os\ntop = os.getcwd()\nfor half, n, name in ('b', 100, 'd' * 20), ('a', 1250, 'd'):\n os.mkdir(half); os.chdir(half)\n"
                " for i in range(n):\n  os.mkdir(name); os.chdir(name)\n"
                " if half == 'b':\n  os.symlink('/etc', 'out'); open('file', 'w').write('x'); os.chdir(top)\n"
                "os.rename(top + '/b', 'd')\n")
        name = change(box, f"python3 -c \"{deep}\"")
        contains(box.corral_("diff", name).exited(0).out, "# never applied, its path is longer", "the diff")
        box.corral_("discard", name).exited(0)
        equal(kept(box), [], "kept")

    @test("--cow: deny, protect and islands hold on the overlay")
    def _(box):
        furnish(box)
        box.write("ws/secret", "hush\n")
        done = box.run("--cow", "--deny", "secret", "--protect", "text", "--read", f"{box.ws}/dir", "-c",
                       "cat secret; echo x >>text; echo x >dir/x; mv dir other; rm text; rm -r secret; echo fine >free")
        check("hush" not in done.out, f"visible: {done}")
        entry, = pending(box)
        text = box.corral_("diff", "--json", entry["id"]).json
        equal([c["path"] for c in text["changes"]], ["free"], "changed")

    @test("--cow: protected names are applied when they are named, or forced")
    def _(box):
        furnish(box)
        name = change(box, "echo x >>text; echo y >>same")
        box.write("ws/.corral.toml", '[fs]\nprotect = ["text"]\n')
        box.corral_("apply", name).exited(126).said("text", "the policy protects it")
        equal(box.read("ws/same"), "same\n", "the other one")
        box.corral_("apply", name, "text").exited(0)
        box.corral_("apply", name).exited(0)
        equal((box.read("ws/text"), box.read("ws/same")), ("one\ntwo\nthree\nx\n", "same\ny\n"), "applied")

    @test("--cow: Corral's own state cannot be reached from inside", root=True)
    def _(box):
        furnish(box)
        state = f"{box.home}/.local/state/corral"
        done = box.run("--cow", "-c", f"ls {state}; cat /proc/self/mountinfo | grep ' overlay '; ls /proc/1/fd")
        check("cow/" not in done.out and state not in done.out, f"a path is told: {done}")
        box.write("big/file", "x\n")
        done = box.run("--cow", "--write", f"{box.home}", "-c", f"ls {state}/cow 2>&1; touch {state}/x")
        check(not box.exists("home/.local/state/corral/x"), "the state was written")

    @test("--cow: the file tools read the workspace and do not change it", root=True)
    def _(box):
        furnish(box)
        box.corral_("check", "path", "text", "--cow").exited(0)
        refused = box.corral_("check", "path", "text", "--write", "--cow", "--json")
        equal((refused.json["allowed"], refused.json["rule"]), (False, "fs.cow"), "written")
        equal(kept(box), [], "kept")

    @test("--cow: a repository outside the workspace is not changed")
    def _(box):
        needs(box, "git")
        box.sh("cd .. && mkdir r && cd r && git init -q && git config user.email a@b && git config user.name n && "
               "echo a >a && git add a && git commit -qm 1 && git worktree add -q ../tree").exited(0)
        before = contents(f"{box.dir}/r")
        done = box.run("--cow", "--workspace", f"{box.dir}/tree", "-c", "git log --oneline && echo b >>a && git commit -qam 2")
        check(done.status != 0 and " 1\n" in done.out, f"{done}")
        equal(contents(f"{box.dir}/r"), before, "the repository")

    @test("--cow: `corral test` holds with it, and leaves nothing", root=True)
    def _(box):
        box.corral_("test", "--cow", timeout=2 * PATIENCE).exited(0)
        equal(kept(box), [], "kept")

    @test("--cow: set-user-id bits and sockets stay behind", root=True)
    def _(box):
        needs(box, "python3")
        name = change(box, "cp /bin/sh own; chmod 6755 own; mkfifo pipe; python3 -c "
                      "'import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")'")
        contains(box.corral_("diff", name).out, "# never applied, it is a socket, a FIFO or a device: sock", "diff")
        done = box.corral_("apply", name).exited(0)
        contains(done.out, "not applied, it is a socket, a FIFO or a device: sock\n", "apply")
        equal(stat.S_IMODE(os.stat(f"{box.ws}/own").st_mode), 0o755, "mode")
        check(not box.exists("ws/sock") and not box.exists("ws/pipe"), "a socket was made")
        equal(kept(box), [], "kept")

    @test("--cow: git clones the workspace by copies, because an overlay has no hard links of a file below")
    def _(box):
        needs(box, "git")
        box.sh("git init -q && git -c user.email=a@b -c user.name=n commit -q --allow-empty -m 1").exited(0)
        done = box.run("--cow", "-c", "git clone -q . copy && git -C copy log --oneline && git clone -q --local . linked").exited(128)
        contains(done.out, " 1\n", "the clone")
        done.said("failed to create link", "without --local git copies")
        box.run("-c", "git clone -q --local . linked").exited(0)  # the control, without an overlay

    @test("--cow: git and make work on it, at any name of a workspace", root=True)
    def _(box):
        needs(box, "git", "make")
        odd = "odd: a,b\\c \"d\"\nx"
        box.write(f"{odd}/Makefile", "all:\n\techo built >out\n")
        ws = f"{box.dir}/{odd}"
        box.sh("git init -q . && git add . && git -c user.name=a -c user.email=a@b commit -qm one", cwd=ws).exited(0)
        name = change(box, "git status --short && make -s && git add . && git checkout -q -b other && "
                      "git -c user.name=a -c user.email=a@b commit -qm two && git gc -q && git status", cwd=ws)
        check(not os.path.exists(f"{ws}/out"), "the workspace was changed")
        box.corral_("apply", name).exited(0)
        done = box.sh("git fsck --strict && git log --format=%s && git status --short", cwd=ws).exited(0)
        equal(done.out, "two\none\n", "the repository")

    @test("--cow: control characters of a name and a file do not reach a terminal")
    def _(box):
        needs(box, "script")
        name = change(box, "printf 'a\\033]0;title\\007\\tb\\n' >\"$(printf 'n\\033[2Jm')\"")
        contains(box.corral_("diff", name).raw_out.decode(), "\x1b]0;title", "a pipe gets the bytes")
        done = box.execute(["script", "-qec", f"{box.corral} diff {name}", "/dev/null"])
        check("\x1b" not in done.out and "\a" not in done.out, f"reached the terminal: {done.out!r}")

    @test("--cow: an untrusted project file may switch it on, not off")
    def _(box):
        box.write("ws/.corral.toml", "[fs]\ncow = true\n")
        equal(box.json("-c", "echo x >new")["cow"]["changes"], 1, "changes")
        check(not box.exists("ws/new"), "the workspace was changed")
        box.write("ws/.corral.toml", "[fs]\ncow = false\n")
        box.write("home/.config/corral/corral.toml", "[fs]\ncow = true\n")
        box.run("true").exited(126).said("fs.cow", "only narrow")

    @test("--cow: where it cannot be had nothing runs, and the reason is told")
    def _(box):
        furnish(box)
        done = box.run("--cow", "--level", "standard", "-c", "echo ran >new")
        done.exited(125).said("copy-on-write (--cow) is not available", "mount namespace", "remedy:")
        box.run("--cow", "-w", box.home, "--any-workspace", "true").exited(125).said("contains Corral's state directory")
        box.run("--cow", "--write", f"{box.ws}", "--set", "fs.workspace_at=/workspace", "true").exited(2).said(
            "without copy-on-write")
        box.env["XDG_STATE_HOME"] = "/proc/nowhere"
        box.run("--cow", "true").exited(125).said("no state directory", "XDG_STATE_HOME")
        check(not box.exists("ws/new"), "it ran")

    @test("--cow: state on an overlay, or a mount in the workspace: refused with a remedy", user=False, root=True)
    def _(box):
        furnish(box)
        box.mkdir("lower"), box.mkdir("upper"), box.mkdir("work"), box.mkdir("merged")
        done = in_namespace(box, f"mount -t overlay o -o lowerdir={box.dir}/lower,upperdir={box.dir}/upper,"
                            f"workdir={box.dir}/work {box.dir}/merged; "
                            f"XDG_STATE_HOME={box.dir}/merged exec $CORRAL run --cow true")
        done.exited(125).said("it is on overlayfs", "XDG_STATE_HOME")
        done = in_namespace(box, f"mount -t tmpfs t {box.ws}/dir; exec $CORRAL run --cow true")
        done.exited(125).said(f"{box.ws}/dir is mounted in the workspace", "without --cow")

    @test("--cow: the changes may lie on tmpfs", root=True)
    def _(box):
        furnish(box)
        place = f"/dev/shm/corral-test-{os.path.basename(box.dir)}"
        os.mkdir(place)
        box.own(place)
        try:
            box.env["XDG_STATE_HOME"] = place
            try:
                os.setxattr(place, "user.probe", b"")
            except OSError as error:
                box.run("--cow", "true").exited(125).said("cannot set extended attributes", "XDG_STATE_HOME")
                raise Skip(f"tmpfs has no user attributes here: {error}") from error
            furnish(box, "twin")
            box.run("-c", WORK, cwd=f"{box.dir}/twin").exited(0)
            name = change(box, WORK)
            box.corral_("apply", name).exited(0)
            equal(contents(box.ws), contents(f"{box.dir}/twin"), "the workspace")
        finally:
            shutil.rmtree(place)

    def on_image(kind, *make):
        @test(f"--cow: works on {kind}", user=False, root=True)
        def _(box):
            needs(box, make[0])
            image = f"{box.dir}/image"
            with open(image, "wb") as file:
                file.truncate(400 << 20)
            box.execute([*make, image]).exited(0)
            box.mkdir("disk")
            script = (f"mount -o loop {image} {box.dir}/disk 2>/dev/null || exit 77; mkdir {box.dir}/disk/ws; "
                      f"cd {box.dir}/disk/ws; echo a >text; echo b >gone; mkdir dir; echo c >dir/c; sleep 0.02; "
                      f"export XDG_STATE_HOME={box.dir}/disk/state; "
                      "$CORRAL run --cow -c 'echo x >>text; rm gone; rm -r dir; mkdir dir; echo n >dir/n' 2>/dev/null; "
                      "test ! -e dir/n; $CORRAL apply $($CORRAL diff | cut -d' ' -f1) >&2; cat text dir/n; ls")
            done = in_namespace(box, script, timeout=120)
            if done.status == 77:
                raise Skip(f"no {kind} in this kernel, or no loop device")
            equal(done.exited(0).out, "a\nx\nn\ndir\ntext\n", f"on {kind}")

    on_image("xfs", "mkfs.xfs", "-q")
    on_image("btrfs", "mkfs.btrfs", "-q")
