#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The backends docker and podman with real engines: boundary, reasons, time-outs, nothing left.  Speaks TAP.

    tests/docker/run.py --corral build/corral [--only WORDS]

Needs root.  dockerd and the storage of podman are new ones in a directory of their own, which goes again with everything
in it.  The image is busybox alone.  crun refuses a host with both versions of control groups, so this program unmounts
one of them in a mount namespace of its own."""
import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

WAIT_SECONDS = 120
TOOLS = "sh cat echo ls id touch mkdir rm sleep env kill true wget dd mount".split()


class Failed(Exception):
    pass


def expect(truth, *said):
    if not truth:
        raise Failed(" ".join(str(word) for word in said))


def until(happened, *said):
    end = time.monotonic() + WAIT_SECONDS
    while not happened():
        expect(time.monotonic() < end, "waited in vain:", *said)
        time.sleep(0.05)


class Engine:
    def __init__(self, place, corral):
        self.place, self.corral, self.daemon = place, corral, None
        self.ws = f"{place}/ws"
        os.makedirs(self.ws)
        self.env = dict(os.environ, HOME=f"{place}/home", TMPDIR=place)
        os.makedirs(self.env["HOME"])
        self.start()
        self.image = self.make_image()

    def call(self, *words, stdin=None, status=0):
        done = subprocess.run([self.name, *words], env=self.env, input=stdin, capture_output=True, timeout=WAIT_SECONDS, check=False)
        expect(status is None or done.returncode == status, words, done.stderr.decode())
        return done

    def make_image(self):
        root = f"{self.place}/root"
        for name in ("bin", "tmp", "etc", "proc", "sys", "dev", "run"):
            os.makedirs(f"{root}/{name}")
        shutil.copy("/bin/busybox", f"{root}/bin/busybox")
        for tool in TOOLS:
            os.symlink("busybox", f"{root}/bin/{tool}")
        tar = subprocess.run(["tar", "-C", root, "-c", "."], stdout=subprocess.PIPE, check=True).stdout
        found = self.call("import", "-", "corral-test", stdin=tar).stdout.decode().split()[-1]
        return found if found.startswith("sha256:") else f"sha256:{found}"

    def words(self, *words):
        return [self.corral, "run", "--no-config", "--backend", self.name, "--image", self.image, *words]

    def run(self, *words, **more):
        return subprocess.run(self.words(*words), env=self.env, cwd=self.ws, capture_output=True, text=True,
                              timeout=WAIT_SECONDS, check=False, stdin=subprocess.DEVNULL, **more)

    def json(self, *words):
        done = self.run("--json", *words)
        return json.loads(done.stdout)

    def left(self):
        containers = self.call("ps", "--all", "--quiet").stdout.split()
        return containers + [name for name in os.listdir(self.place) if name.startswith("corral-")]

    def stop(self):
        if self.daemon:
            self.daemon.terminate()
            self.daemon.wait(WAIT_SECONDS)


class Docker(Engine):
    name = "docker"
    needs = ("docker", "dockerd", "containerd", "runc")
    counts_oom = True

    def start(self):
        self.env["DOCKER_HOST"] = f"unix://{self.place}/sock"
        self.daemon = subprocess.Popen(
            ["dockerd", "-H", self.env["DOCKER_HOST"], "--data-root", f"{self.place}/data", "--exec-root", f"{self.place}/exec",
             "--pidfile", f"{self.place}/pid", "--iptables=false", "--ip6tables=false", "--bridge=none", "--storage-driver=vfs"],
            env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(lambda: self.call("info", status=None).returncode == 0, "dockerd")


class Podman(Engine):
    name = "podman"
    needs = ("podman", "crun", "conmon")
    counts_oom = False  # with version 1 of control groups conmon records none

    def start(self):
        path = self.env["CONTAINERS_STORAGE_CONF"] = f"{self.place}/storage.conf"
        with open(path, "w", encoding="utf-8") as out:
            out.write(f'[storage]\ndriver = "vfs"\ngraphroot = "{self.place}/graph"\nrunroot = "{self.place}/run"\n')


ROWS = []


def row(function):
    ROWS.append(function)
    return function


@row
def the_workspace_is_written_and_nothing_else(n):
    done = n.run("--", "sh", "-c", "echo new >made; echo x >/etc/x; echo x >/bin/x; echo x >/tmp/x && cat /tmp/x")
    expect(done.stdout == "x\n" and done.stderr.count("Read-only file system") == 2, done.stdout, done.stderr)
    with open(f"{n.ws}/made", encoding="utf-8") as made:
        expect(made.read() == "new\n", "the workspace on the host")
    expect(os.stat(f"{n.ws}/made").st_uid == os.getuid(), "the owner of the new file")


@row
def existing_names_are_hidden_and_protected(n):
    for name in ("a.key", "AGENTS.md"):
        with open(f"{n.ws}/{name}", "w", encoding="utf-8") as out:
            out.write("mine\n")
    control = n.run("--", "sh", "-c", "cat a.key && echo yours >AGENTS.md")
    expect(control.stdout == "mine\n" and control.returncode == 0, "control", control.stderr)
    with open(f"{n.ws}/AGENTS.md", "w", encoding="utf-8") as out:
        out.write("mine\n")
    done = n.run("--deny", "*.key", "--protect", "AGENTS.md", "--", "sh", "-c", "cat a.key; echo yours >AGENTS.md; echo twin >other")
    expect("mine" not in done.stdout, "a hidden file was read")
    with open(f"{n.ws}/AGENTS.md", encoding="utf-8") as kept:
        expect(kept.read() == "mine\n", "a protected file was changed")
    expect(os.path.exists(f"{n.ws}/other"), "twin: another name", done.stderr)


@row
def a_hidden_directory_is_empty_whatever_the_engine_copies(n):
    os.makedirs(f"{n.ws}/keys", exist_ok=True)
    with open(f"{n.ws}/keys/f", "w", encoding="utf-8") as out:
        out.write("mine\n")
    control = n.run("--", "cat", "keys/f")
    expect(control.stdout == "mine\n", "control", control.stderr)
    done = n.run("--deny", f"{n.ws}/keys", "--", "sh", "-c", "cat keys/f; ls keys; echo x >keys/made; echo twin")
    expect(done.stdout == "twin\n", "a hidden directory was read", done.stdout, done.stderr)
    expect(os.listdir(f"{n.ws}/keys") == ["f"], "a hidden directory was written on the host")
    os.rename(f"{n.ws}/keys", f"{n.ws}/keys:rw")
    done = n.run("--deny", f"{n.ws}/keys:rw", "--", "sh", "-c", "cat keys:rw/f")
    os.rename(f"{n.ws}/keys:rw", f"{n.ws}/keys")
    expect(done.returncode == 125 and "mine" not in done.stdout, "a colon in a name", done.stdout)
    expect("colon" in done.stderr, "its reason", done.stderr)


@row
def there_is_no_network_and_no_right(n):
    done = n.run("--", "sh", "-c", "ls /sys/class/net; mount -t tmpfs none /tmp && echo mounted; cat /proc/self/status")
    expect(done.stdout.split()[0] == "lo" and "mounted" not in done.stdout, done.stdout, done.stderr)
    status = dict(line.split(":", 1) for line in done.stdout.splitlines() if ":" in line)
    expect(int(status["CapEff"], 16) == 0 and int(status["CapBnd"], 16) == 0, "capabilities", status["CapBnd"])
    expect(status["NoNewPrivs"].strip() == "1" and status["Seccomp"].strip() == "2", "no_new_privs, seccomp")


@row
def the_environment_is_not_the_callers(n):
    n.env["SUPER_SECRET"] = "should-not-leak"
    done = n.run("--", "env")
    expect("SUPER_SECRET" not in done.stdout and "CORRAL_LEVEL=standard" in done.stdout, done.stdout)


@row
def endings_have_their_reasons(n):
    got = n.json("--", "sh", "-c", "echo out; echo err >&2; exit 3")
    expect((got["reason"], got["exit_code"], got["stdout"], got["stderr"]) == ("exit", 3, "out\n", "err\n"), got)
    expect((got["level"], got["engine"]) == ("standard", "container"), got["level"], got["engine"])
    got = n.json("--", "sh", "-c", "kill -SEGV $$")
    expect((got["reason"], got["signal"]) == ("signal", 11), got)
    began = time.monotonic()
    got = n.json("--timeout", "2s", "--", "sleep", "1000")
    expect(got["reason"] == "timeout" and time.monotonic() - began < 60, got)
    got = n.json("--memory", "64M", "--", "sh", "-c", "x=a; while :; do x=$x$x$x; done")
    expect(got["reason"] == ("oom" if n.counts_oom else "signal") and got["signal"] == 9, got)


@row
def the_report_says_where_a_container_is_weaker(n):
    got = {g["name"]: g["state"] for g in n.json("--", "true")["guarantees"]}
    expect([got[x] for x in ("fs.write", "fs.read", "net", "pid")] == ["enforced"] * 4, got)
    expect([got[x] for x in ("fs.deny", "lifetime", "ipc")] == ["weaker"] * 3, got)
    done = n.run("--require", "lifetime", "--", "touch", "ran")
    expect(done.returncode == 125 and "lifetime" in done.stderr and not os.path.exists(f"{n.ws}/ran"), done.stderr)


@row
def a_missing_image_or_a_tag_is_refused(n):
    n_image, n.image = n.image, "busybox:latest"
    tag = n.run("--", "true")
    n.image = "sha256:" + "0" * 64
    missing = n.run("--", "true")
    n.image = n_image
    expect(tag.returncode == 2 and "digest" in tag.stderr, tag.stderr)
    expect(missing.returncode == 125 and "pulls none" in missing.stderr, missing.stderr)


@row
def nothing_is_left_after_a_kill_at_any_moment(n):
    for delay in (0.02, 0.1, 0.2, 0.3, 0.5, 0.8, 1.2, 2):
        with subprocess.Popen(n.words("--", "sleep", "1000"), env=n.env, cwd=n.ws, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
            time.sleep(delay)  # any moment is right
            run.send_signal(signal.SIGKILL)
        until(lambda: not watchers(n), "the watcher ends after", delay)
        expect(n.left() == [], "left after", delay, n.left())


def watchers(n):
    """Processes that work for this place: the watcher and the engine's command have its environment."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as env, open(f"/proc/{pid}/cmdline", "rb") as line:
                words = line.read()
                if f"HOME={n.place}/home".encode() in env.read() and (n.image.encode() in words or b"rm\0--force" in words):
                    found.append(pid)
        except OSError:
            continue
    return found


