#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real agents from npm, driven by a stand-in for their provider: as a whole inside, and through their hooks.  Speaks TAP.

    tests/agents/run.py --corral build/corral [--place DIRECTORY] [--user games] [PATTERN]

Each agent reads a file, writes one, runs a test, tries a private key and a server that is not allowed.  The verdict comes
from the host: the file that was made, the requests that the server saw, the results that the agent sent to its provider.
The packages are downloaded once; without npm or a registry the tests are skipped, and say so.
"""
import argparse
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.request

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "cli")]

import harness  # noqa: E402  the path has to be set first
import packages  # noqa: E402
import sandboxes  # noqa: E402
import skips  # noqa: E402
import standin  # noqa: E402
from harness import Skip, check, contains, equal, wait_until  # noqa: E402

SECRET = "the-private-key-of-the-host"
SECONDS = 300
TASK = "Do the steps."


class Canary:
    """A server of the host that no agent may reach."""

    def __init__(self):
        self.seen, self.posts = 0, []
        canary = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                canary.seen += 1
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b"reached\n")

            def do_POST(self):
                canary.posts.append(self.headers.get("Authorization"))
                self.send_error(401)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def settle_claude(box, provider):
    box.env.update({"ANTHROPIC_BASE_URL": provider.url, "ANTHROPIC_API_KEY": "stand-in"})
    return ["claude", "-p", TASK, "--allowedTools", "Bash"]


def settle_codex(box, provider):
    box.write("home/.codex/config.toml", f"""model = "stand-in"
model_provider = "standin"
approval_policy = "never"
sandbox_mode = "danger-full-access"

[model_providers.standin]
name = "stand-in"
base_url = "{provider.url}/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"

[projects."{box.ws}"]
trust_level = "trusted"
""")
    box.env["OPENAI_API_KEY"] = "stand-in"
    return ["codex", "exec", "--skip-git-repo-check", TASK]


def settle_gemini(box, provider):
    box.write("home/.gemini/settings.json", json.dumps({"security": {"auth": {"selectedType": "gemini-api-key"}}}))
    box.env.update({"GOOGLE_GEMINI_BASE_URL": provider.url, "GEMINI_API_KEY": "stand-in"})
    # A model by name: otherwise a second model is asked for one first.
    return ["gemini", "--model", "gemini-3.1-pro-preview", "--skip-trust", "--approval-mode", "yolo", "-p", TASK]


def settle_opencode(box, provider):
    box.write("home/.config/opencode/opencode.json", json.dumps({
        "provider": {"anthropic": {"options": {"baseURL": f"{provider.url}/v1", "apiKey": "stand-in"},
                                   "models": {"stand-in": {"name": "stand-in"}}}},
        "model": "anthropic/stand-in", "small_model": "anthropic/stand-in", "permission": {"*": "allow"}}))
    return ["opencode", "run", TASK]


def speak_chat(box, provider):
    """OpenCode with a provider of the OpenAI Chat API."""
    box.write("home/.config/opencode/opencode.json", json.dumps({
        "provider": {"local": {"npm": "@ai-sdk/openai-compatible", "name": "local",
                               "options": {"baseURL": f"{provider.url}/v1", "apiKey": "stand-in"},
                               "models": {"stand-in": {"name": "stand-in"}}}},
        "model": "local/stand-in", "small_model": "local/stand-in", "permission": {"*": "allow"}}))


def settle_copilot(box, provider):
    box.env.update({"COPILOT_PROVIDER_BASE_URL": provider.url, "COPILOT_PROVIDER_TYPE": "anthropic",
                    "COPILOT_PROVIDER_API_KEY": "stand-in", "COPILOT_MODEL": "stand-in"})
    return ["copilot", "-p", TASK, "--allow-all-tools", "--allow-all-paths", "--allow-all-urls"]


SETTLE = {"claude": settle_claude, "codex": settle_codex, "copilot": settle_copilot, "gemini": settle_gemini, "opencode": settle_opencode}
QUICK = "codex"  # the one whole agent of `make check`
WHOLE = f"{QUICK} as a whole at level full"
HOOKED = ("claude", "codex", "gemini")


class Scene:
    """A project, a private key, a provider and a server that is not allowed."""

    def __init__(self, box, place, name, commands=None):
        self.box, self.name, self.place = box, name, place
        directory, why = packages.wrapper(place, name)
        if directory is None:
            raise Skip(why)
        self.canary = Canary()
        self.commands = commands or [
            "cat notes.txt", "echo made > made.txt", "sh test.sh",
            f"cat {box.home}/.ssh/id_ed25519", f"curl -sS -m 10 http://127.0.0.1:{self.canary.port}/"]
        self.provider = standin.Provider(self.commands)
        box.env["PATH"] = f"{directory}:{box.env['PATH']}"
        box.write("home/.ssh/id_ed25519", SECRET + "\n", 0o600)
        box.write("ws/notes.txt", "the note of the project\n")
        box.write("ws/test.sh", "test \"$(cat made.txt)\" = made && echo the test passed\n")
        self.argv = SETTLE[name](box, self.provider)

    def inside(self, level, *more):
        return [self.box.corral, "run", "--profile", self.name, "--level", level, "--host-port", self.provider.port,
                "--read", self.place, *more, "--", *self.argv]

    def outside(self, argv=None):
        """The agent itself on the host; its temporary files go with the test."""
        place = self.box.mkdir("tmp")
        env = {**self.box.env, "TMPDIR": place, "CLAUDE_CODE_TMPDIR": place}
        return self.box.execute(argv or self.argv, timeout=SECONDS, env=env)

    def controls(self):
        """Outside, the key can be read and the server reached."""
        box = self.box
        equal(box.sh(self.commands[3]).out, SECRET + "\n", "the key, outside")
        equal(box.sh(self.commands[4]).out, "reached\n", "the server, outside")
        self.canary.seen = 0

    def judge(self, done):
        results = self.provider.results
        check(len(results) == len(self.commands), f"{len(results)} results: {results}; {done}; {self.provider.paths[-9:]}")
        contains(results[0], "the note of the project", "the file that was read")
        equal(self.box.exists("ws/made.txt") and self.box.read("ws/made.txt"), "made\n", "the file that was written")
        contains(results[2], "the test passed", "the test")
        check(SECRET not in "".join(results), f"the key came out: {results}")
        equal(self.canary.seen, 0, "requests at the server that is not allowed")

    def close(self):
        self.provider.close()
        self.canary.close()


def settings_of(box):
    """The agent's files on the host."""
    own = ("/corral/", "/.npm/")  # of Corral, and of npm, which is asked for its registry
    return {path: found for path, found in box.files().items()
            if path.startswith(box.home) and os.path.isfile(path) and not any(part in path for part in own)}


