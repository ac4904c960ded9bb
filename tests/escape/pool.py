#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`corral run` in a sandbox of the pool, for `run.py --pool`: this program takes the place of corral.

For each call it starts a daemon of its own, lets a first run with the same options leave a sandbox behind, and then
runs the command in that one.  A run that was cold all the same (an option that the pool does not serve) is counted in
the directory "cold" beside this program: such a row proves nothing about the pool.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
CORRAL = f"{HERE}/corral.real"
SETS = ["--set", "daemon.pool=1"]
PATIENCE = 20


def wait_for(probe):
    end = time.monotonic() + PATIENCE
    while not probe() and time.monotonic() < end:
        time.sleep(0.01)


def fill(options, place, environment):
    """Cold runs with the same options, until one has left a keeper: the first one may create the private home, which
    is part of the plan.  A row's options may make them fail."""
    pools = f"{place}/corral/p"
    for _ in range(3):
        subprocess.run([CORRAL, "run", *SETS, *options, "--", "/bin/true"], env=environment, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        before = set(os.listdir(pools))
        end = time.monotonic() + 0.5
        while set(os.listdir(pools)) == before and time.monotonic() < end:
            time.sleep(0.01)


def run(words, environment):
    """The command; the result goes to a pipe, which says whether the sandbox was one of the pool."""
    if "--json" in words or "--result-fd" in words or "--" not in words:
        return subprocess.run([CORRAL, "run", *SETS, *words], env=environment, check=False).returncode, None
    reader, writer = os.pipe()
    child = subprocess.Popen([CORRAL, "run", *SETS, "--result-fd", str(writer), *words], env=environment, pass_fds=[writer])
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        text = file.read()
    status = child.wait()
    try:
        return status, json.loads(text)["warm"]
    except (ValueError, KeyError):
        return status, None


def main():
    words = sys.argv[1:]
    if words[:1] != ["run"]:
        os.execv(CORRAL, [CORRAL, *words])
    words = words[1:]
    place = tempfile.mkdtemp(prefix="escape-pool-", dir="/tmp")
    environment = {**os.environ, "XDG_RUNTIME_DIR": place}
    daemon = subprocess.Popen([CORRAL, "daemon"], env={**environment, "XDG_STATE_HOME": f"{place}/state"}, cwd="/",
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: os.path.exists(f"{place}/corral/admin.sock") or daemon.poll() is not None)
        options = words[:words.index("--")] if "--" in words else words
        if os.path.exists(f"{place}/corral/p"):
            fill(options, place, environment)
        status, warm = run(words, environment)
    finally:
        daemon.terminate()
        daemon.wait()
        shutil.rmtree(place, ignore_errors=True)
    name = "warm" if warm else "cold"
    with open(f"{HERE}/{name}/{os.getpid()}", "w", encoding="utf-8") as file:
        file.write(" ".join(words))
    if status < 0:
        os.kill(os.getpid(), -status)
    return status


sys.exit(main())
