# SPDX-License-Identifier: Apache-2.0
"""Denials that are not about one path: commands, programs, the mode, limits, and the network of the host.

Each has its control (the same operation succeeds outside, or below the limit), and where the record names an option, the
same command succeeds with it."""
import contextlib
import os
import shlex
import shutil
import socket

from floors import administered, with_floor
from harness import check, contains, equal
from hints import elsewhere

LEVELS = ("full", "standard")
PYTHON = ("/usr/bin/python3", "-I", "-c")

# Words, the command, the rule; whether the record's option lets it run.
COMMANDS = [
    (("--set", "commands.default=deny", "--allow-command", "git"), ("ls", "/"), "commands.default: deny", True),
    (("--set", "commands.echo.blocked=now*"), ("echo", "now", "x"), "commands.echo.blocked: now*", True),
    (("--set", "commands.echo.allowed=this"), ("echo", "that"), "commands.echo.allowed", True),
    (("--set", "commands.default=deny", "--allow-command", "git"), ("sh", "-c", "ls; id"), "commands.default: deny", False),
]

# Words beneath the limit that succeed; words that reach it; the command; key, value, option; at which levels.
SLEEP = "import time; time.sleep({})"
MEMORY = "x = bytearray(120 << 20); import time; time.sleep(2)"
DISK = "import time; open('big', 'wb').write(bytes(9 << 20)); time.sleep(2)"
WRITE = "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_DFL); open('big', 'wb').write(bytes(1500000))"
OPENS = "import os; [os.open('f%d' % i, os.O_WRONLY | os.O_CREAT) for i in range(24)]"
SPIN = "import time; t = time.process_time()\nwhile time.process_time() < 1.5: pass"
PRINT = "print('x' * 1500)"
LIMITS = [
    (("--timeout", "500ms"), SLEEP.format(0.8), "limits.timeout", "500ms", "--timeout 1", LEVELS),
    (("--idle-timeout", "500ms"), SLEEP.format(0.8), "limits.idle_timeout", "500ms", "--idle-timeout 1", LEVELS),
    (("--memory", "100M"), MEMORY, "limits.memory", "100M", "--memory 200M", LEVELS),
    (("--disk", "5M"), DISK, "limits.disk", "5M", "--disk 10M", LEVELS),
    (("--max-file-size", "1M"), WRITE, "limits.file_size", "1M", "--max-file-size 2M", LEVELS),
    (("--open-files", "20"), OPENS, "limits.open_files", "20", "--open-files 40", LEVELS),
    (("--cpu-time", "1"), SPIN, "limits.cpu_time", "1", "--cpu-time 2", LEVELS),
    (("--max-output", "1K"), PRINT, "limits.output", "1K", "--max-output 2K", LEVELS),
]


def only(result, what):
    equal(len(result["denials"]), 1, f"{what}: records {result['denials']}")
    return result["denials"][0]


def complete(record, what):
    for key in ("op", "access", "rule", "origin", "why", "remedy"):
        check(record[key], f"{what}: no {key}: {record}")


