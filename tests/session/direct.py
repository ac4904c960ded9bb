# SPDX-License-Identifier: Apache-2.0
"""The short way of `session exec`: the supervisor's own socket (client/direct.h)."""
import array
import contextlib
import os
import signal
import socket
import struct
import time

from service import HUNG, acting_as, check, children, equal, marked, wait_until

REQUEST, ANSWER = "=IIIIq", "=IiIi"
RAN, FAILED, DAEMON = 1, 2, 3


def path_of(service, name):
    return f"{service.place}/run/corral/x/{name}"


def names(service):
    return set(os.listdir(f"{service.place}/run/corral/x"))


def request(*words, version=1, argc=None, directory=None, timeout=0):
    texts = b"".join(word.encode() + b"\0" for word in (*words, *([directory] if directory else [])))
    return struct.pack(REQUEST, version, len(words) if argc is None else argc, int(directory is not None), 0, timeout) + texts


@contextlib.contextmanager
def connected(service, session):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
        client.settimeout(HUNG)
        with acting_as(service.uid):
            client.connect(path_of(service, session))
        yield client


def send(client, message, fds):
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
    client.sendmsg([message], rights)


def end_of(client):
    try:
        answer = client.recv(65536)
    except ConnectionResetError:  # the request was not read; the answer is there all the same
        answer = client.recv(65536)
    return struct.unpack_from(ANSWER, answer)[0] if len(answer) >= struct.calcsize(ANSWER) else None


def test_the_short_way_is_there_while_the_session_runs(service):
    """H9."""
    before = names(service)
    session = service.create("--name", "short")
    equal(names(service) - before, {session, f"{session}.new", "short"}, "the names")
    equal(os.stat(path_of(service, session)).st_mode & 0o777, 0o600, "its mode")
    equal(os.stat(f"{service.place}/run/corral/x").st_mode & 0o777, 0o700, "the mode of the directory")
    equal(service.good("session", "exec", "short", "--", "echo", "by name").strip(), "by name", "by name")
    service.good("session", "stop", session)
    equal(names(service) - before - {f"{session}.new"}, set(), "after the end")
    check(wait_until(lambda: names(service) == before), "the socket stays after the end")
    status, _, err = service.run("session", "exec", session, "--", "true")
    check(status != 0 and "STOPPED" in err, f"exec after the end: {status} {err}")


def test_a_line_without_options_is_read_as_one_with_them(service):
    """main() recognizes such a line before it parses options; the session's name, a second "--" and a lone "-" are arguments."""
    session = service.create("--name", "plain-line")
    for words in (["printf", "%s|", "-t", "--", "1m"], ["--", "printf", "%s|", "--", "a b", ""], ["printf", "%s|", "-", session]):
        wanted = service.good("session", "exec", session, "-t", "1m", *words)
        check("|" in wanted, f"{words}: {wanted!r}")
        for name in (session, "plain-line"):
            equal(service.good("session", "exec", name, *words), wanted, f"the output of {words}")
    for words, status in (([], 2), (["--"], 2), (["-x", "true"], 2), (["--no-such", "true"], 2), (["false"], 1), (["--", "no-such-command"], 127)):
        equal(service.run("session", "exec", session, *words)[0], status, f"the status of {words}")
    equal(service.run("session", "exec", "no-such-session", "true")[0], 126, "the status without a session")


def test_what_the_supervisor_does_not_accept_it_leaves_to_the_daemon(service):
    """H9: nothing has run."""
    session = service.create()
    mark = f"{service.workspace}/ran"
    touch = ("touch", mark)
    with open("/dev/null", "r+b") as null:
        fds = [null.fileno()] * 3
        rows = [("another version", request(*touch, version=2), fds), ("no descriptors", request(*touch), []),
                ("two descriptors", request(*touch), fds[:2]), ("four descriptors", request(*touch), [*fds, *fds[:1]]),
                ("no words", request(), fds), ("too many words", request(*touch, argc=3), fds),
                ("too few words", request(*touch, argc=1), fds), ("no end of a word", request(*touch)[:-1], fds),
                ("short", b"x", fds), ("a negative time", request(*touch, timeout=-1), fds),
                ("a directory that is missing", struct.pack(REQUEST, 1, 2, 1, 0, 0) + b"touch\0" + mark.encode() + b"\0", fds)]
        for what, message, passed in rows:
            with connected(service, session) as client:
                send(client, message, passed)
                equal(end_of(client), DAEMON, what)
        check(not os.path.exists(mark), "a request that was left to the daemon has run")
        with connected(service, session) as client:
            send(client, request(*touch), fds)
            equal(end_of(client), RAN, "control")
        check(os.path.exists(mark), "the control has not run")
    os.unlink(mark)
    service.good("session", "stop", session)


