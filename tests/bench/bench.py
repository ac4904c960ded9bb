# SPDX-License-Identifier: Apache-2.0
"""The machine of a measurement: directories, the account, the helper programs, and how turns are interleaved.

Should:   run every command as an ordinary account, also when root runs the bench; remove every directory and mount it made.
Must not: measure a command that failed.
"""
import json
import math
import os
import pwd
import shutil
import statistics
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
LIBRARIES = ("-ljansson", "-lyaml", "-lsodium")


class Skip(Exception):
    """This cannot be measured here; the text is the reason."""


def figures(values):
    """What is kept of a list of measurements."""
    ordered = sorted(values)
    return {"median": statistics.median(ordered), "min": ordered[0], "p99": ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)],
            "n": len(ordered)}


def slope(points):
    """The exponent b of the best fit y = a * x ** b."""
    logs = [(math.log(x), math.log(y)) for x, y in points if x > 0 and y > 0]
    if len(logs) < 2:
        return 0.0
    mean_x, mean_y = (sum(column) / len(logs) for column in zip(*logs))
    spread = sum((x - mean_x) ** 2 for x, _ in logs)
    return sum((x - mean_x) * (y - mean_y) for x, y in logs) / spread if spread else 0.0


class Account:
    """An account that runs commands: the caller's own, or an ordinary one that root changes to."""

    def __init__(self, name, home):
        self.name, self.words, self.kind = name, {}, "user" if os.geteuid() or name != "root" else "root"
        self.prefix = []
        if os.geteuid() == 0 and name != "root":
            entry = pwd.getpwnam(name)
            self.words = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
            self.prefix = ["setpriv", f"--reuid={entry.pw_uid}", f"--regid={entry.pw_gid}", "--clear-groups", "--"]
        self.env = {"HOME": home, "PATH": PATH, "LANG": "C.UTF-8", "USER": name, "XDG_RUNTIME_DIR": home}

    def own(self, path):
        if self.words:
            os.chown(path, self.words["user"], self.words["group"])


