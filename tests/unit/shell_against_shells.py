#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The shell parser against bash and dash: text that both accept must parse, text that both reject must not.

    shell_against_shells.py SHELL_DUMP [SEED [COUNT]]

Exits with 77 where a shell is missing."""
import random
import shutil
import subprocess
import sys

FIXED = [
    "", " ", "\n", ":", "a;b", "a;;b", ";a", "a;", "a&", "a & b", "&", "a &&", "a && b", "a ||\nb", "| a", "a |", "a | b",
    "a\n| b", "a |\n\nb", "! a", "!a", "(a)", "(a", "a)", "()", "( )", "(a;b)&", "{ a; }", "{ a }", "{a;}", "{ }", "}", "{ a;b;}",
    "if a; then b; fi", "if a; then fi", "if a\nthen b\nelse c\nfi", "if a; then b; elif c; then d; else e; fi", "if a; b; fi",
    "fi", "then", "while a; do b; done", "until a\ndo b\ndone", "while a; done", "do a; done", "for i in a b; do c; done",
    "for i; do a; done", "for i\ndo a\ndone", "for i in; do a; done", "for i in a b do c; done", "for in a; do b; done",
    "case a in esac", "case a in b) c;; esac", "case a in b|c) d;; *) e;; esac", "case a in (b) c; esac", "case a in b) ;; esac",
    "case a in b) c", "case a b) c;; esac", "case $x in\na)\nb\n;;\nesac", "f() { a; }", "f() (a)", "f()\n{ a; }", "f() a", "f ( ) { a; }",
    "f( { a; }", "f() { }", "a <b", "a >", "a >b c", ">b", "a 2>&1", "a >&2 2>x", "a <<E\nx\nE", "a <<-E\n\tx\n\tE\nb", "a <<'E'\n$(x\nE",
    "a <<E\n$(b)\nE", "a <<E; b\nx\nE\nc", "a << E <<F\nx\nE\ny\nF", "a <<", "cat <<E && b\n`c`\nE", "'a", "\"a", "`a", "$(a", "${a", "$((1",
    "'a'", "\"a $b\"", "`a`", "$(a)", "${a}", "$((1+2))", "$(( (1) ))", "$((a) )", "$( (a) )", "`a \\`b\\``", "\"$(a \"b\")\"", "\"`a`\"",
    "${a:-$(b)}", "${a:-'x'}", "\"${a:-\"x\"}\"", "${a#b}", "${#a}", "$1 $@ $* $? $$ $! $- $0", "a=b", "a=b c", "a= c", "a=$(b) c=d", "a='b c'",
    "a \\\n b", "a\\", "a # b", "a #b\nc", "a#b", "#", "# a\n b", "a ; # c", "echo a;echo b", "echo [a]", "echo {a,b}", "echo *", "[ a = b ]",
    "a && (b || c) | d & e", "{ a | b; } >c", "(a) >b 2>c", "if a; then b; fi >c | d", "while a; do b; done <c", "a | while b; do c; done",
    "a || { b; c; }", "x=1 y=2 a b", "a; if b; then c; fi; d", "if if a; then b; fi; then c; fi", "echo if then else", "echo }", "echo { ",
    "if true; then echo a; fi echo b", "( a ) b", "{ a; } b", "a ( b )", "a() b()", "for i in $(a); do `b`; done", "case $(a) in $(b)) c;; esac",
    "a <b >c <d", "a>b<c", "a 3<>b", "a >|b", "a <&-", "exec 3>&1", "trap 'a' EXIT", "eval 'a b'", "a \"\" ''", "a '\n' b", "a \"\n\" b",
    "$(a)$(b)", "a$(b)c", "$($(a))", "$(a | b; c && d)", "$(\na\n)", "$(a # b\n)", "a $(cat <<E\nx\nE\n)", "a; ; b", "a &; b", "a & & b", "a | | b",
    "a && && b", "a && | b", "time a", "time -p a", "! ! a", "while :; do break; done", "f() { g; }; g() { f; }; f", "if a; then b; else; fi",
    "case a in b) c;; d) e;; esac; f", "for for in for; do for; done", "case a in\n# c\nb) d;;\nesac", "echo $", "echo $%",
    "echo \"$\"", "a=b;", "a=b &", "1>b", "12>b a", "a 12>b", "echo a1>b", "!", "a !", "a 2> b 3>&-", "a<<E", "a<<E\n", "\\a", "'a'b\"c\"",
    "((a) | b)", "( (a) )", "((a); b)", "for i in a; do b; done & c", "{ { { a; }; }; }", "(((a)))", "$(($(a)))", "$((`a`))", "$(( \"1\" ))",
]

SIMPLE = ["a", "b c", "x=1", "x=$y d", "echo \"$x\"", "e 'q r'", "f >g", "h <i 2>&1", "[ -f j ]", "k $(l)", "m `n`", "o $((1+2))", "p ${q:-r}", "s \\\n t"]


def compose(rng, depth):
    """A random program, mostly valid."""
    if depth == 0:
        return rng.choice(SIMPLE)
    inner = lambda: compose(rng, depth - 1)
    text = rng.choice([
        lambda: f"{inner()}; {inner()}", lambda: f"{inner()} && {inner()}", lambda: f"{inner()} || {inner()}", lambda: f"{inner()} | {inner()}",
        lambda: f"({inner()})", lambda: f"{{ {inner()}; }}", lambda: f"if {inner()}; then {inner()}; fi",
        lambda: f"while {inner()}\ndo {inner()}\ndone", lambda: f"for i in a b; do {inner()}; done",
        lambda: f"case $x in a|b) {inner()};; *) {inner()};; esac", lambda: f"f() {{ {inner()}; }}", lambda: f"v \"$({inner()})\" w",
        lambda: f"! {inner()}", lambda: f"{inner()} & {inner()}", lambda: f"{inner()}\n{inner()}", lambda: f"u <<E\n$({inner()})\nE\n",
    ])()
    if rng.random() < 0.12 and text:  # break it
        at = rng.randrange(len(text))
        text = text[:at] + rng.choice(["", ";", ")", "(", "'", "\"", "|", "}", "\n", "fi", "&&"]) + text[at + rng.randrange(2):]
    return text


def accepts(shell, text):
    return subprocess.run([shell, "-n", "-c", text] if shell == "bash" else [shell, "-n"], input=text.encode(), check=False,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def main():
    if len(sys.argv) < 2:
        raise SystemExit("usage: shell_against_shells.py SHELL_DUMP [SEED [COUNT]]")
    if not (shutil.which("bash") and shutil.which("dash")):
        print("1..0 # SKIP bash or dash is missing")
        return 77
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 200
    rng = random.Random(seed)
    texts = FIXED + [compose(rng, rng.randrange(1, 4)) for _ in range(count)]
    out = subprocess.run([sys.argv[1]], input=b"".join(t.encode() + b"\0" for t in texts), stdout=subprocess.PIPE, check=True).stdout
    bad = 0
    for text, line in zip(texts, out.decode().splitlines(), strict=True):
        verdicts = {accepts("bash", text), accepts("dash", text)}
        ours = not line.startswith("fault")
        if verdicts == {not ours}:
            bad += 1
            print(f"# {text!r}: the shells {'accept' if not ours else 'reject'} it, we: {line}")
    print(f"{'not ok' if bad else 'ok'} 1 - {len(texts)} texts, seed {seed}")
    print("1..1")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