def test_clients_that_send_nothing_do_not_stop_the_others(service):
    """H7."""
    session = service.create()
    with contextlib.ExitStack() as silent:
        for _ in range(40):
            silent.enter_context(connected(service, session))
            equal(service.good("session", "exec", session, "--", "echo", "served").strip(), "served", "another client")
    service.good("session", "stop", session)


def test_a_client_that_has_to_make_room_is_sent_to_the_daemon(service):
    """H9: also if its request has arrived, unread."""
    session = service.create()
    mark = f"{service.workspace}/ran"
    supervisor = service.show(session)["supervisor"]
    with open("/dev/null", "r+b") as null, contextlib.ExitStack() as others:
        first = others.enter_context(connected(service, session))
        for _ in range(15):
            others.enter_context(connected(service, session))
        equal(service.good("session", "exec", session, "--", "echo", "served").strip(), "served", "another client")
        os.kill(supervisor, signal.SIGSTOP)
        for _ in range(3):
            others.enter_context(connected(service, session))
        with contextlib.suppress(BrokenPipeError):  # it had to make room already
            send(first, request("touch", mark), [null.fileno()] * 3)
        os.kill(supervisor, signal.SIGCONT)
        end = end_of(first)
        check(end == DAEMON and not os.path.exists(mark) or end == RAN and os.path.exists(mark), f"the request got {end}")
    service.good("session", "stop", session)


def test_a_stopped_daemon_does_not_hold_a_command(service):
    """Its client's end kills it, and others run."""
    session = service.create()
    mark = f"63.{os.getpid()}"
    daemon = service.process.pid
    os.kill(daemon, signal.SIGSTOP)
    try:
        for number in range(60):  # more than the channel to the daemon has room for
            equal(service.good("session", "exec", session, "--", "echo", str(number)).strip(), str(number), "a command")
        client = service.command("session", "exec", session, "--", "sleep", mark)
        check(wait_until(lambda: len(marked(mark)) >= 2), "the command did not begin")
        client.send_signal(signal.SIGKILL)
        client.wait()
        check(wait_until(lambda: not marked(mark)), "the command is alive after its client")
    finally:
        os.kill(daemon, signal.SIGCONT)
    runs = [run for run in find_runs(service.client().call("ui.view", view=f"session/{session}")) if run["argv"][0] == "echo"]
    check(runs and all(run["state"] != "running" for run in runs), f"the daemon does not know the ends: {runs}")
    service.good("session", "stop", session)


def descriptors(pid):
    """Of a command that waits: its client's connection and three streams."""
    return len(os.listdir(f"/proc/{pid}/fd"))


def test_a_stop_starts_no_command_that_waits(service):
    session = service.create("--serial")
    mark = f"64.{os.getpid()}"
    begun = [f"{service.workspace}/begun{n}" for n in range(3)]
    clients = [service.command("session", "exec", session, "--", "sh", "-c", f"touch {begun[0]}; exec sleep {mark}")]
    check(wait_until(lambda: os.path.exists(begun[0])), "the first did not begin")
    supervisor = service.show(session)["supervisor"]
    before = descriptors(supervisor)
    clients += [service.command("session", "exec", session, "--", "touch", path) for path in begun[1:]]
    check(wait_until(lambda: descriptors(supervisor) >= before + 2 * 4), "the others do not wait for their turn")
    service.good("session", "stop", session)
    for client in clients:
        client.communicate(timeout=HUNG)
        check(client.returncode != 0, "a command of a session that was stopped succeeded")
    equal([os.path.exists(path) for path in begun], [True, False, False], "which began")
    os.unlink(begun[0])


def test_a_small_limit_of_processes_is_for_the_commands(service):
    """No leader waits there in advance.  That of the command before may end after the answer, and counts until then."""
    session = service.create("--processes", "5")
    supervisor = service.show(session)["supervisor"]
    idle = children(supervisor)
    for _ in range(4):
        check(wait_until(lambda: children(supervisor) == idle), "the leader of the command before is alive")
        equal(service.good("session", "exec", session, "--", "sh", "-c", "(echo forked); true").strip(), "forked", "a command that forks")
    service.good("session", "stop", session)


