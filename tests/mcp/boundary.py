# SPDX-License-Identifier: Apache-2.0
"""An agent that wants more than its policy: each attempt has a control outside, and a verdict from the host."""
import os

from client import Client
from harness import check, equal


def secret(box):
    """A file outside the workspace: readable outside, and by name."""
    path = box.write("out/secret.txt", "the-secret-text")
    equal(box.outside.sh(f"cat {path}").out, "the-secret-text", "the control outside")
    return path


def outside_tmp():
    """Inside, /tmp is another one; there a path would be missing for that reason."""
    return "/srv" if os.getuid() == 0 else os.path.expanduser("~")


def files_of(box):
    return {path: found for path, found in box.tree().items() if path.startswith(f"{box.ws}/")}


PATHS = ("{secret}", "../out/secret.txt", "link", "dir/secret.txt", "./../ws/../out/secret.txt", "/proc/self/root{secret}",
         "/proc/1/root{secret}", "//{secret}", "sub/../../out/secret.txt")


def register(suite):
    @suite.test("mcp: no path of a file tool leaves the workspace (MC06)", root=True, base=outside_tmp)
    def _(box):
        path = secret(box)
        os.symlink(path, f"{box.ws}/link")
        os.symlink(f"{box.dir}/out", f"{box.ws}/dir")
        box.mkdir("ws/sub")
        client = Client(box)
        for form in PATHS:
            at = form.format(secret=path)
            for name, more in (("read_file", {}), ("send_file", {}), ("write_file", {"content": "x"}),
                               ("edit_file", {"old_text": "the", "new_text": "x"})):
                text = client.refused(name, path=at, **more)
                check("the-secret" not in text, f"{name} {at}: {text}")
        client.refused("list_directory", path="dir")
        for form in PATHS[:1] + PATHS[3:5]:
            client.refused("delete", path=form.format(secret=path))
            client.refused("move", **{"from": form.format(secret=path), "to": "got"})
            client.refused("move", **{"from": "sub", "to": form.format(secret=path)}, overwrite=True)
        equal(box.read("out/secret.txt"), "the-secret-text", "the file on the host")
        check(not box.exists("ws/got"), "it was moved in")

    @suite.test("mcp: working_dir reveals nothing about paths that the sandbox hides", base=outside_tmp)
    def _(box):
        secret(box)
        os.mkdir(f"{box.dir}/there")
        os.symlink(f"{box.dir}/there", f"{box.ws}/to-there")
        os.symlink(f"{box.dir}/missing", f"{box.ws}/to-missing")
        client = Client(box)
        for there, missing in ((f"{box.dir}/there", f"{box.dir}/missing"), ("to-there", "to-missing"),
                               ("../there", "../missing")):
            words = [client.refused("shell", command="true", working_dir=at).replace("missing", "there")
                     for at in (there, missing)]
            equal(words[0], words[1], f"the answers for {there} and {missing}")
            words = [client.refused("list_directory", path=at).replace("missing", "there")
                     for at in (there, missing)]
            equal(words[0], words[1], f"the answers of list_directory for {there} and {missing}")

    @suite.test("mcp: working_dir in the private HOME reveals nothing about the user's own")
    def _(box):
        box.mkdir("home/own/there")
        client = Client(box)
        words = []
        for name in ("there", "missing"):
            client.data("make_directory", path=f"{box.home}/own/{name}")
            equal(client.data("shell", command=f"cd ~/own/{name} && echo in")["stdout"], "in\n", "control: it exists inside")
            words.append(client.refused("shell", command="true", working_dir=f"{box.home}/own/{name}").replace("missing", "there"))
        equal(words[0], words[1], "the answers")
        check(not box.exists("home/own/missing"), "control: it does not exist outside")

    @suite.test("mcp: why tells of a hidden path what it tells of one that does not exist", base=outside_tmp)
    def _(box):
        secret(box)
        client = Client(box)
        words = [client.data("why", path=f"{box.dir}/out/{name}")["text"].replace("nosuch", "secret")
                 for name in ("secret.txt", "nosuch.txt")]
        equal(words[0], words[1], "the answers")

    @suite.test("mcp: no argument widens the policy (M1)", base=outside_tmp)
    def _(box):
        secret(box)
        client = Client(box)
        for more in ("policy", "net", "write", "read", "mode", "profile", "level", "allow_host", "set", "options", "workspace",
                     "_meta"):
            client.refused("shell", f"`{more}`", command=f"cat {box.dir}/out/secret.txt", **{more: "full"})
        for name in ("CORRAL_LEVEL", "CORRAL_WORKSPACE", "PATH", "HOME", "XDG_CONFIG_HOME", "CORRAL_POLICY", "LD_AUDIT"):
            result = client.tool("exec", program="cat", args=[f"{box.dir}/out/secret.txt"], env={name: box.home})
            check("the-secret" not in str(result), f"{name}: {result}")
        text = client.text("shell", command="sleep 600 & echo x", timeout=86400)
        check("the longest that the policy allows" in text, text)
        client = Client(box, "--timeout", "1s")
        result = client.tool("shell", command="sleep 600", timeout=100)
        equal(result["structuredContent"]["reason"], "timeout", "a longer time-out than the policy's")

    @suite.test("mcp: the project's file cannot widen the policy of the server, and cannot be written", base=outside_tmp)
    def _(box):
        secret(box)
        client = Client(box)
        for name in (".corral.toml",):
            client.refused("write_file", path=name, content=f'[fs]\nread = ["{box.dir}/out"]\n')
            client.data("shell", command=f"printf '[fs]\\nread = [\"{box.dir}/out\"]\\n' > {name}; true")
        text = client.text("shell", command=f"cat {box.dir}/out/secret.txt")
        check("the-secret" not in text, text)

    @suite.test("mcp: protected names: git hooks and shell start-up files stay as they are", base=outside_tmp)
    def _(box):
        box.mkdir("ws/.git/hooks")
        box.write("ws/.git/HEAD", "ref: refs/heads/main\n")
        box.write("ws/.git/config", "[core]\n")
        client = Client(box)
        box.write("ws/mine", "x")
        before = files_of(box)
        for name in (".git/hooks/pre-commit", ".git/config", ".bashrc", ".mcp.json", ".claude/settings.json"):
            client.refused("write_file", path=name, content="x")
            client.refused("move", **{"from": "mine", "to": name}, overwrite=True)
        client.refused("delete", path=".git/hooks", recursive=True)
        # Neither the file nor the directories before it.
        for name in ("n/.git/hooks/x", "m/deep/.git/config"):
            client.refused("write_file", path=name, content="evil")
            check(not box.exists(f"ws/{name.split('/')[0]}"), f"{name} left a directory behind")
        client.refused("delete", path=".git/config")
        client.refused("move", **{"from": ".git", "to": "git"})
        equal(files_of(box), before, "the files on the host")
        client.data("write_file", path="n/good/x", content="")

    @suite.test("mcp: a level below standard is refused unless the user allows it", base=outside_tmp)
    def _(box):
        box.corral_("mcp", "--level", "none", stdin="").exited(126).said("--accept-no-sandbox")
        box.corral_("mcp", "--level", "minimal", "--min-level", "standard", stdin="").exited(2)

    @suite.test("mcp: the user reads on stderr what a run warns of", base=outside_tmp)
    def _(box):
        box.corral_("mcp", "--level", "none", "--accept-no-sandbox", stdin="").exited(0).said("warning: level none: NOTHING is protected")
        quiet = box.corral_("mcp", stdin="").exited(0)
        check("NOTHING is protected" not in quiet.err, quiet.err)

    @suite.test("mcp: nothing of the server is visible in its commands (MC14, MC04)", base=outside_tmp)
    def _(box):
        client = Client(box, "--env", "LABEL=visible", env={**box.env, "SERVER_SECRET_TOKEN": "not-for-the-command"})
        text = client.text("shell", command="env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n'; ls -l /proc/*/fd")
        check("visible" in text and "not-for-the-command" not in text and "corrald" not in text, text)
