# SPDX-License-Identifier: Apache-2.0
"""Two sessions: the files of one workspace are shared, everything else is private.

Each attempt is made by a command of one session against the other.  The same attempt succeeds
outside (control) and within the session that owns the thing (twin); the verdict is the host's.
"""
import json
import os
import signal
import subprocess
import time

from service import Client, Refused, alive, check, children, equal, marked, wait_until


class Pair:
    """Sessions a and b in workspaces of their own, and a secret of a."""

    def __init__(self, service, shared=False):
        self.service = service
        self.a = service.create("--workspace", f"{service.place}/ws")
        self.b = service.create("--workspace", f"{service.place}/{'ws' if shared else 'ws2'}")

    def run(self, session, script, *words):
        return self.service.run("session", "exec", session, "--", "sh", "-c", script, "sh", *words)

    def outside(self, script, *words):
        done = subprocess.run(["sh", "-c", script, "sh", *words], env=self.service.environment, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=False, text=True, cwd=self.service.place, **self.service.account)
        return done.returncode, done.stdout, done.stderr

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for session in (self.a, self.b):
            self.service.run("session", "stop", session)


def attempt(pair, script, word, works):
    """Control outside, twin in a, attack in b."""
    for name, (status, out, err) in (("outside", pair.outside(script, word)), ("in its own session", pair.run(pair.a, script, word))):
        check(status == 0 and works(out), f"{script} {name}: {status} {out!r} {err!r}")
    status, out, err = pair.run(pair.b, script, word)
    check(status != 0 and not works(out), f"{script} in the other session: {status} {out!r} {err!r}")


def test_the_other_workspace_cannot_be_read_listed_or_traversed(service):
    secret = f"{service.place}/ws/deep/secret"
    with Pair(service) as pair:
        check(pair.run(pair.a, "mkdir deep; echo bait >deep/secret")[0] == 0, "cannot create the bait")
        attempt(pair, 'cat "$1"', secret, lambda out: "bait" in out)
        attempt(pair, 'ls "$1"', os.path.dirname(secret), lambda out: "secret" in out)
        attempt(pair, 'cd "$1" && cat secret', os.path.dirname(secret), lambda out: "bait" in out)
        pair.run(pair.b, 'ln -s "$1" link', secret)
        status, out, _ = pair.run(pair.b, "cat link")
        check(status != 0 and "bait" not in out, f"through a symlink: {out!r}")


def test_the_other_workspace_cannot_be_written(service):
    target = f"{service.place}/ws/target"
    with Pair(service) as pair:
        for script, session, wanted in (('echo outside >"$1"', None, "outside\n"), ('echo own >"$1"', pair.a, "own\n"),
                                        ('echo other >"$1"', pair.b, "own\n")):
            status, _, err = pair.outside(script, target) if session is None else pair.run(session, script, target)
            with open(target, encoding="utf-8") as file:
                equal(file.read(), wanted, f"the file on the host after {script} ({status}, {err})")


def test_tmp_is_private(service):
    with Pair(service, shared=True) as pair:
        status, path, err = pair.run(pair.a, 'echo bait >"$TMPDIR/own"; echo "$TMPDIR/own"')
        equal(status, 0, f"a file in TMPDIR ({err})")
        status, out, _ = pair.run(pair.a, 'cat "$1"', path.strip())
        equal((status, out), (0, "bait\n"), "a later command of the same session")
        status, out, _ = pair.run(pair.b, 'cat "$1" || cat "$TMPDIR/own"', path.strip())
        check(status != 0 and "bait" not in out, f"the other session reads it: {out!r}")


def test_files_of_one_workspace_are_shared(service):
    with Pair(service, shared=True) as pair:
        equal(pair.run(pair.a, "echo common >common")[0], 0, "a writes")
        equal(pair.run(pair.b, "cat common")[1], "common\n", "b reads")