def register(suite):
    test = suite.test

    @test("denials: a command that the command rules refuse is in the result of the failure")
    def _(box):
        for words, argv, rule, helps in COMMANDS:
            box.execute(argv).exited(0)
            done = box.run("--json", "--no-config", *words, "--", *argv)
            equal(done.status, 126, f"{argv}: status")
            record = only(done.json, argv)
            equal((done.json["reason"], record["op"], record["rule"]), ("refused", "execute", rule), f"{argv}")
            contains(" ".join(argv), record["command"].split(";")[0], f"{argv}: command")
            complete(record, argv)
            equal(record["allow_with"] is not None, helps, f"{argv}: option {record['allow_with']}")
            if helps:
                box.run("--no-config", *words, *shlex.split(record["allow_with"]), "--", *argv).exited(0)
        equal(box.json("--no-config", *COMMANDS[0][0], "--", "git", "--version")["denials"], [], "a listed command")

    @test("denials: a program that is not listed, started inside")
    def _(box):
        code = "import subprocess; subprocess.run(['/usr/bin/id'], check=True)"
        box.execute((*PYTHON, code)).exited(0)
        words = ("--no-config", "--set", "commands.default=deny", "--allow-command", "/usr/bin/python3")
        for level in LEVELS:
            for which in ("changes", "all"):
                result = box.json(*words, "--level", level, "--denials", which, "--", *PYTHON, code)
                check(result["exit_code"] != 0, f"it runs at {level}")
                record = only(result, level)
                equal((record["op"], record["access"], record["path"], record["errno"], record["allow_with"]),
                      ("execve", "execute", "/usr/bin/id", "EACCES", "--allow-command /usr/bin/id"), level)
                complete(record, level)
            box.run(*words, "--level", level, *shlex.split(record["allow_with"]), "--", *PYTHON, code).exited(0)
            listed = "import subprocess; subprocess.run(['/usr/bin/python3', '-I', '-c', '']); raise SystemExit(1)"
            equal(box.json(*words, "--level", level, "--", *PYTHON, listed)["denials"], [], f"a listed program at {level}")
            off = box.json(*words, "--level", level, "--denials", "off", "--", *PYTHON, code)
            equal((off["denials"], off["denials_recorded"]), ([], False), f"off at {level}")
        contains(box.corral_("audit", "list", "--kind", "deny.cmd").out, "/usr/bin/id", "the audit log")

    @test("denials: a program in the hidden HOME, started inside")
    def _(box):
        box.write("home/bin/tool", "#!/bin/sh\nexit 0\n")
        os.chmod(f"{box.home}/bin/tool", 0o755)
        code = f"import os\ntry: os.execv('{box.home}/bin/tool', ['tool'])\nexcept OSError as e: raise SystemExit(e.errno)"
        box.execute((*PYTHON, code)).exited(0)
        for level in LEVELS:
            words = ("--no-config", "--level", level, "--denials", "all")
            record = only(box.json(*words, "--", *PYTHON, code), level)
            equal((record["op"], record["path"]), ("execve", f"{box.home}/bin/tool"), level)
            box.run(*words, *shlex.split(record["allow_with"]), "--", *PYTHON, code).exited(0)

    @test("denials: mode read-only records what it refuses")
    def _(box):
        box.write("ws/f", "x\n")
        far = elsewhere(box)
        rows = [
            ("os.open('f', os.O_WRONLY)", "open", "write", f"{box.ws}/f", "--mode workspace-write"),
            ("os.open('new', os.O_WRONLY | os.O_CREAT)", "open", "create", f"{box.ws}/new", "--mode workspace-write"),
            ("os.mkdir('d')", "mkdir", "create", f"{box.ws}/d", "--mode workspace-write"),
            ("os.chmod('f', 0o600)", "chmod", "mode", f"{box.ws}/f", "--mode workspace-write"),
            ("os.rename('f', 'g')", "rename", "rename", f"{box.ws}/f", "--mode workspace-write"),
            ("os.unlink('f')", "unlink", "delete", f"{box.ws}/f", "--mode workspace-write"),
            (f"os.mkdir('{far}/d')", "mkdir", "create", f"{far}/d", None),
        ]
        try:
            for code, op, access, path, option in rows:
                for level in LEVELS:
                    what = f"{code} at {level}"
                    words = ("--no-config", "--level", level, "--mode", "read-only", "--read", far)
                    result = box.json(*words, "--", *PYTHON, f"import os; {code}")
                    equal((result["exit_code"], result["denials_recorded"]), (1, True), what)
                    record = only(result, what)
                    equal((record["op"], record["access"], record["path"]), (op, access, path), what)
                    complete(record, what)
                    if option is not None:
                        equal(record["allow_with"], option, what)
                        box.run(*words, *shlex.split(option), "--", *PYTHON, f"import os; {code}").exited(0)
                    for name in ("new", "g"):
                        if os.path.exists(f"{box.ws}/{name}"):
                            os.unlink(f"{box.ws}/{name}")
                    if os.path.isdir(f"{box.ws}/d"):
                        os.rmdir(f"{box.ws}/d")
                    box.write("ws/f", "x\n")
            quiet = box.json("--no-config", "--mode", "read-only", "--", "sh", "-c", "echo x >/tmp/f; cat f; exit 1")
            equal((quiet["denials"], quiet["denials_recorded"]), ([], True), "what it allows")
        finally:
            shutil.rmtree(far)

    @test("denials: a limit that the run reached, with the option that raises it")
    def _(box):
        for words, code, key, value, option, levels in LIMITS:
            for level in levels:
                what = f"{key} at {level}"
                record = only(box.json("--no-config", "--level", level, *words, "--", *PYTHON, code), what)
                equal((record["op"], record["limit"], record["value"], record["rule"], record["origin"]),
                      ("limit", key, value, key, words[0]), what)
                contains(record["why"], value.rstrip("ms"), what)
                equal(record["allow_with"], option, what)
                raised = box.json("--no-config", "--level", level, *shlex.split(option), "--", *PYTHON, code)
                for _ in range(7):  # on a busy machine the command may need longer: its own remedy is applied
                    if raised["reason"] not in ("timeout", "idle"):
                        break
                    again = only(raised, what)["allow_with"]
                    raised = box.json("--no-config", "--level", level, *shlex.split(again), "--", *PYTHON, code)
                equal((raised["reason"], raised["exit_code"], raised["denials"]), ("exit", 0, []), f"{what}: raised")
                if os.path.exists(f"{box.ws}/big"):
                    os.unlink(f"{box.ws}/big")
        contains(box.corral_("audit", "list", "--kind", "deny.limit").out, "limits.memory", "the audit log")
        off = box.json("--no-config", "--denials", "off", "--timeout", "300ms", "--", "sleep", "1")
        equal((off["reason"], off["denials"]), ("timeout", []), "off")

    @test("denials: a limit of processes that a cgroup or a sampler enforces", root=True)
    def _(box):
        script = "for i in 1 2 3 4 5 6 7 8; do sleep 1 & done; wait"
        level = "standard" if box.user.uid != 0 else "full"
        record = only(box.json("--no-config", "--level", level, "--processes", "5", "--", "sh", "-c", script), level)
        equal((record["limit"], record["value"]), ("limits.processes", "5"), "record")
        done = box.json("--no-config", "--level", level, *shlex.split(record["allow_with"]), "--", "sh", "-c", script)
        equal((done["exit_code"], done["denials"]), (0, []), record["allow_with"])

    @test("limits: one process of Corral counts, at every level", root=True)
    def _(box):
        for level in ("full", "standard"):
            done = box.corral_("run", "--no-config", "--level", level, "--processes", "3", "-c", "(echo forked); true")
            equal((done.status, done.out), (0, "forked\n"), level)

    @test("denials: a program's own limit is none of the run's")
    def _(box):
        own = f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20)); {OPENS}"
        result = box.json("--no-config", "--", *PYTHON, own)
        equal((result["exit_code"], result["denials"]), (1, []), "open files")

    @test("denials: the system's floor leaves no option for a limit")
    def _(box):
        code = "import time; time.sleep(2)"
        with_floor(box, "[floor]\nlimits.timeout = 1\n")
        for words in ((), ("--timeout", "500ms")):
            done = administered(box, "run", "--json", "--no-config", *words, "--", *PYTHON, code)
            record = only(done.json, words)
            equal((record["limit"], record["allow_with"]), ("limits.timeout", "--timeout 1" if words else None), words)
        contains(record["why"], "500ms", "the option's value")

    @contextlib.contextmanager
    def listener(family, address):
        with socket.socket(family, socket.SOCK_STREAM) as server:
            server.bind(address)
            server.listen(8)
            yield server

    @test("denials: an abstract unix socket of the host")
    def _(box):
        name = f"corral-test-{os.getpid()}-{box.user.uid}"
        code = f"import socket; socket.socket(socket.AF_UNIX).connect('\\0{name}')"
        for level in LEVELS:
            with listener(socket.AF_UNIX, f"\0{name}"):
                box.execute((*PYTHON, code)).exited(0)
                result = box.json("--no-config", "--level", level, "--", *PYTHON, code)
                check(result["exit_code"] != 0, f"it connects at {level}")
                record = only(result, level)
                equal((record["op"], record["path"], record["rule"], record["allow_with"]),
                      ("connect", f"@{name}", "net.sockets", None), level)
                complete(record, level)
            equal(box.json("--no-config", "--level", level, "--", *PYTHON, code)["denials"], [], f"{level}: the host has none")
            own = (f"import socket; s = socket.socket(socket.AF_UNIX); s.bind('\\0{name}'); s.listen(1); {code}; "
                   "raise SystemExit(3)")
            result = box.json("--no-config", "--level", level, "--", *PYTHON, own)
            equal((result["exit_code"], result["denials"]), (3, []), f"{level}: the run's own")

    @test("denials: a port of the host's loopback, and the option that passes it")
    def _(box):
        for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
            for level in LEVELS:
                for words in ((), ("--allow-host", "allowed.example.org")):
                    with listener(family, (host, 0)) as server:
                        port = server.getsockname()[1]
                        code = f"import socket; socket.create_connection(('{host}', {port}), 5)"
                        box.execute((*PYTHON, code)).exited(0)
                        what = f"{host} at {level} {words}"
                        result = box.json("--no-config", "--level", level, *words, "--", *PYTHON, code)
                        check(result["exit_code"] != 0, f"it connects: {what}")
                        record = only(result, what)
                        equal((record["op"], record["host"].rsplit(":", 1)[1], record["allow_with"]),
                              ("connect", str(port), f"--host-port {port}"), what)
                        complete(record, what)
                        passed = box.run("--no-config", "--level", level, *words, *shlex.split(record["allow_with"]), "--", *PYTHON, code)
                        equal(passed.status, 0, f"{what}: {passed}")
                    equal(box.json("--no-config", "--level", level, *words, "--", *PYTHON, code)["denials"], [], f"{what}: the host has none")

    @test("denials: datagrams without a route")
    def _(box):
        connect = "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect(('192.0.2.1', 443))"
        send = "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 443))"
        rows = [
            (connect, ("--denials", "changes"), "connect", "net.mode none"),
            (send, ("--denials", "all"), "sendto", "net.mode none"),
            (send, ("--denials", "all", "--allow-host", "allowed.example.org"), "sendto", "net.mode filtered"),
        ]
        for code, words, op, rule in rows:
            result = box.json("--no-config", "--level", "full", *words, "--", *PYTHON, code)
            # With a gate the kernel accepts the datagram and drops it.
            error = None if "--allow-host" in words else "ENETUNREACH"
            equal(result["exit_code"], 0 if error is None else 1, code)
            record = only(result, code)
            equal((record["op"], record["access"], record["host"], record["errno"], record["rule"], record["allow_with"]),
                  (op, "datagram", "192.0.2.1:443", error, rule, None), code)
            complete(record, code)
        inside = ("import socket; a = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); a.bind(('127.0.0.1', 0)); "
                  "a.sendto(b'x', a.getsockname()); assert a.recv(9) == b'x'; raise SystemExit(3)")
        result = box.json("--no-config", "--level", "full", "--denials", "all", "--", *PYTHON, inside)
        equal((result["exit_code"], result["denials"]), (3, []), "the run's own loopback")

    @test("shared memory of the run can be opened for reading")
    def _(box):
        code = ("import ctypes, os; libc = ctypes.CDLL(None, use_errno=True); flags = os.O_RDWR | os.O_CREAT | os.O_EXCL; "
                "name = b'/corral-test-%d' % os.getpid(); fd = libc.shm_open(name, flags, 0o600); os.write(fd, b'here'); "
                "read = libc.shm_open(name, os.O_RDONLY, 0); libc.shm_unlink(name); print(os.read(read, 9).decode())")
        equal(box.execute((*PYTHON, code)).exited(0).out, "here\n", "outside")
        for level in LEVELS:
            for which in ("off", "changes", "all"):
                done = box.run("--no-config", "--level", level, "--denials", which, "--", *PYTHON, code)
                equal(done.exited(0).out, "here\n", f"{level}, {which}")
