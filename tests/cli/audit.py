# SPDX-License-Identifier: Apache-2.0
"""The audit log: what is recorded, what is not, who finds a change of it, and what a full disk does."""
import fcntl
import glob
import json
import os
import pty
import re
import stat
import struct

from harness import Skip, check, contains, equal, wait_until
import ocsf
import otlp
from leaks import TOKEN

HEAD_AT = 8 * 1024 * 1024
COMMON = ["time", "seq", "kind", "id", "session", "agent", "verdict"]


def state(box):
    return f"{box.dir}/home/.local/state/corral" if os.path.isdir(f"{box.dir}/home") else f"{box.env['HOME']}/.local/state/corral"


def files(box):
    return sorted(glob.glob(f"{state(box)}/audit/*.jsonl"))


def records(box, *options):
    out = box.corral_("audit", "list", "--json", *options).exited(0).out
    return [json.loads(line) for line in out.splitlines()]


def verify(box, status=0):
    done = box.corral_("audit", "verify", "--json").exited(status)
    return json.loads(done.out)


def lines(box):
    with open(files(box)[0], "rb") as file:
        return file.read().splitlines(keepends=True)


def rewrite(box, new):
    with open(files(box)[0], "wb") as file:
        file.write(b"".join(new))


def four_runs(box):
    for status in range(4):
        box.run("-c", f"exit {status}").exited(status)


KINDS = {"run", "unsandboxed_run", "degraded", "deny.path", "deny.net", "deny.cmd", "deny.syscall", "deny.rpc", "leak",
         "secret.used", "file.sent", "trust"}


def members(span):
    return {a["key"]: a["value"] for a in span["attributes"]}


def every_kind(box):
    """A log with real records of this host, and one line of each other kind; some have no id, some were edited."""
    box.run("--mode", "full-access", "--dangerously-allow-full-access", "true").exited(0)
    box.run("--json", "--scan-args", "warn", "--set", "env.labels=SESSION_ID=s", "--set", "env.labels=AGENT_ID=a", "echo", TOKEN)
    box.write("p.toml", "[commands.git]\nblocked = ['push']\n")
    box.run("--policy", f"{box.dir}/p.toml", "git", "push").exited(126)
    denied = '"verdict":"denied","op":"connect"'
    made = ['"kind":"degraded","id":"abcd","session":null,"agent":null,"verdict":"allowed","level":"standard","why":"x"',
            '"kind":"deny.path","id":null,"session":null,"agent":null,"verdict":"denied","op":"open","path":"/a/b\\"c","count":2',
            '"kind":"deny.syscall","id":"abcd","session":"s","agent":"a","verdict":"denied","op":"keyctl","syscall":"keyctl"',
            f'"kind":"deny.net","id":"abcd",{denied},"host":"evil.test","port":443,"count":1',
            f'"kind":"deny.net","id":"abcd",{denied},"host":"2001:db8::1","port":null,"count":1',
            f'"kind":"deny.net","id":null,{denied},"host":"192.0.2.1","port":1,"count":1',
            f'"kind":"deny.net","id":null,{denied},"host":"_a.b","port":0,"count":1',
            '"kind":"deny.rpc","id":null,"session":"s","agent":null,"verdict":"denied","op":"request","method":"daemon.stop","count":3',
            '"kind":"file.sent","id":null,"session":"s","agent":null,"verdict":"allowed","path":"a.txt","bytes":7',
            '"kind":"secret.used","id":"abcd","session":null,"agent":null,"verdict":"allowed","secret":"NAME","how":"env"',
            '"kind":"trust","id":null,"session":null,"agent":null,"verdict":"allowed","path":"/","sha256":"00"',
            '"kind":"run","id":7,"verdict":null,"exit":-1,"command":"x","usage":{"a":[{"b":[[1.5]]}]},"ok":true',
            '"kind":"new.kind"', '"kind":"leak","id":"a\\x","leak":null,"fingerprint":null,"verdict":"warned"']
    with open(files(box)[0], "a", encoding="utf-8") as file:
        for seq, line in enumerate(made, 100):
            print(f'{{"time":"2026-11-17T10:00:00.000Z","seq":{seq},{line}}}', file=file)


def printed(box):
    return len(box.corral_("audit", "list").exited(0).out.splitlines())


