# SPDX-License-Identifier: Apache-2.0
"""A daemon that clients start, and that ends when it is idle.  Each test has a place of its own."""
import json
import os

from service import Service, check, equal, wait_until


def place(service, start="on-demand", idle="60s"):
    one = Service(service.corral, "user" if service.uid != os.geteuid() or os.geteuid() != 0 else "root", service.level)
    path = f"{one.place}/home/.config/corral"
    os.makedirs(path, mode=0o700)
    with open(f"{path}/corral.toml", "w", encoding="utf-8") as file:
        file.write(f'[daemon]\nstart = "{start}"\nidle = "{idle}"\n')
    for name in ("home/.config", "home/.config/corral", "home/.config/corral/corral.toml"):
        os.chown(f"{one.place}/{name}", one.uid, one.uid)
    return one


def daemons(one):
    """The live daemons of this place, and their supervisors, by the environment that only they have."""
    found = []
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
            with open(f"/proc/{name}/environ", "rb") as file:
                if words[1:3] == [b"daemon", b"--idle-exit"] and f"HOME={one.place}/home".encode() in file.read().split(b"\0"):
                    found.append(int(name))
        except OSError:
            pass
    return found


def end(one):
    if daemons(one):
        one.run("daemon", "stop")
    check(wait_until(lambda: not daemons(one)), "the daemon did not end")
    one.close()


def test_no_daemon_is_started_unless_the_user_allows_it(service):
    one = place(service, start="no")
    try:
        status, _, err = one.run("session", "list")
        check(status == 125 and 'daemon.start = "on-demand"' in err, f"the message: {status} {err}")
        equal(daemons(one), [], "daemons")
        with open(f"{one.workspace}/corral.toml", "w", encoding="utf-8") as file:
            file.write('[daemon]\nstart = "on-demand"\n')
        os.chown(f"{one.workspace}/corral.toml", one.uid, one.uid)
        status, _, err = one.run("session", "list")
        check(status != 0 and not daemons(one), f"a project's file started a daemon: {status} {err}")
    finally:
        end(one)


def test_no_daemon_is_started_to_be_described_or_stopped(service):
    one = place(service)
    try:
        for verb in ("status", "metrics", "reload", "stop"):
            status, out, err = one.run("daemon", verb)
            check(status == 125 and out == "" and "start it: corral daemon &" in err, f"{verb}: {status} {out} {err}")
        equal(daemons(one), [], "daemons")
        equal(one.good("session", "list"), "no sessions are alive\n", "a verb that starts one")
    finally:
        end(one)


def test_two_clients_start_one_daemon(service):
    one = place(service)
    try:
        clients = [one.command("session", "list") for _ in range(4)]
        for client in clients:
            out, err = client.communicate()
            equal((client.returncode, out), (0, b"no sessions are alive\n"), f"a client, which printed {err}")
        check(wait_until(lambda: len(daemons(one)) == 1), f"daemons: {daemons(one)}")
        pid = daemons(one)[0]
        session = one.create()
        equal(one.good("session", "exec", session, "echo", "works"), "works\n", "a command")
        equal(json.loads(one.good("daemon", "status", "--json"))["pid"], pid, "the daemon")
        equal(os.readlink(f"/proc/{pid}/cwd"), "/", "the directory of the daemon")
        equal(os.getsid(pid), pid, "the session of the daemon")
        targets = {os.readlink(f"/proc/{pid}/fd/{fd}") for fd in ("0", "1", "2")}
        check(targets == {"/dev/null", f"{one.place}/home/.local/state/corral/daemon/daemon.log"}, f"its streams: {targets}")
    finally:
        end(one)


def test_an_idle_daemon_ends_and_one_with_a_session_does_not(service):
    one = place(service, idle="1s")
    try:
        session = one.create()
        pid = daemons(one)[0]
        with open(f"{one.place}/home/.local/state/corral/daemon/daemon.log", encoding="utf-8") as log:
            equal(wait_until(lambda: not daemons(one), 2.5), False, "a daemon with a session ended")
            one.good("session", "stop", session)
            check(wait_until(lambda: not daemons(one)), "an idle daemon did not end")
            check("idle" in log.read(), "the log does not say why")
        check(not os.path.exists(one.admin), "its socket is left")
        again = one.create()
        check(daemons(one) and daemons(one) != [pid], "the next client started no daemon")
        equal(one.show(session)["state"], "STOPPED", "the state of the earlier session")
        one.good("session", "stop", again)
    finally:
        end(one)


def test_a_daemon_that_cannot_start_is_reported_with_its_log(service):
    one = place(service)
    try:
        os.makedirs(f"{one.place}/home/.local/state/corral", mode=0o700)
        for name in (".local", ".local/state", ".local/state/corral"):
            os.chown(f"{one.place}/home/{name}", one.uid, one.uid)
        os.makedirs(f"{one.place}/home/.local/state/corral/daemon", mode=0o755)
        os.chown(f"{one.place}/home/.local/state/corral/daemon", one.uid, one.uid)
        os.chmod(f"{one.place}/home/.local/state/corral/daemon", 0o755)
        status, _, err = one.run("session", "list")
        check(status == 125 and "daemon.log" in err, f"the message: {status} {err}")
        with open(f"{one.place}/home/.local/state/corral/daemon/daemon.log", encoding="utf-8") as file:
            check("mode 0700" in file.read(), "the log does not say why")
    finally:
        end(one)
