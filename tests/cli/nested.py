# SPDX-License-Identifier: Apache-2.0
"""Sandboxes inside a run: bubblewrap, a filtered network beside it, Corral itself."""
import json
import os
import shlex

from harness import Skip, check, contains, equal, needs

BWRAP = ("bwrap", "--ro-bind", "/", "/", "--unshare-all", "--dev", "/dev", "--proc", "/proc", "--die-with-parent")


def at_full(box):
    if box.json("true")["level"] != "full":
        raise Skip("this host does not reach level full")
    needs(box, "bwrap")


def inside(box, script, *more, options=("--allow-nested",)):
    """One command in bubblewrap in Corral, with the workspace writable."""
    words = (*BWRAP, "--bind", box.ws, box.ws, "--chdir", box.ws, *more, "sh", "-c", script)
    return box.run(*options, "-c", shlex.join(words))


def register(suite):
    test = suite.test

    @test("bubblewrap with its usual options runs inside, and works on the workspace")
    def _(box):
        at_full(box)
        done = inside(box, "echo one >a && mv a b && cat b && mkdir d && touch d/f && rm -r d && test $$ -lt 10 && echo two >/dev/null")
        equal(done.exited(0).out, "one\n", "its output")
        equal(box.read("ws/b"), "one\n", "the file")

    @test("bubblewrap does not run inside by default, and the hint says why")
    def _(box):
        at_full(box)
        done = inside(box, "true", options=())
        check(done.status != 0, f"{done}")
        done.said("namespaces", "the sandbox does not allow new namespaces")

    @test("bubblewrap's read-only tree stays read-only, though the broker makes the calls")
    def _(box):
        at_full(box)
        box.write("ws/in/f", "old\n")
        script = "echo x >in/f; mv in/f in/g; rm -f in/f; mv in away; ln in/f h; chmod 600 in/f; echo x >in/new; true"
        inside(box, script, "--ro-bind", f"{box.ws}/in", f"{box.ws}/in").exited(0)
        equal((box.read("ws/in/f"), os.listdir(f"{box.ws}/in")), ("old\n", ["f"]), "the tree")
        equal(os.stat(f"{box.ws}/in/f").st_mode & 0o777, 0o644, "its mode")

    @test("a mount point that bubblewrap needs is made for a protected name, stays empty, and is removed")
    def _(box):
        at_full(box)
        done = inside(box, "ls -A; echo x >.mcp.json; true", "--ro-bind", "/dev/null", f"{box.ws}/.mcp.json")
        contains(done.exited(0).out, ".mcp.json", "inside")
        check(not box.exists("ws/.mcp.json"), "it is left")

    @test("a socket of a network namespace inside works there, and never reaches the gate")
    def _(box):
        at_full(box)
        needs(box, "python3")
        script = ("import socket\ns = socket.create_server(('127.0.0.1', 0)); c = socket.create_connection(s.getsockname()); print('own')\n"
                  "try: socket.create_connection(('127.0.0.1', 9), 3)\nexcept OSError as e: print(type(e).__name__)\n"
                  "try: socket.create_connection(('11.0.0.1', 80), 3)\nexcept OSError as e: print(e.errno)")
        done = inside(box, shlex.join(["python3", "-c", script]), options=("--allow-nested", "--host-port", "9", "--allow-host", "a.example"))
        equal(done.exited(0).out, "own\nConnectionRefusedError\n101\n", "its sockets")

    @test("programs that only listed ones may be executed: a sandbox that can mount contradicts that")
    def _(box):
        at_full(box)
        box.run("--allow-nested", "--set", "commands.default=deny", "--", "true").exited(2).said("commands.default", "remedy")

    @test("corral in corral in corral: each adds Landlock and seccomp, and reports no more")
    def _(box):
        at_full(box)
        for level in ("full", "standard"):
            words = ("--no-config", "--allow-nested", "--read", box.corral)
            inner = (box.corral, "run", *words, "--", box.corral, "run", "--no-config", "--json", "-c", "echo x >made && echo y >.envrc")
            done = box.run("--level", level, *words, "--", *inner)
            result = json.loads(done.out)
            equal((result["level"], result["engine"]), ("standard", "landlock"), "the innermost")
            state = {g["name"]: g["state"] for g in result["guarantees"]}
            check(state["fs.deny"] != "enforced" and state["fs.write"] == "weaker", f"{state}")
            check(box.exists("ws/made") and not box.exists("ws/.envrc"), f"{done}")
            os.unlink(f"{box.ws}/made")

    @test("corral in corral: a level that cannot be reached inside is refused with the reason")
    def _(box):
        at_full(box)
        done = box.run("--allow-nested", "--read", box.corral, "--", box.corral, "run", "--level", "full", "true").exited(125)
        done.said("inside a Corral sandbox", "--level standard")
        check("sysctl" not in done.err, f"{done}")

    @test("a Corral inside a Corral reports its depth, in the result, in explain and in status; outside it is 1")
    def _(box):
        def around(count, *words):
            """The words in that many runs."""
            for at in range(count):
                own = ("--json",) if at == count - 1 else ()
                words = (box.corral, "run", "--no-config", "--allow-nested", *own, "--read", box.corral, "--", *words)
            return box.execute(words).exited(0).json
        asked = ((box.corral, "run", "--no-config", "--json", "true"), (box.corral, "status", "--json"),
                 (box.corral, "explain", "--json"))
        for count in (1, 2):
            for words in asked:
                outer = around(count, *words)
                equal(outer["depth"], 1, "the depth of the outermost")
                inner = json.loads(outer["stdout"])
                equal(inner.get("plan", inner)["depth"], count + 1, f"{words[1]} in {count}")
            text = around(count, box.corral, "status")["stdout"] + around(count, box.corral, "explain")["stdout"]
            contains(text, f"inside Corral: a run here has depth {count + 1}", "status")
            contains(text, f"depth      {count + 1} (inside {count} of Corral)", "explain")
        for words in asked:
            found = box.execute(words).exited(0).json
            equal(found.get("plan", found)["depth"], 1, f"{words[1]} outside")
        check("CORRAL_DEPTH" not in box.run("env").exited(0).out, "CORRAL_DEPTH in the environment of a plain run")
        for value in ("", "x", "-3", "0", "64", "99999999999999999999"):
            wrong = box.env | {"CORRAL_LEVEL": "full", "CORRAL_WORKSPACE": box.ws, "CORRAL_DEPTH": value}
            equal(box.run("--json", "true", env=wrong).exited(0).json["depth"], 2, f"CORRAL_DEPTH={value}")