def own_mounts(corral_words):
    """This program again in a mount namespace without the second hierarchy of control groups."""
    if os.environ.get("CORRAL_TEST_MOUNTS") or not os.path.isdir("/sys/fs/cgroup/unified"):
        return
    os.environ["CORRAL_TEST_MOUNTS"] = "1"
    os.execvp("unshare", ["unshare", "--mount", "sh", "-c", "umount /sys/fs/cgroup/unified; exec \"$@\"", "sh", sys.executable,
                          *corral_words])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--corral", required=True)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    if os.getuid() != 0 or not os.path.exists("/bin/busybox"):
        print("1..0 # SKIP needs root and busybox")
        return 0
    own_mounts(sys.argv)
    bad = count = 0
    for kind in (Docker, Podman):
        missing = [p for p in kind.needs if shutil.which(p) is None]
        if missing:
            count += 1
            print(f"ok {count} - {kind.name} # SKIP {' '.join(missing)} is not installed")
            continue
        place = tempfile.mkdtemp(prefix="corral-engines-")
        n = kind(place, os.path.abspath(args.corral))
        try:
            for test in ROWS:
                title = f"{kind.name}: {test.__name__.replace('_', ' ')}"
                if args.only not in title:
                    continue
                count += 1
                try:
                    test(n)
                    expect(n.left() == [], "left:", n.left())
                    print(f"ok {count} - {title}", flush=True)
                except Failed as why:
                    bad += 1
                    print(f"# {why}\nnot ok {count} - {title}", flush=True)
        finally:
            n.stop()
            shutil.rmtree(place, ignore_errors=True)
    print(f"1..{count}")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