def want_own_sandbox(box, name):
    """The user's settings ask for the agent's own sandbox, which cannot be set up inside: the profile switches it off."""
    if name == "claude":
        box.write("home/.claude/settings.json", '{"sandbox": {"enabled": true, "failIfUnavailable": true}}')
    elif name == "codex":
        file = "home/.codex/config.toml"
        box.write(file, box.read(file).replace('"danger-full-access"', '"workspace-write"'))
    elif name == "copilot":
        box.write("home/.copilot/settings.json", '{"sandbox": {"enabled": true}}')
    elif name == "gemini":
        file = "home/.gemini/settings.json"
        box.write(file, json.dumps({**json.loads(box.read(file)), "tools": {"sandbox": True}}))


def whole(box, place, name, level):
    scene = Scene(box, place, name)
    try:
        want_own_sandbox(box, name)
        scene.controls()
        before = settings_of(box)
        done = box.execute(scene.inside(level), timeout=SECONDS)
        scene.judge(done)
        done.exited(0)
        equal(settings_of(box), before, "the agent's files on the host")
    finally:
        scene.close()


def chats(box, place, level):
    """The OpenAI Chat API, which most local models have."""
    scene = Scene(box, place, "opencode")
    try:
        speak_chat(box, scene.provider)
        scene.controls()
        done = box.execute(scene.inside(level), timeout=SECONDS)
        scene.judge(done)
        check("POST /v1/chat/completions" in scene.provider.paths, f"{scene.provider.paths}")
    finally:
        scene.close()


def hooked(box, place, name):
    scene = Scene(box, place, name)
    try:
        scene.controls()
        box.corral_("agents", "install", name, "--yes").exited(0)
        box.corral_("agents", "check", name).exited(0)
        done = scene.outside()
        scene.judge(done)
    finally:
        scene.close()