def processor_time(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        return sum(map(int, file.read().rpartition(")")[2].split()[11:13]))


def test_without_descriptors_a_client_waits_and_the_supervisor_rests(service):
    """H7: a listener that cannot accept stays readable."""
    session = service.create()
    supervisor = service.show(session)["supervisor"]
    with open(f"/proc/{supervisor}/limits", encoding="utf-8") as file:
        most = next(line.split()[3] for line in file if line.startswith("Max open files"))
    equal(service.outside(["prlimit", "--nofile=8:", "--pid", str(supervisor)])[0], 0, "prlimit")
    client = service.command("session", "exec", session, "--", "echo", "served")
    before = processor_time(supervisor)
    time.sleep(0.5)  # nothing is to happen
    check(client.poll() is None, f"the client ended: {client.returncode}")
    check(processor_time(supervisor) - before < 0.25 * os.sysconf("SC_CLK_TCK"), "the supervisor spins")
    equal(service.outside(["prlimit", f"--nofile={most}:", "--pid", str(supervisor)])[0], 0, "prlimit")
    equal(client.communicate(timeout=HUNG)[0], b"served\n", "the client")
    service.good("session", "stop", session)


def test_the_end_of_the_client_kills_its_command(service):
    for more in ((), ("--serial",)):
        session = service.create(*more)
        mark = f"60.{os.getpid()}"
        clients = [service.command("session", "exec", session, "--", "sleep", mark) for _ in range(2)]
        check(wait_until(lambda: len(marked(mark)) >= 3), "the command did not begin")  # two clients, and the command
        for client in clients:
            client.send_signal(signal.SIGKILL)
            client.wait()
        check(wait_until(lambda: not marked(mark)), "the command is alive after its client")
        equal(service.good("session", "exec", session, "--", "echo", "next").strip(), "next", "the next command")
        service.good("session", "stop", session)


def test_the_end_of_a_client_that_was_answered_kills_nothing(service):
    """The supervisor sees the end of the client while it still closes the descriptors of the command."""
    session = service.create()
    for i in range(20):
        mark = f"63{i}.{os.getpid()}"
        service.good("session", "exec", session, "--", "sh", "-c", f"setsid sleep {mark} >/dev/null 2>&1 &")
        check(wait_until(lambda: marked(f"sleep\x00{mark}")), f"command {i}: the process that it left was killed")
    time.sleep(0.1)
    for i in range(20):
        check(marked(f"sleep\x0063{i}.{os.getpid()}"), f"command {i}: the process that it left was killed later")
    service.good("session", "stop", session)


def test_a_client_learns_why_its_session_ended(service):
    session = service.create()
    mark = f"61.{os.getpid()}"
    client = service.command("session", "exec", session, "--", "sleep", mark)
    check(wait_until(lambda: len(marked(mark)) >= 2), "the command did not begin")
    os.kill(service.show(session)["supervisor"], signal.SIGKILL)
    _, err = client.communicate()
    check(client.returncode not in (0, None) and "supervisor was killed" in str(err), f"the client: {client.returncode} {err}")


def test_the_daemon_knows_commands_that_run_and_that_have_ended(service):
    session = service.create()
    mark = f"62.{os.getpid()}"

    def states():
        view = service.client().call("ui.view", view=f"session/{session}")
        return [run["state"] for run in find_runs(view) if mark in run["argv"]]

    client = service.command("session", "exec", session, "--", "sleep", mark)
    check(wait_until(lambda: states() == ["running"]), "the daemon does not know the command that runs")
    client.send_signal(signal.SIGKILL)
    client.wait()
    check(wait_until(lambda: "running" not in states()), "the daemon does not know its end")
    service.good("session", "stop", session)


def find_runs(value):
    """Every object with "argv" in it."""
    if isinstance(value, dict):
        if "argv" in value and "state" in value:
            yield value
        value = list(value.values())
    for item in value if isinstance(value, list) else []:
        yield from find_runs(item)


def test_a_sandboxed_process_with_the_short_way_is_refused(service):
    """H8: a link to the socket is shown to a sandbox; the answer is that of the daemon, which refuses it too."""
    first = service.create()
    status, _, err = service.run("session", "create", "--level", service.level, "--socket", path_of(service, first))
    check(status == 2 and "belongs to Corral itself" in err, f"--socket: {status} {err}")
    link = f"{service.workspace}/short.sock"
    os.link(path_of(service, first), link)
    session = service.create("--socket", link)
    code = ("import array, socket, struct, sys\n"
            "c = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
            "c.connect(sys.argv[1])\n"
            f"c.sendmsg([bytes.fromhex({request('echo', 'escaped').hex()!r})], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [0, 1, 2]))])\n"
            f"print('end', struct.unpack_from({ANSWER!r}, c.recv(65536))[0])\n")
    try:
        inside = service.run("session", "exec", session, "--", "/usr/bin/python3", "-c", code, link)
        check("escaped" not in inside[1] and f"end {RAN}" not in inside[1], f"a sandboxed process ran a command in another session: {inside}")
        outside = service.outside(["/usr/bin/python3", "-c", code, link])
        check("escaped" in outside[1] and f"end {RAN}" in outside[1], f"control outside: {outside}")
    finally:
        service.good("session", "stop", session)
        service.good("session", "stop", first)
        os.unlink(link)
