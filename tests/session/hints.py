# SPDX-License-Identifier: Apache-2.0
"""What a command in a session prints about a refusal or a limit: the remedy is pasted as it is, and the same command succeeds in
the new session."""
import json
import os
import re
import shlex

from service import check, equal

HOG = "kept = bytearray(b'x' * (120 << 20))"
OPEN = "files = [open('/dev/null') for _ in range(80)]"
FORK = "import os, time\nfor _ in range(60):\n    if os.fork() == 0:\n        time.sleep(2)\n        os._exit(0)\n"


def contains(text, part, what):
    check(part in text, f"{what}: {text!r}")


def remedy(text):
    """The words of the first command that a text names, without `corral`."""
    found = re.search(r"corral (session create --[a-z-]+ (?:'[^']*'|[^\s;,)]+))", text)
    check(found, f"no command in {text!r}")
    return shlex.split(found.group(1))


def fails(service, words, command):
    session = service.create(*words)
    status, out, err = service.run("session", "exec", session, "--", *command)
    service.good("session", "stop", session)
    check(status != 0, f"{command} with {words} succeeds: {out}")
    told = [line for line in err.splitlines() if re.match(r"corral: (hint|ended by)|  remedy", line)]
    equal(len(told), 1, f"hints of {command}: {err!r}")
    return told[0]


def helps(service, words, command):
    """The printed command makes a session in which the same command succeeds."""
    told = fails(service, words, command)
    verb, create, option, *value = remedy(told)
    rest = [word for i, word in enumerate(words) if option not in (word, words[i - 1] if i > 0 else "")]
    session = service.good(verb, create, "--level", service.level, option, *value, *rest).strip()
    status, _, err = service.run("session", "exec", session, "--", *command)
    service.good("session", "stop", session)
    equal(status, 0, f"{command} after {told!r}: {err}")


def test_a_hint_about_a_limit_names_a_command_that_raises_it(service):
    helps(service, ("--open-files", "50"), ("python3", "-c", OPEN))
    helps(service, ("--max-file-size", "1M"), ("sh", "-c", "head -c 1500000 /dev/zero >big"))
    os.unlink(f"{service.workspace}/big")
    if service.level == "full":
        helps(service, ("--tmp-size", "1M"), ("sh", "-c", "head -c 1500000 /dev/zero >/tmp/big"))
        helps(service, ("--processes", "40"), ("python3", "-c", FORK))


def test_the_end_by_a_limit_names_the_command_that_has_it(service):
    """The value is not known: it is what the user wants."""
    rows = ((("--memory", "60M"), ("python3", "-c", HOG), "--memory"), (("--timeout", "300ms"), ("sleep", "60"), "--timeout"),
            (("--idle-timeout", "300ms"), ("sleep", "60"), "--idle-timeout"),
            (("--cpu-time", "1"), ("sh", "-c", "while :; do :; done"), "--cpu-time"))
    for words, command, option in rows:
        told = fails(service, words, command)
        contains(told, f"corral session create {option})", f"the end of {command}")
    session = service.create("--timeout", "30")
    status, _, err = service.run("session", "exec", "--timeout", "300ms", session, "--", "sleep", "60")
    equal((status, "(--timeout)" in err), (124, True), f"a time-out of `session exec` itself: {err}")
    service.good("session", "stop", session)


def test_a_hint_about_a_file_names_a_command_that_grants_it(service):
    far = f"{service.place}/far"
    os.mkdir(far)
    with open(f"{far}/f", "w", encoding="utf-8") as out:
        out.write("far\n")
    for name in (far, f"{far}/f"):
        os.chown(name, service.uid, service.uid)
    helps(service, (), ("cat", f"{far}/f"))
    helps(service, ("--read", far), ("sh", "-c", f"echo x >{far}/f"))
    if service.level == "full":
        contains(fails(service, (), ("sh", "-c", "ulimit -n 100000")), "`corral session create --help`", "hint")


def test_a_result_has_the_same_words_as_the_note(service):
    session = service.create("--open-files", "50")
    result = json.loads(service.good("session", "exec", "--json", session, "--", "python3", "-c", OPEN))
    contains(result["hint"]["text"], "corral session create --open-files 100", "the hint of the result")
    service.good("session", "stop", session)


def test_a_refused_command_names_a_command_that_allows_it(service):
    """Words of the error of a command that was not run."""
    session = service.create("--set", "commands.default=deny", "--allow-command", "true")
    _, _, err = service.run("session", "exec", session, "--", "touch", "x")
    words = remedy(err)
    service.good("session", "stop", session)
    session = service.good(*words[:2], "--level", service.level, "--set", "commands.default=deny", *words[2:]).strip()
    service.good("session", "exec", session, "--", "touch", f"{service.workspace}/x")
    service.good("session", "stop", session)
    os.unlink(f"{service.workspace}/x")
