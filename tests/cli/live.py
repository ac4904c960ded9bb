# SPDX-License-Identifier: Apache-2.0
"""The live line of `corral run -v`: where it is drawn, where not, and that the command's output is as without it."""
import contextlib
import os
import re
import time

from harness import LONG, check, equal
from terminal import Terminal, terminal

LINE = re.compile(r"\rcorral: ((?:\d+ h )?(?:\d+ min )?(?:\d+ s)?)(?:, (\d+) process(?:es)?, (\d+) MB)?(?:, (\d+) calls? refused)?"
                  "\x1b\\[K\r")
ERASED = "\r\x1b[K"


def said_by(screen):
    """The bytes that the terminal got, as text."""
    status, _ = screen.finish(LONG)
    return status, screen.seen.decode("utf-8", "replace")


def wait_for_lines(screen, count):
    """Until the live line was drawn so often."""
    end = time.monotonic() + LONG
    while len(LINE.findall(screen.seen.decode("utf-8", "replace"))) < count:
        check(time.monotonic() < end, f"{count} lines are not drawn: {screen.seen!r}")
        screen.read(0.1)


def without_line(said):
    return LINE.sub("", said).replace(ERASED, "")


def rendered(said):
    """The lines of a screen after these bytes: text, carriage return, newline and "erase to the end of the line"."""
    lines, at = [""], 0
    for part in re.findall("\x1b\\[[0-9;]*[A-Za-z]|.", said, re.S):
        if part == "\r":
            at = 0
        elif part == "\n":
            lines.append("")
        elif part == "\x1b[K":
            lines[-1] = lines[-1][:at]
        elif part[0] != "\x1b":
            lines[-1] = lines[-1][:at].ljust(at) + part + lines[-1][at + 1:]
            at += 1
    return lines


def register(suite):
    test = suite.test

    @test("the live line of a long run with -v shows time, processes, memory and refused calls, and leaves no trace", root=True)
    def _(box):
        os.mkfifo(f"{box.ws}/go", 0o666)
        for level in ("full", "standard"):
            if box.run("--level", level, "true").status == 125:
                continue
            script = ("echo one; touch /etc/corral-live 2>/dev/null; sleep 600 & one=$!; sleep 600 & read go <go; kill $one $!; wait; "
                      "echo two; read go <go; echo three")
            with terminal(box, "run", "-v", "--level", level, "--", "sh", "-c", script) as screen:
                for count in (2, 3):
                    wait_for_lines(screen, count)
                    with open(f"{box.ws}/go", "w", encoding="ascii") as go:
                        go.write("\n")
                status, said = said_by(screen)
            equal(status, 0, said)
            drawn = LINE.findall(said)
            equal([int(drawn[0][1]), drawn[0][3]], [3, "1"], "a shell, two sleeps; one refused call")
            check(0 <= int(drawn[0][2]) < 100, f"{drawn}")
            check(drawn[0][0] != drawn[-1][0], "the time does not change")
            shown = [line for line in rendered(said) if not line.startswith("corral: ")]
            equal(shown, ["one", "two", "three", ""], "the screen")
            equal([line for line in rendered(said) if LINE.search(f"\\r{line}\\x1b[K\\r")], [], "a trace")

    @test("the live line is not drawn into a line of the command, nor over a program that draws for itself")
    def _(box):
        scripts = {
            "printf 'name: '; sleep 3.5; echo x": 0,
            "printf 'a\\\\033[2Kb\\\\n'; sleep 3.5": 0,        # it erases lines
            "printf '\\\\033[?1049h\\\\n'; sleep 3.5": 0,      # the other screen
            "printf '\\\\033[31mred\\\\n'; sleep 3.5": 0,      # a colour is left on
            "stty raw; printf 'a\\\\nb\\\\n'; sleep 3.5": 0,   # no carriage return: the cursor is not in the first column
            "printf '\\\\033[31mred\\\\033[0m\\\\n'; sleep 3.5": 1,
            "for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.5; done": 0,
            "printf 'name: '; read name; sleep 3.5": 1,  # typed and ended by the user
        }
        with contextlib.ExitStack() as stack:
            screens = {script: stack.enter_context(terminal(box, "run", "-v", "--", "sh", "-c", script.replace("\\\\", "\\")))
                       for script in scripts}
            for script, wanted in scripts.items():
                if "read" in script:
                    screens[script].send("typed\n")
                _, said = said_by(screens[script])
                equal(bool(LINE.search(said)), bool(wanted), f"{script}: {said!r}")

    @test("there is no live line without -v, with NO_COLOR, TERM=dumb, for a short run, or if stderr is no terminal")
    def _(box):
        script = ("--", "sh", "-c", "echo one; sleep 3.5; echo two")
        with contextlib.ExitStack() as stack:
            def screen(*words, env=()):
                old, box.env = box.env, {**box.env, **dict(env)}
                found = stack.enter_context(Terminal(box, ["sh", "-c", f'exec "$0" "$@" {words[0]}', box.corral, "run", *words[1:]]))
                box.env = old
                return found
            quiet = [screen("", *script), screen("", "-v", *script, env={"NO_COLOR": "1"}.items()),
                     screen("", "-v", *script, env={"TERM": "dumb"}.items()), screen("2>err", "-v", *script),
                     screen(">out", "-v", *script), screen("", "-v", "--", "sh", "-c", "sleep 0.5")]
            shown = screen("", "-v", *script)
            piped = screen(">out </dev/null", "-v", *script)  # the line is on stderr alone
            for number, one in enumerate(quiet):
                _, said = said_by(one)
                check(not LINE.search(said) and ERASED not in said, f"{number}: {said!r}")
            for one in (shown, piped):
                _, said = said_by(one)
                check(LINE.search(said), f"control: {said!r}")
                check(re.fullmatch(r"(corral: .*\r\n)+(one\r\ntwo\r\n)?(corral: .*\r\n)+", without_line(said)), f"{said!r}")
        with open(f"{box.ws}/out", encoding="utf-8") as file:
            equal(file.read(), "one\ntwo\n", "the command's output")
        equal(os.path.exists(f"{box.ws}/err"), True, "stderr in a file")
