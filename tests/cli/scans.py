# SPDX-License-Identifier: Apache-2.0
"""`corral scan`: files, trees, staged changes and pipes."""
import base64
import os
import stat
import time

from harness import PATIENCE, Skip, check, contains, equal, needs

KEYS = ["fingerprint", "file", "kind", "length", "line", "offset", "reason", "view"]


def token(box):
    """A GitHub token with a valid checksum."""
    import zlib
    body, digits, number = "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5", "", 0
    number = zlib.crc32(body.encode())
    for _ in range(6):
        number, digit = divmod(number, 62)
        digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"[digit] + digits
    return "ghp_" + body + digits


def findings(box, *words, **more):
    done = box.corral_("scan", *words, "--json", **more)
    found = done.json
    equal(sorted(found), ["files", "findings", "unread", "version"], "keys")
    done.exited(1 if found["findings"] else 0)
    for one in found["findings"]:
        equal(sorted(one), sorted(KEYS), "keys of a finding")
        check(token(box)[:12] not in str(one), f"a part of the value: {one}")
    return found["findings"]


def hostile_repository(box, mark):
    """A partial clone whose configuration names a program that fetches a missing object."""
    box.sh(f"""set -e
        git init -q . && git config user.name x && git config user.email x@x
        mkdir sub && echo x >sub/.gitignore && echo y >f && git add . && git commit -qm x
        git update-index --skip-worktree sub/.gitignore && rm sub/.gitignore && touch sub/untracked
        blob=$(git rev-parse HEAD:sub/.gitignore)
        rm -f .git/objects/$(echo $blob | cut -c1-2)/$(echo $blob | cut -c3-)
        git config core.repositoryformatversion 1 && git config extensions.partialclone origin
        git config remote.origin.promisor true && git config remote.origin.url {box.dir}/nowhere
        git config protocol.file.allow always
        git config remote.origin.uploadpack "touch {mark}; false #\"""").exited(0)


