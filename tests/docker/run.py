#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The backends docker and podman with real engines: boundary, reasons, time-outs, nothing left.  Speaks TAP.

    tests/docker/run.py --corral build/corral [--as root|user] [--only WORDS]

Needs root.  dockerd and the storage of podman are new ones in a directory of their own, which goes again with everything
in it.  With --as user podman is rootless.  The image is busybox alone, and a mount point for /usr.  Everything runs on the
machine of the network lab (tests/net/lab.py), in mounts of its own: crun refuses a host with both versions of control
groups, and an ordinary user needs ids in /etc/subuid."""
import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, f"{HERE}/../net")

import lab  # noqa: E402  the path has to be set first

WAIT_SECONDS = 120
USER = "games"
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
    def __init__(self, place, corral, network):
        self.place, self.corral, self.daemon, self.network = place, corral, None, network
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
        for name in ("bin", "tmp", "etc", "proc", "sys", "dev", "run", "usr"):
            os.makedirs(f"{root}/{name}")
        for name in ("lib", "lib64"):
            os.symlink(f"usr/{name}", f"{root}/{name}")
        shutil.copy("/bin/busybox", f"{root}/bin/busybox")
        for tool in TOOLS:
            os.symlink("busybox", f"{root}/bin/{tool}")
        self.tar = subprocess.run(["tar", "-C", root, "-c", "."], stdout=subprocess.PIPE, check=True).stdout
        return self.import_image("corral-test")

    def import_image(self, name, *changes):
        words = [word for change in changes for word in ("--change", change)]
        found = self.call("import", *words, "-", name, stdin=self.tar).stdout.decode().split()[-1]
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
        if os.getuid() != 0:  # files of the user's other ids, and the process that keeps the user namespace
            self.call("unshare", "rm", "-rf", f"{self.place}/graph", f"{self.place}/home", status=None)
            with open(f"{self.place}/runtime/libpod/tmp/pause.pid", encoding="ascii") as pid:
                os.kill(int(pid.read()), signal.SIGKILL)

        def removed():
            """The engine's own processes may still write there for a moment."""
            shutil.rmtree(self.place, ignore_errors=True)
            return not os.path.exists(self.place)
        until(removed, self.place, "is removed")


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
        self.env["XDG_RUNTIME_DIR"] = f"{self.place}/runtime"
        os.mkdir(self.env["XDG_RUNTIME_DIR"], 0o700)
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
    if os.getuid() != 0:  # without version 2 of control groups
        done = n.run("--memory", "64M", "--", "touch", "ran")
        expect(done.returncode == 125 and "does not enforce a limit" in done.stderr, done.stderr)
        expect(not os.path.exists(f"{n.ws}/ran"), "it ran without the limit")
        return
    got = n.json("--memory", "64M", "--", "sh", "-c", "x=a; while :; do x=$x$x$x; done")
    expect(got["reason"] == ("oom" if n.counts_oom else "signal") and got["signal"] == 9, got)


@row
def the_report_says_where_a_container_is_weaker(n):
    got = {g["name"]: g["state"] for g in n.json("--", "true")["guarantees"]}
    expect([got[x] for x in ("fs.write", "fs.read", "net", "pid")] == ["enforced"] * 4, got)
    expect([got[x] for x in ("fs.deny", "lifetime", "ipc")] == ["weaker"] * 3, got)
    done = n.run("--require", "lifetime", "--", "touch", "ran")
    expect(done.returncode == 125 and "lifetime" in done.stderr and not os.path.exists(f"{n.ws}/ran"), done.stderr)


# ---- the gate ----

CURL = "/usr/bin/curl -sS --max-time 60"


def needs_lab(n):
    if n.network is None:
        raise Skipped("the network lab does not start here")
    if not os.path.exists("/usr/bin/curl"):
        raise Skipped("curl is not installed")


def heard(n, pattern, since):
    with open(f"{n.network}/origin.log", encoding="utf-8", errors="replace") as log:
        log.seek(since)
        return re.search(pattern, log.read())


def mark(n):
    return os.path.getsize(f"{n.network}/origin.log")


