# SPDX-License-Identifier: Apache-2.0
"""Grants on the fly: --ask-fd answered by a program, --ask answered on a terminal.

Each test that denies has the same command outside as its control, a granted twin inside, and a verdict from the
files of the host."""
import json
import os
import re
import select
import signal
import socket
import sys
import termios
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "net"))

import floors  # noqa: E402  the path has to be set first
import lab as labs  # noqa: E402
from harness import LONG, PATIENCE, Failure, Skip, check, contains, equal, short, wait_until  # noqa: E402
from terminal import Terminal  # noqa: E402

LEVELS = ("full", "standard")


class Asked:
    """A run whose questions this program answers.

    answer: a function from a question to "once", "run", "always", "deny", raw bytes, or None for no answer."""

    def __init__(self, box, answer, *words, before=(), **more):
        self.box, self.answer = box, answer
        self.ours, theirs = socket.socketpair()
        argv = [*before, box.corral, "run", "--json", "--ask-fd", str(theirs.fileno()), *words]
        self.process = box.start(argv, pass_fds=[theirs.fileno()], **more)
        theirs.close()
        self.questions, self.withdrawn, self.left = [], [], b""

    def send(self, data):
        try:
            self.ours.sendall(data)
        except BrokenPipeError:
            pass

    def take(self, line):
        message = json.loads(line)
        if message["type"] == "withdrawn":
            self.withdrawn.append(message)
            return
        self.questions.append(message)
        said = self.answer(message)
        if isinstance(said, bytes):
            self.send(said)
        elif said is not None:
            self.send(json.dumps({"id": message["id"], "answer": said}).encode() + b"\n")

    def pump(self, seconds):
        """Reads what has come; False: nothing did."""
        ready, _, _ = select.select([self.ours], [], [], seconds)
        try:
            data = self.ours.recv(65536) if ready else b""
        except ConnectionResetError:  # it closed its end with an answer unread
            data = b""
        self.left += data
        while b"\n" in self.left:
            line, self.left = self.left.split(b"\n", 1)
            self.take(line)
        return bool(data)

    def asked(self, n=1):
        """Waits for the n-th question."""
        wait_until(lambda: self.pump(0.05) and False or len(self.questions) >= n)
        check(len(self.questions) >= n, f"{len(self.questions)} questions instead of {n}")
        return self.questions[n - 1]

    def result(self):
        end = time.monotonic() + PATIENCE
        while self.process.poll() is None and time.monotonic() < end:
            if not self.pump(0.05):
                time.sleep(0.01)
        if self.process.poll() is None:
            self.box.kill_all()
            raise Failure(f"hung; questions {short(self.questions)}")
        while self.pump(0):
            pass
        out, err = self.process.communicate()
        self.ours.close()
        try:
            return json.loads(out)
        except ValueError as error:
            raise Failure(f"no JSON ({error}): stdout {short(out)}, stderr {short(err)}") from error


def always(word):
    return lambda question: word


def run(box, word, *words, **more):
    """One run with one answer to everything: the run, and its result."""
    asked = Asked(box, always(word), "--no-config", *words, **more)
    return asked, asked.result()


def outside_file(box, name="data/file", text="of the host\n"):
    return box.write(name, text)


AS_ROOT = {"user": None, "group": None, "extra_groups": None}  # of the suite, for the words before a command


def in_lab(lab, box):
    """The words before a command that runs on the lab's machine as the box's user."""
    drop = ["setpriv", "--reuid", str(box.user.uid), "--regid", str(box.user.gid), "--clear-groups"] if box.user.drop else []
    return [*lab.words(box.ws), *drop]


def leave(terminal, status):
    """The program on the terminal ends like this, and the terminal is as it was."""
    equal(terminal.finish()[0], status, "status")
    after = termios.tcgetattr(terminal.slave)
    equal(after[:4], terminal.before[:4], "modes of the terminal")
    terminal.close()


def answers(result):
    return [(g["op"], g.get("path") or g.get("host"), g["answer"], g["by"]) for g in result["grants"]]


# ---- a program answers ----

