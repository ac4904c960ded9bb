# SPDX-License-Identifier: Apache-2.0
"""Policy files: their order, what a project's may say, what is shown of them."""
import json
import os
import shutil

from harness import PATIENCE, check, contains, equal

USER = "home/.config/corral/corral.toml"
PROJECT = "ws/.corral.toml"

TOML = """
version = 1
mode = "workspace-write"
require = ["pid", "net"]

[fs]
read = ["/usr/share", "maybe?"]
deny = ["secret"]
home = "ephemeral"

[limits]
timeout = "90s"
processes = 77
tmp_size = "64M"
cpus = 1.5

[env]
pass = ["MINE"]

[env.set]
COLOUR = "blue"
"""

JSON = {
    "version": 1, "mode": "workspace-write", "require": ["net", "pid"],
    "fs": {"read": ["maybe?", "/usr/share"], "deny": ["secret"], "home": "ephemeral"},
    "limits": {"timeout": 90, "processes": 77, "tmp_size": 67108864, "cpus": 1.5},
    "env": {"pass": ["MINE"], "set": {"COLOUR": "blue"}},
}

YAML = """
# the same again
version: 1
mode: workspace-write
require:
  - pid
  - net
fs:
  read: [/usr/share, "maybe?"]
  deny: [secret]
  home: ephemeral
limits:
  timeout: 90s
  processes: 77
  tmp_size: 64M
  cpus: 1.5
env:
  pass: [MINE]
  set:
    COLOUR: blue
"""


def values(box, *words, **more):
    return box.corral_("policy", "show", "--json", *words, **more).exited(0).json["values"]


def timeout_of(box, *words):
    row = values(box, *words)["limits.timeout"]
    return row["value"], row["origin"]


