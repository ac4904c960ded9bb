# SPDX-License-Identifier: Apache-2.0
"""The environment inside is built from nothing."""
import json

from harness import check, contains, equal

ALWAYS = {"PATH", "HOME", "TMPDIR", "PWD", "USER", "LOGNAME", "SHELL", "XDG_RUNTIME_DIR",
          "CORRAL_WORKSPACE", "CORRAL_LEVEL", "CARGO_NET_RETRY", "PIP_RETRIES", "npm_config_fetch_retries"}

# Variables of a caller that must not get in by themselves.
SECRETS = ["AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "GH_TOKEN", "ANTHROPIC_API_KEY", "OPENAI_API_KEY",
           "DATABASE_URL", "SSH_AUTH_SOCK", "GPG_AGENT_INFO", "NPM_TOKEN", "KUBECONFIG", "MY_PASSWORD",
           "DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "XAUTHORITY", "WAYLAND_DISPLAY", "LD_PRELOAD",
           "LD_LIBRARY_PATH", "BASH_ENV", "ENV", "PYTHONPATH", "NODE_OPTIONS", "CORRAL_EVIL", "XDG_CONFIG_HOME",
           "OLDPWD", "MAIL", "EDITOR", "http_proxy", "BASH_FUNC_ls%%"]


def environment(box, *words, env=None):
    done = box.run(*words, "--", "env", "-0", env={**box.env, **(env or {})}).exited(0)
    pairs = [item.split("=", 1) for item in done.out.split("\0") if item]
    equal(len(pairs), len({name for name, _ in pairs}), "names are unique")
    return dict(pairs)


