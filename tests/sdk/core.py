# SPDX-License-Identifier: Apache-2.0
"""The Python package, both halves: core.py [--sessions]

Each test takes a half: the async module itself, or the sync one, whose calls run in threads."""
import asyncio
import contextlib
import inspect
import os
import subprocess
import sys
import threading
import time
import traceback
import urllib.request

import corral
from corral import aio

BINARY, WORKSPACE = os.environ["CORRAL"], os.environ["WORKSPACE"]
KEY = f"{os.environ['HOME']}/.ssh/id_rsa"
AT = {"binary": BINARY, "workspace": WORKSPACE}
ALL_BYTES = bytes(range(256))
FACE = "\U0001f600 ñ 中"
PATIENCE = 60
MARKS = iter(range(1, 1000))


class InThreads:
    """An object of the sync half, with async methods."""

    def __init__(self, inner):
        self.inner = inner

    def __getattr__(self, name):
        value = getattr(self.inner, name)
        if not callable(value) or name == "kill":
            return value

        async def call(*words, **named):
            found = await asyncio.to_thread(value, *words, **named)
            return InThreads(found) if isinstance(found, (corral.Process, corral.Session)) else found
        return call


HALVES = {"sync": InThreads(corral), "async": aio}


def sandbox_of(half, **more):
    return InThreads(corral.Sandbox(**AT, **more)) if half is not aio else aio.Sandbox(**AT, **more)


def session_class(half):
    return InThreads(corral.Session) if half is not aio else aio.Session


async def read(process, stream="stdout"):
    data = getattr(process, stream).read()
    return await data if inspect.isawaitable(data) else data


def mark():
    """A number of seconds that no other process sleeps, longer than any test."""
    return f"72{os.getpid()}.{next(MARKS)}"


