# SPDX-License-Identifier: Apache-2.0
"""Exit statuses, words that reach the command, time-outs."""
import re

from harness import LONG, PATIENCE, check, contains, equal, in_time, wait_until

# What stays alive unless somebody sees to it.  Each row: how a command tries to
# outlive its time-out.
SURVIVORS = [
    ("a plain sleep", "sleep 600"),
    ("a command that ignores TERM", "trap '' TERM; while :; do sleep 0.1; done"),
    ("a child in a session of its own", "setsid sleep 600 & sleep 600"),
    ("a daemon", "(setsid sh -c 'trap \"\" TERM HUP; sleep 600 & sleep 600' </dev/null >/dev/null 2>&1 &) ; sleep 600"),
    ("a stopped command", "kill -STOP $$"),
    ("a command that ignores everything", "trap '' HUP INT QUIT TERM USR1 USR2; sleep 600; sleep 600"),
]

REFORK = """
import os, time
while True:
    if os.fork():
        os._exit(0)
    os.setsid()
    time.sleep(0.01)
"""


def left_nothing(box):
    """The first process inside has reported and is on its way out; all others are dead by then."""
    wait_until(lambda: not box.strays())
    equal(box.strays(), [], "processes left")


def register(suite):
    test = suite.test

    @test("the command's own exit status is corral's", root=True)
    def _(box):
        for status in (0, 1, 2, 7, 124, 125, 255):
            box.run("-c", f"exit {status}").exited(status)

    @test("a command killed by signal n gives 128+n", root=True)
    def _(box):
        for name, number in (("TERM", 15), ("KILL", 9), ("SEGV", 11), ("USR1", 10), ("HUP", 1)):
            box.run("-c", f"kill -{name} $$").exited(128 + number)

    @test("a command that does not exist gives 127 and names it", root=True)
    def _(box):
        for command in ("no-such-command-here", "./missing", "/no/such/file"):
            done = box.run("--", command).exited(127)
            done.said("corral: ", command)

    @test("a file that cannot be executed gives 126 and names it")
    def _(box):
        box.write("ws/plain", "echo no\n", 0o644)
        box.mkdir("ws/folder")
        box.write("ws/broken", "#!/no/such/interpreter\n", 0o755)
        box.write("ws/binary", b"\x7fELF garbage", 0o755)
        box.run("--", "./plain").exited(126).said("./plain")
        box.run("--", "./folder").exited(126).said("./folder")
        check(box.run("--", "./broken").status in (126, 127), "a missing interpreter")
        check(box.run("--", "./binary").status in (2, 126, 127), "a broken binary")

    @test("a script without #! is run by the shell")
    def _(box):
        box.write("ws/script", "echo from script $1\n", 0o755)
        equal(box.run("--", "./script", "x").exited(0).out, "from script x\n", "stdout")

    @test("-c runs a shell string and passes further words as $0, $1")
    def _(box):
        equal(box.run("-c", "echo \"$0|$1|$2\"", "a", "b b").exited(0).out, "a|b b|\n", "stdout")
        equal(box.run("-c", "echo \"$0\"", "--", "-x").exited(0).out, "-x\n", "after --")

    @test("options end at -- or at the command")
    def _(box):
        equal(box.run("--", "echo", "--json", "--").exited(0).out, "--json --\n", "after --")
        equal(box.run("echo", "--timeout", "0").exited(0).out, "--timeout 0\n", "after the command")
        box.run("--", "--json").exited(127)
        equal(box.run("--timeout=20", "--", "echo", "x").exited(0).out, "x\n", "--name=value")
        equal(box.run("-t20", "echo", "x").exited(0).out, "x\n", "-tVALUE")

    @test("arguments reach the command unchanged")
    def _(box):
        words = ["", " ", "a b", "$HOME", "'", '"', "\\", "*", "\n", "\t", "ü€😀", "-", "--", "\x01\x7f"]
        done = box.run("--", "printf", "%s\\0", *words).exited(0)
        equal(done.out.split("\0")[:-1], words, "words")
        raw = box.execute([box.corral, "run", "--", "printf", "%s", b"\xff\xfe".decode("utf-8", "surrogateescape")])
        equal(raw.raw_out, b"\xff\xfe", "a word that is not UTF-8")

    @test("the command starts in the caller's directory, or in the workspace")
    def _(box):
        box.mkdir("ws/sub/deeper")
        equal(box.run("pwd", cwd=f"{box.ws}/sub").out, f"{box.ws}/sub\n", "cwd is the workspace")
        equal(box.run("-w", box.ws, "pwd", cwd=f"{box.ws}/sub").out, f"{box.ws}/sub\n", "below")
        equal(box.run("-w", box.ws, "pwd", cwd="/usr").out, f"{box.ws}\n", "elsewhere")
        equal(box.run("--chdir", "sub/deeper", "pwd").out, f"{box.ws}/sub/deeper\n", "--chdir")

    for what, script in SURVIVORS:
        @test(f"a time-out ends {what} with 124", root=what == "a daemon")
        def _(box, script=script):
            done = box.run("--timeout", "500ms", "--grace", "300ms", "-c", script).exited(124)
            check(0.45 <= done.seconds < PATIENCE, f"it took {done.seconds:.2f} s")
            contains(done.err, "--timeout", "the reason on stderr")
            left_nothing(box)

    @test("a time-out ends a child that forks for ever")
    def _(box):
        box.write("ws/refork.py", REFORK)
        done = box.run("--timeout", "700ms", "--grace", "200ms", "-c",
                       f"/usr/bin/python3 refork.py & sleep {LONG}").exited(124)
        check(done.seconds < PATIENCE, f"it took {done.seconds:.2f} s")

    @test("a command that obeys TERM has its grace to clean up")
    def _(box):
        script = "trap 'sleep 0.3; echo cleaned; exit 0' TERM; : >ready; while :; do sleep 0.05; done"
        done = in_time(("300ms", "2s", "10s"), lambda limit: box.run("--timeout", limit, "--grace", f"{LONG}s", "-c", script),
                       lambda _: box.exists("ws/ready")).exited(124)
        equal(done.out, "cleaned\n", "stdout")
        check(done.seconds < PATIENCE, f"it took {done.seconds:.2f} s, not waiting for the whole grace")

    @test("a command faster than its time-out is not affected by it")
    def _(box):
        done = box.run("--timeout", str(LONG), "-c", "exit 3").exited(3)
        check(done.seconds < PATIENCE, f"it took {done.seconds:.2f} s")

    @test("silence longer than --idle-timeout ends the command with 124")
    def _(box):
        done = in_time(("500ms", "2s", "10s"), lambda limit: box.run("--idle-timeout", limit, "--grace", "200ms", "-c",
                       f"echo one; sleep {LONG}"), lambda done: done.out).exited(124)
        equal(done.out, "one\n", "stdout")
        contains(done.err, "--idle-timeout", "the reason on stderr")
        check(done.seconds < PATIENCE, f"it took {done.seconds:.2f} s")

    @test("output keeps a command alive past --idle-timeout")
    def _(box):
        script = "for i in 1 2 3 4 5 6 7; do echo $i; sleep %g; done; exit 5"
        in_time((0.7, 3, 12), lambda limit: box.run("--idle-timeout", f"{limit * 1000:.0f}ms", "-c", script % (limit / 3.5)),
                lambda done: done.status != 124).exited(5)

    @test("background children die with the command, and do not hold its pipes", root=True)
    def _(box):
        done = box.run("-c", f"sleep {LONG} & setsid sleep {LONG} & echo hi").exited(0)
        equal(done.out, "hi\n", "stdout")
        check(done.seconds < PATIENCE, f"it took {done.seconds:.2f} s")
        left_nothing(box)

    @test("help and version are printed on stdout with status 0")
    def _(box):
        contains(box.corral_("--version").exited(0).out, "corral ", "version")
        for words in (("--help",), ("help",), ("run", "--help"), ("help", "run"), ("shell", "-h"),
                      ("explain", "--help"), ("policy", "show", "--help"), ("completion", "--help")):
            done = box.corral_(*words).exited(0)
            check(len(done.out) > 60 and done.err == "", f"{words}: {done}")
        for option in ("--timeout", "--workspace", "--json", "--policy", "-c"):
            contains(box.corral_("run", "--help").out, option, "run --help")

    @test("help of the first half of a verb lists its subcommands")
    def _(box):
        listed = re.findall(r"^  ([a-z]+)((?: [a-z]+)?)  ", box.corral_("--help").exited(0).out.split("verbs:")[1], re.MULTILINE)
        whole = {first for first, second in listed if not second}
        halves = {first for first, second in listed if second} - whole
        check({"home", "audit", "secret", "policy", "session"} <= halves, f"halves: {halves}")
        for half in halves:
            done = box.corral_(half, "--help").exited(0)
            equal((done.out, done.err), (box.corral_("help", half).exited(0).out, ""), f"help {half}")
            for first, second in listed:
                equal(f"\n  {first}{second} " in done.out, first == half and bool(second), f"{first}{second} in the help of {half}")
            box.corral_(half).exited(2).said("needs a subcommand")

    @test("completion scripts are valid and know the options")
    def _(box):
        for shell in ("bash", "zsh", "fish"):
            text = box.corral_("completion", shell).exited(0).out
            contains(text, "timeout", f"{shell} script")
        script = box.write("ws/c.bash", box.corral_("completion", "bash").out)
        box.execute(["/bin/bash", "-n", script]).exited(0)
        done = box.execute(["/bin/bash", "-c", f". {script}; COMP_WORDS=(corral run --time); COMP_CWORD=2; "
                            "_corral; echo \"${COMPREPLY[@]}\""]).exited(0)
        equal(done.out.strip(), "--timeout", "completion of --time")

    @test("completion knows every verb of --help")
    def _(box):
        listed = re.findall(r"^  ([a-z]+(?: [a-z]+)?)  ", box.corral_("--help").exited(0).out.split("verbs:")[1], re.MULTILINE)
        check(len(listed) > 40, f"the verbs of --help: {listed}")
        script = box.write("ws/c.bash", box.corral_("completion", "bash").out)
        for verb in listed:
            for at, word in enumerate(verb.split(), 1):
                typed = " ".join(["corral", *verb.split()[:at - 1], word[:-1]])
                done = box.execute(["/bin/bash", "-c", f". {script}; COMP_WORDS=({typed}); COMP_CWORD={at}; _corral; "
                                    "printf '%s\\n' \"${COMPREPLY[@]}\""]).exited(0)
                check(done.out.split().count(word) == 1, f"{typed}: {done.out!r}")
            for shell in ("zsh", "fish"):
                contains(box.corral_("completion", shell).out, verb.split()[-1], shell)
        done = box.execute(["/bin/bash", "-c", f". {script}; COMP_WORDS=(corral daemon --); COMP_CWORD=2; _corral; "
                            "echo \"${COMPREPLY[@]}\""]).exited(0)
        contains(done.out, "--", "options of a verb that has verbs of two words")

    @test("too few descriptors end in a reported failure or a run, never in between")
    def _(box):
        refused = 0
        for most in range(3, 40):
            done = box.sh(f"ulimit -n {most}; exec \"$CORRAL\" run -c 'echo ran'")
            check(done.status in (0, 125), f"limit {most}: {done}")
            equal(done.out, "ran\n" if done.status == 0 else "", f"stdout at limit {most}")
            if done.status == 125 and most > 4:
                check(done.err.startswith("corral: "), f"limit {most}: {done}")
            refused += done.status == 125
        check(refused > 0, "no limit was too low")
