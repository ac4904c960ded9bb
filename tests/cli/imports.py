# SPDX-License-Identifier: Apache-2.0
"""Configuration of other products: read by `policy import` and by --policy.  The texts are the documents' own."""
import json
import os
import tomllib

from document_004 import API_KEYS, CAMPAIGN, DEFAULT_LIST, LIMITS
from harness import check, contains, equal

AGENTS = """\
[[agents]]
id = "main"

[agents.sandbox]
# "enabled" (default) - kernel-enforced filesystem containment
# "disabled" - full host access (self-hosted/local only)
mode = "enabled"

# Additional directories the agent can write to beyond its workspace.
# The workspace itself is always writable when sandbox is enabled.
writable_paths = ["/home/user/projects/myapp"]
"""

SETTINGS = """\
// .claude/settings.json
{
  "sandbox": {
    "network": "none"       // or "restricted" or "full"
  }
}
"""

CONFIG = """\
[sandbox]
enabled = true                        # default: true
level = "auto"                        # auto | full | standard | minimal | none
workspace = "."                       # default: current working directory
timeout_secs = 120                    # default: 120
max_output_bytes = 1048576            # default: 1MB

[sandbox.allow_paths]
read = ["/data/datasets"]             # additional read-only paths
write = ["/tmp/builds"]               # additional writable paths

[sandbox.network]
policy = "deny"                       # deny | proxy
# proxy_socket = "/tmp/localgpt.sock" # for future proxy support
"""

def imported(box, name, text):
    """The text that is printed, and the same as values."""
    done = box.corral_("policy", "import", box.write(name, text)).exited(0)
    return done.out, tomllib.loads(done.out)


def values(box, name, text, *words):
    """The resolved policy with that file as --policy."""
    file = box.write(name, text)
    shown = box.corral_("policy", "show", "--json", "--policy", file, *words).exited(0).json["values"]
    return {key: entry["value"] for key, entry in shown.items()}