@row
def allowed_hosts_are_reached_and_no_other(n):
    needs_lab(n)
    began = mark(n)
    control = subprocess.run([*CURL.split(), "http://evil.test/control"], capture_output=True, text=True, check=False)
    expect(heard(n, "target=/control", began), "control", control.stderr)
    began = mark(n)
    got = n.json("--read", "/usr", "--allow-host", "allowed.test", "--", "sh", "-c",
                 f"{CURL} http://allowed.test/a; {CURL} -k https://allowed.test/b; {CURL} -k -x $all_proxy https://allowed.test/c;"
                 f"{CURL} http://evil.test/d; {CURL} -k https://evil.test/e; {CURL} -k -x $all_proxy https://evil.test/f;"
                 f"{CURL} --noproxy '*' http://11.0.0.66/g; {CURL} http://11.0.0.66/h; {CURL} -H 'Host: evil.test' "
                 f"http://allowed.test/i; {CURL} --resolve evil.test:443:127.0.0.1 -k https://evil.test/j; ls /sys/class/net")
    for path in "abc":
        expect(heard(n, f"host=allowed.test .*target=/{path} ", began), "allowed:", path, got["stdout"], got["stderr"])
    expect(not heard(n, "host=evil.test|sni=evil.test|11.0.0.66", began), "a refused host was reached")
    expect(got["stdout"].splitlines()[-1] == "lo", "interfaces", got["stdout"])
    seen = {(x["name"], x["verdict"]) for x in got["network"]}
    expect({("allowed.test", "allowed"), ("evil.test", "denied")} <= seen, "the report", seen)
    net = {g["name"]: g for g in got["guarantees"]}["net"]
    expect(net["state"] == "enforced" and "gate" in net["by"] and "netns" in net["by"], net)
    expect(any("proxies" in note for note in got["notes"]), "the report says that only the proxies lead out", got["notes"])


@row
def ports_of_the_host_are_reached_and_no_other(n):
    needs_lab(n)
    began = mark(n)
    done = n.run("--read", "/usr", "--host-port", "8080", "--host-port", "80", "--", "sh", "-c",
                 f"{CURL} http://127.0.0.1:8080/p; {CURL} http://127.0.0.1/q; {CURL} http://127.0.0.1:7/r; "
                 f"{CURL} -x http://127.0.0.1:3128 http://allowed.test/s")
    expect(heard(n, "127.0.0.1:8080 .*target=/p ", began) and heard(n, "127.0.0.1:80 .*target=/q ", began), done.stderr)
    expect(not heard(n, "target=/[rs] |127.0.0.1:7", began), "another port of the host, or a host, was reached")
    done = n.run("--publish", "8080", "--", "touch", "published")
    expect(done.returncode == 125 and "publish" in done.stderr and not os.path.exists(f"{n.ws}/published"), done.stderr)


# What the command finds of the way to the gate.
WAY = """
import os, socket
for kind in (socket.SOCK_SEQPACKET, socket.SOCK_STREAM):
    try:
        socket.socket(socket.AF_UNIX, kind).connect("/.corral/gate")
        print("connected")
    except OSError as why:
        print(why.errno)
try:
    os.utime("/.corral/corral")
    print("writable")
except OSError as why:
    print(why.errno)
print([name for name in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{name}") and int(name) > 2])
"""


@row
def the_command_has_no_way_to_the_gate_but_the_listeners(n):
    with open(f"{n.ws}/way.py", "w", encoding="utf-8") as out:
        out.write(WAY)
    done = n.run("--read", "/usr", "--net", "filtered", "--", "/usr/bin/python3", "way.py")
    lines = done.stdout.splitlines()
    expect(lines == ["111", "111", "30", "[]"], done.stdout, done.stderr)


@row
def endings_are_the_same_with_a_gate(n):
    got = n.json("--net", "filtered", "--", "sh", "-c", "exit 125")
    expect((got["reason"], got["exit_code"]) == ("exit", 125), got)
    done = n.run("--net", "filtered", "--", "no-such-program")
    expect(done.returncode == 127 and "is not in the image" in done.stderr, done.returncode, done.stderr)
    with open(f"{n.ws}/plain", "w", encoding="utf-8") as out:
        out.write("text\n")
    done = n.run("--net", "filtered", "--", f"{n.ws}/plain")
    expect(done.returncode == 126 and "cannot be executed" in done.stderr, done.returncode, done.stderr)
    got = n.json("--net", "filtered", "--timeout", "2s", "--", "sleep", "1000")
    expect(got["reason"] == "timeout", got)


# ---- the image ----

# Engines raise them by default, for which this machine may lack the right.
LIMITS = ("--ulimit=nofile=1024:1024", "--ulimit=nproc=1024:1024")


@row
def the_images_entrypoint_does_not_run(n):
    plain, n.image = n.image, n.import_image("corral-entry", 'ENTRYPOINT ["/bin/sh", "-c", "echo entered"]')
    try:
        control = n.call("run", "--rm", "--network=none", *LIMITS, n.image, "true", status=None)
        expect(b"entered" in control.stdout, "control", control.stdout, control.stderr)
        done = n.run("--", "echo", "twin")
        expect(done.stdout == "twin\n", "the entrypoint ran", done.stdout, done.stderr)
    finally:
        n.image = plain


@row
def the_images_healthcheck_does_not_run(n):
    if n.name == "podman":
        raise Skipped("podman import takes no HEALTHCHECK")
    check = f'HEALTHCHECK --interval=100ms CMD ["/bin/touch", "{n.ws}/checked"]'
    plain, n.image = n.image, n.import_image("corral-health", check)
    try:
        n.call("run", "--rm", "--network=none", *LIMITS, f"--volume={n.ws}:{n.ws}", n.image, "sleep", "3", status=None)
        expect(os.path.exists(f"{n.ws}/checked"), "control")
        os.unlink(f"{n.ws}/checked")
        done = n.run("--", "sh", "-c", "sleep 3; echo twin >twin")
        expect(os.path.exists(f"{n.ws}/twin"), "twin", done.stderr)
        expect(not os.path.exists(f"{n.ws}/checked"), "the health check ran")
    finally:
        n.image = plain