def register(suite):
    test = suite.test

    @test("a read outside waits for its answer: once, and denied", root=True)
    def reads(box):
        path = outside_file(box)
        box.outside.sh(f"cat {path}").exited(0)  # the control
        for level in LEVELS:
            asked, result = run(box, "once", "--level", level, "--", "cat", path)
            equal((result["exit_code"], result["stdout"]), (0, "of the host\n"), f"once at {level}")
            equal(answers(result), [("read", path, "once", "user")], f"grants at {level}")
            question = asked.questions[0]
            equal((question["op"], question["path"], question["grant"]), ("read", path, f"--read {path}"), "question")
            asked, result = run(box, "deny", "--level", level, "--", "cat", path)
            check(result["exit_code"] != 0 and result["stdout"] == "", f"denied at {level}: {result}")
            equal(answers(result), [("read", path, "deny", "user")], f"grants at {level}")
            check(result["denials"], f"no denial at {level}")

    @test("once is for one call, run for the rest of the run, and an equal question is not asked twice")
    def how_long(box):
        path = outside_file(box)
        thrice = f"for i in 1 2 3; do cat {path}; done; true"
        for level in LEVELS:
            for word, questions, shown in (("once", 3, 3), ("run", 1, 3), ("deny", 1, 0)):
                asked, result = run(box, word, "--level", level, "-c", thrice)
                equal(len(asked.questions), questions, f"questions after {word} at {level}")
                equal(result["stdout"], "of the host\n" * shown, f"output after {word} at {level}")

    @test("writes and new files: granted they reach the host, denied they do not", root=True)
    def writes(box):
        for level in LEVELS:
            box.mkdir(f"{level}/out")
            path, new = outside_file(box, f"{level}/out/old", "old\n"), f"{box.dir}/{level}/out/new"
            script = f"echo more >>{path}; umask 027; echo fresh >{new}"
            _, result = run(box, "deny", "--level", level, "-c", script)
            equal((box.read(path), os.path.exists(new)), ("old\n", False), f"host after deny at {level}")
            asked, result = run(box, "once", "--level", level, "-c", script)
            equal([q["op"] for q in asked.questions], ["write", "create"], f"questions at {level}")
            equal(asked.questions[1]["grant"], f"--write {box.dir}/{level}/out", "a new file's grant is its directory")
            equal(result["exit_code"], 0, f"once at {level}: {result['stderr']}")
            equal((box.read(path), box.read(new)), ("old\nmore\n", "fresh\n"), f"host after once at {level}")
            mode, owner = os.stat(new).st_mode & 0o777, os.stat(new).st_uid
            equal((mode, owner), (0o640, box.user.uid), f"mode and owner of the new file at {level}")
            asked, _ = run(box, "run", "--level", level, "-c", f"for i in 1 2 3; do echo $i >{box.dir}/{level}/out/n$i; done")
            equal(len(asked.questions), 1, f"questions for three files of one directory at {level}")
            check(all(box.exists(f"{level}/out/n{i}") for i in (1, 2, 3)), f"files of the granted directory at {level}")

    @test("a descriptor for reading gives no more: not written, not reopened, no mode, no way up", root=True)
    def no_more(box):
        path = outside_file(box)
        neighbour = outside_file(box, "data/neighbour", "not granted\n")
        code = f"""
import os
fd = os.open({path!r}, os.O_RDONLY)
print(os.read(fd, 100).decode(), end="")
for name, attempt in (
        ("write", lambda: os.write(fd, b"x")),
        ("reopen", lambda: os.write(os.open(f"/proc/self/fd/{{fd}}", os.O_RDWR), b"x")),
        ("truncate", lambda: os.truncate(f"/proc/self/fd/{{fd}}", 0)),
        ("chmod", lambda: os.fchmod(fd, 0o777)),
        ("times", lambda: os.utime(fd, (1, 1))),
        ("attribute", lambda: os.setxattr(fd, "user.x", b"1")),
        ("link", lambda: os.link(f"/proc/self/fd/{{fd}}", "linked", follow_symlinks=True)),
        ("up", lambda: os.open(f"/proc/self/fd/{{fd}}/../neighbour", os.O_RDONLY)),
):
    try:
        attempt()
        print(name, "succeeded")
    except OSError:
        pass
"""
        for level in LEVELS:
            before = os.stat(path)
            answer = lambda q: "once" if q["path"] == path and q["op"] == "read" else "deny"  # noqa: E731
            result = Asked(box, answer, "--no-config", "--level", level, "--", "python3", "-c", code).result()
            equal(result["stdout"], "of the host\n", f"attempts at {level}: {result['stderr']}")
            after = os.stat(path)
            equal((after.st_mode, after.st_mtime_ns, after.st_size, after.st_nlink),
                  (before.st_mode, before.st_mtime_ns, before.st_size, before.st_nlink), f"the host's file at {level}")
        equal(box.read(neighbour), "not granted\n", "the neighbour")

    @test("always is written to the user's file, which keeps its comments, and not to the project's", root=True)
    def kept(box):
        path, other = outside_file(box), outside_file(box, "data/o'ther \"file", "2\n")
        mine = ".config/corral/corral.toml"
        project = box.write("ws/.corral.toml", "# the project's\n")
        box.write(f"home/{mine}", "# mine\n[fs]\nread = [\n  \"/opt\", # kept\n]\n[limits]\ntimeout = 30\n", 0o600)
        asked = Asked(box, always("always"), "--", "cat", path, other)
        result = asked.result()
        equal((result["stdout"], [g["note"] for g in result["grants"]]), ("of the host\n2\n", [None, None]), "first run")
        text = box.read(f"home/{mine}")
        for part in ("# mine\n", "\"/opt\", # kept", "timeout = 30", json.dumps(path)):
            contains(text, part, "the user's file")
        equal(box.read(project), "# the project's\n", "the project's file")
        equal(os.stat(f"{box.home}/{mine}").st_mode & 0o777, 0o600, "mode")
        equal(sorted(os.listdir(f"{box.home}/.config/corral")), ["corral.toml"], "files beside it")
        asked = Asked(box, always("deny"), "--", "cat", path, other)
        equal((asked.result()["stdout"], asked.questions), ("of the host\n2\n", []), "second run")
        box.write(f"home/{mine}", "fs = { read = [] }\n")  # a form that is not extended
        result = Asked(box, always("always"), "--", "cat", path).result()
        equal((result["stdout"], box.read(f"home/{mine}")), ("of the host\n", "fs = { read = [] }\n"), "an inline table")
        contains(result["grants"][0]["note"], "this run only", "note")

    @test("credentials, Corral's own files and what a link leads to are denied without a question", root=True)
    def never(box):
        secrets = [box.write(f"home/{name}", "secret\n", 0o600) for name in (".ssh/id_rsa", ".aws/credentials", ".netrc")]
        secrets.append(box.write("home/.config/corral/corral.toml", "# mine\n", 0o600))
        os.symlink(f"{box.home}/.ssh/id_rsa", f"{box.ws}/innocent.txt")
        os.symlink(f"{box.home}/.ssh", f"{box.ws}/folder")
        secrets += [f"{box.ws}/innocent.txt", f"{box.ws}/folder/id_rsa", "/proc/1/root/etc/shadow", "/etc/shadow"]
        for level in LEVELS:
            for path in secrets:
                asked, result = run(box, "run", "--level", level, "--", "cat", path)
                equal((asked.questions, result["stdout"], result["grants"]), ([], "", []), f"{path} at {level}")
                asked, _ = run(box, "run", "--level", level, "-c", f"echo x >>{path}")
                equal(asked.questions, [], f"writing {path} at {level}")
            equal(box.read("home/.ssh/id_rsa"), "secret\n", f"the key at {level}")
        path = outside_file(box)  # the legitimate twin, through a link
        os.symlink(path, f"{box.ws}/link")
        for level in LEVELS:
            asked, result = run(box, "once", "--level", level, "--", "cat", "link")
            equal((result["stdout"], [q["path"] for q in asked.questions]), ("of the host\n", [path]), f"link at {level}")

    @test("what the floor denies is not asked, and not opened by any answer", root=True)
    def floored(box):
        closed, open_ = outside_file(box, "closed/file"), outside_file(box, "open/file")
        floors.with_floor(box, f'[floor.fs]\ndeny = ["{box.dir}/closed"]\n')
        before = floors.prefix(box)
        for level in LEVELS:
            asked = Asked(box, always("run"), "--no-config", "--level", level, "--", "cat", closed, open_, before=before,
                          **AS_ROOT)
            result = asked.result()
            equal((result["stdout"], [q["path"] for q in asked.questions]), ("of the host\n", [open_]), f"at {level}")

    @test("a rule of the policy can be asked about, one of @sensitive cannot; copy-on-write is not passed by")
    def rules(box):
        for level in LEVELS:
            box.write("ws/private/notes", "notes\n")
            box.write("ws/.env", "TOKEN=1\n")
            asked, result = run(box, "once", "--level", level, "--deny", "private", "--deny", "@sensitive",
                                "-c", "cat private/notes; cat .env")
            equal((result["stdout"], [q["path"] for q in asked.questions]), ("notes\n", [f"{box.ws}/private/notes"]), level)
        box.write("ws/kept", "kept\n")
        asked, _ = run(box, "run", "--level", "full", "--cow", "--protect", "kept", "-c", "echo x >kept")
        equal((asked.questions, box.read("ws/kept")), ([], "kept\n"), "a protected file below an overlay")

    @test("time-out, end of file, malformed and foreign answers deny", root=True)
    def failures(box):
        path = outside_file(box)
        bad = (b"yes\n", b"{}\n", b'{"id":1}\n', b'{"id":1,"answer":"all"}\n', b'{"id":1,"answer":"once","x":1}\n', b"\0\n",
               b'{"id":1,"answer":"once"} {"id":1,"answer":"once"}\n', b'[{"id":1,"answer":"once"}]\n', b"x" * 5000,
               b'{"id":1,"id":1,"answer":"once"}\n', b'{"id":1,"answer":"on\\u0063e"}\n')
        for level in LEVELS:
            asked = Asked(box, always(None), "--no-config", "--level", level, "--set", "ask.timeout=300ms", "--", "cat", path)
            result = asked.result()
            equal((answers(result), result["stdout"]), ([("read", path, "deny", "timeout")], ""), f"time-out at {level}")
            equal([w["reason"] for w in asked.withdrawn], ["timeout"], "withdrawn")
            for data in bad:
                asked = Asked(box, always(data), "--no-config", "--level", level, "-c", f"cat {path}; cat {path}")
                result = asked.result()
                equal((result["stdout"], len(asked.questions)), ("", 1), f"after {data[:60]} at {level}")
                contains(result["grants_ended"], "not an answer", "why the questions ended")
            asked = Asked(box, always(None), "--no-config", "--level", level, "--", "cat", path)
            asked.asked()
            asked.ours.shutdown(socket.SHUT_RDWR)
            out = json.loads(asked.process.communicate(timeout=PATIENCE)[0])
            equal((out["stdout"], answers(out)), ("", [("read", path, "deny", "error")]), f"end of file at {level}")
            contains(out["grants_ended"], "closed", "why")
            asked, result = run(box, b'{"id":77,"answer":"once"}\n{"id":1,"answer":"deny"}\n', "--level", level, "--", "cat", path)
            equal(result["stdout"], "", "an answer to another question")
        box.run("--ask-fd", "77", "--", "true").exited(2).said("--ask-fd")
        box.run("--ask-fd", "0", "--", "true").exited(2).said("stream socket")
        box.run("--ask", "--", "true").exited(125).said("terminal", "daemon")
        box.run("--ask", "--level", "none", "--accept-no-sandbox", "--", "true").exited(125).said("broker")

    @test("a flood of questions is bounded, and other processes go on meanwhile")
    def floods(box):
        for i in range(130):
            outside_file(box, f"many/{i}")
        script = f"for i in $(seq 0 129); do cat {box.dir}/many/$i 2>/dev/null & done; wait; echo done"
        for level in LEVELS:
            asked, result = run(box, "deny", "--level", level, "-c", script)
            check(len(asked.questions) <= 100, f"{len(asked.questions)} questions at {level}")
            equal(result["stdout"], "done\n", f"output at {level}")
            check(result["grants_more"] > 0 or len(asked.questions) < 130, "the limit is reported")
            path = outside_file(box)
            held = Asked(box, always(None), "--no-config", "--level", level, "-c",
                         f"cat {path} & for i in 1 2 3 4 5; do echo $i >>{box.ws}/{level}; cat {box.ws}/{level} >/dev/null; done;"
                         f" touch {box.ws}/{level}.done; wait; echo end")
            held.asked()
            check(wait_until(lambda: box.exists(f"ws/{level}.done")), f"others wait for the question at {level}")
            held.send(b'{"id":1,"answer":"once"}\n')
            equal(held.result()["stdout"], "of the host\nend\n", f"after the answer at {level}")
            same = f"for i in 1 2 3 4 5 6; do cat {path} & done; wait"
            asked = Asked(box, always(None), "--no-config", "--level", level, "-c", same)
            asked.asked()
            time.sleep(0.3)
            asked.send(b'{"id":1,"answer":"run"}\n')
            equal((asked.result()["stdout"], len(asked.questions)), ("of the host\n" * 6, 1), f"equal questions at {level}")

    @test("a killed caller withdraws its question; time-out, signals and death end a run that waits", root=True)
    def killed(box):
        path, other = outside_file(box), outside_file(box, "data/other")
        for level in LEVELS:
            words = ("--no-config", "--level", level)
            asked = Asked(box, always(None), *words, "-c", f"timeout -s KILL 1 cat {path}; echo next; cat {other}")
            asked.asked(2)
            check(wait_until(lambda: asked.pump(0.05) and False or asked.withdrawn), f"not withdrawn at {level}")
            equal([(w["id"], w["reason"]) for w in asked.withdrawn], [(1, "ended")], f"withdrawn at {level}")
            asked.send(b'{"id":1,"answer":"once"}\n{"id":2,"answer":"once"}\n')
            equal(asked.result()["stdout"], "next\nof the host\n", f"after the kill at {level}")
            asked = Asked(box, always(None), *words, "--timeout", "700ms", "--grace", "100ms", "--", "cat", path)
            equal(asked.result()["reason"], "timeout", f"time-out at {level}")
            asked = Asked(box, always(None), *words, "--", "cat", path)
            asked.asked()
            asked.process.send_signal(signal.SIGTERM)
            equal(asked.result()["reason"], "signal", f"SIGTERM at {level}")
            asked = Asked(box, always(None), *words, "-c", f"cat {path}; sleep {LONG}")
            asked.asked()
            asked.process.kill()
            asked.process.wait()
            check(wait_until(lambda: not box.strays()), f"processes left at {level}")
            asked.ours.close()

    @test("the object of an answer is the file that was asked about: a swapped one is refused", root=True)
    def swapped(box):
        path, other = outside_file(box, "swap/file"), outside_file(box, "swap/other", "another file\n")
        for level in LEVELS:
            asked = Asked(box, always(None), "--no-config", "--level", level, "--", "cat", path)
            asked.asked()
            os.rename(path, f"{path}.away")
            os.rename(other, path)
            asked.send(b'{"id":1,"answer":"once"}\n')
            equal(asked.result()["stdout"], "", f"a replaced file at {level}")
            os.rename(path, other)
            os.rename(f"{path}.away", path)
            os.symlink(path, f"{box.ws}/way")
            asked = Asked(box, always(None), "--no-config", "--level", level, "--", "cat", "way")
            asked.asked()
            os.unlink(f"{box.ws}/way")
            os.symlink(f"{box.home}/.ssh/id_rsa", f"{box.ws}/way")
            asked.send(b'{"id":1,"answer":"once"}\n')
            equal(asked.result()["stdout"], "of the host\n", f"a swapped link at {level}")
            os.unlink(f"{box.ws}/way")

    @test("every answer is in the audit log, with who gave it")
    def audited(box):
        path = outside_file(box)
        Asked(box, always("run"), "--no-config", "--", "cat", path).result()
        Asked(box, always("deny"), "--no-config", "--", "cat", path).result()
        records = [json.loads(line) for line in box.corral_("audit", "list", "--kind", "grant", "--json").exited(0).out.splitlines()]
        equal([(r["kind"], r["verdict"], r["op"], r["path"], r["answer"], r["by"]) for r in records],
              [("grant", "allowed", "read", path, "run", "user"), ("grant", "denied", "read", path, "deny", "user")], "records")
        check(all(r["waited_ms"] >= 0 and r["count"] == 1 and r["grant"] == f"--read {path}" for r in records), "fields")
        box.corral_("audit", "verify").exited(0)

    @test("the way to a granted file does not tell which hidden directories exist", root=True)
    def ways(box):
        path = outside_file(box)
        there, missing = (f"{os.path.dirname(path)}/{name}/../file" for name in ("hidden", "none"))
        box.write("data/hidden/x", "")
        box.write("home/.aws/credentials", "")
        box.outside.sh(f"cat {there}").exited(0)  # the control
        box.outside.sh(f"cat {missing}").exited(1)
        os.symlink(f"{box.home}/.aws/../../data/file", f"{box.ws}/link")
        for level in LEVELS:
            words = f"cat {path} ../{os.path.basename(os.path.dirname(path))}/file; cat {missing}; cat link; "
            asked, result = run(box, "run", "--level", level, "-c", words + (f"cat {there}" if level == "full" else ""))
            equal(result["stdout"], "of the host\n" * 2, f"granted at {level}")
            equal([q["path"] for q in asked.questions], [path], f"questions at {level}")

    @test("a credential in the HOME of another user is not asked about", root=True)
    def others(box):
        if box.user.drop or os.geteuid() != 0:
            raise Skip("only root can make a home")
        make = 'mount -t tmpfs t /home && mkdir -p /home/o/.aws && echo key >/home/o/.aws/credentials && echo n >/home/o/notes && exec "$@"'
        before = ["unshare", "-m", "sh", "-c", make, "sh"]
        for level in LEVELS:
            asked, result = run(box, "once", "--level", level, "-c", "cat /home/o/notes; cat /home/o/.aws/credentials", before=before)
            equal([q["path"] for q in asked.questions], ["/home/o/notes"], f"questions at {level}")
            equal(result["stdout"], "n\n", f"output at {level}")

    # ---- the network, in the lab ----

    @test("a host waits for its answer, before any name server gets the name", root=True)
    def hosts(box):
        try:
            lab = labs.Lab(user=box.user.name)
        except labs.NoLab as error:
            raise Skip(str(error)) from error
        fetch = "curl -sS -m 30 http://allowed.test/{0}; curl -sS -m 30 http://allowed.test/{0}; curl -sS -m 30 http://11.0.0.66/{0}"
        with lab:
            for level in LEVELS:
                words = ("--net", "filtered", "--level", level)
                since = lab.mark()
                asked, result = run(box, "deny", *words, "-c", fetch.format("no"), before=in_lab(lab, box),
                                    **AS_ROOT)
                hosts_ = [q["host"] for q in asked.questions if q["host"] in ("allowed.test", "11.0.0.66:80")]
                equal(hosts_, ["allowed.test", "11.0.0.66:80"], f"questions at {level}")
                check(not lab.heard("allowed.test|11.0.0.66", since, 0.5), f"a denied host heard something at {level}: {lab.lines(since)}")
                since = lab.mark()
                asked, result = run(box, "run", *words, "-c", fetch.format("yes"), before=in_lab(lab, box),
                                    **AS_ROOT)
                equal([q["host"] for q in asked.questions], ["allowed.test", "11.0.0.66:80"], f"questions at {level}")
                equal(result["stdout"].count("/yes"), 3, f"answers of the servers at {level}: {result}")
                check(lab.heard("target=/yes", since), f"the origin did not hear it at {level}")
                since = lab.mark()
                wide = lambda q: "deny" if "search" in q["host"] else "run"  # noqa: E731  the resolver tries its search list
                asked = Asked(box, wide, "--no-config", *words, "--deny-host", "allowed.test", "-c",
                                    "curl -sS -m 9 http://allowed.test/; curl -sS -m 9 http://169.254.169.254/; curl -sS -m 9 http://127.0.0.1/; true",
                                    before=in_lab(lab, box), **AS_ROOT)
                asked.result()
                equal([q for q in asked.questions if "search" not in q["host"]], [], f"a denied host, metadata, loopback at {level}")
                check(not lab.heard("allowed.test|169", since, 0.5), f"a denied host heard something at {level}: {lab.lines(since)}")

    # ---- a person answers ----

    @test("on a terminal: once, no, a wrong number; names are escaped; the modes are put back", root=True)
    def terminals(box):
        path = outside_file(box)
        evil = outside_file(box, "data/\x1b[2J\u202etxt.\x07exe\n", "evil\n")
        for level in LEVELS:
            for typed, shown in (("o{0}", True), ("r{0}", True), ("n", False), ("", False), ("y", False), ("o000", False)):
                terminal = Terminal(box, [box.corral, "run", "--no-config", "--ask", "--level", level, "-c",
                                          f"echo begin; cat {path}; echo end"])
                terminal.expect("begin")
                terminal.expect(f"wants to read\r\n    {re.escape(path)}\r\n")
                code = terminal.expect(r"  o(\d\d\d)  allow").group(1).decode()
                terminal.expect("answer within")
                terminal.send(typed.format(code) + "\r")
                terminal.expect("corral: allowed" if shown else "corral: denied")
                match = terminal.expect("(?s)(.*)end")
                equal(b"of the host" in match.group(1), shown, f"{typed!r} at {level}")
                leave(terminal, 0)
        terminal = Terminal(box, [box.corral, "run", "--no-config", "--ask", "--", "cat", evil])
        match = terminal.expect("(?s)wants to read\r\n    (.*?)\r\n").group(1)
        check(b"\x1b" not in match and b"\x07" not in match and "\u202e".encode() not in match, f"a control character: {match!r}")
        contains(match.decode(), "\\u001b[2J\\u202etxt.\\u0007exe\\u000a", "the escaped name")
        terminal.expect("answer within")
        terminal.send("\r")
        leave(terminal, 1)

    @test("a forged prompt, typed-ahead keys and reports of the terminal grant nothing", root=True)
    def forged(box):
        path = outside_file(box)
        fake = r"printf '\033[8mcorral: the command wants to read\r\n  o123  allow it once\r\ncorral: answer within 60 s: '"
        # The answer to a forged prompt is input of the command.
        terminal = Terminal(box, [box.corral, "run", "--no-config", "--ask", "-c", f"{fake}; read x; echo got:$x; cat {path}; echo end"])
        terminal.expect("answer within")
        terminal.send("o123\r")
        terminal.expect("got:o123")
        code = terminal.expect(r"  o(\d\d\d)  allow").group(1).decode()
        terminal.expect("answer within")
        # A report of the terminal, with the right number even, is discarded; what was typed before, too.
        terminal.send(f"\x1b]lo{code}\x1b\\\r")
        terminal.send("\r")
        terminal.expect("corral: denied")
        check(b"of the host" not in terminal.expect("(?s)(.*)end").group(1), "granted by a forged answer")
        leave(terminal, 0)
        # Output of the command is held while the question stands.
        terminal = Terminal(box, [box.corral, "run", "--no-config", "--ask", "-c",
                                  f"(sleep 0.5; echo LATER) & cat {path}; wait; echo end"])
        terminal.expect("answer within")
        while terminal.read(1.5):
            pass
        check(b"LATER" not in terminal.seen, f"output over the question: {terminal.seen!r}")
        terminal.send("n\r")
        terminal.expect("LATER")
        terminal.expect("end")
        leave(terminal, 0)
        # Also when another program prints it on the terminal, be it slow.
        slow = "import os, time; [(time.sleep(0.1), os.write(1, d)) for d in iter(lambda: os.read(0, 4096), b\"\")]"
        for reader in ("cat", f"{labs.PYTHON} -c '{slow}'"):
            terminal = Terminal(box, ["/bin/sh", "-c", f"\"$CORRAL\" run --no-config --ask -c 'seq 4000; (sleep 0.5; echo LATER) & "
                                      f"cat {path}; wait; echo end' | {reader}"])
            terminal.expect("answer within .. s: ")
            while terminal.read(1.5):
                pass
            equal(terminal.seen, b"", f"output over the question, by {reader}")
            terminal.send("n\r")
            terminal.expect("LATER")
            terminal.expect("end")
            leave(terminal, 0)

    @test("a terminal's question ends with ^C, the time-out and the run; nobody answers for it", root=True)
    def endings(box):
        path = outside_file(box)
        terminal = Terminal(box, [box.corral, "run", "--no-config", "--ask", "--", "cat", path])
        terminal.expect("answer within")
        terminal.send("\x03")
        terminal.expect("corral: denied")
        leave(terminal, 130)
        terminal = Terminal(box, [box.corral, "run", "--no-config", "--ask", "--set", "ask.timeout=400ms", "--", "cat", path])
        terminal.expect("answer within")
        terminal.expect("no answer in time")
        leave(terminal, 1)
        terminal = Terminal(box, [box.corral, "run", "--no-config", "--ask", "--timeout", "600ms", "--grace", "100ms", "--", "cat", path])
        terminal.expect("answer within")
        leave(terminal, 124)
        # With stdin and stdout elsewhere the question is still on the terminal.
        terminal = Terminal(box, ["/bin/sh", "-c", f'echo in | "$CORRAL" run --no-config --ask -- cat {path} - >{box.ws}/out'])
        code = terminal.expect(r"  o(\d\d\d)  allow").group(1).decode()
        terminal.expect("answer within")
        terminal.send(f"o{code}\r")
        leave(terminal, 0)
        equal(box.read("ws/out"), "of the host\nin\n", "output")