def marked(text):
    """Processes of the host with this text in their arguments, zombies not counted."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/cmdline", "rb") as line, open(f"/proc/{pid}/status", encoding="utf-8") as status:
                if text.encode() in line.read() and "State:\tZ" not in status.read() and int(pid) != os.getpid():
                    found.append(pid)
    return found


async def until(probe, what):
    end = time.monotonic() + PATIENCE
    while not probe():
        assert time.monotonic() < end, f"not within a minute: {what}"
        await asyncio.sleep(0.02)


async def fails(awaitable, kind, text=""):
    try:
        await awaitable
    except kind as error:
        assert text in str(error), f"another error: {error!r}"
        return error
    raise AssertionError(f"no {kind.__name__}")


def equal(got, wanted):
    assert got == wanted, f"got {got!r}, wanted {wanted!r}"


def connections():
    with open(os.environ["SERVER_LOG"], encoding="utf-8") as log:
        return len(log.readlines())


def content(path):
    with open(f"{WORKSPACE}/{path}", "rb") as file:
        return file.read()


def put(path, data):
    with open(f"{WORKSPACE}/{path}", "wb") as file:
        file.write(data)


async def test_results_of_a_string_and_a_list(half):
    result = await half.run("echo out; echo err >&2; exit 3", **AT)
    equal((result["reason"], result["exit_code"], result["stdout"], result["stderr"]), ("exit", 3, "out\n", "err\n"))
    equal(result["level"], os.environ["LEVEL"])
    assert any(g["name"] == "fs.write" and g["state"] == "enforced" for g in result["guarantees"])
    equal((await half.run(["printf", "%s|", "$HOME", "a b", "; id", ""], **AT))["stdout"], "$HOME|a b|; id||")


async def test_the_typed_fields_are_those_of_a_result(half):
    result = await half.run("true", **AT)
    typed = corral.Result.__annotations__
    equal(set(typed) - set(result) - {"error", "grants_more", "grants_ended"}, set())
    equal(set(result) - set(typed), set())
    failed = (await fails(half.run(["no-such-program"], **AT), corral.SetupError)).result
    equal(set(failed) - set(typed), set())


async def test_unicode(half):
    result = await half.run(["sh", "-c", 'cat; printf %s "$1$NAME"; touch -- "$1"', "sh", FACE], **AT, input=FACE,
                            env={"NAME": FACE})
    equal(result["stdout"], FACE * 3)
    assert FACE in os.listdir(WORKSPACE)
    equal([e.type for e in await sandbox_of(half).list_directory(".") if e.name == FACE], ["file"])


async def test_binary_and_large_output(half):
    equal((await half.run(["cat"], **AT, input=ALL_BYTES, text=False))["stdout"], ALL_BYTES)
    equal((await half.run(["printf", "a\\377b"], **AT))["stdout"], "a\ufffdb")
    script = "head -c 5000000 /dev/zero | tr '\\0' x; head -c 5000000 /dev/zero | tr '\\0' y >&2"
    cut = await half.run(script, **AT, max_output=100_000)
    assert len(cut["stdout"]) <= 100_200 and cut["truncated"]["stdout"] >= 4_899_000
    whole = await half.run(script, **AT, text=False)
    equal((whole["stdout"], whole["stderr"]), (b"x" * 5_000_000, b"y" * 5_000_000))


async def test_a_credential_of_home_is_refused(half):
    with open(KEY, encoding="utf-8") as file:
        equal(file.read(), "PRIVATE\n")  # the control outside
    result = await half.run(["cat", KEY], **AT, denials="all")
    assert result["exit_code"] != 0 and "PRIVATE" not in result["stdout"]
    denial = next(d for d in result["denials"] if d.get("path") == KEY)
    equal((denial["access"], denial["allow_with"]), ("read", None))
    assert KEY in corral.explain(result)
    put("own", b"PUBLIC\n")
    equal((await half.run(["cat", "own"], **AT))["stdout"], "PUBLIC\n")  # the twin inside


async def test_a_protected_file_stays_as_it_is(half):
    put("guarded", b"kept")
    result = await half.run("echo changed >guarded", **AT, protect="guarded")
    equal((result["exit_code"] != 0, content("guarded"), result["denials"][0]["path"]), (True, b"kept", f"{WORKSPACE}/guarded"))
    equal((await half.run("echo changed >guarded", **AT))["denials"], [])
    equal(content("guarded"), b"changed\n")


async def test_a_host_is_refused_and_sees_nothing(half):
    port = int(os.environ["PORT"])
    url, before = f"http://127.0.0.1:{port}/", connections()
    equal(urllib.request.urlopen(url, timeout=PATIENCE).read(), b"served\n")  # the control outside
    await until(lambda: connections() == before + 1, "the control's connection")
    result = await half.run(["curl", "-s", "-m", "10", url], **AT)
    equal((result["exit_code"] != 0, result["stdout"], connections()), (True, "", before + 1))
    equal([(d["op"], d["allow_with"]) for d in result["denials"]], [("connect", f"--host-port {port}")])
    equal((await half.run(["curl", "-s", "-m", "10", url], **AT, host_port=port))["stdout"], "served\n")


async def test_kill_ends_grandchildren(half):
    sign = mark()
    process = await half.spawn(f"trap '' TERM; (setsid sleep {sign} &); sleep {sign}", **AT, grace=0.1)
    await until(lambda: len(marked(sign)) >= 2, "the processes run")
    process.kill()
    equal(((await process.wait())["reason"], marked(sign)), ("cancelled", []))


async def test_a_time_out_is_a_result(half):
    sign = mark()
    result = await half.run(f"setsid sleep {sign} & echo begun; wait", **AT, timeout=1.5, grace=0.1)
    equal((result["reason"], result["exit_code"], result["stdout"], marked(sign)), ("timeout", None, "begun\n", []))


async def test_the_death_of_the_caller_ends_the_run(half):
    sign, module = mark(), "corral" if half is not aio else "corral.aio"
    call = f"run('sleep {sign}', binary={BINARY!r}, workspace={WORKSPACE!r}, grace=0.1)"
    source = f"import asyncio, {module} as m; " + (f"asyncio.run(m.{call})" if half is aio else f"m.{call}")
    child = subprocess.Popen([sys.executable, "-c", source], stdin=subprocess.DEVNULL)
    await until(lambda: len(marked(sign)) >= 3, "the command runs")
    child.kill()
    child.wait()
    await until(lambda: not marked(sign), "everything has ended")


async def test_fifty_at_once(half):
    results = await asyncio.gather(*(half.run(["sh", "-c", 'echo "$1"; exit "$1"', "sh", str(i)], **AT) for i in range(50)))
    equal([(r["exit_code"], r["stdout"]) for r in results], [(i, f"{i}\n") for i in range(50)])
    equal(len({r["id"] for r in results}), 50)


async def test_streams(half):
    process = await half.spawn("cat; echo end >&2; exit 4", **AT, stdin=True)
    if half is aio:
        await process.feed(b"streamed")
        equal(await process.stdout.readline(), b"streamed")
    else:
        process.stdin.write(b"streamed")
        process.stdin.close()
    if half is not aio:
        equal(await asyncio.to_thread(process.stdout.read), b"streamed")
    equal(await read(process, "stderr") if half is aio else await asyncio.to_thread(process.stderr.read), b"end\n")
    result = await process.wait()
    equal((result["exit_code"], result["stdout"]), (4, None))


async def test_input(half):
    equal((await half.run(["cat"], **AT))["stdout"], "")
    equal((await half.run(["wc", "-c"], **AT, input=b"a" * 1_000_000))["stdout"].strip(), "1000000")
    equal((await half.run(["true"], **AT, input=b"a" * 10_000_000))["exit_code"], 0)  # a command that reads nothing


async def test_variables_are_not_in_the_list_of_processes(half):
    sign = mark()
    process = await half.spawn(f"echo $TOKEN; sleep {sign}", **AT, env={"TOKEN": f"s3cret{sign}"}, grace=0.1)
    line = process.stdout.readline()
    equal(await line if half is aio else line, f"s3cret{sign}\n".encode())
    equal(marked(f"s3cret{sign}"), [])
    process.kill()
    await process.wait()


async def test_errors_are_typed_and_nothing_runs(half):
    await fails(half.run("true", binary="/no/such/corral"), corral.BinaryNotFoundError, "binary")
    for name, value in (("netwrok", "none"), ("net", "some"), ("cow", "yes"), ("timeout", -1), ("write", "/no/such/directory"),
                        ("workspace", "a\0b"), ("env", {"A=B": "c"}), ("env", {"A": 1})):
        await fails(half.run("touch ran", **{**AT, name: value}), corral.UsageError, name if name != "write" else "/no/such")
    await fails(half.run([], **AT), corral.UsageError, "empty")
    missing = await fails(half.run(["no-such-program"], **AT), corral.SetupError, "no-such-program")
    equal(missing.result["reason"], "setup")
    refused = await fails(half.run(["touch", "ran"], **AT, policy={"commands": {"default": "deny"}}), corral.RefusedError)
    assert "touch" in refused.result["denials"][0]["command"] and refused.remedy
    assert not os.path.exists(f"{WORKSPACE}/ran")


async def test_files_have_the_access_of_a_command(half):
    await files(sandbox_of(half))


async def files(commands):
    await commands.write_file("new/a b/-f", ALL_BYTES)
    equal((await commands.read_bytes("new/a b/-f"), content("new/a b/-f")), (ALL_BYTES, ALL_BYTES))
    found = await commands.stat("new/a b/-f")
    equal((found.type, found.size), ("file", 256))
    await commands.write_file("new/line\nbreak", "x")
    equal(sorted((e.type, e.name) for e in await commands.list_directory("new")), [("directory", "a b"), ("file", "line\nbreak")])
    for call, path, code in ((commands.read_bytes, "none", "ENOENT"), (commands.read_bytes, "new", "EISDIR"),
                             (commands.list_directory, "new/a b/-f", "ENOTDIR")):
        equal((await fails(call(path), corral.FileError)).code, code)
    await fails(commands.write_file("/etc/corral-test/x", "x"), corral.FileError)
    await fails(commands.read_bytes(KEY), corral.FileError)
    await commands.remove_file("new/line\nbreak")
    await commands.make_directory("new/deep/er")
    equal((await commands.exists("new/line\nbreak"), await commands.exists("new/deep/er")), (False, True))
    await commands.run(["rm", "-r", "new"])


async def session_shares_tmp_and_processes(half):
    sign, sessions = mark(), session_class(half)
    session = await sessions.create(**AT, name=f"sdk-{'async' if half is aio else 'sync'}", env={"KEPT": FACE})
    first = await session.run('echo "$KEPT $MORE" >$TMPDIR/f; pwd; exit 5', env={"MORE": "m"}, cwd="/")
    equal((first["exit_code"], first["stdout"], first["session"]), (5, "/\n", session.id))
    again = await sessions.attach(session.id, binary=BINARY)
    equal((await again.run("cat $TMPDIR/f"))["stdout"], f"{FACE} m\n")
    equal((await session.run(["cat"], input=ALL_BYTES, text=False))["stdout"], ALL_BYTES)
    equal((await session.run(f"sleep {mark()}", timeout=0.5))["reason"], "timeout")
    await files(session)
    await session.run(f"setsid sleep {sign} >/dev/null 2>&1 &")
    assert marked(sign)
    other = mark()
    process = await session.spawn(f"setsid sleep {other} & wait")
    await until(lambda: marked(other), "the command runs")
    process.kill()
    await fails(process.wait(), corral.CancelledError)
    await until(lambda: not marked(other), "its processes have ended")
    await fails(session.run(["no-such-program"]), corral.SetupError, "no-such-program")
    await session.stop()
    await until(lambda: not marked(sign), "the session's processes have ended")
    equal((await session.show())["state"], "STOPPED")
    await fails(session.run("true"), corral.DaemonError, "STOPPED")
    await fails(sessions.attach("no-such-session"), corral.DaemonError, "no-such-session")
    await fails(sessions.create(**AT, read="/no/such/path"), corral.UsageError, "/no/such/path")


async def a_cancelled_task_ends_its_command():
    sign = mark()
    task = asyncio.ensure_future(aio.run(f"trap '' TERM; (setsid sleep {sign} &); sleep {sign}", **AT, grace=0.1))
    await until(lambda: len(marked(sign)) >= 2, "the processes run")
    task.cancel()
    await fails(task, asyncio.CancelledError)
    equal(marked(sign), [])


async def a_context_ends_its_command():
    sign = mark()
    with corral.spawn(f"yes; sleep {sign}", **AT, grace=0.1) as process:
        await until(lambda: marked(sign), "the command runs")
    equal((process.stdout.closed, marked(sign)), (True, []))
    sign = mark()
    async with await aio.spawn(f"yes; sleep {sign}", **AT, grace=0.1):
        await until(lambda: marked(sign), "the command runs")
    equal(marked(sign), [])
    sign = mark()
    process = corral.spawn(f"sleep {sign}", **AT, grace=0.1)
    threading.Timer(0.2, process.kill).start()
    equal(process.wait()["reason"], "cancelled")


async def attempt(name, body):
    try:
        await body
    except Exception:  # pylint: disable=broad-except
        print("# " + traceback.format_exc().replace("\n", "\n# "))
        print(f"not ok - {name}", flush=True)
        return 1
    print(f"ok - {name}", flush=True)
    return 0


async def main():
    failed = 0
    tests = [(name.removeprefix("test_").replace("_", " "), test) for name, test in globals().items() if name.startswith("test_")]
    for half_name, half in HALVES.items():
        for name, test in tests:
            failed += await attempt(f"{half_name}: {name}", test(half))
        if "--sessions" in sys.argv:
            failed += await attempt(f"{half_name}: sessions", session_shares_tmp_and_processes(half))
    failed += await attempt("async: a cancelled task ends its command", a_cancelled_task_ends_its_command())
    failed += await attempt("the end of a context, and another thread, end a command", a_context_ends_its_command())
    return 1 if failed else 0


sys.exit(asyncio.run(main()))
