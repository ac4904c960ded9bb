#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cost of `corral session exec` in system calls: of the client, the daemon, the supervisor and the sandbox.  Speaks TAP.

strace traces one exec in a session that has served some before.  A count above its ceiling fails, and so does one far
below it: then the ceiling is lowered.  Calls that depend on the scheduler are left out, as for runs (kinds.py); so are
those that depend on the host: the look-up of the client's parents, of which there are more or less, and the files that
the session follows.
"""
import argparse
import collections
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE), f"{os.path.dirname(HERE)}/session"]

from count import calls_of  # noqa: E402  the paths have to be set first
from service import Failure, Service, check, children, wait_until  # noqa: E402

# Who, how many at most, and for what.
CEILINGS = {
    "client": (14, "start of the program; connect, one request with three descriptors, one answer; no memory, no option, no second program"),
    "daemon": (8, "none before the answer; two messages of the supervisor later"),
    "supervisor": (52, "accept, credentials of the peer; a pipe for each stream that is relayed, socket and eventfd of the command; the audit record"),
    "sandbox": (27, "a leader and the command: descriptors, limits, execve; the report, and a yield to its reader; the leader waits for a child or for a mark; the next leader"),
}
LATER = {"daemon"}  # its calls may come after the trace
SLACK = 0.2  # how far below its ceiling a count may be: the daemon may close the connection after the trace
ATTEMPTS = 3  # what happens on the host may disturb one count, but not three

# Names that depend on the host, and why.
OF_THE_HOST = {
    "statx": "one for each file that the session follows",
    "pidfd_open": "one for each parent of the client",
    "ioctl": "one for each parent of the client",
}
# Before Linux 6.13 the parents are read from /proc: an open and a read for each.
PARENT = re.compile(r'"/proc/\d+/stat"|^\d+, "\d+ \(')


def threads(pid):
    try:
        return {int(name) for name in os.listdir(f"/proc/{pid}/task")}
    except OSError:
        return set()


def traced(service, session, place):
    """The calls of one exec: (client's, others')."""
    log, own = f"{place}/service.log", f"{place}/client.log"
    pids = sorted(children(service.process.pid) | {service.process.pid})
    with open(f"{place}/said", "w+", encoding="utf-8") as said:
        strace = subprocess.Popen(["strace", "-f", "-o", log, *(f"--attach={pid}" for pid in pids)], stderr=said)
        try:
            def attached():
                said.seek(0)
                text = said.read()
                # A leader of the command before may have ended since it was listed.
                return text.count(" attached") + text.count("No such process") >= len(pids)
            check(wait_until(attached), "strace did not attach")
            with open("/dev/null", "rb") as null:
                done = subprocess.run(["strace", "-f", "-o", own, service.corral, "session", "exec", session, "--", "/bin/true"], env=service.environment,
                                      cwd=service.workspace, stdin=null, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, **service.account)
            check(done.returncode == 0, f"the client ended with {done.returncode}: {done.stderr.decode()[-300:]}")
        finally:
            strace.send_signal(signal.SIGINT)
            strace.wait()
    with open(own, encoding="utf-8", errors="replace") as client, open(log, encoding="utf-8", errors="replace") as others:
        return calls_of(client.read().splitlines()), calls_of(others.read().splitlines())


def counted(call):
    return call.is_counted() and call.name not in OF_THE_HOST and not PARENT.search(call.text)


def count(service, session, place):
    """Counter of one exec, and the programs that the client executed."""
    supervisor = service.show(session)["supervisor"]
    client, others = traced(service, session, place)
    of_supervisor = {str(tid) for tid in threads(supervisor)}
    found, looked_up, commands = collections.Counter(), 0, set()
    found["client"] = sum(map(counted, client))
    for call in others:
        who = "daemon" if call.pid == str(service.process.pid) else "supervisor" if call.pid in of_supervisor else "sandbox"
        if call.pid in commands:
            continue  # the command's own program
        if call.name == "execve" and call.done:
            commands.add(call.pid)
        looked_up += who == "supervisor" and (call.name == "pidfd_open" or (call.name == "openat" and PARENT.search(call.text) is not None))
        found[who] += counted(call)
    found["supervisor"] -= looked_up  # a close for each
    programs = [call.text.split('"')[1] for call in client if call.name == "execve" and call.done]
    return found, programs


def complaints(found, programs):
    if len(programs) != 1:
        yield f"the client executed {programs}"
    for who, (most, reason) in CEILINGS.items():
        if found[who] > most:
            yield f"{who}: {found[who]} system calls, ceiling {most} ({reason})"
        elif found[who] < most * (1 - SLACK) and who not in LATER:
            yield f"{who}: {found[who]} system calls, far below the ceiling {most}: lower it ({reason})"


def judged(service, verbose):
    """What is wrong with the last attempt."""
    session, bad = service.create(), []
    for _ in range(3):  # the first ones create threads and files
        service.good("session", "exec", session, "--", "/bin/true")
    for _ in range(ATTEMPTS):
        with tempfile.TemporaryDirectory(prefix="cost-session-") as place:
            os.chmod(place, 0o777)
            found, programs = count(service, session, place)
        if verbose:
            print("# " + ", ".join(f"{who} {found[who]}" for who in CEILINGS))
        bad = list(complaints(found, programs))
        if not bad:
            break
    return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corral", required=True, help="the binary under test, beside corrald")
    parser.add_argument("-v", action="store_true", help="print all counts")
    options = parser.parse_args()
    print("1..1")
    if shutil.which("strace") is None or os.geteuid() != 0:
        print("ok 1 - session exec # SKIP needs strace, and root to trace the processes of a sandbox")
        return 0
    service = Service(options.corral, "root", "full").start()
    try:
        bad = judged(service, options.v)
    except Failure as error:
        bad = [str(error)]
    finally:
        service.close()
    for line in bad:
        print(f"# {line}")
    print(f"{'not ok' if bad else 'ok'} 1 - session exec")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