def register(suite):
    test = suite.test

    @test("document 000: [agents.sandbox] is imported, each value with its line")
    def _(box):
        text, found = imported(box, "agents.toml", AGENTS)
        equal(found, {"mode": "workspace-write", "fs": {"write": ["/home/user/projects/myapp"]}}, "values")
        contains(text, "# agents.sandbox.mode, line 7", "origin")
        contains(text, "# differs: ", "the network and the view")

    @test("document 000: the file is a policy, and its paths are writable", root=True)
    def _(box):
        more = box.mkdir("myapp")
        text = AGENTS.replace("/home/user/projects/myapp", more)
        file = box.write("agents.toml", text)
        box.run("--policy", file, "touch", f"{more}/made", f"{box.ws}/made").exited(0)
        box.run("--policy", file, "touch", f"{box.dir}/out")
        check(box.exists("myapp/made") and not box.exists("out"), "grants")
        done = box.run("--policy", box.write("off.toml", text.replace('"enabled"', '"disabled"')), "touch", "ran")
        done.exited(126).said("full-access", "--dangerously-allow-full-access")
        box.run("--policy", f"{box.dir}/off.toml", "--dangerously-allow-full-access", "true").exited(0)

    @test("document 000: of several agents with a sandbox one is chosen by its id, and the error lists them", root=True)
    def _(box):
        mine, other = box.mkdir("mine"), box.mkdir("other")
        text = AGENTS.replace("/home/user/projects/myapp", mine)
        text += text.replace("main", "second").replace(mine, other) + '[[agents]]\nid = "plain"\n'
        two = box.write("two.toml", text)
        for words in (("run", "--policy", two, "true"), ("policy", "import", two)):
            box.corral_(*words).exited(2).said("several agents have a sandbox section: main, second", "--agent ID")
        equal(box.corral_("policy", "check", two).exited(2).out.count("main, second"), 1, "policy check")
        for agent, place in (("main", mine), ("second", other)):
            equal(tomllib.loads(box.corral_("policy", "import", "--agent", agent, two).exited(0).out)["fs"]["write"], [place], agent)
            for level in ("full", "standard"):
                box.run("--level", level, "--policy", two, "--agent", agent, "-c", f"touch {mine}/{agent}; touch {other}/{agent}; true").exited(0)
        equal((sorted(os.listdir(mine)), sorted(os.listdir(other))), (["main"], ["second"]), "only the grants of the chosen agent")
        for agent in ("third", "plain"):
            box.run("--policy", two, "--agent", agent, "true").exited(2).said("no agent with this id has a sandbox section: main, second")
        box.corral_("policy", "import", "--agent", "main", box.write("twice.toml", text + text)).exited(2).said("several agents have this id")

    @test("document 002: settings.json with its comments, by import and as --policy")
    def _(box):
        for mode in ("none", "restricted", "full"):
            text = SETTINGS.replace('"network": "none"', f'"network": "{mode}"')
            equal(imported(box, ".claude/settings.json", text)[1], {"net": {"mode": mode}}, mode)
            equal(values(box, ".claude/settings.json", text)["net.mode"], mode, mode)
        more = json.dumps({"permissions": {"allow": ["Bash"]}, "sandbox": {"network": "none"}})
        equal(values(box, ".claude/settings.json", more)["net.mode"], "none", "other sections are not Corral's")
        box.run("--policy", box.write("settings.json", SETTINGS.replace('"none"', '"some"')), "true").exited(2).said(
            "sandbox.network")

    @test("document 003: [sandbox] of config.toml, by import and as --policy")
    def _(box):
        text, found = imported(box, "config.toml", CONFIG)
        equal(found, {"level": "auto", "workspace": ".", "limits": {"timeout": 120, "output": 1048576},
                      "fs": {"read": ["/data/datasets"], "write": ["/tmp/builds"]}, "net": {"mode": "none"}}, "values")
        contains(text, "# not needed: sandbox.enabled, line 2", "a comment for each value")
        here = CONFIG.replace("/data/datasets", box.mkdir("data")).replace("/tmp/builds", box.mkdir("builds"))
        read = values(box, "config.toml", here)
        equal((read["limits.timeout"], read["limits.output"], read["workspace"], read["fs.write"]),
              ("2m", 1048576, box.ws, [f"{box.dir}/builds"]), "values")
        box.run("--policy", f"{box.dir}/config.toml", "-c", f"touch {box.dir}/builds/x && ! touch {box.dir}/data/x").exited(0)
        for name, key, value in (("max_file_size_bytes = 1024", "limits.file_size", 1024),
                                 ("max_processes = 64", "limits.processes", 64),
                                 ("max_open_files = 256", "limits.open_files", 256), ('level = "read-only"', "mode", "read-only")):
            equal(values(box, "one.toml", f"[sandbox]\n{name}\n")[key], value, name)

    @test("document 003: the values of import are those of --policy")
    def _(box):
        here = CONFIG.replace("/data/datasets", box.mkdir("data")).replace("/tmp/builds", box.mkdir("builds"))
        text, _ = imported(box, "config.toml", here)
        equal(values(box, "ours.toml", text), values(box, "config.toml", here), "values")

    @test("document 003: the proxy's socket is the only thing that is reachable")
    def _(box):
        text = '[sandbox.network]\npolicy = "proxy"\nproxy_socket = "/run/x.sock"\n'
        equal(imported(box, "config.toml", text)[1], {"net": {"mode": "none", "sockets": ["/run/x.sock"]}}, "values")

    @test("document 004: the lists of commands are imported as [commands.NAME]")
    def _(box):
        found = imported(box, "commands.yaml", DEFAULT_LIST)[1]["commands"]
        equal(found, {"default": "deny", "fest": {}, "camp": {}, "just": {},
                      "git": {"blocked": ["push --force", "reset --hard", "clean -fd"]}}, "the default list")
        text, found = imported(box, ".campaign/sandbox.yaml", CAMPAIGN)
        equal(found["commands"], {"default": "deny", "make": {}, "npm": {"allowed": ["install", "test", "run", "build"]},
                                  "go": {"allowed": ["build", "test", "vet", "mod"], "blocked": ["install"]}}, "a campaign")
        contains(text, "[commands.go]  # commands.go, line 4: Go toolchain", "the description")
        dots = imported(box, "dots.yaml", "commands:\n  python3.11:\n    subcommand_restrictions:\n      blocked: [-c]\n")[1]
        equal(dots["commands"], {"default": "deny", "python3.11": {"blocked": ["-c"]}}, "a name with dots")

    @test("document 004: the limits of daemon.yaml, by import and as --policy")
    def _(box):
        found = imported(box, "daemon.yaml", LIMITS)[1]
        equal(found["limits"], {"memory": "4096M", "file_size": "100M", "open_files": 256, "processes": 50}, "values")
        equal(found["session"], {"cpu_total": 3600}, "the session's processor time, and not that of each process")
        read = values(box, "daemon.yaml", LIMITS)
        equal((read["limits.memory"], read["session.cpu_total"], read["limits.file_size"]), (4 << 30, "1h", 100 << 20), "read")
        equal(read["limits.cpu_time"], "none", "the limit of one process")

    @test("document 004: keys of daemon.yaml are neither printed nor set, and a run says so")
    def _(box):
        text, found = imported(box, "daemon.yaml", API_KEYS + LIMITS)
        check("sk-ant" not in text and "limits" in found, text)
        contains(text, "# not imported: api_keys.anthropic", "the remark")
        contains(text, "ANTHROPIC_API_KEY", "the remedy")
        done = box.run("--policy", f"{box.dir}/daemon.yaml", "env").exited(0).said("api_keys.anthropic", "is not used")
        check("sk-ant" not in done.out + done.err, "the key")

    @test("a setting without an equivalent is named by import, and an error as --policy")
    def _(box):
        text = CONFIG.split("[sandbox.allow_paths]")[0] + 'gpu = "all"\n[sandbox.network]\npolicy = "vpn"\n[model]\nname = "x"\n'
        printed, _ = imported(box, "config.toml", text)
        contains(printed, "# no equivalent: sandbox.gpu, line 8", "import")
        contains(printed, "# no equivalent: sandbox.network.policy", "import")
        check("model" not in printed, "another section")
        box.run("--policy", f"{box.dir}/config.toml", "true").exited(2).said("sandbox.gpu", "policy import")
        done = box.corral_("policy", "check", f"{box.dir}/config.toml").exited(2)
        contains(done.out, "sandbox.gpu", "policy check")

    @test("wrong types are errors with their place, and a file without such a section is refused")
    def _(box):
        box.corral_("policy", "import", box.write("a.toml", '[sandbox]\ntimeout_secs = "soon"\n')).exited(2).said(
            "limits.timeout", "a.toml:2")
        box.corral_("policy", "import", box.write("b.toml", 'mode = "read-only"\n')).exited(2).said("policy check")
        box.corral_("policy", "import", f"{box.dir}/none.toml").exited(2)
        box.corral_("policy", "import").exited(2)

    @test("a project's or a user's file is never read as another product's")
    def _(box):
        box.write("ws/.corral.toml", '[sandbox]\nlevel = "read-only"\n')
        box.run("true").exited(2).said("unknown key", "sandbox")
