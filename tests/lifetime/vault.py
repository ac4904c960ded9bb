#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills writers of the vault: afterwards it has the state before the call or the one after it.

    tests/lifetime/vault.py --corral build/corral [--times 1000] [--seed N] [--calls]

Kills at random moments, and with --calls (strace) at every system call of each kind of writer.
"""
import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time


class Vault:
    """A home with a vault, and what it should hold."""

    def __init__(self, corral):
        self.corral = os.path.abspath(corral)
        self.home = tempfile.mkdtemp(prefix="corral-vault-")
        self.env = {"HOME": self.home, "PATH": "/usr/bin:/bin"}
        self.holds = {}

    def words(self, *words):
        return [self.corral, "secret", *words]

    def state(self):
        """The secrets, or a RuntimeError when the vault does not open."""
        done = subprocess.run(self.words("export", "--json"), env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=60, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"the vault does not open: {done.stderr.decode()}")
        return json.loads(done.stdout)

    def close(self):
        shutil.rmtree(self.home)


def change(vault, dice, turn):
    """(words, input, the state after it) of a random change."""
    after = dict(vault.holds)
    kind = dice.choice(("set", "set", "rm", "import", "rekey"))
    if kind == "rm" and after:
        name = dice.choice(sorted(after))
        del after[name]
        return vault.words("rm", name), b"", after
    if kind == "import":
        more = {f"I{n}": f"imported {turn}" for n in range(5)}
        after.update(more)
        return vault.words("import", "-"), json.dumps(more).encode(), after
    if kind == "rekey" and after:
        return vault.words("rekey"), b"", after
    name = f"N{dice.randrange(20)}"
    after[name] = f"value {turn} " + "x" * dice.randrange(9000)
    return vault.words("set", name), after[name].encode(), after


def start(argv, vault, data):
    process = subprocess.Popen(argv, env=vault.env, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        process.stdin.write(data)
        process.stdin.close()
    except BrokenPipeError:
        pass
    return process


def judge(vault, after):
    """'old' or 'new'; the vault holds that from now on."""
    got = vault.state()
    if got not in (vault.holds, after):
        raise RuntimeError(f"neither the old state nor the new one: {sorted(got)}, {sorted(vault.holds)}, {sorted(after)}")
    which = "old" if got == vault.holds and got != after else "new"
    vault.holds = got
    return which


def random_kills(vault, dice, times):
    """How often the kill came too early and too late for the change."""
    seen = {"old": 0, "new": 0, "killed": 0}
    longest = 0.02
    for turn in range(times):
        argv, data, after = change(vault, dice, turn)
        began = time.monotonic()
        process = start(argv, vault, data)
        if turn % 10 == 0:  # how long one takes, on this machine now
            process.wait()
            longest = time.monotonic() - began
        else:
            time.sleep(dice.uniform(0, longest))
        process.kill()
        process.wait()
        process.stderr.close()
        seen["killed"] += process.returncode == -9
        seen[judge(vault, after)] += 1
    return seen


# The calls between which the files differ, and a few between those.
CALLS = ("open", "openat", "read", "write", "fchmod", "fsync", "link", "unlink", "rename", "mkdir", "flock", "close", "munmap",
         "getrandom")


def kill_at(vault, argv, data, after, call):
    """Kills the writer when it enters a system call for the n-th time; whether it did."""
    name, count = call
    process = start(["strace", "-o", "/dev/null", "-e", f"inject={name}:signal=SIGKILL:when={count}", *argv], vault, data)
    process.wait()
    process.stderr.close()
    judge(vault, after)
    return process.returncode != 0


def kills_at_every_call(vault):
    kinds = ((("set", "NEW"), b"new value", lambda held: {**held, "NEW": "new value"}),
             (("rekey",), b"", dict),
             (("import", "-"), b"{\"NEW\": \"i\", \"MORE\": \"j\"}", lambda held: {**held, "NEW": "i", "MORE": "j"}),
             (("rm", "BASE"), b"", lambda held: {name: value for name, value in held.items() if name != "BASE"}))
    kills = 0
    for words, data, effect in kinds:
        for name in CALLS:
            for count in range(1, 2000):
                if "BASE" not in vault.holds:
                    start(vault.words("set", "BASE"), vault, b"base").wait()
                    vault.holds["BASE"] = "base"
                if not kill_at(vault, vault.words(*words), data, effect(vault.holds), (name, count)):
                    break
                kills += 1
    return kills


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--corral", required=True)
    parser.add_argument("--times", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--calls", action="store_true", help="also at every system call")
    args = parser.parse_args()
    dice = random.Random(args.seed)
    vault = Vault(args.corral)
    failed = 0
    print(f"# seed {args.seed}")
    try:
        seen = random_kills(vault, dice, args.times)
        print(f"ok 1 - the vault opens after {args.times} killed writers and has the old state or the new one\n# {seen}")
        if args.calls and shutil.which("strace") is None:
            print("ok 2 - at every system call # SKIP no strace")
        elif args.calls:
            kills = kills_at_every_call(vault)
            print(f"ok 2 - also when it is killed at every system call\n# {kills} kills")
    except RuntimeError as error:
        failed = 1
        print(f"not ok - {error}")
    print(f"1..{1 + args.calls}")
    vault.close()
    return failed


if __name__ == "__main__":
    sys.exit(main())
