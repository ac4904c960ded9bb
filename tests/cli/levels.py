# SPDX-License-Identifier: Apache-2.0
"""Levels: what each gives, what it says of itself, and who may go below."""
import os
import signal
import socket
import time

import traces
from harness import check, contains, equal, needs, wait_until


def at(level, *words):
    return ("--level", level, *words)


def states(result):
    return {g["name"]: g["state"] for g in result["guarantees"]}


def register(suite):
    test = suite.test

    @test("a backend of another build is refused with the list, and nothing runs instead", root=True)
    def _(box):
        for name in ("macos", "windows"):
            box.run("--backend", name, "-c", "touch ran").exited(2).said(name, "linux")
            box.write("p.toml", f'backend = "{name}"\n')
            box.run("--policy", f"{box.dir}/p.toml", "-c", "touch ran").exited(2).said(name, "p.toml:1", "linux")
        check(not os.path.exists(f"{box.ws}/ran"), "something ran")
        equal(box.run("--backend", "linux", "-c", "echo ran").exited(0).out, "ran\n", "the backend that there is")

    @test("level standard runs without namespaces and says so", root=True)
    def _(box):
        result = box.json(*at("standard", "-c", "echo $CORRAL_LEVEL; readlink /proc/self/ns/user"))
        equal((result["level"], result["engine"]), ("standard", "landlock"), "level and engine")
        equal(result["stdout"], f"standard\n{os.readlink('/proc/self/ns/user')}\n", "inside")
        got = states(result)
        equal([got[n] for n in ("fs.write", "fs.read", "pid", "lifetime")],
              ["enforced", "enforced", "weaker", "enforced"], "guarantees")

    @test("at level standard the workspace is writable and nothing else is", root=True)
    def _(box):
        box.write("outside/file", "mine\n")
        box.own(f"{box.dir}/outside")
        box.run(*at("standard", "-c", "echo x >made; mkdir d; mv made d/; ln d/made two; rm two")).exited(0)
        equal(box.read("ws/d/made"), "x\n", "what was made")
        for what in ("echo x >>../outside/file", "cat ../outside/file", "rm ../outside/file", "chmod 777 ../outside/file",
                     "touch -d 2001-01-01 ../outside/file", f"echo x >{box.dir}-was-here", "mkdir ../outside/d"):
            done = box.run(*at("standard", "-c", what))
            check(done.status != 0, f"{what} succeeded")
        equal(box.read("outside/file"), "mine\n", "the file outside")
        equal(os.stat(f"{box.dir}/outside/file").st_mode & 0o777, 0o644, "its mode")
        check(not os.path.exists(f"{box.dir}-was-here"), "it wrote to /tmp")

    @test("at level standard TMPDIR and HOME are private, and TMPDIR is gone afterwards", root=True)
    def _(box):
        done = box.run(*at("standard", "-c", "echo $TMPDIR; mkdir -p $TMPDIR/a/b; chmod 0 $TMPDIR/a; echo k >~/kept; echo $HOME"))
        tmp, home = done.exited(0).out.split()
        check(not os.path.exists(tmp), f"{tmp} is left")
        check(home != box.home and not box.exists("home/kept"), "the real home was used")
        for mode in ("0", "300", "400", "500"):
            done = box.run(*at("standard", "-c", f"echo $TMPDIR; mkdir -p $TMPDIR/a; echo x >$TMPDIR/a/b; chmod {mode} $TMPDIR"))
            tmp = done.exited(0).out.strip()
            check(not os.path.exists(tmp), f"{tmp} is left with mode {mode}")
        equal(box.run(*at("standard", "-c", "cat ~/kept")).exited(0).out, "k\n", "the next run")

    @test("at level standard a very deep directory in TMPDIR goes as well")
    def _(box):
        script = "cd $TMPDIR; for i in $(seq 300); do mkdir dddddddddd && cd dddddddddd || exit 3; done; echo $TMPDIR"
        tmp = box.run(*at("standard", "-c", script)).exited(0).out.strip()
        check(not os.path.exists(tmp), f"{tmp} is left")

    @test("at level standard nothing outlives the command, whatever it did", root=True)
    def _(box):
        box.run(*at("standard", "-c", "setsid sleep 600 & (setsid sh -c 'sleep 601 & sleep 602' &) & exit 4")).exited(4)
        check(wait_until(lambda: not box.strays()), f"left: {box.strays()}")

    @test("at level standard the time-out ends a tree that ignores it")
    def _(box):
        box.run(*at("standard", "-t", "300ms", "--grace", "200ms", "-c",
                    "trap '' TERM; setsid sh -c 'trap \"\" TERM; sleep 600' & sleep 601")).exited(124)
        check(wait_until(lambda: not box.strays()), f"left: {box.strays()}")

    @test("at level standard SIGKILL of corral ends everything inside")
    def _(box):
        before = traces.directories(box.user.uid)
        call = box.start([box.suite.corral, "run", "--level", "standard", "-c", "setsid sleep 600 & echo up; sleep 601"])
        equal(call.stdout.readline(), b"up\n", "start")
        call.send_signal(signal.SIGKILL)
        call.wait()
        check(wait_until(lambda: not box.strays()), f"left: {box.strays()}")
        left = traces.directories(box.user.uid) - before
        time.sleep(2.1)  # a directory this young might belong to a run that is just beginning
        for _ in range(400):  # not every run looks for it
            left &= traces.directories(box.user.uid)
            if not left:
                break
            box.run(*at("standard", "true")).exited(0)
        equal(left, set(), "directories that later runs do not remove")

    @test("at level standard a rule inside a writable tree holds", root=True)
    def _(box):
        box.write("ws/secret", "s3\n")
        box.write("ws/kept", "kept\n")
        rules = ("--deny", "secret", "--protect", "kept")
        for what in ("cat secret", "cat <secret", "cp secret c", "mv secret other", "ln secret other", "rm secret",
                     "echo x >kept", "rm kept", "mv kept other", "mv other kept"):
            box.write("ws/other", "o\n")
            done = box.run(*at("standard", *rules, "-c", what))
            check(done.status != 0, f"{what} succeeded")
            check("s3" not in done.out, f"{what} told the secret")
        equal((box.read("ws/secret"), box.read("ws/kept")), ("s3\n", "kept\n"), "the files")
        box.run(*at("standard", *rules, "-c", "cat kept && echo n >new && mv new n2 && rm n2")).exited(0)

    @test("at level standard the half of a datagram pair reaches its other half and no socket of the host")
    def _(box):
        needs(box, "python3")
        box.mkdir("outside")
        box.write("ws/pair.py", "import socket, sys\n"
                           "a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)\n"
                           "a.send(b'1'); a.send(b'22'); print(b.recv(9), b.recv(9))\n"
                           "a.sendto(b'out', sys.argv[1])\n")
        for inside in (False, True):
            path = f"{box.dir}/outside/sock-{inside}"
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as host:
                host.bind(path)
                os.chmod(path, 0o777)
                host.settimeout(1)
                words = ["python3", "pair.py", path]
                done = box.run(*at("standard", *words)) if inside else box.execute(words)
                contains(done.out, "b'1' b'22'", "the pair itself")
                try:
                    got = host.recv(9)
                except TimeoutError:
                    got = None
            equal(got, None if inside else b"out", f"what the host received, inside={inside}")

    @test("at level standard shared memory and semaphores are the run's own", root=True)
    def _(box):
        needs(box, "python3")
        before = set(os.listdir("/dev/shm"))
        box.write("ws/shm.py", "import multiprocessing as m, os\nfrom multiprocessing import shared_memory as s\n"
                  "a = s.SharedMemory(name='corral-test-shm', create=True, size=9)\n"
                  "b = s.SharedMemory('corral-test-shm'); b.buf[0] = 7; print(a.buf[0]); b.close(); a.close()\n"
                  "lock = m.Lock()\nwith lock: print('locked', flush=True)\n"
                  "os._exit(0)\n")  # the segment is left
        equal(box.run(*at("standard", "python3", "shm.py")).exited(0).out, "7\nlocked\n", "inside")
        equal({n for n in os.listdir("/dev/shm") if "corral-test" in n} - before, set(), "what the host's /dev/shm has")

    @test("at level standard a new terminal works and the user's others stay closed")
    def _(box):
        needs(box, "python3")
        box.write("ws/own_terminal.py", "import os, pty, sys\npid, fd = pty.fork()\n"
                  "if pid == 0: os.execlp('sh', 'sh', '-c', 'tty && echo made')\n"
                  "text = b''\ntry:\n    while True: text += os.read(fd, 99)\nexcept OSError: pass\nprint(text)\n"
                  "try: os.open(sys.argv[1], os.O_RDWR | os.O_NOCTTY)\nexcept OSError as e: print(e.strerror)\n")
        master, slave = os.openpty()
        try:
            os.fchown(slave, box.user.uid, box.user.gid)
            done = box.run(*at("standard", "python3", "own_terminal.py", os.ttyname(slave))).exited(0)
        finally:
            os.close(master)
            os.close(slave)
        contains(done.out, "made", "the new terminal")
        contains(done.out, "Permission denied", "the user's other terminal")

    @test("at level standard the priority of a process outside stays, that of one's own child changes")
    def _(box):
        needs(box, "python3")
        box.write("ws/nice.py", "import os, subprocess, sys\nchild = subprocess.Popen(['sleep', '30'])\n"
                  "os.setpriority(os.PRIO_PROCESS, child.pid, 18); print(os.getpriority(os.PRIO_PROCESS, child.pid))\n"
                  "os.sched_setaffinity(child.pid, {0}); print(os.sched_getaffinity(child.pid))\nchild.kill()\n"
                  "for f in (lambda p: os.setpriority(os.PRIO_PROCESS, p, 19), lambda p: os.sched_setaffinity(p, {0})):\n"
                  "    try: f(int(sys.argv[1])); print('changed')\n    except OSError as e: print(e.strerror)\n")
        victim = box.start(["sleep", "30"])
        try:
            done = box.run(*at("standard", "python3", "nice.py", str(victim.pid))).exited(0)
            equal(done.out, "18\n{0}\nOperation not permitted\nOperation not permitted\n", "inside")
            equal(os.getpriority(os.PRIO_PROCESS, victim.pid), os.getpriority(os.PRIO_PROCESS, 0), "the process outside")
        finally:
            victim.kill()
            victim.wait()

    @test("what needs a root of our own is refused at level standard, with a remedy")
    def _(box):
        for words, said in ((("--agent-dir", "."), "fs.agent"), (("--set", "fs.workspace_at=/w"), "fs.workspace_at"),
                            (("--set", "fs.view=minimal"), "fs.view"), (("--profile", "strict"), "mount namespace")):
            box.run(*at("standard", *words, "-c", "touch ran")).exited(125).said(said, "remedy")
        check(not box.exists("ws/ran"), "it ran")

    @test("level minimal closes the network, says at every run that files are open", root=True)
    def _(box):
        done = box.run(*at("minimal", "-c", "echo x >../above; echo $CORRAL_LEVEL")).exited(0)
        equal(done.out, "minimal\n", "inside")
        done.said("minimal", "NOT protected")
        equal(box.read("above"), "x\n", "a file outside the workspace")
        result = box.json(*at("minimal", "-c", "true"))
        equal([states(result)[n] for n in ("fs.write", "fs.read", "fs.deny", "pid")], ["absent"] * 4, "guarantees")

    @test("a rule that level minimal cannot keep refuses the run until the loss is named")
    def _(box):
        box.write("ws/secret", "s3\n")
        box.run(*at("minimal", "--deny", "secret", "true")).exited(125).said("fs.deny", "--allow-degraded fs.deny")
        box.run(*at("minimal", "--deny", "secret", "--allow-degraded", "fs.deny", "true")).exited(0)

    @test("level none is refused without the word for it", root=True)
    def _(box):
        box.run(*at("none", "-c", "touch ran")).exited(126).said("level none", "--accept-no-sandbox")
        check(not box.exists("ws/ran"), "it ran")
        done = box.run(*at("none", "--accept-no-sandbox", "--timeout", "20s", "-c", "echo $SECRET_TOKEN$CORRAL_LEVEL"),
                       env={**box.env, "SECRET_TOKEN": "hunter2"}).exited(0)
        equal(done.out, "none\n", "the environment")
        done.said("NOTHING is protected")

    @test("a guarantee that is weaker at a level refuses the run when it is required")
    def _(box):
        box.run(*at("standard", "--require", "pid", "true")).exited(125).said("pid", "weaker")
        box.run(*at("standard", "--require", "fs.write,fs.read,lifetime,privileges", "true")).exited(0)
        box.run(*at("minimal", "--require", "privileges", "true")).exited(125).said("privileges is required")

    @test("a level below min_level of a file is a contradiction")
    def _(box):
        box.write("p.toml", 'min_level = "standard"\n')
        box.run("--policy", f"{box.dir}/p.toml", "--level", "minimal", "true").exited(2).said("min_level", "p.toml:1")

    @test("explain shows the plan of a level without running anything")
    def _(box):
        done = box.corral_("explain", "--level", "standard", "--", "touch", "ran").exited(0)
        contains(done.out, "landlock", "the engine")
        check(not box.exists("ws/ran"), "it ran")
