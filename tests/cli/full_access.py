# SPDX-License-Identifier: Apache-2.0
"""mode full-access: only with an acceptance that no project can give, and reported as what it is."""
import os

from harness import check, contains, equal

FULL = ("--mode", "full-access", "--dangerously-allow-full-access")
ABSENT = {"fs.write", "fs.read", "fs.deny", "net", "net.names", "ipc", "pid"}


def register(suite):
    test = suite.test

    @test("full-access needs the option or a dated line of the user", root=True)
    def _(box):
        box.run("--mode", "full-access", "touch", "ran").exited(126).said(
            "is not accepted", "--dangerously-allow-full-access", "accept_full_access")
        check(not box.exists("ws/ran"), "it ran")
        box.run(*FULL, "touch", f"{box.dir}/written").exited(0)
        check(box.exists("written"), "a file outside the workspace was not written")
        for line in ("accept_full_access = 2026-11-17", 'accept_full_access = "2026-11-17"'):
            box.write("home/.config/corral/corral.toml", line + "\n")
            box.run("--mode", "full-access", "touch", f"{box.dir}/dated").exited(0)
        check(box.exists("dated"), "a file outside the workspace was not written")

    @test("the acceptance is a date, and one that exists")
    def _(box):
        for value in ("true", '"yes"', '"now"', "2026-13-01", '"2026-11-31"', '"26-11-17"', '"2026-11-17 "'):
            box.write("home/.config/corral/corral.toml", f"accept_full_access = {value}\n")
            box.run("--mode", "full-access", "true").exited(2)

    @test("no project and no --policy file can give the acceptance, trusted or not")
    def _(box):
        file = box.write("ws/.corral.toml", 'mode = "full-access"\naccept_full_access = 2026-11-17\n')
        for _ in range(2):
            box.run("touch", f"{box.dir}/out").exited(126)
            box.corral_("policy", "trust", file).exited(0)
        box.run("touch", f"{box.dir}/out").exited(126).said("accept_full_access", "not allowed there")
        os.unlink(file)
        given = box.write("given.toml", 'mode = "full-access"\naccept_full_access = 2026-11-17\n')
        box.run("--policy", given, "touch", f"{box.dir}/out").exited(126).said("not allowed there")
        check(not box.exists("out"), "it ran")

    @test("an untrusted project file cannot choose the mode that the user accepted")
    def _(box):
        box.write("home/.config/corral/corral.toml", "accept_full_access = 2026-11-17\n")
        box.write("ws/.corral.toml", 'mode = "full-access"\n')
        box.run("touch", f"{box.dir}/out").exited(126).said("may only narrow")
        box.write("ws/.corral.toml", 'mode = "read-only"\n')
        box.run("--mode", "workspace-write", "true").exited(0)

    @test("full-access reports every protection as absent, and warns at every run", root=True)
    def _(box):
        result = box.json(*FULL, "true")
        states = {row["name"]: row["state"] for row in result["guarantees"]}
        equal({name for name in ABSENT if states[name] == "absent"}, ABSENT, "absent")
        row = next(row for row in result["guarantees"] if row["name"] == "privileges")
        equal((row["state"], row["by"]), ("weaker", ["capabilities", "no_new_privs"]), "privileges")
        equal((result["level"], result["engine"], states["limits.time"]), ("none", "none", "enforced"), "level")
        check(any("NOTHING is protected" in note for note in result["notes"]), f"{result['notes']}")
        for _ in range(2):
            box.run(*FULL, "true").exited(0).said("warning: mode full-access: NOTHING is protected")

    @test("full-access keeps the clean environment, the limits and the end of all processes", root=True)
    def _(box):
        env = {**box.env, "AWS_SECRET_ACCESS_KEY": "secret-value", "OTHER": "secret-value"}
        done = box.run(*FULL, "env", env=env).exited(0)
        check("secret-value" not in done.out, done.out)
        contains(done.out, f"HOME={box.home}\n", "the caller's own home")
        box.run(*FULL, "--timeout", "300ms", "sleep", "600").exited(124)
        done = box.run(*FULL, "--max-file-size", "1K", "-c", "head -c 4096 /dev/zero >big; exit 0").exited(0)
        equal(os.path.getsize(f"{box.ws}/big"), 1024, "limits.file_size")

    @test("full-access contradicts every key that promises a protection")
    def _(box):
        for words in (["--net", "none"], ["--net", "filtered"], ["--level", "full"], ["--min-level", "standard"]):
            box.run(*FULL, *words, "touch", "ran").exited(2).said("contradicts")
        box.run(*FULL, "--require", "fs.write", "touch", "ran").exited(125).said("would be absent", "full-access")
        box.run(*FULL, "--deny", "secret", "touch", "ran").exited(125).said("fs.deny", "full-access")
        box.run(*FULL, "--profile", "strict", "touch", "ran").exited(125)
        check(not box.exists("ws/ran"), "it ran")

    @test("check path answers for full-access as a run does")
    def _(box):
        box.write("outside", "x")
        box.corral_("check", "path", f"{box.dir}/outside", "--write").exited(1)
        box.corral_("check", "path", f"{box.dir}/outside", "--write", *FULL).exited(0)
