# SPDX-License-Identifier: Apache-2.0
"""What the page shows, and what it does: each view as HTML and as JSON, actions, events, the verb."""
import json
import os
import re
import socket
import time

from browser import Browser
from overview import asking as asking_names, let_end
from questions import asking, end, next_question, secret
from service import PATIENCE, check, equal, wait_until

BUDGET = 200_000  # bytes of a first visit, assets included


def test_the_verb_prints_an_address(service):
    status, out, err = service.run("ui")
    check(status == 0 and re.fullmatch(r"http://127\.\d+\.\d+\.\d+:\d+/open\?t=corral_[0-9a-f]{64}\n", out), f"ui: {out!r}")
    equal(err, "", "notes that are for terminals")
    status, _, err = service.run("ui", "--open", "--print")
    check(status == 2 and "exclude" in err, f"both options: {status} {err}")
    equal(service.run("ui", "word")[0], 2, "an argument")


def test_empty_views_name_the_next_command(service):
    browser = Browser(service).enter()
    text = browser.get("/").text
    for words in ("corral run -- make test", "corral run --ask-daemon", "corral run --cow"):
        check(words in text, f"the first screen does not suggest {words!r}")


def test_sessions_commands_and_refusals_are_shown(service):
    session = service.create("--name", "shown")
    service.run("session", "exec", "shown", "--", "sh", "-c", "echo visible words; echo no > .envrc")
    waiting = service.command("session", "exec", "shown", "--", "sleep", "600")
    browser = Browser(service).enter()
    check(wait_until(lambda: "sleep 600" in browser.get("/").text), "a running command is not on the first screen")
    first = browser.get("/").text
    check("/.envrc" in first and "--protect" in first, "a refusal and its grant are not on the first screen")
    check(f'class="lock {service.level}"' in first, "the lock is not on the first screen")
    one = browser.get(f"/runs/{session}.1").text
    for words in ("visible words", "/.envrc", f'class="lock {service.level}"', "net none", "Network<dd>denied", "✗ exit"):
        check(words in one, f"the page of the command does not have {words!r}")
    check(">running<" in browser.get(f"/runs/{session}.2").text, "the page of a running command")
    check("shown" in browser.get("/sessions").text and "sleep 600" in browser.get("/sessions/shown").text, "the session")
    check("/.envrc" in browser.get("/audit?search=.ENVRC").text, "the search")
    check("/.envrc" not in browser.get("/audit?search=nothing-like-this").text, "a search without a match")
    check("<svg class=columns" in browser.get("/charts").text, "the charts")
    equal(browser.get("/runs/none").status, 404, "a command that does not exist")
    equal(browser.get("/sessions/none").status, 404, "a session that does not exist")
    data = browser.api("overview")
    check({"now", "refused", "waiting", "pending", "totals"} <= data.keys(), f"/api/overview has {data.keys()}")
    equal(browser.api("session/shown")["id"], session, "/api/session")
    check(browser.api("runs")["runs"] and browser.api("audit")["records"] and browser.api("charts")["runs"], "the lists")
    equal(browser.api("visit")["form"], browser.form, "/api/visit")
    check("class=corral-indicator" in browser.get(f"/indicator?run={session}.1").text, "the indicator of a command")
    check("sandboxed" in browser.get("/indicator").text, "the indicator of all")
    waiting.kill()
    waiting.communicate()
    service.good("session", "stop", "shown")