def both(box, place, level):
    """The whole agent inside, with the hook in its settings: the hook finds that, and changes nothing."""
    scene = Scene(box, place, "claude")
    try:
        scene.controls()
        box.corral_("agents", "install", "claude", "--yes").exited(0)
        done = box.execute(scene.inside(level, "--read", box.corral), timeout=SECONDS)
        scene.judge(done)
    finally:
        scene.close()


def served(box, place, name):
    """The agent calls the shell of Corral's MCP server, as `agents install --mcp` enters it."""
    scene = Scene(box, place, name)
    try:
        scene.controls()
        box.corral_("agents", "install", name, "--mcp", "--yes").exited(0)
        scene.provider.tool = "mcp_+corral_+shell"
        box.env["ENABLE_TOOL_SEARCH"] = "false"  # Claude Code would list the names of the tools only
        argv = [*scene.argv[:-1], "mcp__corral__shell"] if name == "claude" else scene.argv
        done = scene.outside(argv)
        scene.judge(done)
    finally:
        scene.close()


def linked(box, place, by_variable):
    """Codex's directory is a symlink, as dotfile managers make it: the trust is entered under the path that Codex uses."""
    scene = Scene(box, place, "codex")
    try:
        scene.controls()
        os.rename(f"{box.home}/.codex", f"{box.home}/dotfiles")
        os.symlink("dotfiles", f"{box.home}/.codex")
        if by_variable:
            box.env["CODEX_HOME"] = f"{box.home}/.codex"
        box.corral_("agents", "install", "codex", "--yes").exited(0)
        box.corral_("agents", "check", "codex").exited(0)
        scene.judge(scene.outside())
    finally:
        scene.close()


def bare(box, place, name):
    """The control of the hooks: without one, the same agent reads the key."""
    scene = Scene(box, place, name, [f"cat {box.home}/.ssh/id_ed25519"])
    try:
        scene.outside()
        contains("".join(scene.provider.results), SECRET, "the key, without a hook")
    finally:
        scene.close()


def broken(box, place, name):
    """The program of the hook is gone: the command must not run, or `agents check` must report it."""
    scene = Scene(box, place, name, [f"touch {box.home}/ran-bare"])
    program = shutil.copy(box.corral, f"{box.dir}/corral-copy")
    try:
        box.execute([program, "agents", "install", name, "--yes"]).exited(0)
        os.unlink(program)
        done = scene.outside()
        check(not box.exists("home/ran-bare"), f"the command ran without the hook: {done}")
        check(scene.provider.paths, f"the agent made no request: {done}")
    finally:
        scene.close()


def untrusted(box, place):
    """Codex skips a hook that was changed, without a message: `agents check` is the only one that reports it."""
    scene = Scene(box, place, "codex", ["true"])
    try:
        box.corral_("agents", "install", "codex", "--yes").exited(0)
        box.corral_("agents", "check", "codex").exited(0)
        file = f"{box.home}/.codex/config.toml"
        text = re.sub("sha256:[0-9a-f]+", "sha256:0", box.read(file))
        box.write(file, text)
        done = box.corral_("agents", "check", "codex").exited(1)
        contains(done.out, "FAILED  the agent trusts the hook", "the report")
    finally:
        scene.close()


def stopped(box, place):
    """A hook that does not answer: Claude Code blocks, because the entry has onFailure."""
    scene = Scene(box, place, "claude", [f"touch {box.home}/ran-bare"])
    try:
        box.corral_("agents", "install", "claude", "--yes").exited(0)
        file = f"{box.home}/.claude/settings.json"
        text = box.read(file).replace("hook claude ||", "hook claude >/dev/null; sleep 60 ||")
        text = text.replace('"timeout": 86400', '"timeout": 2')
        check("sleep 60" in text and '"timeout": 2' in text, text)
        box.write(file, text)
        done = scene.outside()
        check(not box.exists("home/ran-bare"), f"the command ran after the time-out of the hook: {done}")
    finally:
        scene.close()


HELD = 70  # seconds: agents stop waiting for a hook after 60 if the entry does not say more


