# SPDX-License-Identifier: Apache-2.0
"""The names of host products: documents 002 (ASH_*) and 004 (OBEY_*), and any other; the providers of models."""
import json
import os
import re
import socket

from floors import administered, with_floor
from harness import check, contains, equal

RUN_ID = re.compile(r"[2-9a-km-np-z]{12}")
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def inside(box, prefix, *words, **more):
    done = box.run(*words, "--", "env", **more).exited(0)
    pairs = (line.split("=", 1) for line in done.out.splitlines() if "=" in line)
    return {name: value for name, value in pairs if name.startswith(prefix + "_")}


def listener(box, name):
    path = f"{box.dir}/{name}"
    sock = socket.socket(socket.AF_UNIX)
    sock.bind(path)
    sock.listen()
    box.own(path)
    return sock, path


def register(suite):
    test = suite.test

    @test("the set of document 002 is exact: names, values and a new id for each run", root=True)
    def _(box):
        sock, path = listener(box, "bridge.sock")
        box.mkdir("agent")
        words = ["--profile", "strict", "--set", "env.prefix=ASH", "--set", "env.labels=SESSION_ID=sess-7",
                 "--agent-dir", f"{box.dir}/agent", "--socket", f"{path}:/run/bridge.sock"]
        with sock:
            found = inside(box, "ASH", *words)
            again = inside(box, "ASH", *words)
        check(UUID.fullmatch(found["ASH_SANDBOX_ID"]), found)
        check(found["ASH_SANDBOX_ID"] != again["ASH_SANDBOX_ID"], "the id repeats")
        del found["ASH_SANDBOX_ID"]
        equal(found, {"ASH_BRIDGE_SOCKET": "/run/bridge.sock", "ASH_AGENT_DIR": "/agent",
                      "ASH_WORKSPACE_DIR": "/workspace", "ASH_SESSION_ID": "sess-7"}, "variables")

    @test("a session of ASH without an id has an empty one; other ids and places that are missing have no variable", root=True)
    def _(box):
        for level in ("full", "standard"):
            found = inside(box, "ASH", "--level", level, "--set", "env.prefix=ASH")
            check(UUID.fullmatch(found.pop("ASH_SANDBOX_ID")), found)
            equal(found, {"ASH_WORKSPACE_DIR": box.ws, "ASH_SESSION_ID": ""}, level)  # as document 002 has it
            equal(inside(box, "OBEY", "--level", level, "--set", "env.prefix=OBEY"), {"OBEY_CAMPAIGN_DIR": box.ws}, f"OBEY at {level}")

    @test("the set of document 004 is exact")
    def _(box):
        sock, path = listener(box, "daemon.sock")
        labels = {"SESSION_ID": "sess_01JMXYZ", "CAMPAIGN_ID": "camp_ethdenver2026", "PROVIDER": "claude-code"}
        words = ["--set", "env.prefix=OBEY", "--socket", path]
        for name, value in labels.items():
            words += ["--set", f"env.labels={name}={value}"]
        caller = {**box.env, "OBEY_EVIL": "x", "OBEY_SESSION_ID": "stolen"}
        with sock:
            found = inside(box, "OBEY", *words, env=caller)
            own = inside(box, "CORRAL", *words, env=caller)
        equal(found, {"OBEY_CAMPAIGN_DIR": box.ws, "OBEY_DAEMON_SOCKET": path,
                      **{f"OBEY_{name}": value for name, value in labels.items()}}, "variables")
        check(RUN_ID.fullmatch(own["CORRAL_SANDBOX_ID"]), own)
        equal({name: own[f"CORRAL_{name}"] for name in labels}, labels, "beside CORRAL_*")

    @test("another product uses its own names, and a run without a prefix has no id")
    def _(box):
        found = inside(box, "MY_TOOL2", "--set", "env.prefix=MY_TOOL2", "--set", "env.labels=TASK=t1")
        equal(set(found), {f"MY_TOOL2_{name}" for name in ("SANDBOX_ID", "TASK", "WORKSPACE_DIR")}, "names without an id of a session")
        equal(set(inside(box, "CORRAL")), {"CORRAL_WORKSPACE", "CORRAL_LEVEL"}, "no prefix")

    @test("no caller and no session sets a name of the prefix")
    def _(box):
        prefix = ("--set", "env.prefix=ASH")
        box.run(*prefix, "--env", "ASH_SESSION_ID=other", "true").exited(2).said("reserved", "env.labels")
        box.run(*prefix, "--pass-env", "ASH_ANY", "true").exited(2).said("reserved")
        box.run(*prefix, "--set", "env.labels=SANDBOX_ID=x", "true").exited(2).said("the run itself")
        box.run("--set", "env.labels=LEVEL=x", "true").exited(2).said("the run itself")
        box.run("--set", "env.labels=session=x", "true").exited(2).said("capital")
        box.write("ws/.corral.toml", 'env.labels.SESSION_ID = "planted"\n')
        box.run("true").exited(126).said("may not set env.labels")

    @test("a prefix whose names have a meaning already is refused")
    def _(box):
        for prefix in ("LD", "CORRAL", "AWS", "ash", "A-B", "1A", "ASH_", "MALLOC"):
            box.run("--set", f"env.prefix={prefix}", "true").exited(2).said("env.prefix")

    @test("a provider gives its key, hosts and settings, and the vault comes before the environment", root=True)
    def _(box):
        box.mkdir("home/.codex")
        box.write("home/.codex/config.toml", "model = 1\n")
        box.write("home/.codex/auth.json", "{}\n")
        key, stored = "given-by-the-caller-1", "kept-in-the-vault-2"
        caller = {**box.env, "OPENAI_API_KEY": key, "GROQ_API_KEY": "of-another-provider"}
        show = f"echo $OPENAI_API_KEY.$GROQ_API_KEY; cat {box.home}/.codex/config.toml; cat {box.home}/.codex/auth.json"
        for level in ("full", "standard"):
            words = ("--level", level, "--scan-output", "off")
            done = box.run(*words, "-c", show, env=caller)
            equal(done.out, ".\n", f"{level}: without a provider")
            done = box.run(*words, "--provider", "codex", "-c", show, env=caller)
            equal(done.out, f"{key}.\nmodel = 1\n", f"{level}: key and settings, but no login")
            box.run(*words, "--provider", "codex", "true").exited(0).said("provider codex has no key", "corral secret set OPENAI_API_KEY",
                                                                          "--read ~/.codex/auth.json")
            done = box.run(*words, "--provider", "codex", "--read", f"{box.home}/.codex/auth.json", "true").exited(0)
            check("has no key" not in done.err, done.err)
        box.corral_("secret", "set", "OPENAI_API_KEY", stdin=stored).exited(0)
        for level in ("full", "standard"):
            words = ("--level", level, "--scan-output", "off", "--provider", "codex")
            equal(box.run(*words, "-c", show, env=caller).out, f"{stored}.\nmodel = 1\n", f"{level}: the vault's value")
            equal(box.run(*words, "-c", show).out, f"{stored}.\nmodel = 1\n", f"{level}: without a variable")
            for more in (("--secret", "OPENAI_API_KEY"), ("--pass-env", "OPENAI_API_KEY")):
                equal(box.run(*words, *more, "-c", show, env=caller).out, f"{stored}.\nmodel = 1\n", f"{level}: {more}")
        explained = box.corral_("explain", "--provider", "codex", env=caller).exited(0).out
        check(re.search(r"api\.openai\.com +# --provider codex", explained), explained)
        check(key not in explained and stored not in explained, "explain prints a key")
        shown = box.corral_("policy", "show", "--json", "--provider", "codex,groq").exited(0).out
        box.write("read-back.json", shown)
        again = box.corral_("policy", "show", "--json", "--policy", f"{box.dir}/read-back.json").exited(0).out
        values = [{k: v["value"] for k, v in json.loads(text)["values"].items()} for text in (shown, again)]
        equal(values[0], values[1], "policy show --json, read back")

    @test("no project names a provider")
    def _(box):
        box.write("ws/.corral.toml", 'providers = ["codex"]\n')
        box.run("true").exited(126).said("may not set providers", "corral policy trust")
        contains(box.corral_("policy", "check", ".corral.toml").exited(0).out, "providers = codex: the command gets the provider's key", "policy check")
        os.unlink(f"{box.ws}/.corral.toml")
        box.run("--provider", "nobody", "true").exited(2).said("providers", "nobody", "codex")
        box.run("--net", "none", "--provider", "codex", "true").exited(2).said("net.mode none", "--provider codex")

    @test("a floor bounds what a provider gives", root=True, user=False)
    def _(box):
        with_floor(box, '[floor]\nnet.allow = ["api.anthropic.com"]\n')
        administered(box, "run", "--provider", "codex", "true").exited(126).said("api.openai.com (--provider codex)", "floor")
        administered(box, "run", "--provider", "anthropic", "true").exited(0)