def test_changes_are_shown_applied_and_discarded(service):
    if service.level != "full":
        return  # the landlock engine has no copies
    path = f"{service.workspace}/file.txt"
    with open(path, "w", encoding="utf-8") as file:
        file.write("old\n")
    os.chown(path, service.uid, service.uid)
    browser = Browser(service).enter()

    def change(text):
        service.good("run", "--level", service.level, "--cow", "--", "sh", "-c", f"echo '{text}' > file.txt")
        return browser.api("pending")["pending"][-1]["id"]

    number = change("<b>new</b>")
    shown = browser.get(f"/pending/{number}").text
    check("<span class=del>-old" in shown and "<span class=add>+&lt;b&gt;new&lt;/b&gt;" in shown, "the difference is not shown")
    service.good("run", "--level", service.level, "--cow", "--", "sh", "-c", "echo '++ not a head' > run.sh; chmod 755 run.sh")
    other = browser.api("pending")["pending"][-1]["id"]
    text = browser.get(f"/pending/{other}").text
    check("<span class=add>+++ not a head" in text, "a line that was added has the colour of the head")
    check("<code>run.sh</code> <span class=exec>executable</span>" in text, "a new program is not marked")
    browser.post("/discard", {"form": browser.form, "id": other}, Origin=browser.origin)
    check(number in browser.get("/").text, "it is not on the first screen")
    answer = browser.post("/apply", {"form": browser.form, "id": number, "back": "/pending"}, Origin=browser.origin)
    equal((answer.status, answer.fields["location"]), (303, "/pending"), f"apply: {answer.body!r}")
    equal(open(path, encoding="utf-8").read(), "<b>new</b>\n", "the file after apply")
    number = change("newer")
    equal(browser.post("/discard", {"form": browser.form, "id": number}, Origin=browser.origin).status, 303, "discard")
    equal(open(path, encoding="utf-8").read(), "<b>new</b>\n", "the file after discard")
    check(all(one["id"] != number for one in browser.api("pending")["pending"]), "discarded changes are pending")
    number = change("conflicting")
    with open(path, "w", encoding="utf-8") as file:
        file.write("changed on the host\n")
    answer = browser.post("/apply", {"form": browser.form, "id": number}, Origin=browser.origin)
    check(answer.status >= 400 and "Not done" in answer.text, "a conflict is no success")
    equal(open(path, encoding="utf-8").read(), "changed on the host\n", "the file after a conflict")
    browser.post("/discard", {"form": browser.form, "id": number}, Origin=browser.origin)


def test_a_question_is_answered_and_refused(service):
    path = secret(service, "page.txt")
    equal(service.outside(["cat", path])[1], "the content\n", "the control outside")
    browser = Browser(service).enter()
    for word, wanted in (("allow", (0, "the content\n")), ("refuse", (1, ""))):
        process = asking(service, "cat", path)
        number = next_question(service, path)["id"]
        shown = browser.get("/").text
        check(path in shown and all(f"value=\"{one}\"" in shown for one in ("allow", "allow-for-run", "refuse")), "the question")
        answer = browser.post("/answer", {"form": browser.form, "id": number, "word": word, "back": "/"}, Origin=browser.origin)
        equal(answer.status, 303, f"the answer {word}: {answer.body!r}")
        equal(end(process)[:2], wanted, f"the command after {word}")
        again = browser.post("/answer", {"form": browser.form, "id": number, "word": "allow"}, Origin=browser.origin)
        check(again.status >= 400, "a question is answered twice")
    for word in ("", "yes", "always"):
        process = asking(service, "cat", path)
        number = next_question(service, path)["id"]
        answer = browser.post("/answer", {"form": browser.form, "id": number, "word": word}, Origin=browser.origin)
        equal(answer.status, 400, f"the answer {word!r}")
        browser.post("/answer", {"form": browser.form, "id": number, "word": "refuse"}, Origin=browser.origin)
        equal(end(process)[:2], (1, ""), "the command")


class Stream:
    """The event stream of one page."""

    def __init__(self, browser):
        self.socket = socket.create_connection((browser.host, browser.port), PATIENCE)
        self.socket.sendall(browser.head("GET", "/events", {"Connection": "keep-alive"}))
        self.data = b""

    def has(self, words):
        end = time.monotonic() + PATIENCE
        while words not in self.data and time.monotonic() < end:
            more = self.socket.recv(65536)
            if not more:
                break
            self.data += more
        return words in self.data

    def close(self):
        self.socket.close()