@row
def no_volume_of_the_image_stays(n):
    plain, n.image = n.image, n.import_image("corral-volume", "VOLUME /vol")

    def volumes():
        return n.call("volume", "ls", "--quiet").stdout.split()
    try:
        control = n.call("run", "--network=none", *LIMITS, "--name", "control", n.image, "true", status=None)
        n.call("rm", "control")
        expect(volumes() != [], "control: a volume stays", control.stderr)
        n.call("volume", "rm", *(name.decode() for name in volumes()))
        for words in (("true",), ("sh", "-c", "kill -KILL $$"), ("no-such-program",)):
            n.run("--", *words)
            expect(volumes() == [], "left after", words, volumes())
        n.run("--timeout", "1s", "--", "sleep", "1000")
        expect(volumes() == [], "left after a time-out", volumes())
    finally:
        n.image = plain


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
        gate = ("--net", "filtered") if delay in (0.1, 0.3, 0.8, 2) else ()
        with subprocess.Popen(n.words(*gate, "--", "sleep", "1000"), env=n.env, cwd=n.ws, stdin=subprocess.DEVNULL,
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


# In a mount namespace: what the engines need of a host.
HOST = """
for path in /sys/fs/cgroup/unified; do mountpoint -q $path && umount $path; done
printf "%s:200000:65536\\n" "$0" >"$CORRAL_TEST_IDS"
mount --bind "$CORRAL_TEST_IDS" /etc/subuid && mount --bind "$CORRAL_TEST_IDS" /etc/subgid && exec "$@"
"""


def in_lab(who):
    """This program again on the lab's machine, as that user."""
    ids = tempfile.NamedTemporaryFile(prefix="corral-ids-")
    os.chmod(ids.name, 0o644)
    os.environ |= {"CORRAL_TEST_STAGE": "lab", "CORRAL_TEST_IDS": ids.name}
    return subprocess.run(["unshare", "--mount", "sh", "-c", HOST, USER, lab.PYTHON, *sys.argv, "--as", who],
                          check=False).returncode


def on_machine(who):
    """In those mounts: makes the lab."""
    os.environ["CORRAL_TEST_STAGE"] = "run"
    become = ["setpriv", "--reuid", USER, "--regid", USER, "--clear-groups"] if who == "user" else []
    shared = ["sh", "-c", 'mount --make-rshared / && exec "$@"', "sh"]
    again = [*shared, *become, lab.PYTHON, *sys.argv]
    try:
        with lab.Lab() as machine:
            return subprocess.run([*machine.words("/"), *again], env=os.environ | {"LAB": machine.folder},
                                  check=False).returncode
    except lab.NoLab as why:
        print(f"# no network lab: {why}", flush=True)
        return subprocess.run(again, check=False).returncode


class Skipped(Exception):
    pass


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--corral", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--as", dest="who", choices=("root", "user"), default="root")
    args = parser.parse_args()
    stage = os.environ.get("CORRAL_TEST_STAGE")
    if (os.getuid() != 0 and stage is None) or not os.path.exists("/bin/busybox"):
        print("1..0 # SKIP needs root and busybox")
        return 0
    if stage is None:
        sys.argv = [os.path.abspath(__file__), "--corral", os.path.abspath(args.corral), "--only", args.only]
        return in_lab(args.who)
    return on_machine(args.who) if stage == "lab" else run_rows(args)


def run_rows(args):
    bad = count = 0
    for kind in (Docker, Podman) if args.who == "root" else (Podman,):
        missing = [p for p in kind.needs if shutil.which(p, path="/usr/bin:/usr/sbin:/bin:/sbin") is None]
        name = kind.name if args.who == "root" else f"rootless {kind.name}"
        if missing:
            count += 1
            print(f"ok {count} - {name} # SKIP {' '.join(missing)} is not installed")
            continue
        place = tempfile.mkdtemp(prefix="corral-engines-")
        n = kind(place, args.corral, os.environ.get("LAB"))
        try:
            for test in ROWS:
                title = f"{name}: {test.__name__.replace('_', ' ')}"
                if args.only not in title:
                    continue
                count += 1
                try:
                    test(n)
                    expect(n.left() == [], "left:", n.left())
                    print(f"ok {count} - {title}", flush=True)
                except Skipped as why:
                    print(f"ok {count} - {title} # SKIP {why}", flush=True)
                except Failed as why:
                    bad += 1
                    print(f"# {why}\nnot ok {count} - {title}", flush=True)
        finally:
            n.stop()
    print(f"1..{count}")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
