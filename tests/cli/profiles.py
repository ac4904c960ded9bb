# SPDX-License-Identifier: Apache-2.0
"""The named profiles do what their table says."""
import itertools
import json
import os
import socket
import tempfile
import threading

from harness import Skip, check, contains, equal, remove_tree


# The host's view masks every other home: one that vanishes between plan and mount ends a run.
HOMES = threading.Lock()


def beside_homes():
    """A place that the host's view shows and that is neither a home nor temporary."""
    if not os.access("/srv", os.W_OK):
        raise Skip("/srv cannot be written")
    return "/srv"


def profiles_of(text):
    """Names and descriptions that the help lists beneath --profile."""
    lines = iter(text.splitlines())
    next(line for line in lines if "--profile NAME" in line)
    listed = itertools.takewhile(lambda line: line.startswith(" " * 33), lines)
    return [line.split(None, 1) for line in listed]


def register(suite):
    test = suite.test

    @test("--help lists the profiles that can be used, each with a description, and completions offer the same")
    def _(box):
        listed = profiles_of(box.corral_("run", "--help").exited(0).out)
        names = [name for name, _ in listed]
        for name in ("coding", "data-analysis", "host-read", "readonly", "strict", "workspace"):
            check(name in names, f"{name} is not listed: {names}")
        for name, words in listed:
            check(len(words) > 10, f"{name} has no description")
            box.corral_("policy", "show", "--profile", name).exited(0)
        for shell in ("bash", "zsh", "fish"):
            contains(box.corral_("completion", shell).exited(0).out, " ".join(names), shell)

    @test("the default: system read-only, workspace writable, no network", root=True)
    def _(box):
        planted = [f"{top}/{os.path.basename(box.dir)}" for top in ("/usr", "/etc", "", "/opt")]
        script = (f"touch made; touch {' '.join(planted)} 2>/dev/null; ls /usr/bin >/dev/null && echo usr; "
                  "cat /etc/shadow 2>/dev/null | head -1; ls /root /home 2>/dev/null; exit 0")
        done = box.run("-c", script).exited(0)
        equal(done.out, "usr\n", "stdout")
        check(box.exists("ws/made"), "not written")
        written = [path for path in planted if os.path.exists(path)]
        for path in written:
            os.unlink(path)
        equal(written, [], "files written to the system")

    @test("--net none has a loopback of its own and nothing else", root=True)
    def _(box):
        with socket.socket() as server:
            server.bind(("127.0.0.1", 0))
            server.listen()
            port = server.getsockname()[1]
            code = ("import socket, sys\n"
                    "for host, port in (('127.0.0.1', %d),):\n"
                    "    s = socket.socket(); s.settimeout(2)\n"
                    "    try:\n        s.connect((host, port)); print('reached', host)\n"
                    "    except OSError as e: print('no', e.errno)\n"
                    "a = socket.socket(); a.bind(('127.0.0.1', 0)); a.listen()\n"
                    "b = socket.create_connection(a.getsockname()); print('own loopback')\n"
                    "print(socket.if_nameindex())\n" % port)
            done = box.run("--", "/usr/bin/python3", "-c", code).exited(0)
            check("reached" not in done.out, f"{done.out}")
            contains(done.out, "own loopback", "loopback")
            contains(done.out, "[(1, 'lo')]", "interfaces")
            full = box.run("--net", "full", "--", "/usr/bin/python3", "-c", code)
            contains(full.out, "reached 127.0.0.1", "--net full")

    @test("readonly: nothing but scratch space can be written", root=True)
    def _(box):
        box.write("ws/file", "old\n")
        for words in (("--profile", "readonly"), ("--mode", "read-only")):
            done = box.run(*words, "-c", "cat file; echo x >>file; touch made; rm file; echo t >/tmp/t && cat /tmp/t; "
                           "echo h >~/h && cat ~/h; exit 0").exited(0)
            equal(done.out, "old\nt\nh\n", f"stdout of {words}")
            equal([box.read("ws/file"), box.exists("ws/made")], ["old\n", False], "the workspace")
            equal(box.run(*words, "-c", "cat ~/h").status, 1, "the home is not kept")

    @test("strict: /workspace, fixed PATH, small limits, a made-up /etc", root=True)
    def _(box):
        box.write("ws/file", "mine\n")
        box.write("home/.cargo/bin/tool", "#!/bin/sh\n", 0o755)
        env = {**box.env, "PATH": f"{box.home}/.cargo/bin:{box.env['PATH']}"}
        done = box.run("--profile", "strict", "-c", "pwd; cat file; echo $PATH; ulimit -n; ulimit -f; ls ~ | wc -l; "
                       "echo $CORRAL_WORKSPACE; touch made; cat /etc/hostname", env=env).exited(0)
        equal(done.out, "/workspace\nmine\n/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n256\n"
              "102400\n0\n/workspace\nlocalhost\n", "stdout")
        check(box.exists("ws/made"), "the workspace cannot be written")
        hidden = box.run("--profile", "strict", "-c", f"ls {box.dir} {box.home} /root /opt /srv /var/log 2>/dev/null; "
                         "cat /etc/machine-id /etc/shadow 2>/dev/null; exit 0").exited(0)
        equal(hidden.out, "", "what could be seen")
        limits = box.corral_("policy", "show", "--json", "--profile", "strict").json["values"]
        equal([limits[k]["value"] for k in ("limits.processes", "limits.open_files", "limits.file_size", "limits.timeout")],
              [64, 256, 52428800, "2m"], "limits")
        equal(limits["limits.processes"]["origin"], "profile strict", "origin")

    @test("strict: real tools run")
    def _(box):
        for command in ("python3 -c 'import ssl, sqlite3; print(1)'", "perl -e 'print 1'", "git --version", "ls -l"):
            box.run("--profile", "strict", "-c", command).exited(0)
        equal(box.run("--profile", "strict", "id", "-un").exited(0).out, "sandbox\n", "id")

    @test("strict: options still change single values")
    def _(box):
        equal(box.run("--profile", "strict", "--open-files", "300", "-c", "ulimit -n").exited(0).out, "300\n", "option")

    @test("host-read: the file system is readable, credentials and other homes are not", root=True, base=beside_homes)
    def _(box):
        box.write("home/.ssh/id_ed25519", "secret-key\n", 0o600)
        box.write("home/.netrc", "secret-netrc\n", 0o600)
        box.write("home/notes.txt", "notes\n")
        box.write("public/file", "public\n")
        other = None
        HOMES.acquire()
        if box.suite.root and os.path.isdir("/home"):
            other = tempfile.mkdtemp(prefix="corral-other-", dir="/home")
            os.chmod(other, 0o755)
            with open(f"{other}/file", "w", encoding="utf-8") as file:
                file.write("other-secret\n")
        try:
            done = box.run("--profile", "host-read", "-c",
                           f"ls /usr/share >/dev/null && echo share; cat {box.dir}/public/file; cat ~/notes.txt; "
                           f"cat ~/.ssh/id_ed25519 ~/.netrc {other or '/none'}/file /etc/shadow; ls /run/* /var/log; "
                           f"touch {box.dir}/public/x ~/x; touch made; exit 0").exited(0)
        finally:
            if other:
                remove_tree(other)
            HOMES.release()
        equal(done.out.split("/run/")[0].splitlines()[:3], ["share", "public", "notes"], "readable")
        for secret in ("secret-key", "secret-netrc", "other-secret", "root:"):
            check(secret not in done.out, f"{secret} could be read")
        check(box.exists("ws/made"), "the workspace cannot be written")
        check(not box.exists("public/x") and not box.exists("home/x"), "written outside the workspace")

    @test("data-analysis: more processes and /tmp, no network")
    def _(box):
        rows = box.corral_("policy", "show", "--json", "--profile", "data-analysis").exited(0).json["values"]
        equal([rows[k]["value"] for k in ("limits.processes", "limits.tmp_size", "net.mode")], [1024, 4 << 30, "none"], "values")
        box.run("--profile", "data-analysis", "-c", "touch made").exited(0)

    for name in ("minimal", "campaign"):
        @test(f"{name} runs listed commands and refuses others", root=True)
        def _(box, name=name):
            done = box.run("--profile", name, "--", "touch", "ran").exited(126)
            done.said(f"profile {name}", "commands.default", "--allow-command touch")
            check(not box.exists("ws/ran"), "something ran")
            box.write("ws/file", "text\n")
            equal(box.run("--profile", name, "cat", "file").exited(0).out, "text\n", "a listed command")
            box.run("--profile", name, "--allow-command", "touch", "touch", "ran").exited(0)
            check(box.exists("ws/ran"), "the command that was listed did not run")

    @test("coding works once its network is replaced, and minimal once its rule is")
    def _(box):
        box.run("--profile", "coding", "--net", "none", "-c", "touch made").exited(0)
        check(box.exists("ws/made"), "not written")
        box.run("--profile", "minimal", "--set", "commands.default=allow", "touch", "also").exited(0)
        check(box.exists("ws/also"), "not written")

    @test("--level full and --min-level full hold where the host reaches it")
    def _(box):
        if box.json("true")["level"] != "full":
            raise Skip("this host does not reach level full")
        box.run("--level", "full", "true").exited(0)
        box.run("--min-level", "full", "true").exited(0)

    @test("corral inside corral takes the other engine and can only narrow")
    def _(box):
        box.write("outside/file", "mine\n")
        inner = ("--allow-nested", "--read", os.path.dirname(box.corral), "--", box.corral, "run", "--json")
        result = json.loads(box.run(*inner, "--", "touch", "ran").exited(0).out)
        equal((result["level"], result["engine"]), ("standard", "landlock"), "inside")
        check(box.exists("ws/ran"), "nothing ran")
        box.run(*inner, "--write", f"{box.dir}/outside", "--", "touch", "ran").exited(2).said("fs.write")
        result = json.loads(box.run(*inner, "--net", "full", "-c", f"cat {box.dir}/outside/file").exited(1).out)
        check("mine" not in result["stdout"], "the inner one widened the view")