def register(suite):
    test = suite.test

    @test("audit: a run is one record with the id of its result, at both levels", root=True)
    def _(box):
        for level in ("full", "standard"):
            if box.run("--level", level, "true").status == 125:
                continue
            got = box.json("--level", level, "--set", "env.labels=SESSION_ID=s1", "--set", "env.labels=AGENT_ID=a1",
                           "-c", "exit 3")
            record = records(box)[-1]
            equal(list(record)[:7], COMMON, "the order")
            equal([record[key] for key in ("kind", "id", "session", "agent", "verdict", "exit", "reason", "level")],
                  ["run", got["id"], "s1", "a1", "allowed", 3, "exit", level], level)
            equal(record["command"], ["/bin/sh", "-c", "exit 3"], "command")
            equal([record["cwd"], record["workspace"], record["mode"], record["net"], record["policy"]],
                  [box.ws, box.ws, "workspace-write", "none", got["policy_sha256"]], "facts")
            check(record["usage"]["max_rss_kb"] > 0 and record["duration_ms"] >= 0, f"{record}")
        equal(stat.S_IMODE(os.stat(files(box)[0]).st_mode), 0o600, "mode of the log")
        equal(verify(box)["intact"], True, "untouched")

    @test("audit: a person's run has the policy hash of a tool call with the same policy")
    def _(box):
        words = ("--set", "limits.timeout=9s", "--set", "limits.output=1M", "--scan-args", "warn", "--scan-output", "warn")
        wanted = box.json(*words, "true")["policy_sha256"]
        box.run(*words, "true").exited(0)
        equal(records(box)[-1]["policy"], wanted, "hash")

    @test("audit: a run that did not happen is recorded as failed or denied, and a wrong option is not")
    def _(box):
        box.run("/no/such/command").exited(127)
        box.run("--no-such-option", "true").exited(2)
        box.write("p.toml", "[commands.git]\nblocked = ['push']\n")
        box.run("--policy", f"{box.dir}/p.toml", "git", "push").exited(126)
        equal([(r["kind"], r["verdict"], r.get("reason")) for r in records(box)],
              [("run", "failed", "setup"), ("deny.cmd", "denied", None), ("run", "denied", "refused")], "records")
        equal(records(box)[1]["program"], "git", "program")
        equal(records(box)[1]["id"], records(box)[2]["id"], "one id")

    @test("audit: no secret of the command is in the log, and the leak is")
    def _(box):
        for words in (("--scan-args", "warn"), ("--scan-args", "off"), ()):
            box.run(*words, "echo", TOKEN)
        box.run("--json", "echo", TOKEN)
        for path in files(box):
            with open(path, encoding="utf-8") as file:
                check(TOKEN not in file.read(), "the token is in the log")
        leaks = records(box, "--kind", "leak")
        check({leak["verdict"] for leak in leaks} >= {"warned", "blocked"}, f"{leaks}")
        contains(json.dumps(records(box, "--kind", "run")), "[redacted:", "the command")

    @test("audit: mode full-access, a lower level and a used secret have kinds of their own", root=True)
    def _(box):
        box.run("--mode", "full-access", "--dangerously-allow-full-access", "true").exited(0)
        equal(records(box)[-1]["kind"], "unsandboxed_run", "full access")
        box.run("--level", "none", "--accept-no-sandbox", "true").exited(0)
        equal(records(box)[-1]["kind"], "unsandboxed_run", "level none")
        box.corral_("secret", "set", "AUDITED", stdin="value-of-the-secret").exited(0)
        box.run("--secret", "AUDITED", "true").exited(0)
        used = records(box, "--kind", "secret.used")
        equal([(r["secret"], r["how"]) for r in used], [("AUDITED", "env")], "secret")
        with open(files(box)[0], encoding="utf-8") as file:
            check("value-of-the-secret" not in file.read(), "the value is in the log")

    @test("audit: policy trust is recorded with the hash of the file")
    def _(box):
        box.write("ws/.corral.toml", "net.mode = 'none'\n")
        done = box.corral_("policy", "trust", f"{box.ws}/.corral.toml")
        if done.status != 0:
            raise Skip(done.err)
        record = records(box, "--kind", "trust")[-1]
        equal(record["path"], f"{box.ws}/.corral.toml", "path")
        check(re.fullmatch("[0-9a-f]{64}", record["sha256"]), f"{record}")

    @test("audit: a refused name of a filtered network is deny.net with its rule and remedy")
    def _(box):
        done = box.run("--json", "--net", "filtered", "--allow-host", "example.org", "--", "bash", "-c",
                       "exec 3<>/dev/tcp/evil.test/80")
        if not done.json["denials"]:
            raise Skip("no denial in the result")
        denials = records(box, "--kind", "deny", "--host", "evil.test", "--verdict", "denied")
        check(denials and denials[0]["kind"] == "deny.net", f"{denials}")
        equal(denials[0]["id"], done.json["id"], "id")
        equal(records(box, "--host", "vil.test"), [], "another host")

    @test("audit.enabled = false writes nothing, and a project's file cannot set it")
    def _(box):
        box.run("--set", "audit.enabled=false", "true").exited(0)
        equal(files(box), [], "files")
        box.write("ws/.corral.toml", "audit.enabled = false\n")
        box.run("true").exited(126).said("audit.enabled")
        os.unlink(f"{box.ws}/.corral.toml")
        box.run("--set", "audit.enabled=false", "--set", "audit.required=true", "true").exited(2).said("audit.required")

    @test("audit: the command sees neither the log nor its head", root=True)
    def _(box):
        box.run("true").exited(0)
        before = lines(box)
        for level in ("full", "standard"):
            box.run("--level", level, "-c", f"cat {files(box)[0]} {state(box)}/runs; echo x >>{files(box)[0]}")
        equal(lines(box)[:len(before)], before, "the log")
        equal(verify(box)["intact"], True, "intact")

    # ---- changes of the log ----

    for name, change, fault, seq in (
            ("edit", lambda old: [old[0], old[1].replace(b'"exit":1', b'"exit":0'), *old[2:]], "edited", 2),
            ("removal", lambda old: [old[0], *old[2:]], "removed", 3),
            ("other order", lambda old: [old[1], old[0], *old[2:]], "reordered", 1),
            ("cut end", lambda old: old[:2], "cut_off", 2)):
        @test(f"audit verify finds a changed log and says where: {name}")
        def _(box, change=change, fault=fault, seq=seq):
            four_runs(box)
            equal(verify(box)["intact"], True, "control")
            rewrite(box, change(lines(box)))
            report = verify(box, status=1)
            equal([(f["fault"], f["seq"]) for f in report["findings"]], [(fault, seq)], "findings")
            box.corral_("audit", "verify").exited(1)

    @test("audit verify finds a head that was set back, and one that is gone")
    def _(box):
        four_runs(box)
        with open(f"{state(box)}/runs", "r+b") as file:
            file.seek(HEAD_AT)
            old = file.read(192)
            box.run("true").exited(0)
            file.seek(HEAD_AT)
            file.write(old)
        report = verify(box)  # a record that the head does not have: the trace of a killed writer
        equal([f["fault"] for f in report["findings"]], ["unfinished"], "findings")
        os.unlink(f"{state(box)}/runs")
        equal([f["fault"] for f in verify(box, status=1)["findings"]], ["head_lost"], "without a head")
        box.run("true").exited(0)
        equal([f["fault"] for f in verify(box, status=1)["findings"]], ["head_lost"], "after the next run")

    @test("audit verify reports a part of a record as that of a killed writer")
    def _(box):
        four_runs(box)
        with open(files(box)[0], "ab") as file:
            file.write(b'{"time":"2026-11-17T')
        equal([f["fault"] for f in verify(box)["findings"]], ["unfinished"], "before the next run")
        box.run("true").exited(0)
        report = verify(box)
        equal([(f["fault"], f["count"]) for f in report["findings"]], [("torn", 20)], "after it")
        equal(report["intact"], True, "intact")

    # ---- a log that cannot be written ----

    @test("audit: a log that cannot be written stops no run, and with audit.required every run, before it starts")
    def _(box):
        box.run("true").exited(0)
        for path in files(box):
            os.unlink(path)
        os.rmdir(f"{state(box)}/audit")
        with open(f"{state(box)}/audit", "w", encoding="utf-8"):
            pass
        got = box.json("-c", "echo ran")
        equal([got["stdout"], got["exit_code"], got["audited"]], ["ran\n", 0, False], "without the key")
        check(any("audit" in note for note in got["notes"]), f"{got['notes']}")
        equal(box.run("echo", "ran").exited(0).err.count("the run is not in the audit log: "), 1, "for a person")
        done = box.run("--set", "audit.required=true", "-c", f"touch {box.ws}/ran").exited(125)
        contains(done.err, "audit", "message")
        check(not box.exists("ws/ran"), "the command ran")
        os.unlink(f"{state(box)}/audit")
        box.run("--set", "audit.required=true", "-c", f"touch {box.ws}/ran").exited(0)
        check(box.exists("ws/ran"), "the command did not run")
        equal(box.json("true")["audited"], True, "recorded")

    @test("audit: the result of a refused command says whether the log has its record", root=True)
    def _(box):
        for words, audited in (((), True), (("--set", "audit.enabled=false"), False)):
            done = box.run("--json", "--set", "commands.default=deny", *words, "--", "true").exited(126)
            records = [json.loads(line) for line in box.corral_("audit", "list", "--json").exited(0).out.splitlines()]
            equal(["run" in [r["kind"] for r in records if r["id"] == done.json["id"]], done.json["audited"]], [audited, audited], f"{words}")

    @test("audit: a lock that a stopped process holds stops no run, a person is told, and the next run is recorded")
    def _(box):
        box.run("true").exited(0)
        with open(f"{state(box)}/runs", "r+b") as file:
            fcntl.fcntl(file, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, HEAD_AT, 192, 0))
            for _n in range(2):
                done = box.run("echo", "ran").exited(0)
                equal([done.out, len(done.err.splitlines())], ["ran\n", 1], done.err)
                contains(done.err, "another process holds the lock of the audit log; remedy: ", "message")
            equal(box.run("--set", "audit.required=true", "echo", "no").exited(125).out, "", "required")
        equal(box.run("echo", "ran").exited(0).err, "", "the lock is free")
        equal([len(records(box)), verify(box)["findings"]], [2, []], "records")

    @test("audit: a full disk stops no run, and with audit.required every run", root=True)
    def _(box):
        os.makedirs(state(box), mode=0o700, exist_ok=True)
        fill = f"mount -t tmpfs -o size=64k,mode=700 t {state(box)}; dd if=/dev/zero of={state(box)}/fill bs=1k 2>/dev/null; "
        words = f"{box.corral} run --home ephemeral"
        done = box.execute(["unshare", "-rm", "sh", "-c", f"{fill} {words} echo ran; echo $?; "
                                                          f"{words} --set audit.required=true echo no; echo $?"], cwd=box.ws)
        if "unshare" in done.err:
            raise Skip(done.err)
        equal(done.out.split(), ["ran", "0", "125"], done.err)
        contains(done.err, "audit", "message")

    @test("audit: a limit of file size ends no run by a signal")
    def _(box):
        done = box.execute(["sh", "-c", f"ulimit -f 8; exec {box.corral} run --json echo ran"], cwd=box.ws)
        got = done.json
        equal([got["stdout"], got["audited"]], ["ran\n", False], "result")

    # ---- readers ----

    @test("audit list prints no control character of a command, and colours only a terminal")
    def _(box):
        box.run("-c", "true", "a\x1b[31mb\rc\u202ed")
        box.run("/no/such")
        text = box.corral_("audit", "list").exited(0).out
        check(not re.search("[\x00-\x09\x0b-\x1f\x7f\u202e]", text), repr(text))
        contains(text, "\\u001b[31mb", "escaped")

        def on_terminal(**env):
            ours, theirs = pty.openpty()
            process = box.start([box.corral, "audit", "list"], stdout=theirs, env={**box.env, **env})
            os.close(theirs)
            process.communicate()
            got = os.read(ours, 65536)
            os.close(ours)
            return got
        check(b"\x1b[33m" in on_terminal(), "no colour")
        check(b"\x1b" not in on_terminal(NO_COLOR="1"), "colour with NO_COLOR")

    @test("audit show prints the records of a run by its id or its last characters")
    def _(box):
        first, second = box.json("true")["id"], box.json("-c", "exit 7")["id"]
        for name in (second, second[-4:]):
            out = box.corral_("audit", "show", name).exited(0).out
            contains(out, second, name)
            check(first not in out, "another run")
        equal(json.loads(box.corral_("audit", "show", "--json", second).exited(0).out)["exit"], 7, "json")
        box.corral_("audit", "show", "zzzzzzzzzzzz").exited(2)
        box.corral_("audit", "show", "z").exited(2)

    @test("audit filters by time, session, agent, verdict, kind and path, and names a wrong one")
    def _(box):
        box.run("--set", "env.labels=SESSION_ID=one", "true").exited(0)
        box.run("--set", "env.labels=SESSION_ID=two", "--set", "env.agent=bot", "true")
        box.run("/no/such")
        equal(len(records(box, "--session", "one")), 1, "session")
        equal(records(box, "--session", "on"), [], "a part of a name")
        equal([r["verdict"] for r in records(box, "--verdict", "failed")], ["failed"], "verdict")
        equal(len(records(box, "--since", "1h")), len(records(box)), "since")
        equal(records(box, "--until", "1h"), [], "until")
        equal(len(records(box, "--path", box.ws)), len(records(box)), "path")
        equal(records(box, "--path", f"{box.ws}x"), [], "another path")
        equal(records(box, "--since", "2020-01-01", "--until", "2020-01-02T10:00"), [], "long ago")
        for words in (("--since", "yesterday"), ("--kind", "nothing"), ("--verdict", "maybe")):
            box.corral_("audit", "list", *words).exited(2)
        box.corral_("audit", "list", "word").exited(2)
        box.corral_("audit", "export").exited(2)
        box.corral_("audit", "export", "--format", "xml").exited(2)

    @test("audit tail prints the last ten records, and -f waits for new ones")
    def _(box):
        for _n in range(12):
            box.run("true")
        equal(len(box.corral_("audit", "tail").exited(0).out.splitlines()), 10, "ten")
        with open(f"{box.dir}/out", "w", encoding="utf-8") as file:
            process = box.start([box.corral, "audit", "tail", "-f"], stdout=file)

        def written():
            with open(f"{box.dir}/out", encoding="utf-8") as shown:
                return shown.read()
        check(wait_until(lambda: len(written().splitlines()) == 10), written())
        box.run("echo", "followed")
        check(wait_until(lambda: "echo followed" in written()), written())
        process.kill()
        process.wait()

    @test("audit stats counts runs, denials and hosts")
    def _(box):
        four_runs(box)
        got = json.loads(box.corral_("audit", "stats", "--json").exited(0).out)
        equal([got["records"], got["runs"], sum(got["runs_over_time"])], [4, 4, 4], "counts")
        text = box.corral_("audit", "stats").exited(0).out
        for part in ("4 records, 4 runs", "runs over time", "slowest runs", "##"):
            contains(text, part, "text")
        contains(box.corral_("audit", "stats", "--until", "2020-01-01").exited(0).out, "0 records", "none")
        box.run("-c", "sleep 1", 'a "quoted" word', "back\\slash", "é" * 60)
        slow = json.loads(box.corral_("audit", "stats", "--json").exited(0).out)["slowest"][0]["command"]
        contains(slow, '-c sleep 1 a "quoted" word back\\slash éé', "the words of the slowest command")
        check(slow.endswith("é...") and len(slow.encode()) <= 79, slow)

    @test("audit export prints an ExportLogsServiceRequest")
    def _(box):
        box.run("--json", "--set", "env.labels=SESSION_ID=s", "-c", "exit 3", "x\x1by")  # with --json the usage is known
        done = json.loads(box.corral_("audit", "export", "--format", "otlp").exited(0).out)
        (resource,) = done["resourceLogs"]
        names = {a["key"]: a["value"] for a in resource["resource"]["attributes"]}
        equal(names["service.name"], {"stringValue": "corral"}, "resource")
        (record,) = resource["scopeLogs"][0]["logRecords"]
        check(re.fullmatch("[0-9]{19}", record["timeUnixNano"]), record["timeUnixNano"])
        equal([record["severityNumber"], record["severityText"], record["body"]], [9, "INFO", {"stringValue": "run"}], "record")
        values = {a["key"]: a["value"] for a in record["attributes"]}
        equal(values["exit"], {"intValue": "3"}, "a number")
        equal(values["session"], {"stringValue": "s"}, "a string")
        equal(values["command"]["arrayValue"]["values"][-1], {"stringValue": "x\x1by"}, "a list")
        check("agent" not in values, "null has no value")
        equal(values["usage"]["kvlistValue"]["values"][0]["key"], "cpu_ms", "an object")
        empty = json.loads(box.corral_("audit", "export", "--format", "otlp", "--until", "2020-01-01").exited(0).out)
        equal(empty["resourceLogs"][0]["scopeLogs"][0]["logRecords"], [], "no record")

    @test("audit export prints OTLP as protobuf's JSON mapping wants it, for each kind of record and for edited ones")
    def _(box):
        every_kind(box)
        request = json.loads(box.corral_("audit", "export", "--format", "otlp").exited(0).out)
        equal(otlp.faults(request), [], "faults")
        written = request["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
        equal(len(written), printed(box), "records")
        check(KINDS <= {record["body"].get("stringValue") for record in written}, "kinds")
        # The check itself finds what is wrong.
        written[0]["timeUnixNano"] = int(written[0]["timeUnixNano"])
        written[1]["traceId"] = "abc"
        written[2]["time_unix_nano"] = "1"
        equal(len(otlp.faults(request)), 3, "control")

    @test("audit export prints a span for each run, and one trace for the commands of a session")
    def _(box):
        every_kind(box)
        for session in ("sess_01ARZ3NDEKTSV4RRFFQ69G5FAV", "sess_01ARZ3NDEKTSV4RRFFQ69G5FAV", "other"):
            box.run("--set", f"env.labels=SESSION_ID={session}", "--", "/bin/sh", "-c", "sleep 0.05; exit 4")
        request = json.loads(box.corral_("audit", "export", "--format", "otlp-traces").exited(0).out)
        equal(otlp.faults(request, "ExportTraceServiceRequest"), [], "faults")
        spans = request["resourceSpans"][0]["scopeSpans"][0]["spans"]
        check({"run", "unsandboxed_run"} >= {values["kind"]["stringValue"] for values in map(members, spans)}, "spans of other records")
        lines = box.corral_("audit", "list", "--json", "--kind", "run").exited(0).out.splitlines()
        runs = [json.loads(line) for line in lines[-3:]]
        equal([members(span)["id"]["stringValue"] for span in spans[-3:]], [run["id"] for run in runs], "the last runs")
        first, second, third = spans[-3:]
        # The bits of the ULID.
        equal(first["traceId"], "01563e3ab5d3d6764c61efb99302bd5b", "the id of the trace")
        check(first["traceId"] == second["traceId"] != third["traceId"], "traces")
        equal([first["name"], first["kind"], first["status"]], ["sh", 1, {"code": 2, "message": "exit"}], "a span")
        took = int(first["endTimeUnixNano"]) - int(first["startTimeUnixNano"])
        equal(took, runs[-3]["duration_ms"] * 1000000, "its duration")
        check(took >= 50000000, "it is shorter than the command")
        values = members(first)
        equal([values["exit"], values["session"]], [{"intValue": "4"}, {"stringValue": "sess_01ARZ3NDEKTSV4RRFFQ69G5FAV"}], "attributes")
        again = json.loads(box.corral_("audit", "export", "--format", "otlp-traces").exited(0).out)
        equal(again, request, "a second export")
        # The check itself finds what is wrong.
        spans[0]["traceId"] = "0" * 32
        spans[1]["endTimeUnixNano"] = "1"
        spans[2]["kind"] = "INTERNAL"
        equal(len(otlp.faults(request, "ExportTraceServiceRequest")), 3, "control")

    @test("audit export prints OCSF events with the attributes, types and constraints of their class, for each kind")
    def _(box):
        every_kind(box)
        events = [json.loads(line) for line in box.corral_("audit", "export", "--format", "ocsf").exited(0).out.splitlines()]
        equal([fault for event in events for fault in ocsf.faults(event)], [], "faults")
        equal(len(events), printed(box), "events")
        check(KINDS <= {event["unmapped"]["kind"] for event in events}, "kinds")
        equal({event["class_uid"] for event in events}, {1001, 1007, 2004, 4001}, "classes")
        by_kind = {event["unmapped"]["kind"]: event for event in reversed(events)}
        equal([by_kind[kind]["action_id"] for kind in ("deny.cmd", "run")], [2, 1], "denied and allowed")
        equal(by_kind["deny.path"]["file"]["name"], 'b"c', "the name of a file")
        equal([event["dst_endpoint"] for event in events if event["class_uid"] == 4001],
              [{"hostname": "evil.test", "port": 443}, {"ip": "2001:db8::1"}, {"ip": "192.0.2.1", "port": 1}, {"name": "_a.b"}],
              "hosts")
        # The check itself finds what is wrong.
        wrong = [{**events[0], "type_uid": 1}, {**events[0], "time": "now"}, {**events[0], "color": 1},
                 {key: value for key, value in events[0].items() if key != "severity_id"}]
        equal([len(ocsf.faults(event)) for event in wrong], [1, 1, 1, 1], "control")
