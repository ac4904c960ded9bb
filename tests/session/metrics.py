# SPDX-License-Identifier: Apache-2.0
"""`corral daemon metrics`: a strict reader of Prometheus' text format, and which series each event moves."""
import contextlib
import math
import os
import re

from scopes import NO_TOKEN, code_of, socket_of
from service import Client, acting_as, check, equal, wait_until

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
SAMPLE = re.compile(rf"(?P<name>{NAME})(?:\{{(?P<labels>{LABEL}(?:,{LABEL})*),?\}}|\{{\}})? (?P<value>[^ ]+)(?: -?[0-9]+)?")
NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?|Inf)|NaN")
TYPES = ("counter", "gauge", "histogram", "summary", "untyped")


class Malformed(Exception):
    """Not the text format 0.0.4, or against the conventions of Prometheus."""


def need(condition, text):
    if not condition:
        raise Malformed(text)


def read_head(line, families):
    """The name in a line of HELP or TYPE; None: a comment."""
    word, _, rest = line.removeprefix("# ").partition(" ")
    if not line.startswith("# ") or word not in ("HELP", "TYPE"):
        return None
    name, _, text = rest.partition(" ")
    need(re.fullmatch(NAME, name) and text, f"a line of {word}: {line!r}")
    need(not re.search(r"\\(?![\\n])", text.replace("\\\\", "")), f"an escape: {line!r}")
    family = families.setdefault(name, {"samples": {}})
    need(word not in family, f"{word} of {name} twice")
    need(not family["samples"], f"{word} of {name} after a sample")
    need(word == "HELP" or text in TYPES, f"a type: {line!r}")
    family[word] = text
    return name


def read_sample(line, families):
    found = SAMPLE.fullmatch(line)
    need(found, f"a sample: {line!r}")
    name, pairs = found["name"], [tuple(pair.split("=", 1)) for pair in re.findall(LABEL, found["labels"] or "")]
    labels = tuple(sorted((key, text[1:-1]) for key, text in pairs))
    need({"HELP", "TYPE"} <= set(families.get(name, {})), f"{name} has no HELP and TYPE before it")
    need(len(dict(labels)) == len(labels), f"a label twice: {line!r}")
    need(not any(key.startswith("__") for key, _ in labels), f"a reserved label: {line!r}")
    need(labels not in families[name]["samples"], f"a series twice: {line!r}")
    need(NUMBER.fullmatch(found["value"]), f"a value: {line!r}")
    families[name]["samples"][labels] = float(found["value"])
    return name


def read_metrics(text):
    """Name: {HELP, TYPE, samples: {labels: value}}."""
    families, current, done = {}, None, set()
    need(text.endswith("\n"), "the last line does not end")
    for line in text[:-1].split("\n"):
        name = read_head(line, families) if line.startswith("#") else read_sample(line, families) if line.strip() else None
        if name and name != current:
            need(name not in done, f"the lines of {name} are not together")
            current = name
            done.add(name)
    for name, family in families.items():
        need({"HELP", "TYPE"} <= set(family) and family["samples"], f"{name} is not complete")
        counter = family["TYPE"] == "counter"
        need(counter == name.endswith("_total"), f"the name of a {family['TYPE']}: {name}")
        need(all(not math.isnan(value) and (not counter or value >= 0) for value in family["samples"].values()), f"the values of {name}")
    return families


MALFORMED = {
    "a sample without HELP": "# TYPE a gauge\na 1\n", "a sample without TYPE": "# HELP a x\na 1\n",
    "HELP twice": "# HELP a x\n# HELP a x\n# TYPE a gauge\na 1\n", "TYPE twice": "# HELP a x\n# TYPE a gauge\n# TYPE a gauge\na 1\n",
    "TYPE after a sample": "# HELP a x\na 1\n# TYPE a gauge\n", "an unknown type": "# HELP a x\n# TYPE a number\na 1\n",
    "a name with a dash": "# HELP a-b x\n# TYPE a-b gauge\na-b 1\n", "a series twice": "# HELP a x\n# TYPE a gauge\na 1\na 2\n",
    "labels in another order": '# HELP a x\n# TYPE a gauge\na{b="1",c="2"} 1\na{c="2",b="1"} 2\n',
    "a label twice": '# HELP a x\n# TYPE a gauge\na{b="1",b="2"} 1\n', "a label without quotes": "# HELP a x\n# TYPE a gauge\na{b=1} 1\n",
    "a quote in a label": '# HELP a x\n# TYPE a gauge\na{b="x"y"} 1\n', "a label's name": '# HELP a x\n# TYPE a gauge\na{1="x"} 1\n',
    "no value": "# HELP a x\n# TYPE a gauge\na\n", "a word as the value": "# HELP a x\n# TYPE a gauge\na many\n",
    "a counter without _total": "# HELP a x\n# TYPE a counter\na 1\n", "a gauge with _total": "# HELP a_total x\n# TYPE a_total gauge\na_total 1\n",
    "a negative counter": "# HELP a_total x\n# TYPE a_total counter\na_total -1\n", "no end of the line": "# HELP a x\n# TYPE a gauge\na 1",
    "a family in two places": '# HELP a x\n# TYPE a gauge\na{b="1"} 1\n# HELP c x\n# TYPE c gauge\nc 1\na{b="2"} 1\n',
    "a family without a sample": "# HELP a x\n# TYPE a gauge\n", "HELP without a text": "# HELP a\n# TYPE a gauge\na 1\n",
}