def register(suite):
    test = suite.test

    @test("thousands of items take seconds at most, and more are refused by number")
    def _(box):
        box.mkdir("ws/e")
        for n in range(3000):
            with open(f"{box.ws}/e/f{n}", "wb"):
                pass
            box.own(f"{box.ws}/e/f{n}")
        for key, form in {"fs.deny": "*.x%d", "fs.protect": "e/f%d", "fs.write": "e/f%d", "net.deny": "h%d.example",
                          "env.pass": "V%d", "fs.protect_names": "n%d"}.items():
            for count in (3000, 30000):
                items = ", ".join('"' + form % n + '"' for n in range(count))
                name = ".corral.toml" if key in ("fs.deny", "fs.protect", "net.deny", "fs.protect_names") else "p.toml"
                box.write(f"ws/{name}", f"{key} = [{items}]\n")
                words = () if name == ".corral.toml" else ("--policy", name)
                done = box.run(*words, "--", "true").exited(0 if count == 3000 else 2)
                check(done.seconds < PATIENCE, f"{count} items of {key} took {done.seconds:.1f} s")
                if count > 3000:
                    done.said(key, "4096")
                os.unlink(f"{box.ws}/{name}")
        box.write("ws/p.toml", "[fs]\nwrite = [" + ", ".join(f'"e/d{n}"' for n in range(100)) + "]\ndeny = [" +
                  ", ".join(f'"*.x{n}"' for n in range(1000)) + "]\n")
        for n in range(100):
            box.mkdir(f"ws/e/d{n}")
        box.run("--policy", "p.toml", "--", "true").exited(2).said("98304", "fs.deny")

    @test("a configuration or state that is somebody else's is refused, with what to do")
    def _(box):
        text = "[limits]\nprocesses = 77\n"
        box.write("home/.config/corral/corral.toml", text)
        box.run("-c", "true").exited(0)
        places = {"config": f"{box.home}/.config/corral", "file": f"{box.home}/.config/corral/corral.toml",
                  "state": f"{box.home}/.local/state/corral"}
        for name, path in places.items():
            mode = os.stat(path).st_mode & 0o7777
            os.chmod(path, mode | 0o002)
            box.run("--", "touch", "ran").exited(126).said(path, "writable by other users", "chmod go-w")
            os.chmod(path, mode)
            if box.suite.root:
                os.chown(path, 12345, -1)
                box.run("--", "touch", "ran").exited(126).said(path, "12345", "chown", "HOME")
                os.chown(path, 0, -1)
                os.chmod(path, mode | 0o555)
                if name != "state":  # root's own is fine, but nothing could be kept there
                    box.run("-c", "true").exited(0)
                os.chown(path, box.user.uid, -1)
                os.chmod(path, mode)
        check(not box.exists("ws/ran"), "something ran")
        os.rename(places["config"], f"{box.home}/elsewhere")
        os.symlink(f"{box.home}/elsewhere", places["config"])
        box.run("-c", "true").exited(0)
        os.chmod(f"{box.home}/elsewhere", 0o777)
        box.run("--", "touch", "ran").exited(126).said("writable by other users")
        os.chmod(f"{box.home}/elsewhere", 0o755)
        os.chmod(places["state"], 0o777)
        for words in (("diff",), ("policy", "show"), ("check", "path", "x")):
            box.corral_(*words).exited(126).said("writable by other users")
        os.chmod(places["state"], 0o700)
        box.run("-c", "true").exited(0)

    @test("the file of XDG_CONFIG_HOME is read over that of ~/.config, and not from a workspace")
    def _(box):
        def values():
            return box.corral_("policy", "show", "--json").exited(0).json["values"]
        box.write("home/.config/corral/corral.toml", "[limits]\nprocesses = 77\nopen_files = 99\n")
        box.write("xdg/corral/corral.toml", "[limits]\nprocesses = 66\n")
        box.env["XDG_CONFIG_HOME"] = f"{box.dir}/xdg"
        shown = values()
        equal([shown["limits.processes"]["value"], shown["limits.open_files"]["value"]], [66, 99], "both are read")
        contains(shown["limits.processes"]["origin"], "xdg/corral/corral.toml", "origin")
        done = box.corral_("policy", "show", "--json", "--no-config").exited(0)
        equal(done.json["values"]["limits.processes"]["value"], 512, "--no-config")
        box.env["XDG_CONFIG_HOME"] = f"{box.dir}/nothing"
        equal(values()["limits.processes"]["value"], 77, "the user's file stays where there is no other")
        box.env["XDG_CONFIG_HOME"] = "xdg"
        equal(values()["limits.processes"]["value"], 77, "a relative one is nothing")
        box.write("ws/.config/corral/corral.toml", "[net]\nmode = \"full\"\n")
        for place in (f"{box.ws}/.config", f"{box.dir}/link"):
            if place.endswith("link"):
                os.symlink(f"{box.ws}/.config", place)
            box.env["XDG_CONFIG_HOME"] = place
            box.run("--", "touch", "ran").exited(126).said("lies in the", "XDG_CONFIG_HOME")
        box.write("ws/.config/corral/corral.toml", f"workspace = \"{box.home}/w\"\n")
        box.mkdir("home/w")
        box.run("--", "touch", "ran").exited(126).said("lies in the")
        check(not box.exists("ws/ran"), "something ran")

    @test("a project does not bring the list of what is trusted, nor a link to a policy")
    def _(box):
        text = "[fs]\nread = [\"/var/cache\"]\n"
        box.write(PROJECT, text)
        box.corral_("policy", "trust", PROJECT.split("/", 1)[1]).exited(0)
        box.run("--", "true").exited(0)
        pins = f"{box.home}/.local/state/corral/trusted"
        box.write("ws/st/corral/trusted", open(pins, encoding="utf-8").read())
        os.chmod(f"{box.ws}/st/corral/trusted", 0o600)
        os.rename(pins, f"{box.dir}/trusted")
        box.run("--", "touch", "ran").exited(126).said("untrusted")
        box.mkdir("out/corral")
        box.write("out/corral/trusted", open(f"{box.dir}/trusted", encoding="utf-8").read())
        os.chmod(f"{box.dir}/out/corral/trusted", 0o600)
        os.symlink(f"{box.ws}/st", f"{box.dir}/inward")
        os.symlink(f"{box.dir}/out", f"{box.ws}/outward")
        for place in (f"{box.ws}/st", f"{box.dir}/inward", f"{box.ws}/outward", f"{box.ws}/./st/../st"):
            box.env["XDG_STATE_HOME"] = place
            box.run("--", "touch", "ran").exited(126).said("lies in the", "XDG_STATE_HOME")
        box.env["XDG_STATE_HOME"] = f"{box.dir}/out"
        box.run("--", "true").exited(0)
        del box.env["XDG_STATE_HOME"]
        os.rename(f"{box.dir}/trusted", pins)
        box.write("out/corral/corral.toml", "[limits]\nprocesses = 66\n")
        box.env["XDG_CONFIG_HOME"] = f"{box.ws}/outward"
        box.run("--", "touch", "ran").exited(126).said("lies in the", "XDG_CONFIG_HOME")
        check(not box.exists("ws/ran"), "something ran")

    @test("from the home, its own state and configuration are the user's")
    def _(box):
        box.write("home/p/.corral.toml", "[fs]\nread = [\"/var/cache\"]\n")
        box.corral_("policy", "trust", f"{box.home}/p/.corral.toml").exited(0)
        box.write("home/cfg/corral/corral.toml", "[limits]\nprocesses = 66\n")
        box.env["XDG_CONFIG_HOME"] = f"{box.home}/cfg"
        box.corral_("run", "-w", "p", "--", "true", cwd=box.home).exited(0)

    @test("no command changes a file that the policy is read from, wherever it lies", root=True)
    def _(box):
        good, evil = "[limits]\nprocesses = 100\n", "[net]\nmode = \\\"full\\\"\n"
        attack = ("printf '" + evil + "' >{0}; printf x >new; mv new {0}; rm -f {0}; mkdir gone; mv {1} gone/; true")
        config = f"{box.home}/.config/corral"
        box.write("ws/dir/corral.toml", good)
        box.write("ws/p.toml", good)
        box.mkdir("home/.config/corral")
        os.symlink("dir/corral.toml", f"{box.ws}/chain")
        os.symlink("dir", f"{box.ws}/dirchain")

        def reads(path, name):
            equal(box.read(f"ws/{name}"), good, f"{path}: the file")
            equal(box.corral_("policy", "show", "--json").exited(0).json["values"]["net.mode"]["value"], "none", f"{path}: the policy")

        for level in ("full", "standard"):
            for to in ("dir/corral.toml", "chain"):
                os.symlink(f"{box.ws}/{to}", f"{config}/corral.toml")
                box.run("--level", level, "-c", attack.format("dir/corral.toml", "dir")).exited(0)
                box.run("--level", level, "-c", "rm -f chain; ln -s p.toml chain; mv chain c2; true").exited(0)
                reads(to, "dir/corral.toml")
                equal(os.readlink(f"{box.ws}/chain") if to == "chain" else to, "dir/corral.toml", "the link")
                os.unlink(f"{config}/corral.toml")
                if to != "chain":
                    for name in ("c2", "chain"):
                        if os.path.islink(f"{box.ws}/{name}"):
                            os.unlink(f"{box.ws}/{name}")
                    os.symlink("dir/corral.toml", f"{box.ws}/chain")
            os.symlink(f"{box.ws}/later.toml", f"{config}/corral.toml")
            box.run("--level", level, "-c", "printf '" + evil + "' >later.toml; true").exited(0)
            check(not box.exists("ws/later.toml"), "what a link leads to was made")
            os.unlink(f"{config}/corral.toml")
            os.rmdir(config)
            os.symlink(f"{box.ws}/dirchain", config)
            box.run("--level", level, "-c", "rm -f dirchain; mkdir evil; ln -sfn evil dirchain; mv dirchain d2; true").exited(0)
            equal(os.readlink(f"{box.ws}/dirchain"), "dir", "a link to the directory")
            os.unlink(config)
            os.symlink(f"{box.ws}/newdir", config)
            box.run("--level", level, "-c", "mkdir newdir").exited(126).said("newdir", "policy for the next run")
            os.unlink(config)
            box.mkdir("home/.config/corral")
            for name in ("p.toml", "./dir/../p.toml", f"{box.ws}/p.toml"):
                box.run("--level", level, "--policy", name, "-c", attack.format("p.toml", "p.toml")).exited(0)
                reads(name, "p.toml")
            done = box.run("--level", level, "--policy", "p.toml", "--", "tee", "p.toml", stdin="x")
            done.exited(1).said("it decides about the next run")
            equal(box.run("--level", level, "--policy", "p.toml", "--", "cat", "p.toml").exited(0).out, good, "reading it")
            for name in ("gone", "evil"):
                shutil.rmtree(f"{box.ws}/{name}", ignore_errors=True)

    @test("each layer overrides those below it, and says where a value is from")
    def _(box):
        equal(timeout_of(box)[1], "built-in", "built-in")
        box.write(USER, "[limits]\ntimeout = 50\n")
        value, origin = timeout_of(box)
        equal(value, "50s", "user")
        contains(origin, "corral.toml:2", "origin of the user's")
        box.write(PROJECT, "[limits]\ntimeout = 40\n")
        value, origin = timeout_of(box)
        equal(value, "40s", "project")
        contains(origin, ".corral.toml:2", "origin of the project's")
        box.write("ws/extra.toml", "[limits]\ntimeout = 65\n")
        value, origin = timeout_of(box, "--policy", "extra.toml")
        equal(value, "65s", "--policy")
        contains(origin, "extra.toml:2", "origin of --policy")
        equal(timeout_of(box, "--policy", "extra.toml", "--timeout", "70"), ("70s", "--timeout"), "option")
        equal(timeout_of(box, "--no-config")[1], "built-in", "--no-config")

    @test("the last of an option given twice counts, lists grow")
    def _(box):
        equal(timeout_of(box, "-t", "5", "--timeout", "6")[0], "6s", "scalar")
        box.write("ws/extra.toml", "[fs]\nread = [\"/usr/share\"]\n")
        equal(values(box, "--policy", "extra.toml", "-r", "/usr/lib", "-r", "/usr/bin")["fs.read"]["value"],
              ["/usr/share", "/usr/lib", "/usr/bin"], "list")

    @test("the user's file works on a run", root=True)
    def _(box):
        box.write(USER, "[env.set]\nFROM_USER = \"yes\"\n")
        equal(box.run("-c", "echo $FROM_USER").exited(0).out, "yes\n", "the run")
        equal(box.run("--no-config", "-c", "echo $FROM_USER").exited(0).out, "\n", "--no-config")

    @test("the user's file may choose a profile")
    def _(box):
        box.write(USER, "profile = \"readonly\"\n")
        box.run("-c", "touch made").exited(1)
        check(not box.exists("ws/made"), "written")
        box.run("--profile", "workspace", "-c", "touch made").exited(0)

    @test("TOML, JSON and YAML of one policy are the same policy")
    def _(box):
        box.write("ws/secret", "x")
        box.write("ws/p.toml", TOML)
        box.write("ws/p.json", json.dumps(JSON))
        box.write("ws/p.yaml", YAML)
        box.write("ws/p.yml", YAML)
        hashes = {name: box.corral_("policy", "show", "--json", "--policy", name).exited(0).json["sha256"]
                  for name in ("p.toml", "p.json", "p.yaml", "p.yml")}
        equal(len(set(hashes.values())), 1, f"hashes {hashes}")
        results = {name: box.json("--policy", name, "-c", "echo $COLOUR")["policy_sha256"] for name in hashes}
        equal(results, hashes, "hash of the run and of the shown policy")
        other = box.corral_("policy", "show", "--json", "--policy", "p.toml", "--timeout", "91").json["sha256"]
        check(other not in hashes.values(), "another policy has the same hash")

    @test("a policy comes from stdin and from a descriptor")
    def _(box):
        text = json.dumps({"env": {"set": {"COLOUR": "red"}}})
        equal(box.run("--policy", "-", "-c", "echo $COLOUR", stdin=text).exited(0).out, "red\n", "stdin")
        box.write("ws/p.toml", "[env.set]\nCOLOUR = \"green\"\n")
        done = box.sh("\"$CORRAL\" run --policy fd:7 -c 'echo $COLOUR; ls /proc/$$/fd' 7<p.toml").exited(0)
        equal(done.out, "green\n0\n1\n2\n", "descriptor, which is not passed on")

    @test("what policy show prints reads back as the same policy")
    def _(box):
        box.write("ws/secret", "x")
        box.write("ws/p.toml", TOML)
        text = box.corral_("policy", "show", "--policy", "p.toml").exited(0).out
        box.write("shown.toml", text)
        again = box.corral_("policy", "show", "--no-config", "--policy", f"{box.dir}/shown.toml").exited(0).out
        equal(again.splitlines()[0], text.splitlines()[0], "the line of the hash")

    @test("policy check accepts good files and names every bad one")
    def _(box):
        box.write("ws/good.toml", TOML)
        box.write("ws/bad.toml", "[limits]\nx = 1\n")
        box.write("ws/worse.json", "{")
        contains(box.corral_("policy", "check", "good.toml").exited(0).out, "good.toml: ok", "good")
        done = box.corral_("policy", "check", "bad.toml", "good.toml", "worse.json").exited(2)
        contains(done.out, "limits.x", "bad")
        contains(done.out, "good.toml: ok", "good among bad")
        contains(done.out, "worse.json", "worse")
        done.said("2 of 3")

    @test("the schema is JSON, closed, and lists every key that policy show lists")
    def _(box):
        schema = box.corral_("policy", "schema").exited(0).json
        contains(schema["$schema"], "json-schema.org", "$schema")
        listed = set()

        def walk(node, prefix):
            more = node.get("additionalProperties")
            if prefix == "commands.":  # a table for each command, closed as well
                equal(more["additionalProperties"], False, "additionalProperties of a command")
                listed.add("commands.NAME")
            else:
                equal(more, False, f"additionalProperties of {prefix or 'the root'}")
            for name, child in node["properties"].items():
                if not prefix and name == "agent":  # a table for each agent, closed as well
                    equal(child["additionalProperties"]["additionalProperties"], False, "additionalProperties of an agent")
                elif child.get("type") == "object" and "properties" in child:
                    if name != "floor":
                        walk(child, f"{prefix}{name}.")
                else:
                    listed.add(prefix + name)
        walk(schema, "")
        listed.discard("floor")
        equal(listed - {"version"}, set(values(box)), "keys")

    @test("a project file may narrow")
    def _(box):
        box.write("ws/secret", "x")
        box.write(PROJECT, "mode = \"read-only\"\nrequire = [\"pid\"]\n[fs]\ndeny = [\"secret\"]\nhome = \"ephemeral\"\n"
                           "toolchains = false\n[limits]\ntimeout = 30\nprocesses = 100\n[env.set]\nX = \"y\"\n")
        box.run("-c", "cat secret; touch made; exit 0").exited(0)
        check(not box.exists("ws/made"), "written in spite of read-only")

    for text, named in (("[net]\nmode = \"full\"\n", "net.mode"), ("[fs]\nwrite = [\"/opt\"]\n", "fs.write"),
                        ("[fs]\nread = [\"/opt\"]\n", "fs.read"), ("[fs]\nview = \"host\"\n", "fs.view"),
                        ("[limits]\nprocesses = 5000\n", "limits.processes"),
                        ("[limits]\nopen_files = 5000\n", "limits.open_files"),
                        ("[env]\npass = [\"GITHUB_TOKEN\"]\n", "env.pass"),
                        ("[env]\nallow_dangerous = [\"LD_PRELOAD\"]\n", "env.allow_dangerous"),
                        ("[env]\npath = \"/opt\"\n", "env.path"),
                        ("[env]\nsecrets = [\"A\"]\n", "env.secrets"), ("[env]\nagent = \"bot\"\n", "env.agent"),
                        ("profile = \"host-read\"\n", "profile"), ("min_level = \"none\"\n", "min_level"),
                        ("level = \"auto\"\n", "level"), ("[fs]\nagent = \"/opt\"\n", "fs.agent")):
        @test(f"a project file may not widen {named}")
        def _(box, text=text, named=named):
            box.write(PROJECT, text)
            done = box.run("--", "touch", "ran")
            check(done.status in (2, 126), f"status {done.status}: {done}")
            done.said(named, ".corral.toml", "remedy")
            check(not box.exists("ws/ran"), "something ran")

    @test("a project file may not move the workspace, not even when pinned")
    def _(box):
        box.write(PROJECT, "workspace = \"/opt\"\n")
        check(box.run("--", "touch", "ran").status in (2, 126), "accepted")
        box.corral_("policy", "trust", ".corral.toml")
        check(box.run("--", "touch", "ran").status in (2, 126), "accepted when pinned")
        check(not box.exists("ws/ran"), "something ran")

    @test("policy trust lets a project file widen until it changes", root=True)
    def _(box):
        box.mkdir("extra")
        box.write(PROJECT, f"[fs]\nwrite = [\"{box.dir}/extra\"]\n")
        script = ("-c", f"touch {box.dir}/extra/made")
        box.run(*script).exited(126).said("policy trust")
        box.corral_("policy", "trust", ".corral.toml").exited(0)
        box.run(*script).exited(0)
        check(box.exists("extra/made"), "not written")
        box.write(PROJECT, f"[fs]\nwrite = [\"{box.dir}/extra\"]\n# changed\n")
        box.run(*script).exited(126)
        box.corral_("policy", "trust", ".corral.toml").exited(0)
        box.mkdir("ws2")
        box.write("ws2/.corral.toml", box.read(PROJECT))
        box.run(*script, cwd=f"{box.dir}/ws2").exited(126).said("policy trust")

    @test("a list of pins that others could have written pins nothing")
    def _(box):
        box.write(PROJECT, "[limits]\nprocesses = 1000\n")
        box.corral_("policy", "trust", ".corral.toml").exited(0)
        box.run("true").exited(0)
        os.chmod(f"{box.home}/.local/state/corral/trusted", 0o666)
        box.run("true").exited(2).said("trusted", "chmod")

    @test("a project file cannot be changed, replaced or made from inside", root=True)
    def _(box):
        box.write(PROJECT, "[limits]\ntimeout = 60\n")
        before = box.read(PROJECT)
        box.run("-c", "echo x >>.corral.toml; rm -f .corral.toml; mv .corral.toml b; cp /etc/passwd n; mv n .corral.toml; "
                "ln -f /etc/passwd .corral.toml; cat .corral.toml >copy").exited(0)
        equal(box.read(PROJECT), before, "the project file")
        equal(box.read("ws/copy"), before, "it can be read")

    @test("a project file planted by a command cannot widen the next run", root=True)
    def _(box):
        box.mkdir("extra")
        box.run("-c", f"printf '[fs]\\nwrite = [\"{box.dir}/extra\"]\\n' >.corral.toml")
        done = box.run("-c", f"touch {box.dir}/extra/made")
        check(done.status in (0, 1, 126), f"status {done.status}")
        check(not box.exists("extra/made"), "the planted file widened the policy")

    @test("contradictions name both origins")
    def _(box):
        box.mkdir("ws/data")
        box.write("ws/p.toml", "[fs]\ndeny = [\"data\"]\n")
        for words, parts in (
                (("--policy", "p.toml", "--read", "data"), ("fs.read", "--read", "fs.deny", "p.toml:2")),
                (("--policy", "p.toml", "--write", "data"), ("fs.write", "--write", "fs.deny", "p.toml:2")),
                (("--mode", "read-only", "--write", "data"), ("read-only", "--mode", "fs.write", "--write")),
                (("--profile", "readonly", "--write", "data"), ("read-only", "profile readonly", "--write")),
                (("--env", "A=1", "--pass-env", "A"), ("env.set", "--env", "env.pass", "--pass-env")),
                (("--deny", "."), ("workspace", "fs.deny", "--deny")),
                (("--chdir", "/var/log"), ("chdir", "--chdir", "workspace"))):
            done = box.run(*words, "--", "touch", "ran").exited(2)
            done.said(*parts)
            check(not box.exists("ws/ran"), "something ran")

    @test("explain tells what would be enforced and runs nothing")
    def _(box):
        before = box.tree()
        done = box.corral_("explain", "--timeout", "33", "--", "touch", "ran").exited(0)
        for part in ("touch", "full" if "full" in done.out else "standard", "namespaces", box.ws, "--timeout",
                     "fs.write", "enforced", "lifetime", "built-in"):
            contains(done.out, part, "explain")
        check(not box.exists("ws/ran"), "something ran")
        equal(box.tree(), before, "files")

    @test("explain --json holds command, policy and plan")
    def _(box):
        result = box.corral_("explain", "--json", "--", "echo", "a b").exited(0).json
        equal(result["version"], 1, "version")
        equal(result["command"], ["echo", "a b"], "command")
        equal(result["policy"]["sha256"], box.json("true")["policy_sha256"], "hash")
        plan = result["plan"]
        run = box.json("true")
        equal({g["name"]: g["state"] for g in plan["guarantees"]},
              {g["name"]: g["state"] for g in run["guarantees"]}, "the plan is what the run does")
        equal([plan["level"], plan["engine"]], [run["level"], run["engine"]], "level and engine")

    @test("explain of what would be refused says so")
    def _(box):
        box.corral_("explain", "--require", "net.names").exited(125).said("net.names")
        box.corral_("explain", "--timeout", "soon").exited(2).said("soon")

    @test("paths of a policy are relative to the workspace, of an option to the directory")
    def _(box):
        box.write("ws/sub/secret", "x")
        box.write("ws/secret", "x")
        box.write("ws/p.toml", "[fs]\ndeny = [\"secret\"]\n")
        sub = f"{box.ws}/sub"
        shown = values(box, "-w", box.ws, "--policy", f"{box.ws}/p.toml", "--deny", "secret", cwd=sub)["fs.deny"]["value"]
        equal(sorted(shown), sorted([f"{box.ws}/secret", f"{sub}/secret"]), "fs.deny")

    @test("--deny hides, --protect keeps, --read and --write grant", root=True)
    def _(box):
        box.write("ws/secret", "hidden\n")
        box.write("ws/dir/secret", "hidden\n")
        box.write("ws/kept/file", "old\n")
        box.write("more/data", "data\n")
        box.mkdir("out")
        script = (f"cat secret dir/secret {box.dir}/more/data; echo new >kept/file; echo o >{box.dir}/out/file; "
                  f"echo n >{box.dir}/more/data; rm -rf kept; mv kept away; touch kept/new; exit 0")
        equal(box.run("-c", f"cat {box.dir}/more/data; touch {box.dir}/out/x; exit 0").out, "", "without grants")
        done = box.run("--deny", "secret", "--deny", "dir", "--protect", "kept", "-r", f"{box.dir}/more",
                       "--write", f"{box.dir}/out", "-c", script).exited(0)
        equal(done.out, "data\n", "what could be read")
        equal([box.read("ws/kept/file"), box.read("out/file"), box.read("more/data"), box.exists("ws/kept/new")],
              ["old\n", "o\n", "data\n", False], "what was written")

    @test("--agent-dir appears read-only at /agent")
    def _(box):
        box.write("agent/tool", "#!/bin/sh\necho agent\n", 0o755)
        done = box.run("--agent-dir", f"{box.dir}/agent", "-c", "/agent/tool; echo x >>/agent/tool; touch /agent/y; exit 0")
        equal(done.exited(0).out, "agent\n", "stdout")
        equal(box.read("agent/tool"), "#!/bin/sh\necho agent\n", "unchanged")
        check(not box.exists("agent/y"), "written")