def register(suite):
    test = suite.test

    @test("inside is exactly the documented set of names", root=True)
    def _(box):
        caller = {name: "secret-value" for name in SECRETS}
        caller["LD_PRELOAD"] = caller["LD_LIBRARY_PATH"] = ""
        inside = environment(box, env=caller)
        equal(set(inside), ALWAYS | {"LANG", "TERM"}, "names")
        check("secret-value" not in "".join(inside.values()), "a value got in")

    @test("the values are those of the sandbox")
    def _(box):
        inside = environment(box)
        equal(inside["PWD"], box.ws, "PWD")
        equal(inside["CORRAL_WORKSPACE"], box.ws, "CORRAL_WORKSPACE")
        equal(inside["HOME"], box.home, "HOME")
        equal(inside["USER"], box.user.name, "USER")
        equal(inside["TMPDIR"], "/tmp", "TMPDIR")
        equal(inside["LANG"], "C.UTF-8", "LANG")
        equal(inside["CORRAL_LEVEL"], box.json("true")["level"], "CORRAL_LEVEL")
        done = box.run("-c", "test -d \"$XDG_RUNTIME_DIR\" && touch \"$XDG_RUNTIME_DIR/x\" && cd \"$HOME\" && touch x")
        done.exited(0)

    @test("locale, terminal and colour settings pass")
    def _(box):
        caller = {"LC_ALL": "C.UTF-8", "LC_TIME": "C", "LANGUAGE": "en", "NO_COLOR": "1", "COLORTERM": "truecolor",
                  "TZ": "UTC", "CI": "true", "FORCE_COLOR": "0"}
        inside = environment(box, env=caller)
        equal({name: inside.get(name) for name in caller}, caller, "passed")

    @test("--pass-env takes one of the caller's, --env sets one")
    def _(box):
        inside = environment(box, "--pass-env", "MINE", "--env", "OTHER=a=b c", "--env", "EMPTY=", env={"MINE": "x y"})
        equal([inside.get(n) for n in ("MINE", "OTHER", "EMPTY")], ["x y", "a=b c", ""], "values")

    @test("--pass-env of a name that the caller does not have is no error")
    def _(box):
        check("NOT_THERE" not in environment(box, "--pass-env", "NOT_THERE"), "it was made up")

    @test("--pass-env may pass a credential when asked")
    def _(box):
        equal(environment(box, "--pass-env", "GITHUB_TOKEN", env={"GITHUB_TOKEN": "t"})["GITHUB_TOKEN"], "t", "value")

    @test("a dangerous name needs its own permission")
    def _(box):
        inside = environment(box, "--allow-dangerous-env", "PYTHONPATH", "--env", "PYTHONPATH=/x")
        equal(inside["PYTHONPATH"], "/x", "value")

    @test("relative and empty entries of PATH are dropped")
    def _(box):
        box.write("ws/ls", "#!/bin/sh\necho planted\n", 0o755)
        inside = environment(box, env={"PATH": f".:{box.env['PATH']}:bin::./x:"})
        check(all(entry.startswith("/") for entry in inside["PATH"].split(":")), f"PATH is {inside['PATH']}")
        check(inside["PATH"], "PATH is empty")
        done = box.run("ls", env={**box.env, "PATH": f".:{box.env['PATH']}"}).exited(0)
        check("planted" not in done.out, "a program of the workspace was found through .")

    @test("a command is searched in the PATH inside")
    def _(box):
        box.write("ws/bin/tool", "#!/bin/sh\necho tool\n", 0o755)
        done = box.run("tool", env={**box.env, "PATH": f"{box.ws}/bin:{box.env['PATH']}"}).exited(0)
        equal(done.out, "tool\n", "stdout")
        box.run("--set", "env.path=/usr/bin", "tool").exited(127)

    @test("a caller without PATH, HOME and USER gets usable ones")
    def _(box):
        script = ("-c", "echo $PATH; ls / >/dev/null && cd \"$HOME\" && touch x && echo fine")
        done = box.run("--home", "ephemeral", *script, env={"XDG_STATE_HOME": f"{box.home}/state"}).exited(0)
        contains(done.out, "/usr/bin", "PATH")
        contains(done.out, "fine", "HOME")

    @test("names that cannot be written in a shell do not get in")
    def _(box):
        inside = environment(box, env={"A-B": "x", "LC_X-Y": "x", "1X": "x"})
        check(not {"A-B", "1X"} & set(inside), f"{inside}")

    @test("the environment of corral itself cannot be read inside")
    def _(box):
        done = box.run("-c", "cat /proc/*/environ | tr '\\0' '\\n'", env={**box.env, "MY_PASSWORD": "hunter2"})
        check("hunter2" not in done.out, "the caller's environment can be read")

    @test("the first process inside, a copy of the caller, is not to be seen", root=True)
    def _(box):
        # The control: the same question about a process that one may trace.
        look = "tr '\\0' ' ' </proc/%s/cmdline; cat /proc/%s/comm"
        own = box.run("--env", "PLANTED=marker-7351", "-c", "exec 2>&1; " + look % ("$$", "$$")).exited(0)
        contains(own.out, "cmdline", "one's own command line")
        done = box.run("--env", "PLANTED=marker-7351", "-c", "exec 2>&1; " + look % (1, 1) + "; ls -d /proc/1; exit 0")
        check("marker-7351" not in done.exited(0).out, f"corral's own words are readable: {done.out}")
        check("\n/proc/1\n" not in "\n" + done.out, f"it is listed: {done.out}")

    @test("the umask is the caller's, and never lets others write", root=True)
    def _(box):
        for outside, inside in ((0o077, "0077"), (0o022, "0022"), (0o000, "0022"), (0o002, "0022")):
            done = box.execute(["/bin/sh", "-c", f"umask {outside:o}; exec \"$0\" run -c umask", box.corral])
            equal(done.exited(0).out, inside + "\n", f"inside of umask {outside:o}")

    @test("an unmeasured usage is unknown, a measured one is not")
    def _(box):
        usage = json.loads(box.run("--json", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done").out)["usage"]
        check(usage["cpu_ms"] > 0 and usage["max_rss_kb"] > 0, f"{usage}")
        usage = json.loads(box.run("--json", "no-such-command").out)["usage"]
        equal([usage["cpu_ms"], usage["max_rss_kb"]], [None, None], "of a command that did not run")

    @test("standard names work inside: id, whoami, hostname")
    def _(box):
        equal(box.run("id", "-u").exited(0).out, f"{box.user.uid}\n", "id -u")
        equal(box.run("id", "-un").exited(0).out, f"{box.user.name}\n", "id -un")
        equal(box.run("hostname").exited(0).out, "localhost\n", "hostname")
        equal(box.run("hostname", "-f").exited(0).out, "localhost\n", "the name as it resolves")