def series(service):
    """Each series as Prometheus shows it, and its value."""
    return {name + ("{" + ",".join(f'{key}="{text}"' for key, text in labels) + "}" if labels else ""): value
            for name, family in read_metrics(service.good("daemon", "metrics")).items() for labels, value in family["samples"].items()}


# The client of `daemon metrics` itself is a connection and a request.
MOVING = {"corral_requests_total", "corral_connections_total", "corral_resident_bytes", "corral_connections"}


def moves(service, what, wanted, act):
    """What act() changes, except for the series that always move."""
    before = series(service)

    def changed():
        after = series(service)
        equal(set(after), set(before), f"{what}: the names")
        return {name: after[name] - before[name] for name in before if name not in MOVING and after[name] != before[name]}
    answer = act()
    wanted = {f"corral_{name}": by for name, by in wanted.items()}
    wait_until(lambda: changed() == wanted)
    equal(changed(), wanted, what)
    return answer


def test_metrics_are_the_text_format_of_prometheus(service):
    for what, text in MALFORMED.items():  # control: the reader refuses what is wrong
        try:
            read_metrics(text)
            check(False, f"the reader of the test accepts {what}")
        except Malformed:
            pass
    equal(read_metrics('# HELP a x \\\\ \\n\n# TYPE a gauge\n# a comment\n\na{b="\\"\\\\\\n"} 1.5e3 7\na -Inf\n')["a"]["samples"],
          {(("b", '\\"\\\\\\n'),): 1500.0, (): -math.inf}, "control: and reads what is right")
    families = read_metrics(service.good("daemon", "metrics"))
    check(len(families) >= 18 and all(name.startswith("corral_") for name in families), f"the names: {sorted(families)}")
    equal(sorted(dict(labels)["state"] for labels in families["corral_sessions_by_state"]["samples"]),
          ["CREATED", "RUNNING", "STARTING", "STOPPING"], "states")
    equal(series(service)["corral_start_time_seconds"], series(service)["corral_start_time_seconds"], "the start of the daemon")


def test_each_event_moves_its_series_and_no_other(service):
    running = 'sessions_by_state{state="RUNNING"}'
    made = moves(service, "session create", {"sessions_created_total": 1, "sessions": 1, running: 1}, service.made)
    session = made["id"]
    for words, status in (((session, "--", "sh", "-c", "exit 3"), 3), (("--timeout", "60s", session, "--", "true"), 0)):  # both ways
        got = moves(service, f"session exec {words}", {"execs_total": 1}, lambda w=words: service.run("session", "exec", *w))
        equal(got[0], status, f"the status of {words}")
    for words in ((), ("--timeout", "60s")):
        moves(service, f"session exec {words} of a program that is not there", {"execs_total": 1, "exec_errors_total": 1},
              lambda w=words: service.run("session", "exec", *w, session, "--", "no-such-command"))

    def wrong_token():
        client = Client(socket_of(service, session), service.uid)
        equal(code_of(client, "session.authenticate", {"token": "corral_" + "0" * 64}), NO_TOKEN, "a wrong token")
        client.close()
    moves(service, "a wrong token", {"token_failures_total": 1, "requests_refused_total": 1}, wrong_token)

    def malformed():
        client = service.client()
        client.send_raw(b"nonsense\n")
        check("error" in client.line(), "a malformed line")
        client.close()
    moves(service, "a malformed line", {"malformed_total": 1}, malformed)
    moves(service, "an unknown method", {"requests_refused_total": 1}, lambda: code_of(service.client(), "session.destroy", {}))
    moves(service, "daemon reload", {"reloads_total": 1}, lambda: service.good("daemon", "reload"))
    moves(service, "session stop", {"sessions_stopped_total": 1, "sessions": -1, running: -1}, lambda: service.good("session", "stop", session))
    equal(moves(service, "a session that cannot start", {"sessions_created_total": 1, "sessions_failed_total": 1},
                lambda: service.run("session", "create", "--read", "/no/such/path"))[0], 2, "its status")


def test_a_reload_that_fails_and_a_connection_that_is_refused_are_counted(service):
    path = f"{service.place}/home/.config/corral/corral.toml"
    before = series(service)
    with acting_as(service.uid):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write("env = nonsense\n")
    try:
        check(service.run("daemon", "reload")[0] != 0, "a bad file was loaded")
        after = series(service)
        check(after["corral_reload_failures_total"] > before["corral_reload_failures_total"], "failures")  # the daemon watches the file, too
        check(after["corral_reloads_total"] > before["corral_reloads_total"], "reloads")
    finally:
        os.unlink(path)
        service.good("daemon", "reload")
    session, before = service.create(), series(service)
    clients = [Client(socket_of(service, session), service.uid) for _ in range(40)]
    for client in clients:
        with contextlib.suppress(BrokenPipeError):  # refused, and closed
            client.send("ping")
    refused = sum("error" in client.line() for client in clients)
    check(0 < refused < len(clients), f"{refused} of {len(clients)} connections were refused")
    after = series(service)
    equal(after["corral_connections_refused_total"] - before["corral_connections_refused_total"], refused, "refused connections")
    equal(after["corral_connections"] - before["corral_connections"], len(clients) - refused, "open connections")
    for client in clients:
        client.close()
    check(wait_until(lambda: series(service)["corral_connections"] == before["corral_connections"]), "the connections after their end")
    service.good("session", "stop", session)