def test_events_arrive_while_things_happen(service):
    browser = Browser(service).enter()
    stream = Stream(browser)
    check(stream.has(b'"kind":"hello"'), "the stream does not begin")
    service.create("--name", "eventful")
    check(stream.has(b'"kind":"session"'), "a new session is no event")
    service.run("session", "exec", "eventful", "--", "sh", "-c", "echo no > .envrc")
    check(stream.has(b'"kind":"run"'), "a command is no event")
    check(stream.has(b'"kind":"denial"'), "a refusal is no event")
    for line in re.findall(rb"data: (.*)\n", stream.data):
        check({"kind", "event"} == json.loads(line).keys(), f"an event: {line!r}")
    stream.close()
    service.good("session", "stop", "eventful")


def test_decisions_are_shown_while_the_command_runs(service):
    browser = Browser(service).enter()
    stream = Stream(browser)
    session = service.create("--name", "gated", "--net", "filtered", "--allow-host", "allowed.invalid")
    process = asking_names(service, "gated", "evil.invalid")
    check(stream.has(b'"kind":"decision"'), "a decision is no event while the command runs")
    text = browser.get(f"/runs/{session}.1").text
    check(process.poll() is None and ">running<" in text, "the command has ended")
    check("Decisions of the gate" in text and "<code>evil.invalid</code>" in text and "<td class=bad>denied" in text,
          "the page of the running command does not have the decision")
    let_end(service, process)
    check("<code>evil.invalid</code>" in browser.get(f"/runs/{session}.1").text, "the decision is not shown after the end")
    stream.close()
    service.good("session", "stop", "gated")


def test_a_command_that_did_not_start_has_no_lock(service):
    service.run("run", "--level", service.level, "--", "/no-such-program")
    browser = Browser(service).enter()
    for path in ("/runs", f"/runs/{browser.api('runs')['runs'][0]['id']}"):
        text = browser.get(path).text
        line = text[text.index("no-such-program"):][:400].partition("/no-such-program")[0]
        check("did not start" in line and 'class="lock' not in line.partition("did not start")[0], f"{path}: {line}")


def test_questions_keep_their_order(service):
    """The first question is the oldest: a new one must not move under the pointer or the key of a person who answers."""
    browser, paths = Browser(service).enter(), [secret(service, f"order-{i}.txt") for i in range(3)]
    processes = []
    for path in paths:
        processes.append(asking(service, "cat", path))
        next_question(service, path)
    text = browser.get("/").text
    equal([row["path"] for row in browser.api("overview")["waiting"]], paths, "the order of the questions")
    check(all(f"cat {path}</code></a>" in text for path in paths), "a question does not name its command")
    for row in browser.api("overview")["waiting"]:
        browser.post("/answer", {"form": browser.form, "id": row["id"], "word": "refuse"}, Origin=browser.origin)
    for process in processes:
        equal(end(process)[:2], (1, ""), "the command")


def test_long_commands_stay_short_in_lists(service):
    word = "é" * 40000
    service.run("run", "--level", service.level, "--", "true", word)
    browser = Browser(service).enter()
    for path in ("/", "/runs", "/audit", "/charts"):
        check(len(browser.get(path).body) < BUDGET // 2, f"{path} has {len(browser.get(path).body)} bytes")
    one = browser.get(f"/runs/{browser.api('runs')['runs'][0]['id']}")
    check(len(one.body) < BUDGET and "\ufffd" not in one.text, f"its page has {len(one.body)} bytes")


def test_the_page_is_small(service):
    browser = Browser(service).enter()
    first = browser.get("/")
    assets = set(re.findall(r"/assets/[a-z.-]+", first.text))
    equal(assets, {"/assets/app.js", "/assets/style.css", "/assets/icon.svg"}, "the files of the first screen")
    size = len(first.body) + sum(len(browser.get(path).body) for path in assets)
    check(size < BUDGET, f"a first visit takes {size} bytes")
    equal(browser.get("/assets/corral-indicator.js").fields["content-type"], "text/javascript; charset=utf-8", "the web component")
    head = browser.raw(browser.head("HEAD", "/", {}))
    check(head.status == 200 and head.body == b"" and int(head.fields["content-length"]) > 0, "HEAD")
