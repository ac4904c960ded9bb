# SPDX-License-Identifier: Apache-2.0
"""Tables of agents and skills: what a command gets of the policy, and how a refused request is named."""
import os

from harness import check, contains, equal

POLICY = """
fs.read = ["{d}/data"]
fs.write = ["{d}/out"]
fs.deny = ["{d}/data/hidden"]
limits.timeout = 60
env.pass = ["FOO"]
[agent.reader]
mode = "read-only"
[agent.half]
fs.read = ["{d}/data/one"]
"""
TRIES = "cat {d}/data/one/f; cat {d}/data/two/f; cat {d}/data/hidden/f; echo x >{d}/out/new && echo wrote; echo $FOO"


def world(box):
    for name in ("data/one/f", "data/two/f", "data/hidden/f"):
        box.write(name, f"{name}\n")
    box.mkdir("out")
    box.write("home/.config/corral/corral.toml", POLICY.format(d=box.dir), 0o600)
    return {**box.env, "FOO": "foo"}


def skill(box, requires, name="skill/skill.toml"):
    return box.write(name, f'name = "s"\n[requires]\n{requires}')


def register(suite):
    test = suite.test

    @test("a request for a mode names the mode that it is reduced to")
    def _(box):
        box.write("ws/skill/skill.toml", 'version = 1\nname = "x"\n[requires]\nmode = "workspace-write"\n')
        done = box.corral_("explain", "--mode", "read-only", "--skill", "skill", "--json").exited(0)
        request, = done.json["requests"]
        equal((request["answer"], request["given"]), ("reduced", "read-only"), "the request")

    @test("a skill gets what the policy grants and it requests, and no more", root=True)
    def _(box):
        env = world(box)
        tries = TRIES.format(d=box.dir)
        whole = box.run("-c", tries, env=env).out.split()
        equal(whole, ["data/one/f", "data/two/f", "wrote", "foo"], "the policy alone")
        path = skill(box, f'fs.read = ["{box.dir}/data/one", "{box.dir}/data/hidden"]\nenv.pass = ["BAR"]\n')
        for level in ("full", "standard"):
            done = box.run("--level", level, "--skill", path, "-c", tries + "; exit 0", env=env).exited(0)
            equal(done.out.split(), ["data/one/f"], level)
            done.said("skill s does not get fs.read", "hidden by fs.deny", "env.pass BAR", "--pass-env BAR")
        both = skill(box, f'fs.read = ["{box.dir}/data"]\nfs.write = ["{box.dir}/out"]\nenv.pass = ["FOO"]\n')
        equal(box.run("--skill", os.path.dirname(both), "-c", tries, env=env).out.split(), whole, "a skill that requests all")

    @test("a symlink in a granted tree does not lead a skill out of it")
    def _(box):
        env = world(box)
        box.write("secret/f", "secret\n")
        os.symlink("../secret", f"{box.dir}/data/way")
        path = skill(box, f'fs.read = ["{box.dir}/data/way"]\n')
        done = box.run("--skill", path, "-c", f"cat {box.dir}/data/way/f {box.dir}/secret/f; exit 0", env=env).exited(0)
        equal(done.out, "", "stdout")
        done.said("does not grant it")

    @test("a part of a tree does not open what the tree protects")
    def _(box):
        env = world(box)
        box.write("out/repo/.git/hooks/x", "hook\n")
        attack = f"echo evil >{box.dir}/out/repo/.git/hooks/x; echo evil >{box.dir}/out/repo/ok; exit 0"
        for path in ("out/repo/.git/hooks", "out/repo/.git", "out/repo"):
            box.run("--skill", skill(box, f'fs.write = ["{box.dir}/{path}"]\n'), "-c", attack, env=env).exited(0)
            equal(box.read("out/repo/.git/hooks/x"), "hook\n", path)
        equal(box.read("out/repo/ok"), "evil\n", "the rest of the tree")

    @test("explain lists the requests with answers, as text and as JSON")
    def _(box):
        env = world(box)
        path = skill(box, f'fs.read = ["{box.dir}/data/one", "/nowhere"]\nlimits.timeout = "1h"\nnet.allow = ["a.example"]\n')
        said = box.corral_("explain", "--skill", path, env=env).exited(0).out
        contains(said, "\nrequests\n", "text")
        contains(said, "reduced  skill s: limits.timeout 1h -> 1m", "text")
        answers = {r["value"]: r for r in box.corral_("explain", "--json", "--skill", path, env=env).exited(0).json["requests"]}
        equal({v: r["answer"] for v, r in answers.items()},
              {f"{box.dir}/data/one": "granted", "/nowhere": "refused", "1h": "reduced", "a.example": "refused"}, "answers")
        check(all(r["reason"] for r in answers.values() if r["answer"] != "granted"), "reasons")
        contains(answers["a.example"]["remedy"], "--allow-host", "remedy")

    @test("the table of the agent holds, also against options, and a misspelt agent is refused", root=True)
    def _(box):
        env = world(box)
        tries = TRIES.format(d=box.dir) + "; exit 0"
        equal(box.run("--agent", "reader", "-c", tries, env=env).out.split(), ["data/one/f", "data/two/f", "foo"], "read-only")
        equal(box.run("--agent", "half", "-c", tries, env=env).out.split(), ["data/one/f", "wrote", "foo"], "half")
        equal(box.run("--agent", "reader", "--write", f"{box.dir}/out", "-c", tries, env=env).out.split(),
              ["data/one/f", "data/two/f", "foo"], "with an option")
        box.run("--agent", "redaer", "true", env=env).exited(126).said("[agent.redaer]")
        box.corral_("why", "--agent", "half", f"{box.dir}/data/two/f", env=env).said()

    @test("a project's file cannot grant by a table, and not choose a skill")
    def _(box):
        env = world(box)
        box.write("secret/f", "secret\n")
        box.write("ws/.corral.toml", f'[agent.half]\nfs.read = ["{box.dir}/secret"]\nlimits.timeout = "none"\nmode = "full-access"\n')
        done = box.run("--agent", "half", "-c", f"cat {box.dir}/secret/f {box.dir}/data/one/f; exit 0", env=env).exited(0)
        equal(done.out, "", "stdout")
        box.write("ws/.corral.toml", 'skill = "."\n')
        box.run("true", env=env).exited(126).said("may not set skill")

    @test("files of skills are checked")
    def _(box):
        good = skill(box, 'commands = ["sh"]\n')
        box.corral_("policy", "check", good).exited(0)
        bad = skill(box, 'fs.deny = ["x"]\n', "bad/skill.toml")
        box.corral_("policy", "check", bad).exited(2)
        box.run("--skill", bad, "true").exited(2).said("a skill cannot request it")
        box.run("--skill", f"{box.dir}/nowhere", "true").exited(2).said("skill.toml")
        box.run("--skill", good, "true").exited(126).said("add true to the commands")
        equal(box.run("--skill", good, "sh", "-c", "echo ran").exited(0).out, "ran\n", "a listed command")
        contains(box.corral_("policy", "schema", "skill").exited(0).out, '"requires"', "schema")
