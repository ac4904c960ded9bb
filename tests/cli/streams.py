# SPDX-License-Identifier: Apache-2.0
"""Bytes pass through untouched, in both directions."""
import os
import subprocess
import time

from harness import PATIENCE, Done, check, contains, equal

MEGABYTE = os.urandom(1 << 20)


def register(suite):
    test = suite.test

    @test("a megabyte passes from pipe to pipe byte for byte", root=True)
    def _(box):
        equal(box.run("cat", stdin=MEGABYTE).exited(0).raw_out == MEGABYTE, True, "the same bytes")

    @test("a megabyte passes from file to file byte for byte")
    def _(box):
        box.write("in", MEGABYTE)
        box.sh(f"\"$CORRAL\" run cat <{box.dir}/in >{box.dir}/out").exited(0)
        with open(f"{box.dir}/out", "rb") as file:
            check(file.read() == MEGABYTE, "other bytes")

    @test("output to a file is appended where the caller stands")
    def _(box):
        done = box.sh(f"{{ echo one; \"$CORRAL\" run echo two; echo three; }} >{box.dir}/out; "
                      f"\"$CORRAL\" run echo four >>{box.dir}/out; cat {box.dir}/out").exited(0)
        equal(done.out, "one\ntwo\nthree\nfour\n", "the file")

    @test("stdout and stderr stay apart")
    def _(box):
        done = box.run("-c", "echo out; echo err >&2").exited(0)
        equal((done.out, done.err), ("out\n", "err\n"), "streams")

    @test("stdout and stderr that are one pipe keep their order")
    def _(box):
        done = box.run("-c", "for i in 1 2 3 4 5; do echo o$i; echo e$i >&2; done", stderr=subprocess.STDOUT)
        equal(done.out, "".join(f"o{i}\ne{i}\n" for i in range(1, 6)), "order")

    @test("corral says nothing of its own without -v")
    def _(box):
        done = box.run("true").exited(0)
        equal((done.out, done.err), ("", ""), "streams")

    @test("-v says on stderr what is enforced and how it ended")
    def _(box):
        done = box.run("-v", "echo", "x").exited(0)
        equal(done.out, "x\n", "stdout")
        done.said("corral: level ", box.ws, "exit")

    @test("what the command does not read of a file stays for the caller")
    def _(box):
        box.write("lines", "".join(f"{i}\n" for i in range(1, 41)))
        script = "n=0; while read l; do \"$CORRAL\" run true; n=$((n+l)); done <%s/lines; echo $n" % box.dir
        equal(box.sh(script).exited(0).out, f"{sum(range(1, 41))}\n", "all lines were seen")

    @test("what the command does not read of a pipe is not swallowed whole")
    def _(box):
        done = box.sh("{ echo first; sleep 0.5; echo second; } | { \"$CORRAL\" run true; cat; }").exited(0)
        contains(done.out, "second", "the rest of the pipe")

    @test("the command reads its part of a file and the caller the rest")
    def _(box):
        box.write("lines", "one\ntwo\nthree\n")
        done = box.sh(f"{{ \"$CORRAL\" run sh -c 'read a; echo got $a'; cat; }} <{box.dir}/lines").exited(0)
        equal(done.out, "got one\ntwo\nthree\n", "both parts")

    for closed in ("<&-", ">&-", "2>&-", "<&- >&-", ">&- 2>&-", "<&- >&- 2>&-"):
        @test(f"streams closed by the caller do no harm: {closed}")
        def _(box, closed=closed):
            box.sh(f"\"$CORRAL\" run sh -c 'echo x; echo y >&2; cat; ls -l /proc/self/fd >ran; exit 3' {closed}").exited(3)
            check(box.exists("ws/ran"), "it did not run")

    @test("inside only the three streams are open")
    def _(box):
        done = box.sh("exec 7</etc/passwd 8</tmp 9<>/dev/null; \"$CORRAL\" run sh -c 'ls /proc/$$/fd'").exited(0)
        equal(sorted(done.out.split()), ["0", "1", "2"], "descriptors")

    @test("a reader that is gone ends the command with SIGPIPE")
    def _(box):
        done = box.execute(["/bin/bash", "-c", "\"$CORRAL\" run yes | head -1; echo ${PIPESTATUS[0]}"])
        equal(done.out, "y\n141\n", "head and status")
        check(done.seconds < PATIENCE, f"it took {done.seconds:.2f} s")

    @test("a full disk behind stdout is seen by the command or by corral, never ignored")
    def _(box):
        done = box.sh("\"$CORRAL\" run sh -c 'echo x' >/dev/full")
        control = box.sh("sh -c 'echo x' >/dev/full")
        check(control.status != 0, "control")
        check(done.status != 0 or done.err != "", f"a lost write went unnoticed: {done}")

    @test("a stdin that cannot be read is an error inside, not an empty file")
    def _(box):
        check(box.sh("cat </tmp").status != 0, "control")
        done = box.sh("\"$CORRAL\" run cat </tmp")
        check(done.status != 0 or done.err != "", f"the failing read went unnoticed: {done}")

    @test("a writer that fills a pipe which nobody reads still ends at its time-out")
    def _(box):
        reader = "until test -e ended; do sleep 0.1; done"
        done = box.sh(f"{{ \"$CORRAL\" run --timeout 500ms --grace 200ms yes; echo st-$? >&2; : >ended; }} | {{ {reader}; }}")
        contains(done.err, "st-124", "status")

    @test("a pipe that the caller made non-blocking loses nothing and stays so")
    def _(box):
        code = ("import fcntl, os, subprocess, sys, time\n"
                "r, w = os.pipe()\n"
                "fcntl.fcntl(w, fcntl.F_SETFL, fcntl.fcntl(w, fcntl.F_GETFL) | os.O_NONBLOCK)\n"
                "p = subprocess.Popen([sys.argv[1], 'run', 'sh', '-c', 'seq 1 100000; exit 3'], stdout=w)\n"
                "time.sleep(0.3)\n"
                "kept = bool(fcntl.fcntl(w, fcntl.F_GETFL) & os.O_NONBLOCK)\n"
                "os.close(w)\n"
                "print(len(os.fdopen(r, 'rb').read()), p.wait(), kept)\n")
        done = box.execute(["/usr/bin/python3", "-c", code, box.corral]).exited(0)
        equal(done.out, "588895 3 True\n", "bytes, status, flag")

    @test("/dev/stdin, /dev/stdout and /dev/stderr can be opened inside")
    def _(box):
        done = box.run("-c", "cat /dev/stdin >/dev/stdout; echo e >/dev/stderr", stdin="in\n").exited(0)
        equal((done.out, done.err), ("in\n", "e\n"), "pipes")
        box.sh("echo x | \"$CORRAL\" run sh -c 'cat /dev/stdin >/dev/stdout' >out").exited(0)
        equal(box.read("ws/out"), "x\n", "a file")

    @test("a slow reader loses nothing")
    def _(box):
        done = box.sh("\"$CORRAL\" run seq 1 200000 | { sleep 1; cksum; }").exited(0)
        equal(done.out, box.sh("seq 1 200000 | cksum").out, "checksum")

    @test("output still in flight when the command ends is delivered", root=True)
    def _(box):
        for _ in range(5):
            done = box.run("-c", "seq 1 50000; echo last >&2").exited(0)
            check(done.out.endswith("\n50000\n") and done.err == "last\n", f"cut: {done.out[-20:]!r} {done.err!r}")

    @test("a socket as stdin and stdout works")
    def _(box):
        code = ("import socket, subprocess, sys\n"
                "a, b = socket.socketpair()\n"
                "p = subprocess.Popen([sys.argv[1], 'run', 'cat'], stdin=b, stdout=b)\n"
                "b.close(); a.sendall(b'hello'); a.shutdown(socket.SHUT_WR)\n"
                "data = b''\n"
                "while True:\n"
                "    piece = a.recv(100)\n"
                "    if not piece: break\n"
                "    data += piece\n"
                "print(data, p.wait())\n")
        done = box.execute(["/usr/bin/python3", "-c", code, box.corral]).exited(0)
        equal(done.out, "b'hello' 0\n", "echo")

    @test("--json keeps head and tail of 200 MB, counts the rest and stays small")
    def _(box):
        total = 200 * 1000 * 1000
        began = time.monotonic()
        process = box.start([box.corral, "run", "--json", "-c", f"echo BEGIN; yes | head -c {total}; echo END"])
        out = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        done = Done(process.args, process.returncode, out, process.stderr.read(), time.monotonic() - began)
        done.exited(0)
        kept = done.json["stdout"]
        check(kept.startswith("BEGIN\ny\n") and kept.endswith("y\nEND\n"), f"{kept[:20]!r} {kept[-20:]!r}")
        equal(len(kept), 1 << 20, "kept bytes")
        equal(done.json["truncated"], {"stdout": total + 10 - (1 << 20), "stderr": 0}, "dropped bytes")
        check(usage.ru_maxrss < 64 * 1024, f"corral needed {usage.ru_maxrss} KiB")

    @test("--max-output bounds each stream of a person's run as well")
    def _(box):
        done = box.run("--max-output", "1000", "-c", "echo BEGIN; yes | head -c 100000; echo END").exited(0)
        check(done.out.startswith("BEGIN\n") and done.out.endswith("END\n"), f"{done.out[:20]!r} {done.out[-20:]!r}")
        check(len(done.out) <= 1300, f"{len(done.out)} bytes came through")

    @test("--json gives the command no stdin, --stdin passes it")
    def _(box):
        equal(box.run("--json", "cat", stdin="secret").json["stdout"], "", "without --stdin")
        equal(box.run("--json", "--stdin", "cat", stdin="words").json["stdout"], "words", "with --stdin")