class Bench:
    """One run of the bench."""

    def __init__(self, build, quick=False, full=False):
        self.build, self.quick, self.full = os.path.realpath(build), quick, full
        self.notes = []
        self.place = tempfile.mkdtemp(prefix="corral-bench-", dir=os.environ.get("BENCH_PLACE", "/var/tmp"))
        os.chmod(self.place, 0o755)
        name = os.environ.get("BENCH_USER", "games") if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
        self.user = Account(name, f"{self.place}/home")
        self.make_dir("home")
        self.make_dir("bin")
        self.corral = shutil.copy(f"{self.build}/corral", f"{self.place}/bin/corral")
        shutil.copy(f"{self.build}/corrald", f"{self.place}/bin/corrald")
        self.daemons = []
        self.base = os.environ.get("BENCH_BASE")
        self.compiled = {}

    def session(self, account, workspace):
        """The id of a session in a daemon of this account."""
        place = {"cwd": workspace, "env": account.env, "stdin": subprocess.DEVNULL, **account.words}
        self.daemons.append(subprocess.Popen([self.corral, "daemon"], stderr=subprocess.DEVNULL, **place))
        words = [self.corral, "session", "create", "--no-config"]
        for _ in range(100):  # until it listens
            done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, **place)
            if done.returncode == 0:
                return done.stdout.strip()
            time.sleep(0.1)
        raise Skip(f"no session: {done.stderr.strip()[-300:]}")

    def close(self):
        for daemon in self.daemons:
            daemon.terminate()
            daemon.wait()
        with open("/proc/mounts", encoding="utf-8") as source:  # also those that podman leaves
            mounted = [line.split()[1] for line in source if line.split()[1].startswith(self.place + "/")]
        for path in reversed(mounted):
            subprocess.run(["umount", "-l", path], check=False)
        shutil.rmtree(self.place, ignore_errors=True)

    def accounts(self, subject):
        """The ordinary account, and root where root runs the bench."""
        yield self.user
        if os.geteuid() == 0:
            yield Account("root", self.make_dir("root-home", Account("root", "/")))
        else:
            self.note(f"{subject}, as root: left out: the bench does not run as root")

    # -- places --

    def make_dir(self, name, account=None):
        path = name if name.startswith("/") else f"{self.place}/{name}"
        os.makedirs(path, exist_ok=True)
        (account or self.user).own(path)
        return path

    def write(self, path, text, mode="w"):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, mode, **({} if "b" in mode else {"encoding": "utf-8"})) as out:
            out.write(text)
        self.user.own(path)
        return path

    def give(self, path):
        """Everything beneath a path to the account."""
        if self.user.words:
            subprocess.run(["chown", "-R", f"{self.user.words['user']}:{self.user.words['group']}", path], check=True)

    def filesystems(self):
        """(name, directory): a tmpfs and the disk."""
        disk = self.make_dir("disk")
        kind = subprocess.run(["stat", "-f", "-c", "%T", disk], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
        found = {"ext4" if kind == "ext2/ext3" else kind: disk}
        memory = self.make_dir("memory")
        if os.geteuid() != 0:
            self.note("tmpfs: left out: only root can mount one")
        elif subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8g,mode=755", "none", memory], check=False).returncode == 0:
            self.user.own(memory)
            found = {"tmpfs": memory, **found}
        return found

    def note(self, text):
        text = " ".join(text.replace(self.place, "DIR").split())
        print(text, flush=True)
        self.notes.append(text)

    # -- helper programs --

    def program(self, name, *more):
        """The path of a helper, compiled once."""
        if name not in self.compiled:
            path = f"{self.place}/bin/{name}"
            subprocess.run([os.environ.get("CC", "gcc").split()[-1], "-O2", "-std=gnu17", "-D_GNU_SOURCE", "-pthread",
                            f"-I{ROOT}/include", f"-I{ROOT}/src", "-o", path, f"{HERE}/{name}.c", *more], check=True)
            self.compiled[name] = path
        return self.compiled[name]

    def latency(self):
        return self.program("latency", f"{self.build}/src/libcorral.a", *LIBRARIES)

    # -- commands --

    def corral_words(self, workspace, *options, program=None):
        return [program or self.corral, "run", "--no-config", "--workspace", workspace, *options]

    def bwrap_words(self, workspace, *options):
        return ["bwrap", *options, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp",
                "--bind", workspace, workspace, "--new-session", "--die-with-parent"]

    def run(self, argv, cwd, account=None, env=None):
        """Seconds of one command that must succeed."""
        who = account or self.user
        start = time.monotonic()
        done = subprocess.run(argv, cwd=cwd, env={**who.env, **(env or {})}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", check=False, **who.words)
        spent = time.monotonic() - start
        if done.returncode != 0:
            raise Skip(f"{' '.join(argv)[:160]}: status {done.returncode}: {done.stdout.strip()[-300:]}")
        return spent

    def output(self, argv, cwd, account=None, env=None):
        who = account or self.user
        done = subprocess.run(argv, cwd=cwd, env={**who.env, **(env or {})}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, check=False, **who.words)
        if done.returncode != 0:
            raise Skip(f"{' '.join(argv)[:160]}: status {done.returncode}: {done.stderr.strip()[-300:]}")
        return done.stdout

    def race(self, contenders, rounds, seconds, cwd, account=None, env=None):
        """name → microseconds of each round, of (name, words) in one interleaved run; those that fail are left out aloud."""
        words = [self.latency(), str(rounds), str(seconds)]
        for number, (name, argv) in enumerate(contenders):
            words += ["--"] * (number > 0) + [name, *argv]
        found = {}
        for line in self.output(words, cwd, account, env).splitlines():
            row = json.loads(line)
            if "failed" in row:
                self.note(f"{row['name']}: left out: {row['failed']}")
            else:
                found[row["name"]] = row["us"]
        return found

    def interleave(self, turns, rounds):
        """name → seconds of each round; a turn that fails is left out aloud."""
        times = {name: [] for name in turns}
        for number in range(rounds + 1):
            for name in list(times):
                try:
                    spent = turns[name]()
                except Skip as problem:
                    self.note(f"{name}: left out: {problem}")
                    del times[name]
                    continue
                if number > 0:  # the first fills the caches
                    times[name].append(spent)
        return times