def test_processes_of_the_other_session_cannot_be_signalled(service):
    mark = f"620.{os.getpid()}"
    with Pair(service) as pair:
        inside = pair.run(pair.a, f"setsid sleep {mark} >/dev/null 2>&1 & echo $!")[1].strip()
        found = []  # of one list of processes: while one executes, its arguments cannot be read
        check(wait_until(lambda: found.extend(marked(mark)) or found), "the target did not start")
        pid = found[0]
        status, _, err = pair.outside('kill -0 "$1"', str(pid))
        equal(status, 0, f"control outside ({err})")
        check(wait_until(lambda: pair.run(pair.a, f"kill -0 $(pgrep -f '^sleep {mark}')")[0] == 0), "twin in its own session")
        for number in (str(pid), inside, "-1"):
            pair.run(pair.b, 'kill -9 "$1"; kill -9 -- -"$1"', number)
            check(alive(pid), f"the other session killed the process by {number}")
        status, out, _ = pair.run(pair.b, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
        check(f"sleep {mark}" not in out, "the other session sees the process") if service.level == "full" else None


CONNECT = """
import json, socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
try:
    s.sendall(json.dumps({"jsonrpc": "2.0", "id": 1, "method": sys.argv[2], "params": json.loads(sys.argv[3])}).encode() + b"\\n")
except BrokenPipeError:
    pass  # the daemon has refused the connection; its reason can be read
answer = json.loads(s.makefile().readline())
print(answer)
sys.exit("error" in answer)
"""


def ask(pair, session, path, method, params="{}"):
    return pair.service.run("session", "exec", session, "--", "/usr/bin/python3", "-c", CONNECT, path, method, params)


def test_a_session_reaches_its_own_socket_only(service):
    with Pair(service) as pair:
        paths = {name: f"{service.place}/run/corral/s/{session}.sock" for name, session in (("a", pair.a), ("b", pair.b))}
        equal(ask(pair, pair.a, paths["a"], "session.show")[0], 0, "twin: its own socket")
        status, out, err = ask(pair, pair.b, paths["a"], "session.show")
        check(status != 0 and "RUNNING" not in out, f"the socket of the other session: {out!r} {err!r}")
        status, out, err = ask(pair, pair.b, paths["b"], "session.show", json.dumps({"session": pair.a}))
        check(status != 0 and pair.a not in out, f"the other session by its id: {out!r} {err!r}")
        check("params: session: the method has no such parameter" in out and "this socket belongs to one session" in out, out)
        check("unpacked" not in out, f"the text of a library: {out}")
        status, out, err = ask(pair, pair.b, service.admin, "session.list")
        check(status != 0 and pair.a not in out, f"the admin socket: {out!r} {err!r}")
        check(service.client().call("session.list")["sessions"], "control: the admin socket outside")
        equal(service.show(pair.a)["state"], "RUNNING", "the other session")


def test_a_sandboxed_process_with_the_admin_socket_is_refused(service):
    status, _, err = service.run("session", "create", "--level", service.level, "--socket", service.admin)
    check(status == 2 and "belongs to Corral itself" in err, f"--socket admin.sock: {status} {err}")
    link = f"{service.workspace}/link.sock"
    os.link(service.admin, link)
    session = service.create("--socket", link)
    try:
        equal(service.client().call("ping")["version"][:1], "0", "control outside")
        pair = type("One", (), {"service": service})
        status, out, err = ask(pair, session, link, "session.list")
        check(status != 0 and "outside of sandboxes only" in out, f"a sandboxed process on the admin socket: {out!r} {err!r}")
        status, out, _ = ask(pair, session, f"{service.place}/run/corral/s/{session}.sock", "session.show")
        equal(status, 0, f"twin: its own socket ({out})")
    finally:
        service.good("session", "stop", session)
        os.unlink(link)


LEAVE_A_REQUEST = """
import json, os, socket, sys, time
while not os.path.exists("go"):
    time.sleep(0.02)
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "session.create",
                      "params": {"cwd": os.getcwd(), "name": sys.argv[2]}}).encode() + b"\\n")
open("sent", "w").close()
os.kill(-1, 9) if sys.argv[3] == "die" else print(s.recv(4096))
"""


def test_a_request_of_a_session_that_has_ended_is_refused(service):
    """The daemon is stopped meanwhile, so it accepts the connection when its process is dead."""
    link, go, sent = (f"{service.workspace}/{name}" for name in ("link.sock", "go", "sent"))
    words, mark = ["/usr/bin/python3", "-c", LEAVE_A_REQUEST, link], f"hostile{os.getpid()}"
    os.link(service.admin, link)
    session = service.create("--socket", link)
    inside = service.command("session", "exec", session, "--", *words, mark, "die")
    try:
        supervisors = children(service.process.pid)
        check(wait_until(lambda: marked(mark)), "the command did not begin")
        time.sleep(0.3)
        os.kill(service.process.pid, signal.SIGSTOP)
        with open(go, "w", encoding="utf-8"):
            pass
        check(wait_until(lambda: os.path.exists(sent)), "no request was sent")
        check(wait_until(lambda: not any(alive(pid) for pid in supervisors)), "the session did not end")
    finally:
        os.kill(service.process.pid, signal.SIGCONT)
    inside.communicate()
    outside = service.command(*words[1:], "friendly", "live", executable=words[0])
    equal(outside.wait(), 0, f"control outside: {outside.communicate()}")
    names = {row["name"] for row in service.client().call("session.list", all=True)["sessions"]}
    check("friendly" in names and mark not in names, f"the sessions: {names}")
    service.good("session", "stop", "friendly")
    for path in (link, go, sent):
        os.unlink(path)


def test_the_socket_gives_no_more_than_the_session_has(service):
    """exec by the socket runs in the same sandbox: a file that is hidden stays hidden."""
    bait = f"{service.place}/bait"
    with open(bait, "w", encoding="utf-8") as file:
        file.write("bait\n")
    os.chown(bait, service.uid, service.uid)
    with Pair(service) as pair:
        equal(pair.outside('cat "$1"', bait)[1], "bait\n", "control outside")
        argv = '{"argv": ["cat", "%s"]}'
        status, out, _ = ask(pair, pair.a, f"{service.place}/run/corral/s/{pair.a}.sock", "session.exec", argv % bait)
        check("bait\\n" not in out, f"the socket reads a file outside: {out!r}")
        pair.run(pair.a, "echo twin >twin")
        status, out, _ = ask(pair, pair.a, f"{service.place}/run/corral/s/{pair.a}.sock", "session.exec", argv % "twin")
        check(status == 0 and "twin" in out, f"twin: {out!r}")


def test_the_database_and_the_token_are_hidden(service):
    made = service.made("--workspace", service.workspace)
    session, token = made["id"], made["token"]
    status, out, _ = service.run("session", "exec", session, "--", "sh", "-c", "env; cat /proc/*/environ; cat /proc/*/cmdline")
    check(token not in out and token[7:] not in out, "the token is in the sandbox")
    path = f"{service.place}/home/.local/state/corral/daemon/sessions.db"
    check(os.path.exists(path), "control: the database is there")
    status, out, _ = service.run("session", "exec", session, "--", "cat", path)
    check(status != 0 and "SQLite" not in out, "a command reads the database")
    with open(path, "rb") as file, open(path + "-wal", "rb") as log:
        check(token.encode()[7:] not in file.read() + log.read(), "the token is in the database")
    check(token.encode()[7:] not in service.text(), "the token is in the log")
    service.good("session", "stop", session)


def test_descriptors_of_the_daemon_are_not_in_the_sandbox(service):
    with Pair(service) as pair:
        _, out, _ = pair.run(pair.a, "ls -l /proc/self/fd /proc/$$/fd")
        targets = [line.split("-> ")[1] for line in out.splitlines() if "-> " in line]
        check(targets and all("sessions.db" not in t and "daemon.lock" not in t and "anon_inode" not in t for t in targets),
              f"descriptors inside: {targets}")
        check(all(t.startswith(("pipe:", "/dev/null", "/proc/")) for t in targets), f"descriptors inside: {targets}")


def test_another_user_is_refused(service):
    if os.geteuid() != 0 or service.uid == 0:
        return  # another user needs root; root is no other user for itself
    with Pair(service) as pair:
        for path, mode in ((service.admin, 0o711), (f"{service.place}/run/corral/s/{pair.a}.sock", 0o711)):
            for name in ("run", "run/corral", "run/corral/s"):
                os.chmod(f"{service.place}/{name}", mode)
            os.chmod(path, 0o666)
            try:
                client = Client(path, service.uid + 1)
                try:
                    client.call("ping")
                    check(False, f"{path} serves another user")
                except (Refused, AssertionError, BrokenPipeError) as refused:
                    check("serves another" not in str(refused), str(refused))
            finally:
                for name in ("run", "run/corral", "run/corral/s"):
                    os.chmod(f"{service.place}/{name}", 0o700)
                os.chmod(path, 0o600)
        # Control: its own user.
        service.client().call("ping")