def held(box, place, name):
    """A hook that hangs: the agent waits, and does not run the command."""
    scene = Scene(box, place, name, [f"touch {box.home}/ran-bare"])
    program, began = shutil.copy(box.corral, f"{box.dir}/corral-copy"), f"{box.dir}/ws/hook-began"
    try:
        box.execute([program, "agents", "install", name, "--yes"]).exited(0)
        os.unlink(program)
        box.write("corral-copy", f"#!/bin/sh\ntouch {began}\nexec sleep {SECONDS}\n", 0o755)
        process = box.start(scene.argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        check(wait_until(lambda: os.path.exists(began), SECONDS), "the hook was not started")
        check(not wait_until(lambda: box.exists("home/ran-bare") or process.poll() is not None, HELD),
              "the agent did not wait for its hook")
    finally:
        box.kill_all()
        scene.close()


def switched_off(box, place, name, file, text):
    """A project that switches the hooks off: the agent runs the command bare without a message, and `agents check` reports it."""
    scene = Scene(box, place, name, [f"touch {box.home}/ran-bare"])
    try:
        box.corral_("agents", "install", name, "--yes").exited(0)
        box.corral_("agents", "check", name).exited(0)
        box.write(f"ws/{file}", text)
        scene.outside()
        check(box.exists("home/ran-bare"), f"{name} does not obey {file} any more: say so in docs/agents.md")
        contains(box.corral_("agents", "check", name).exited(1).out, f"switch hooks off: {box.ws}/{file}", "the report")
    finally:
        scene.close()


def terminal(box, place, level):
    """Codex with its own screen, in tmux."""
    if not shutil.which("tmux"):
        raise Skip("tmux is not installed")
    scene = Scene(box, place, "codex")
    socket = f"{box.dir}/tmux"
    scene.argv = ["codex", TASK]

    def tmux(*words):
        return box.execute(["tmux", "-S", socket, "-f", "/dev/null", *words])
    try:
        scene.controls()
        tmux("new-session", "-d", "-x", "120", "-y", "40", *scene.inside(level)).exited(0)
        shown = wait_until(lambda: standin.DONE in tmux("capture-pane", "-p").out, SECONDS)
        screen = tmux("capture-pane", "-p").out
        scene.judge(screen)
        check(shown, f"the answer is not on the screen: {screen}")
    finally:
        tmux("kill-server")
        scene.close()


def answers(url):
    try:
        with urllib.request.urlopen(url, timeout=5) as reply:
            return reply.status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return None


def login(box, place, level):
    """The command that `corral agents` prints: the URL is on the terminal, and the browser's callback gets through."""
    Scene(box, place, "codex").close()
    row = {row["name"]: row for row in box.corral_("agents", "--json").exited(0).json["agents"]}["codex"]
    words = row["log_in"].split()
    port = words[words.index("--publish") + 1]
    callback = f"http://127.0.0.1:{port}/no-such-page"
    if answers(callback) is not None:
        raise Skip(f"port {port} of this host is in use")
    at = words.index("--")
    with tempfile.TemporaryFile() as shown:
        process = box.start([box.corral, *words[1:at], "--level", level, "--read", place, *words[at:]], stdout=shown,
                            stderr=shown)
        url = re.compile(rf"redirect_uri=http%3A%2F%2F[a-z0-9.]+%3A{port}%2F".encode())
        reached = wait_until(lambda: answers(callback), 30)
        printed = wait_until(lambda: url.search(os.pread(shown.fileno(), 1 << 16, 0)), 30)
        process.terminate()
        process.wait()
        text = os.pread(shown.fileno(), 1 << 16, 0).decode()
    check(printed, f"no URL for the browser: {text}")
    check(reached, f"the login's server cannot be reached: {text}")
    equal(answers(callback), None, "the port after the run")


def refused_key(box, place, level):
    """Amp talks to its own service alone: it starts inside, reaches the server of AMP_URL, and reports the key's refusal."""
    directory, why = packages.wrapper(place, "amp")
    if directory is None:
        raise Skip(why)
    canary = Canary()
    box.env.update({"PATH": f"{directory}:{box.env['PATH']}", "AMP_URL": f"http://127.0.0.1:{canary.port}",
                    "AMP_API_KEY": "stand-in"})
    try:
        words = [box.corral, "run", "--profile", "amp", "--level", level, "--read", place]
        box.execute([*words, "--", "amp", "--version"], timeout=SECONDS).exited(0)
        done = box.execute([*words, "--host-port", canary.port, "--", "amp", "-x", TASK], timeout=SECONDS)
        check(done.status != 0 and canary.posts, f"{done}")
        equal(set(canary.posts), {"Bearer stand-in"}, "the key in the requests")
    finally:
        canary.close()


def register(suite, place):
    for level in ("full", "standard"):
        suite.test(f"amp starts at level {level}, and reaches its service with the key")(
            lambda box, level=level: refused_key(box, place, level))
    for name in SETTLE:
        for level in ("full", "standard"):
            suite.test(f"{name} as a whole at level {level}: reads, writes, tests; neither the key nor the server")(
                lambda box, name=name, level=level: whole(box, place, name, level))
    for level in ("full", "standard"):
        suite.test(f"opencode with the OpenAI Chat API at level {level}")(lambda box, level=level: chats(box, place, level))
    for level in ("full", "standard"):
        suite.test(f"codex in a terminal at level {level}")(lambda box, level=level: terminal(box, place, level))
    for level in ("full", "standard"):
        suite.test(f"codex logs in at level {level}: the URL is printed, the callback's port is published")(
            lambda box, level=level: login(box, place, level))
    for name in HOOKED:
        suite.test(f"{name} without a hook reads the key")(lambda box, name=name: bare(box, place, name))
        suite.test(f"{name} with the hook: its commands run inside")(lambda box, name=name: hooked(box, place, name))
        suite.test(f"{name}: a hook whose program is missing lets no command run")(
            lambda box, name=name: broken(box, place, name))
    for name in HOOKED:
        suite.test(f"{name}: a hook that hangs makes the agent wait")(lambda box, name=name: held(box, place, name))
    for name, file, text in (("claude", ".claude/settings.json", '{"disableAllHooks": true}'),
                             ("codex", ".codex/config.toml", "[features]\nhooks = false\n")):
        suite.test(f"{name}: agents check reports a project that switches hooks off")(
            lambda box, name=name, file=file, text=text: switched_off(box, place, name, file, text))
    for level in ("full", "standard"):
        suite.test(f"claude as a whole with the hook in its settings, at level {level}")(
            lambda box, level=level: both(box, place, level))
    for name in ("claude", "gemini"):
        suite.test(f"{name} with the MCP server: its tool runs inside")(lambda box, name=name: served(box, place, name))
    suite.test("claude: a hook that does not answer lets no command run")(lambda box: stopped(box, place))
    for by_variable in (False, True):
        suite.test(f"codex with the hook, its directory is a symlink{' that CODEX_HOME names' if by_variable else ''}")(
            lambda box, by_variable=by_variable: linked(box, place, by_variable))
    suite.test("codex: agents check reports a hook that Codex does not trust")(lambda box: untrusted(box, place))
    sandboxes.register(suite, place)
    skips.register(suite, __file__, f"^{WHOLE}", [packages.NODE[0], packages.AGENTS[QUICK][0]])


def within_reach(suite, place, copies, quick):
    """The packages where the account of the tests can read them."""
    for name in [QUICK] if quick else packages.AGENTS:
        packages.wrapper(place, name)  # the tests report what is missing
    if not quick:
        packages.install(f"{place}/srt", *sandboxes.SRT)
    os.chmod(copies, 0o755)
    seen = subprocess.run(["ls", place], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          **suite.user.popen_words())
    if seen.returncode == 0:
        return place
    for name in ["node", "srt", *packages.AGENTS]:
        if os.path.isdir(f"{place}/{name}"):
            shutil.copytree(f"{place}/{name}", f"{copies}/{name}", symlinks=True)
    return copies


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--corral", required=True)
    parser.add_argument("--place", help="where the packages are kept")
    parser.add_argument("--user", default="games")
    parser.add_argument("--quick", action="store_true", help="one whole agent, at level full")
    parser.add_argument("only", nargs="?", help="a regular expression for names of tests")
    args = parser.parse_args()
    suite = harness.Suite(args.corral, args.user)
    place = os.path.abspath(args.place or os.path.join(tempfile.gettempdir(), "corral-agents"))
    os.makedirs(place, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="corral-agents-") as copies:
        register(suite, within_reach(suite, place, copies, args.quick))
        return suite.run(args.only or (f"^{WHOLE}|^the suite " if args.quick else None), 1)


if __name__ == "__main__":
    sys.exit(main())
