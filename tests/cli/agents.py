# SPDX-License-Identifier: Apache-2.0
"""`corral agents`, `corral hook` and the profiles of agents; tests/agents drives the real ones."""
import json
import os
import stat

from harness import Skip, check, contains, equal

NAMES = ["aider", "amp", "claude", "codex", "copilot", "cursor", "gemini", "goose", "opencode"]
EVENTS = {"claude": ("PreToolUse", "Bash"), "codex": ("PreToolUse", "Bash"), "cursor": ("preToolUse", "Shell"),
          "gemini": ("BeforeTool", "run_shell_command")}

PYTHON = "/usr/bin/python3"
# Sets no_new_privs and a filter that allows every call, as another sandbox might, and starts a program.
FILTERED = """
import ctypes, os, struct, sys
class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]
libc = ctypes.CDLL(None)
allow = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7fff0000))
program = Program(1, ctypes.addressof(allow))
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, ctypes.byref(program), 0, 0) == 0
os.execvp(sys.argv[1], sys.argv[1:])
"""
# Starts a program below a process that it cannot trace.
FIRST = """
import ctypes, subprocess, sys
assert ctypes.CDLL(None).prctl(4, 0, 0, 0, 0) == 0
sys.exit(subprocess.run(sys.argv[1:]).returncode)
"""


def event(box, name, command, **more):
    hook, tool = EVENTS[name]
    return json.dumps({"hook_event_name": hook, "tool_name": tool, "cwd": box.ws, "tool_input": {"command": command}, **more})


def command_of(answer):
    specific = answer.get("hookSpecificOutput", {})
    return (answer.get("updated_input") or specific.get("updatedInput") or specific.get("tool_input"))["command"]


def fake(box, name, script="#!/bin/sh\necho \"$0\" \"$@\"\n"):
    box.env["PATH"] = f"{box.ws}/bin:{box.env['PATH']}"
    return box.write(f"ws/bin/{name}", script, 0o755)