def register(suite):
    test = suite.test

    @test("scan runs no program that the configuration of a scanned repository names", root=True)
    def _(box):
        needs("git")
        mark = f"{box.dir}/ran"
        hostile_repository(box, mark)
        box.sh("git ls-files --others --exclude-standard >/dev/null 2>&1; true")
        if not os.path.exists(mark):
            raise Skip("this git does not fetch for ls-files")
        os.unlink(mark)
        for words in (["."], [".", "--json"], ["--staged"]):
            box.corral_("scan", *words)
            check(not os.path.exists(mark), f"scan {words} ran the program")

    @test("scan executes no git that a sandboxed command could have written")
    def _(box):
        needs("git")
        mark = box.write("ran", "", 0o666)
        box.sh("git init -q .").exited(0)
        box.write("ws/bin/git", f"#!/bin/sh\necho ran >>{mark}\nexec /usr/bin/git \"$@\"\n", 0o755)
        box.write("ws/sub/plain", f"token {token(box)}\n")
        first = {**box.env, "PATH": f"{box.ws}/bin:{box.env['PATH']}"}
        found = box.corral_("scan", "--json", "sub", env=first).exited(1)
        contains(found.out, "github-token", "a finding")
        equal(box.read("ran"), "", "executed outside")
        box.corral_("scan", "--staged", env={**box.env, "PATH": f"{box.ws}/bin"}).said("cannot run git", "/usr/bin")
        equal(box.read("ran"), "", "executed outside, without another git")

    @test("variables of git do not hide files from a scan")
    def _(box):
        needs("git")
        box.sh("git init -q other")
        box.write("ws/secret", token(box))
        env = {**box.env, "GIT_DIR": f"{box.ws}/other/.git", "GIT_WORK_TREE": f"{box.ws}/other"}
        equal(len(findings(box, ".", env=env)), 1, "findings")

    @test("scan finds a secret in files, plain and encoded, with its line", root=True)
    def _(box):
        secret = token(box)
        box.write("ws/a/plain.txt", f"one\ntwo {secret} three\n")
        box.write("ws/a/coded.bin", b"\0\1" + base64.b64encode(b":" + secret.encode()) + b"\n")
        box.write("ws/a/clean.txt", "nothing\n")
        found = findings(box, f"{box.ws}/a")
        equal([(os.path.basename(one["file"]), one["line"], one["view"], one["kind"]) for one in found],
              [("coded.bin", 1, "base64", "github-token"), ("plain.txt", 2, "raw", "github-token")], "findings")
        equal(len({one["fingerprint"] for one in found}), 1, "fingerprints of one secret")
        equal([found[1]["offset"], found[1]["length"]], [8, 40], "place")

    @test("scan prints text and SARIF, and the exit status tells whether there is a finding")
    def _(box):
        box.write("ws/file name", f"{token(box)}\n")
        box.write("ws/clean", "nothing\n")
        done = box.corral_("scan", f"{box.ws}/file name").exited(1)
        contains(done.out, "file name:1: github-token", "text")
        check(token(box) not in done.out + done.err, "the value is printed")
        box.corral_("scan", f"{box.ws}/clean").exited(0)
        report = box.corral_("scan", "--sarif", f"{box.ws}/file name").exited(1).json
        equal(report["version"], "2.1.0", "version")
        result = report["runs"][0]["results"][0]
        equal(result["ruleId"], "github-token", "rule")
        place = result["locations"][0]["physicalLocation"]
        equal(place["artifactLocation"]["uri"], f"file://{box.ws}/file%20name", "URI")
        equal(place["region"], {"startLine": 1, "byteOffset": 0, "byteLength": 40}, "region")

    @test("scan as a filter copies stdin, and with --redact replaces secrets")
    def _(box):
        text = f"a {token(box)} b\n"
        done = box.corral_("scan", stdin=text.encode()).exited(1)
        equal(done.out, text, "copy")
        contains(done.err, "github-token at byte 2 of stdin", "note")
        done = box.corral_("scan", "--redact", stdin=text.encode()).exited(1)
        equal(done.out, "a [redacted:github-token] b\n", "redacted")
        equal(box.corral_("scan", "--redact", stdin=b"no secret").exited(0).out, "no secret", "copy")

    @test("a prompt passes scan --redact at once, and the beginning of a secret after a moment")
    def _(box):
        process = box.start([box.corral, "scan", "--redact"], stdin=-1)
        for text in (b"Password: ", b"ghp_"):
            process.stdin.write(text)
            process.stdin.flush()
            got, end = b"", time.monotonic() + PATIENCE
            while len(got) < len(text) and time.monotonic() < end:
                got += os.read(process.stdout.fileno(), 100)
            equal(got, text, "passed on")
        process.stdin.close()
        process.stdin = None
        process.communicate(timeout=PATIENCE)
        equal(process.returncode, 0, "status")

    @test("an allowed fingerprint is no finding; key and list are private")
    def _(box):
        box.write("ws/x", f"{token(box)}\n")
        mark = findings(box, f"{box.ws}/x")[0]["fingerprint"]
        box.corral_("scan", "--allow", mark).exited(0)
        equal(findings(box, f"{box.ws}/x"), [], "findings")
        for name in ("leak.key", "leak.allow"):
            mode = os.stat(f"{box.home}/.config/corral/{name}").st_mode
            equal(stat.S_IMODE(mode), 0o600, name)
        os.chmod(f"{box.home}/.config/corral/leak.key", 0o644)
        box.corral_("scan", f"{box.ws}/x").exited(126).said("leak.key is readable by other users")

    @test("scan leaves out the files that git ignores, nested too, and .git itself")
    def _(box):
        needs(box, "git")
        for name in ("repo/seen", "repo/ignored", "repo/sub/ignored-here", "repo/build/ignored"):
            box.write(f"ws/{name}", f"{token(box)}\n")
        box.write("ws/repo/.gitignore", "ignored\nbuild/\n")
        box.write("ws/repo/sub/.gitignore", "ignored-here\n")
        box.sh(f"cd {box.ws}/repo && git init -q").exited(0)
        equal([os.path.basename(one["file"]) for one in findings(box, f"{box.ws}/repo")], ["seen"], "findings")
        equal(len(findings(box, f"{box.ws}/repo/build")), 1, "an ignored directory that is named")

    @test("scan goes into repositories inside of a repository: a submodule, and one that is not tracked")
    def _(box):
        needs(box, "git")
        for name in ("repo/seen", "repo/inner/seen", "repo/inner/ignored", "repo/inner/deep/seen", "module/seen"):
            box.write(f"ws/{name}", f"{token(box)}\n")
        box.write("ws/repo/inner/.gitignore", "ignored\n")
        box.sh(f"""set -e
            git config --global user.name x; git config --global user.email x@x
            cd {box.ws}/module && git init -q && git add . && git commit -qm x
            cd {box.ws}/repo && git init -q && git init -q inner && git init -q inner/deep
            git -c protocol.file.allow=always submodule --quiet add {box.ws}/module sub""").exited(0)
        equal(sorted(os.path.relpath(one["file"], box.ws) for one in findings(box, f"{box.ws}/repo")),
              ["repo/inner/deep/seen", "repo/inner/seen", "repo/seen", "repo/sub/seen"], "findings")

    @test("core.worktree of a scanned repository, and a directory that looks like one, hide no file")
    def _(box):
        needs(box, "git")
        for name in ("repo/seen", "outside/other", "bare/seen"):
            box.write(f"ws/{name}", f"{token(box)}\n")
        box.sh(f"""set -e
            cd {box.ws}/repo && git init -q && git config core.worktree {box.ws}/outside
            git init -q --bare {box.ws}/bare && cd {box.ws}/bare
            git config core.bare false && git config core.worktree {box.ws}/outside""").exited(0)
        for place in ("repo", "bare"):
            equal([os.path.relpath(one["file"], box.ws) for one in findings(box, f"{box.ws}/{place}")],
                  [f"{place}/seen"], place)

    @test("the lines of 20,000 findings in one file are counted in one pass, and right")
    def _(box):
        box.write("ws/many", (f"x {token(box)}\n" + "y" * 100 + "\n") * 20000)
        equal([one["line"] for one in findings(box, f"{box.ws}/many")], list(range(1, 40001, 2)), "lines")
        # A pipe has no lines to count: processor time in seconds, of both.
        script = 'TIMEFORMAT=%U; time "$CORRAL" scan --json {} >/dev/null'
        seconds = [float(box.execute(["bash", "-c", script.format(words)]).err.split()[-1])
                   for words in (f"{box.ws}/many", f"<{box.ws}/many")]
        check(seconds[0] < 4 * seconds[1] + 0.2, f"seconds for the file and for the pipe: {seconds}")

    @test("scan --staged scans the staged content, not the file")
    def _(box):
        needs(box, "git")
        box.write("ws/repo/new", f"{token(box)}\n")
        box.write("ws/repo/later", "clean\n")
        box.sh(f"cd {box.ws}/repo && git init -q && git add . && echo clean > new").exited(0)
        box.write("ws/repo/later", f"{token(box)}\n")
        equal([one["file"] for one in findings(box, "--staged", cwd=f"{box.ws}/repo")], ["new"], "findings")
        box.corral_("scan", "--staged", cwd=box.ws).exited(2).said("git cannot list the staged change")

    @test("a file that cannot be read is an error, and usage errors exit with 2")
    def _(box):
        box.write("ws/clean", "x")
        box.sh(f"mkfifo {box.ws}/fifo").exited(0)
        box.corral_("scan", f"{box.ws}/fifo").exited(126).said("cannot read")
        box.corral_("scan", f"{box.ws}/missing").exited(2)
        box.corral_("scan", "--redact", f"{box.ws}/clean").exited(2)
        box.corral_("scan", "--json", "--sarif", f"{box.ws}/clean").exited(2)
        box.corral_("scan", "--allow", "abc").exited(2).said("not a fingerprint")
        box.corral_("scan", "--list-kinds", f"{box.ws}/clean").exited(2)
        contains(box.corral_("scan", "--list-kinds").exited(0).out, "github-token", "kinds")
