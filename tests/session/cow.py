# SPDX-License-Identifier: Apache-2.0
"""`session create --cow`: what the commands change stays apart until it is applied or discarded."""
import json
import os

from service import check, equal


def pending(service):
    return {row["id"]: row for row in json.loads(service.good("diff", "--json"))["pending"]}


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def files(service):
    return {name: text_of(f"{service.workspace}/{name}") for name in sorted(os.listdir(service.workspace)) if name.startswith("cow-")}


def change(service, session):
    """Changes, creates and deletes a file, each by a command of its own; returns the id of the pending changes."""
    ids = set()
    for script in ("echo changed >cow-old", "echo made >cow-new", "rm cow-gone"):
        result = json.loads(service.good("session", "exec", "--json", session, "--", "sh", "-c", script))
        equal((result["exit_code"], result["stderr"]), (0, ""), script)
        ids.add(result["cow"]["id"])
    equal(len(ids), 1, "the pending changes of three commands")
    equal(service.good("session", "exec", session, "--", "sh", "-c", "cat cow-*"), "made\nchanged\n", "what the next command reads")
    return ids.pop()


def test_changes_of_a_copy_on_write_session_wait(service):
    if service.level != "full":
        status, _, err = service.run("session", "create", "--level", service.level, "--cow")
        check(status == 125 and "--cow" in err and "remedy" in err, f"without a mount namespace: {status} {err}")
        return
    before = {"cow-gone": "gone\n", "cow-old": "old\n"}
    after = {"cow-new": "made\n", "cow-old": "changed\n"}
    for name, text in before.items():
        with open(f"{service.workspace}/{name}", "w", encoding="utf-8") as file:
            file.write(text)
        os.chown(file.name, service.uid, service.uid)
    first = pending(service)

    def end_by_kill(_session):
        service.process.kill()
        service.process.wait()
        service.start()
    for end, verb in ((lambda one: service.good("session", "stop", one), "discard"), (end_by_kill, "discard"),
                      (lambda one: service.good("session", "stop", one), "apply")):
        session = service.create("--cow")
        changes = change(service, session)
        equal(files(service), before, "the workspace while the session runs")
        check("in use" in pending(service)[changes]["fault"], "`corral diff` during the session")
        check(service.run("apply", changes)[0] == 126, "changes of a session that runs were applied")
        end(session)
        check(changes in pending(service), "`corral diff` after the session")
        equal((pending(service)[changes]["changes"], pending(service)[changes]["workspace"]), (3, service.workspace), "what it lists")
        patch = service.good("diff", changes)
        check(all(f"{sign}{text}" in patch for sign, text in (("-", "old\n+changed"), ("+", "made"), ("-", "gone"))), f"the patch: {patch}")
        equal(files(service), before, "the workspace after the session")
        service.good(verb, changes)
        equal(files(service), before if verb == "discard" else after, f"the workspace after {verb}")
        equal(pending(service), first, f"pending changes after {verb}")
    control = service.create()
    service.good("session", "exec", control, "--", "sh", "-c", "echo direct >cow-old")
    equal(files(service)["cow-old"], "direct\n", "control: without --cow")
    service.good("session", "stop", control)
    for name in files(service):
        os.unlink(f"{service.workspace}/{name}")