def register(suite):
    test = suite.test

    @test("agents lists each agent, and what this host has of it")
    def _(box):
        rows = {row["name"]: row for row in box.corral_("agents", "--json").exited(0).json["agents"]}
        equal(sorted(rows), NAMES, "names")
        equal((rows["claude"]["program"], rows["claude"]["hook"], rows["claude"]["key"]), (None, False, None), "claude")
        package = box.mkdir("ws/lib/node_modules/x/bin")
        box.write("ws/lib/node_modules/x/package.json", '{"version": "9.8.7"}')
        box.write("ws/lib/node_modules/x/bin/claude", "#!/bin/sh\ntouch ran\n", 0o755)
        box.mkdir("ws/bin")
        os.symlink(f"{package}/claude", f"{box.ws}/bin/claude")
        box.env.update({"PATH": f"{box.ws}/bin:{box.env['PATH']}", "ANTHROPIC_API_KEY": "x"})
        box.write("home/.claude/.credentials.json", "{}")
        row = {row["name"]: row for row in box.corral_("agents", "--json").exited(0).json["agents"]}["claude"]
        equal((row["program"], row["version"], row["key"], row["login"], row["directory"]),
              (f"{box.ws}/bin/claude", "9.8.7", "ANTHROPIC_API_KEY", True, f"{box.home}/.claude"), "found")
        check(not box.exists("ws/ran"), "the agent was started")
        text = box.corral_("agents").exited(0).out
        contains(text, f"claude    {box.ws}/bin/claude 9.8.7; no hook installed", "text")
        contains(text, "corral run --profile claude -- claude", "text")

    @test("a run with the profile of an agent adds its flags, and its own command alone gets them")
    def _(box):
        fake(box, "codex")
        out = box.run("--profile", "codex", "--", "codex", "exec").exited(0).out
        equal(out.split()[1:], ["-c", 'sandbox_mode="danger-full-access"', "-c", "analytics.enabled=false", "-c",
                                "check_for_update_on_startup=false", "exec"], "arguments")
        equal(box.run("--profile", "codex", "--", "echo", "exec").exited(0).out, "exec\n", "another command")
        equal(box.run("--", "codex", "exec").exited(0).out.split()[1:], ["exec"], "another profile")
        contains(box.corral_("explain", "--profile", "codex", "--", "codex").exited(0).out, "danger-full-access", "explain")

    @test("the profile of an agent: hosts, key and settings of its provider, and the reason of each")
    def _(box):
        box.env["GEMINI_API_KEY"] = "k"
        values = box.corral_("policy", "show", "--json", "--profile", "gemini").exited(0).json["values"]
        contains(json.dumps(values["net.allow"]), "generativelanguage.googleapis.com", "hosts")
        contains(json.dumps(values["net.allow"]), "profile gemini (provider gemini)", "origin")
        out = box.run("--profile", "gemini", "-c", "echo $GEMINI_SANDBOX $GEMINI_API_KEY").exited(0).out
        equal(out, "false k\n", "variables")
        shown = box.corral_("profile", "show", "gemini").exited(0).out
        contains(shown, 'env.set.GEMINI_SANDBOX = "false"  # ', "profile show")
        file = box.write("ws/p.toml", "version = 1\n" + shown)
        box.corral_("policy", "check", file).exited(0)

    for level in ("full", "standard"):
        @test(f"{level}: an agent finds its settings in HOME, cannot change them, and keeps its state apart")
        def _(box, level=level):
            box.write("home/.codex/config.toml", "model = 1\n")
            script = ("cat ~/.codex/config.toml; echo x > ~/.codex/session && cat ~/.codex/session; "
                      "echo changed > ~/.codex/config.toml; ls ~/.codex/auth.json; true")
            box.write("home/.codex/auth.json", "login")
            done = box.run("--level", level, "--profile", "codex", "-c", script).exited(0)
            equal(done.out, "model = 1\nx\n", "stdout")
            equal((box.read("home/.codex/config.toml"), box.exists("home/.codex/session")), ("model = 1\n", False), "host")
            again = box.run("--level", level, "-c", "ls ~/.codex").exited(0)
            equal(again.out, "session\n", "the state in the next run, without a trace of the settings")

        @test(f"{level}: a symlink that a command left in HOME does not lead the links of the next run out")
        def _(box, level=level):
            box.write("home/.codex/config.toml", "model = 1\n")
            victim = box.mkdir("home/victim")
            box.run("--level", level, "-c", f"ln -s {victim} ~/.codex && ls -d ~/.codex").exited(0)
            box.run("--level", level, "--read", "~/.codex/config.toml", "-c", "cat ~/.codex/config.toml")
            equal((os.listdir(victim), box.read("home/.codex/config.toml")), ([], "model = 1\n"), "the host")

        @test(f"{level}: a granted file and directory of the home are under the names that programs use")
        def _(box, level=level):
            box.write("home/data/table.csv", "1,2\n")
            box.write("home/notes/one.txt", "one\n")
            script = "cat ~/data/table.csv ~/notes/one.txt; echo two > ~/notes/two.txt"
            done = box.run("--level", level, "--read", "~/data/table.csv", "--write", "~/notes", "-c", script).exited(0)
            equal((done.out, box.read("home/notes/two.txt")), ("1,2\none\n", "two\n"), "stdout and the host")
            equal(box.run("--level", level, "-c", "ls ~").exited(0).out, "", "the next run, without the grants")

    for name in EVENTS:
        @test(f"hook {name}: the command comes back inside, whatever it holds")
        def _(box, name=name):
            box.write("home/.ssh/id", "private\n")
            odd = "printf '%s|' \"a'b\" 'c\\d' '$HOME' \"$(echo e)\"; cat ~/.ssh/id 2>/dev/null; touch made; ls /proc/self/ns >/dev/null"
            answer = box.corral_("hook", name, stdin=event(box, name, odd)).exited(0)
            line = command_of(answer.json)
            contains(line, f"--workspace '{box.ws}'", "the workspace")
            contains(box.outside.sh(odd).out, "private", "control outside")
            os.unlink(f"{box.ws}/made")
            equal(box.sh(line).exited(0).out, "a'b|c\\d|$HOME|e|", "inside")
            check(box.exists("ws/made"), "not written")

        @test(f"hook {name}: everything else is denied, with a reason")
        def _(box, name=name):
            hook, tool = EVENTS[name]
            for text in ("", "{", "[]", "{}", event(box, name, ""), event(box, name, "true").replace(tool, "Other"),
                         event(box, name, "true").replace(hook, "Other"), event(box, name, "true") + "}",
                         event(box, name, "true").replace(box.ws, "ws")):
                done = box.corral_("hook", name, stdin=text).exited(2)
                contains(done.err, "the command was not run", f"stderr for {text}")
                contains(done.out, '"deny"', f"stdout for {text}")

    @test("hook: without a name, and with one that is unknown, it denies")
    def _(box):
        for words in ((), ("aider",), ("nothing",), ("--json",), ("claude", "--nothing")):
            box.corral_("hook", *words, stdin="{}").exited(2)

    @test("hook: options after -- are those of the run")
    def _(box):
        answer = box.corral_("hook", "claude", "--", "--set", "env.set=GREETING=it's", stdin=event(box, "claude", "echo $GREETING"))
        equal(box.sh(command_of(answer.exited(0).json)).exited(0).out, "it's\n", "the variable")

    @test("hook: the project's directory is the workspace, and a command outside of it is denied")
    def _(box):
        box.mkdir("ws/sub")
        box.env["CLAUDE_PROJECT_DIR"] = box.ws
        text = event(box, "claude", "pwd; touch ../made").replace(box.ws, f"{box.ws}/sub")
        line = command_of(box.corral_("hook", "claude", stdin=text).exited(0).json)
        equal(box.sh(line, cwd=f"{box.ws}/sub").exited(0).out, f"{box.ws}/sub\n", "directory")
        check(box.exists("ws/made"), "the project is not the workspace")
        box.corral_("hook", "claude", stdin=text.replace(f"{box.ws}/sub", box.home)).exited(2)

    for level in ("full", "standard"):
        @test(f"{level}: a hook of an agent that runs inside changes nothing; variables cannot pretend that")
        def _(box, level=level):
            text = event(box, "claude", "true")
            box.write("ws/event", text)
            done = box.run("--level", level, "--read", box.corral, "-c", f"{box.corral} hook claude < event").exited(0)
            equal(done.out, "{}", "inside")
            if level == "full":
                words = ("--profile", "strict", "--read", box.corral, "--", box.corral, "hook", "claude")
                equal(box.run(*words, stdin=text).exited(0).out, "{}", "inside, with a root of its own")
            box.env.update({"CORRAL": "1", "CORRAL_INSIDE": "1", "container": "corral"})
            contains(command_of(box.corral_("hook", "claude", stdin=text).exited(0).json), " run ", "outside")

    @test("hook: no_new_privs and a filter of another program are not a sandbox of Corral, nor is a parent with its name")
    def _(box):
        box.write("ws/filtered.py", FILTERED)
        text = event(box, "claude", "true")
        filtered = [PYTHON, f"{box.ws}/filtered.py"]
        contains(box.execute([*filtered, "grep", "-E", "^(NoNewPrivs|Seccomp):", "/proc/self/status"]).exited(0).out,
                 "NoNewPrivs:\t1\nSeccomp:\t2\n", "control")
        answer = box.execute([*filtered, box.corral, "hook", "claude"], stdin=text).exited(0)
        contains(command_of(answer.json), " run ", "with a filter")
        os.symlink("/bin/bash", f"{box.ws}/corral")
        script = f"cat /proc/$$/comm >&2; {box.corral} hook claude; true"
        answer = box.execute([*filtered, f"{box.ws}/corral", "-c", script], stdin=text).exited(0)
        equal(answer.err, "corral\n", "control: the name of the parent")
        contains(command_of(answer.json), " run ", "below a process with the name of Corral")

    @test("hook: a /proc with hidepid, no_new_privs and a filter of another program are not a sandbox of Corral")
    def _(box):
        box.write("ws/filtered.py", FILTERED)
        box.write("ws/first.py", FIRST)
        box.write("ws/event", event(box, "claude", "true"))
        script = f"mount -t proc -o hidepid=1 proc /proc || exit 77; exec {PYTHON} first.py setpriv --bounding-set=-all --inh-caps=-all "
        script += f"{PYTHON} filtered.py sh -c 'cat /proc/1/comm >&2; {box.corral} hook claude < event'"
        done = box.execute(["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "sh", "-c", script])
        if done.status == 77 or "unshare failed" in done.err:
            raise Skip("/proc cannot be mounted here")
        contains(done.exited(0).err, "Operation not permitted", "control")
        contains(command_of(done.json), " run ", "the answer")

    for name, file in (("claude", ".claude/settings.json"), ("codex", ".codex/hooks.json"), ("cursor", ".cursor/hooks.json"),
                       ("gemini", ".gemini/settings.json")):
        @test(f"agents install {name}: shows the change, installs once, passes its check, and can be undone")
        def _(box, name=name, file=file):
            text = '{\n  "mine": [1, 2],\n  "hooks": {"Other": []}\n}\n' if name != "cursor" else '{\n  "version": 1,\n  "mine": 1\n}\n'
            box.write(f"home/{file}", text, 0o640)
            shown = box.corral_("agents", "install", name, "--dry-run").exited(0).out
            contains(shown, f"+++ {box.home}/{file}\n", "difference")
            equal(box.read(f"home/{file}"), text, "after --dry-run")
            box.corral_("agents", "install", name).exited(2).said("--yes")
            equal(box.read(f"home/{file}"), text, "without an answer")
            equal(box.corral_("agents", "check", name).exited(1).out.split("\n")[0], "FAILED  the hook is in the settings", "check")
            box.corral_("agents", "install", name, "--yes").exited(0)
            equal(stat.S_IMODE(os.stat(f"{box.home}/{file}").st_mode), 0o640, "mode")
            equal(box.corral_("agents", "install", name, "--yes").exited(0).out, "nothing to change\n", "again")
            check("FAILED" not in box.corral_("agents", "check", name).exited(0).out, "check")
            contains(box.corral_("agents").out, "; hook installed", "agents")
            box.corral_("agents", "uninstall", name, "--yes").exited(0)
            equal(box.read(f"home/{file}"), text, "after uninstall")

    @test("agents check fails for a hook that does not deny, does not rewrite, or is switched off")
    def _(box):
        box.corral_("agents", "install", "claude", "--yes").exited(0)
        file = "home/.claude/settings.json"
        good = box.read(file)
        for old, new, line in (("exit 2; }", "exit 0; }", "it denies"), ("hook claude ||", "hook claude >/dev/null ||", "the hook rewrites"),
                               ('"hooks": {', '"disableAllHooks": true, "hooks": {', "hooks are switched on"),
                               ('"Bash"', '"Read"', "hooks are switched on"), ('"timeout": 86400', '"timeout": 5', "the entry has its time"),
                               ('"onFailure": "block"', '"onFailure": "allow"', "the entry has its time")):
            check(old in good, f"{old}: {good}")
            box.write(file, good.replace(old, new, 1))
            contains(box.corral_("agents", "check", "claude").exited(1).out, f"FAILED  {line}", f"after {new}")

    @test("agents check reports settings of the project that switch hooks off")
    def _(box):
        for name, file, text in (("claude", ".claude/settings.json", '{"disableAllHooks": true}'),
                                 ("claude", ".claude/settings.local.json", '{ // by hand\n"disableAllHooks": true}'),
                                 ("claude", ".claude/settings.json", "{not JSON"),
                                 ("gemini", ".gemini/settings.json", '{"hooksConfig": {"enabled": false}}'),
                                 ("gemini", ".gemini/settings.json", '{"hooksConfig": {"disabled": ["x", "/usr/bin/corral hook gemini"]}}'),
                                 ("codex", ".codex/config.toml", "[features]\nhooks = false\n"),
                                 ("codex", ".codex/config.toml", '[features]\n"h\\u006f\\U0000006f\\x6bs" = false\n'),
                                 ("codex", ".codex/config.toml", "features.hooks=false"),
                                 ("codex", ".codex/config.toml", 'features = {x = true, "codex_hooks" = false}\n')):
            box.corral_("agents", "install", name, "--yes").exited(0)
            check("FAILED" not in box.corral_("agents", "check", name).exited(0).out, "before")
            for place in ("ws", "."):  # here, and in a directory above
                box.write(f"{place}/{file}", text)
                got = box.corral_("agents", "check", name).exited(1).out
                contains(got, f"FAILED  no settings here switch hooks off: {os.path.normpath(f'{box.dir}/{place}/{file}')}\n", text)
                os.unlink(f"{box.dir}/{place}/{file}")
        box.write("ws/.gemini/settings.json", '{"hooksConfig": {"disabled": ["lint"]}}')
        check("FAILED" not in box.corral_("agents", "check", "gemini").exited(0).out, "another hook is off")
        box.write("ws/.codex/config.toml", "[features]\nhooks = true # was: hooks = true\n # hooks = false\n")
        check("FAILED" not in box.corral_("agents", "check", "codex").exited(0).out, "hooks that are on")

    @test("agents install --mcp enters the server, and uninstall removes it")
    def _(box):
        for name, file in (("opencode", ".config/opencode/opencode.json"), ("gemini", ".gemini/settings.json"),
                           ("copilot", ".copilot/mcp-config.json"), ("codex", ".codex/config.toml")):
            box.corral_("agents", "install", name, "--mcp", "--yes").exited(0)
            contains(box.read(f"home/{file}"), '"mcp"', name)
            equal(box.corral_("agents", "install", name, "--mcp", "--yes").exited(0).out, "nothing to change\n", name)
            box.corral_("agents", "uninstall", name, "--yes").exited(0)
            check("mcp" not in box.read(f"home/{file}"), name)
        box.corral_("agents", "install", "cursor", "--mcp", "--yes").exited(0)
        server = json.loads(box.read("home/.cursor/mcp.json"))["mcpServers"]["corral"]
        request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}}}
        answer = box.execute([server["command"], *server["args"]], stdin=json.dumps(request) + "\n").exited(0)
        contains(answer.out, '"serverInfo"', "the server that is entered")
        box.corral_("agents", "install", "aider", "--yes").exited(2).said("--profile aider")

    @test("agents install --mcp: a server in TOML of another form is left alone, and not entered twice")
    def _(box):
        plain = 'model = "corral"\n[mcp_servers.corral-two]\ncommand = "x"\n'
        for text in ('[mcp_servers.corral] # mine\ncommand = "x"\n', '  [mcp_servers.corral]\n', '[ mcp_servers . "corral" ]\n',
                     '[mcp_servers]\ncorral = {command = "x"}\n', '[mcp_servers]\ncorral.command = "x"\n',
                     'mcp_servers = {corral = {command = "x"}}\n', 'mcp_servers.corral.command = "x"\n',
                     '[mcp_servers.corral]\ncommand = "x"\n[mcp_servers.corral.env]\nA = "b"\n'):
            box.write("home/.codex/config.toml", plain.split("[")[0] + text)
            for verb in (("install", "codex", "--mcp"), ("uninstall", "codex")):
                box.corral_("agents", *verb, "--yes").exited(2).said("in a form that Corral does not edit")
                equal(box.read("home/.codex/config.toml"), plain.split("[")[0] + text, "the file")
        box.write("home/.codex/config.toml", plain)
        box.corral_("agents", "install", "codex", "--mcp", "--yes").exited(0)
        contains(box.read("home/.codex/config.toml"), "[mcp_servers.corral]\n", "control")
        box.corral_("agents", "uninstall", "codex", "--yes").exited(0)
        equal(box.read("home/.codex/config.toml"), plain, "after uninstall")

    @test("agents: a name that is unknown, settings that are broken")
    def _(box):
        box.corral_("agents", "install", "cluade", "--yes").exited(2).said("did you mean claude")
        box.corral_("agents", "check", "aider").exited(2)
        box.write("home/.claude/settings.json", '{"hooks": ')
        box.corral_("agents", "install", "claude", "--yes").exited(2).said("not valid JSON")
        equal(box.read("home/.claude/settings.json"), '{"hooks": ', "the file")

    @test("agents install: settings behind a symlink are changed there; a symlink to a missing file stays")
    def _(box):
        link, file = f"{box.home}/.claude/settings.json", box.write("home/dotfiles/claude.json", "{}\n")
        box.mkdir("home/.claude")
        os.symlink(file, link)
        box.corral_("agents", "install", "claude", "--yes").exited(0)
        check(os.path.islink(link) and "hook claude" in box.read("home/dotfiles/claude.json"), "control: the file behind it")
        os.unlink(file)
        box.corral_("agents", "install", "claude", "--yes").exited(2).said("is a symlink to a missing file")
        check(os.path.islink(link) and not os.path.exists(file), "the symlink was replaced")
