# SPDX-License-Identifier: Apache-2.0
"""Variables of one command: `session exec --env`, the parameter `environment` and the tools; the rules are those of `run --env`."""
import json
import os
import subprocess

from service import Client, Refused, check, equal, wait_until

# A name that a run refuses, and words of the refusal.
REFUSED = (("LD_PRELOAD=/tmp/x.so", "loads code"), ("BASH_ENV=/tmp/x", "runs a file"), ("GIT_CONFIG_COUNT=1", "git"),
           ("CORRAL_WORKSPACE=/", "reserved"), ("CORRAL_ANY=1", "reserved"), ("PATH=/tmp", "another key"), ("HOME=/", "another key"),
           ("PWD=/", "another key"), ("A-B=1", "not a valid variable name"))
SECRET = "AKIA" + "Q3EGRIWZ5XKJ7PLM"  # of the form of an access key, and of nobody


def ways(service, session):
    """Each way of `session exec` to the session: (name, words)."""
    token = f"{service.place}/token-{session}"
    with open(token, "w", encoding="utf-8") as out:
        out.write(json.loads(service.good("session", "token", "--json", session))["token"])
    os.chmod(token, 0o600)
    os.chown(token, service.uid, service.uid)
    return (("the short way", ()), ("the daemon", ("--json",)), ("a token", ("--token-file", token)))


def output_of(words, out):
    return json.loads(out)["stdout"] if "--json" in words else out


def test_a_command_has_the_variables_of_its_options(service):
    """They are its own: the next command does not have them, and the last of a name counts."""
    session = service.create("--env", "SET=session", "--env", "KEPT=yes")
    script = 'printf %s "$SET|$KEPT|$ADDED|$TEXT|$PASSED|$NONE"'
    service.environment["PASSED"] = "caller's"
    try:
        for name, words in ways(service, session):
            done = service.good("session", "exec", *words, "--env", "ADDED=1", "--env", "SET=no", "--env", "SET=own", "--env",
                                "TEXT=a b=c\n\u00fc", "--pass-env", "PASSED", "--pass-env", "NONE", "--pass-env", "NONE_EITHER?",
                                session, "--", "sh", "-c", script)
            equal(output_of(words, done), "own|yes|1|a b=c\n\u00fc|caller's|", f"by {name}")
            done = service.good("session", "exec", *words, session, "--", "sh", "-c", script)
            equal(output_of(words, done), "session|yes||||", f"the next command, by {name}")
    finally:
        del service.environment["PASSED"]
        service.good("session", "stop", session)


def test_a_variable_that_a_run_refuses_is_refused(service):
    """On each way, with the words of a run; the command is not run."""
    session, seen = service.create(), f"{service.workspace}/ran"
    for variable, words in REFUSED:
        status, _, told = service.run("run", "--level", service.level, "--env", variable, "--", "touch", seen)
        check(status == 2 and words in told, f"a run with {variable}: {status}, {told}")
        for name, options in ways(service, session):
            status, _, err = service.run("session", "exec", *options, "--env", variable, session, "--", "touch", seen)
            equal(status, 2, f"the status with {variable}, by {name}; {err}")
            check(words in err and "of the command" in err, f"{variable}, by {name}: {err!r}, of a run: {told!r}")
    check(not os.path.exists(seen), "a refused command was run")
    for bad in ("NAME", "=x"):
        equal(service.run("session", "exec", "--env", bad, session, "--", "true")[0], 2, f"the status of --env {bad}")
    for bad in ("A=b", "", "?", "A?b"):
        equal(service.run("session", "exec", "--pass-env", bad, session, "--", "true")[0], 2, f"the status of --pass-env {bad!r}")
    status, _, err = service.run("session", "exec", "--env", "LD_PRELOAD=/x", session, "--", "true")
    check("corral session create --allow-dangerous-env LD_PRELOAD" in err, f"the remedy: {err}")
    service.good("session", "exec", "--env", "FINE=1", session, "--", "touch", seen)
    check(os.path.exists(seen), "the twin was not run")
    os.unlink(seen)
    service.good("session", "stop", session)


def test_a_dangerous_variable_needs_the_session_to_allow_it(service):
    session = service.create("--allow-dangerous-env", "BASH_ENV")
    for name, words in ways(service, session):
        done = service.good("session", "exec", *words, "--env", "BASH_ENV=/none", session, "--", "sh", "-c", 'printf %s "$BASH_ENV"')
        equal(output_of(words, done), "/none", f"by {name}")
        equal(service.run("session", "exec", *words, "--env", "LD_PRELOAD=/x", session, "--", "true")[0], 2, f"another one, by {name}")
    service.good("session", "stop", session)


def test_a_secret_in_a_variable_of_a_command_is_refused(service):
    session = service.create("--scan-args", "block")
    for name, words in ways(service, session):
        status, out, err = service.run("session", "exec", *words, "--env", f"X={SECRET}", session, "--", "true")
        check(status == 126 and SECRET not in out + err, f"by {name}: {status}, {out}, {err}")
        check("corral session create --secret" in out + err, f"the remedy, by {name}: {out}, {err}")
    service.good("session", "stop", session)


def test_no_request_sets_a_variable_that_a_run_refuses(service):
    """session.exec of a client with the admin socket and with a token, and the tools of MCP."""
    made = service.made()
    session, token = made["id"], made["token"]
    admin, outside = service.client(), Client(made["socket"], service.uid)
    outside.call("session.authenticate", token=token)
    for variable, words in REFUSED:
        name, _, value = variable.partition("=")
        for client, more in ((admin, {"session": session}), (outside, {})):
            try:
                client.call("session.exec", argv=["true"], environment={name: value}, **more)
                check(False, f"session.exec with {variable}")
            except Refused as error:
                check(words in error.message, f"{variable}: {error.message}")
    equal(outside.call("session.exec", argv=["printenv", "FINE"], environment={"FINE": "yes"})["result"]["stdout"], "yes\n", "the twin")
    call = json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": "exec", "arguments": {"program": "printenv", "env": {"LD_PRELOAD": "/x"}}}})
    hello = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}})
    process = service.command("mcp", "--session", session, stdin=subprocess.PIPE)
    out, _ = process.communicate(f"{hello}\n{call}\n".encode(), timeout=60)
    check(b"loads code" in out and b'"isError":true' in out.replace(b" ", b""), f"the tool: {out!r}")
    service.good("session", "stop", session)


def test_a_terminal_has_the_variables_of_its_options(service):
    """TERM is the caller's, unless an option sets it."""
    session = service.create()
    seen = f"{service.workspace}/term"
    service.good("session", "exec", "--detach", "--env", "TERM=mine", "--env", "ADDED=1", session, "--", "sh", "-c",
                 f'printf %s "$TERM $ADDED" >{seen}.new; mv {seen}.new {seen}')
    check(wait_until(lambda: os.path.exists(seen)), "the command did not run")
    with open(seen, encoding="utf-8") as file:
        equal(file.read(), "mine 1", "the variables")
    os.unlink(seen)
    service.good("session", "stop", session)
