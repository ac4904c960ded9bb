# SPDX-License-Identifier: Apache-2.0
"""The identity of a run: one id in the result, `ps`, copy-on-write and the command's own variables."""
import datetime
import json
import os

from harness import check, equal, wait_until


def register(suite):
    test = suite.test

    @test("a result names its run: id, start, workspace, mode, network, agent and session", root=True)
    def _(box):
        before = datetime.datetime.now(datetime.timezone.utc)
        words = ("--set", "env.labels=SESSION_ID=s-1", "--set", "env.labels=AGENT_ID=a-1", "--mode", "read-only")
        got = box.json(*words, "true")
        after = datetime.datetime.now(datetime.timezone.utc)
        equal([got[key] for key in ("workspace", "mode", "net", "agent", "session")],
              [box.ws, "read-only", "none", "a-1", "s-1"], "identity")
        equal(len(got["started"]), len("2026-11-17T09:30:00.250Z"), got["started"])
        started = datetime.datetime.fromisoformat(got["started"].replace("Z", "+00:00"))
        second = datetime.timedelta(seconds=1)
        check(before - second <= started <= after + second, f"{before} {started} {after}")
        plain = box.json("true")
        equal([plain["agent"], plain["session"], plain["mode"]], [None, None, "workspace-write"], "a plain run")

    @test("ids sort by start time, and runs at once have different ones")
    def _(box):
        inside = [box.json("true")["id"] for _ in range(3)]
        equal(inside, sorted(set(inside)), "in order")
        started = [box.start([box.corral, "run", "--json", "true"], cwd=box.ws) for _ in range(8)]
        ids = {json.loads(process.communicate()[0])["id"] for process in started}
        equal(len(ids), 8, "at once")

    @test("the id of the result is that of ps, of copy-on-write and of CORRAL_SANDBOX_ID", root=True)
    def _(box):
        script = f"touch {box.ws}/ready; echo $CORRAL_SANDBOX_ID; while [ ! -e {box.ws}/go ]; do sleep 0.02; done"
        process = box.start([box.corral, "run", "--json", "--set", "env.prefix=P", "-c", script], cwd=box.ws)
        check(wait_until(lambda: box.exists("ws/ready")), "the run has not begun")
        listed = box.corral_("ps", "--json").exited(0).json["runs"]
        text = box.corral_("ps").exited(0).out
        open(f"{box.ws}/go", "w", encoding="utf-8").close()
        got = json.loads(process.communicate()[0])
        equal([run["id"] for run in listed], [got["id"]], "ps")
        check(got["id"] in text, text)
        equal(got["stdout"], got["id"] + "\n", "inside")
        os.unlink(f"{box.ws}/go")

    @test("pending changes have the id of their run")
    def _(box):
        got = box.json("--cow", "-c", "echo x >new")
        if got["cow"] is None:
            return
        equal(got["cow"]["id"], got["id"], "cow")
        box.corral_("discard", got["id"]).exited(0)

    @test("a run that fails has an id as well, and one whose policy is wrong has none")
    def _(box):
        failed = box.run("--json", "--require", "limits.memory", "--memory", "64M", "/no/such/command")
        got = failed.json
        check(got["id"] is not None and got["started"].startswith("20"), f"{got}")
        equal(got["workspace"], None, "nothing ran")
