# SPDX-License-Identifier: Apache-2.0
"""One side of a row: a scratch tree with bait, and the calls made in it.

$W  the workspace; $O  a sibling outside with `canary`, whose content is the
token $T; $H  a HOME with planted, fake secrets; $X  one more directory outside.
Every process of a side carries the marker $M in its environment or arguments,
so that what is left behind can be found, and ended, on the host.
"""
import hashlib
import http.client
import os
import random
import re
import secrets
import shlex
import signal
import socket
import stat
import subprocess
import sys
import termios
import threading
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import traces  # noqa: E402  the path has to be set first

BOUND = 60.0  # seconds for any one command, on a loaded machine
SHELL = "/bin/sh"
FILTERED = "--net filtered --allow-host allowed.test --allow-host *.ok.test"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# Planted in $H, each holding the token: what a thief would look for first.
HOME_SECRETS = (
    ".ssh/id_ed25519", ".aws/credentials", ".netrc", ".config/gh/hosts.yml",
    ".docker/config.json", ".npmrc", ".git-credentials", ".gnupg/private-keys-v1.d/a.key",
    ".kube/config", ".bash_history", ".pypirc", ".cargo/credentials.toml",
    ".config/gcloud/credentials.db", ".mozilla/firefox/p/logins.json",
    ".local/share/keyrings/login.keyring", ".m2/settings.xml", ".vault-token",
    ".config/rclone/rclone.conf", ".terraform.d/credentials.tfrc.json", ".password-store/a.gpg",
    "notes.txt",
)
HOME_PLAIN = (".bashrc", ".profile", ".gitconfig", ".ssh/config", ".cargo/bin/cargo")
HOME_DIRS = (".local/bin", ".local/state", ".local/share", ".cache/pip", ".config/autostart")


def and_parents(paths):
    """These directories and those above them, parents first."""
    found = set()
    for path in paths:
        while path:
            found.add(path)
            path = os.path.dirname(path)
    return sorted(found)


DIRS_OF_HOME = and_parents([os.path.dirname(name) for name in HOME_SECRETS + HOME_PLAIN] + list(HOME_DIRS))


class Caller:
    """Who a pass runs as: the harness itself, or a system account."""

    def __init__(self, name, uid, gid, groups, switch):
        self.name, self.uid, self.gid, self.groups = name, uid, gid, groups
        self.switch = switch

    def popen(self):
        if not self.switch:
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": self.groups}

    def setpriv(self):
        if not self.switch:
            return []
        groups = ",".join(str(group) for group in self.groups)
        return ["setpriv", f"--reuid={self.uid}", f"--regid={self.gid}",
                f"--groups={groups}" if groups else "--clear-groups", "--"]


class Call:
    """What came of one command."""

    def __init__(self):
        self.status, self.output, self.seconds = None, "", 0.0
        self.timed_out = False


class Listeners:
    """Sockets of the host that log what they are told."""

    def __init__(self, scene, kinds):
        self.heard, self.sockets, self.paths = [], [], []
        self.lock = threading.Lock()
        v = scene.vars
        if "tcp" in kinds:
            v["L4"] = self.inet(socket.AF_INET, socket.SOCK_STREAM, "127.0.0.1")
            v["L6"] = self.inet(socket.AF_INET6, socket.SOCK_STREAM, "::1")
            v["LU"] = self.inet(socket.AF_INET, socket.SOCK_DGRAM, "127.0.0.1")
            v["L4X"] = "%04X" % int(v["L4"])
        if "unix" in kinds:
            self.unix(v["XU"])
            self.unix(v["XT"])
            self.unix(v["XH"])
            self.unix("\0" + v["XA"][1:])
            if os.geteuid() == 0:
                self.unix(v["XR"])

    def inet(self, family, kind, host):
        sock = socket.socket(family, kind)
        sock.bind((host, 0))
        if kind == socket.SOCK_STREAM:
            # The option, so that data in the first packet is taken as data.
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_FASTOPEN, 5)
        self.serve(sock)
        return str(sock.getsockname()[1])

    def unix(self, name):
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        sock.bind(name)
        if name[0] != "\0":
            os.chmod(name, 0o777)
            self.paths.append(name)
        self.serve(sock)

    def serve(self, sock):
        self.sockets.append(sock)
        if sock.type == socket.SOCK_STREAM:
            sock.listen(8)
        threading.Thread(target=self.listen, args=(sock,), daemon=True).start()

    def listen(self, sock):
        try:
            while True:
                if sock.type == socket.SOCK_DGRAM:
                    self.log(sock.recv(4096))
                    continue
                peer, _ = sock.accept()
                threading.Thread(target=self.hear, args=(peer,), daemon=True).start()
        except OSError:
            return  # closed at the end of the scene

    def hear(self, peer):
        with peer:
            peer.settimeout(BOUND)
            try:
                self.log(peer.recv(4096))
            except OSError:
                return

    def log(self, data):
        if data:
            with self.lock:
                self.heard.append(data)

    def close(self):
        for sock in self.sockets:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # a socket that nobody is connected to says so
            sock.close()
        for path in self.paths:
            if os.path.exists(path):
                os.unlink(path)


class Page:
    """A daemon of the caller with the page of `corral ui`, and an invitation that nobody has used."""

    def __init__(self, scene):
        # Near the top, because the name of a socket has at most 107 bytes, and a user's home may be long.
        self.place = os.path.join(scene.suite.top, f"p{secrets.token_hex(3)}")
        run, home = f"{self.place}/run", f"{self.place}/home"
        scene.make_dir(self.place)
        for path in (run, home):
            scene.make_dir(path, 0o700)
        program = scene.suite.real_corral
        how = {"env": {"PATH": PATH, "HOME": home, "XDG_RUNTIME_DIR": run, "LANG": "C.UTF-8"}, "cwd": self.place,
               "stdin": subprocess.DEVNULL, **scene.caller.popen()}
        with open(f"{self.place}/log", "wb") as log:
            self.daemon = subprocess.Popen([program, "daemon"], stdout=log, stderr=log, **how)
        try:
            self.wait_ready()
            url = subprocess.run([program, "ui", "--print"], check=True, stdout=subprocess.PIPE, timeout=BOUND, **how).stdout
        except (OSError, subprocess.SubprocessError):
            self.close()
            raise
        parts = urllib.parse.urlsplit(url.decode().strip())
        self.host, self.port = parts.hostname, parts.port
        self.token = urllib.parse.parse_qs(parts.query)["t"][0]
        scene.vars.update({"UH": self.host, "UP": str(self.port), "UT": self.token, "UR": run,
                           "SIGNIN": f"POST /open HTTP/1.1\r\nHost: {self.host}:{self.port}\r\nConnection: close\r\n"
                                     "Content-Type: application/x-www-form-urlencoded\r\n"
                                     f"Content-Length: {len(self.token) + 2}\r\n\r\nt={self.token}"})

    def wait_ready(self):
        end, said = time.monotonic() + BOUND, b""
        while b"ready on" not in said:
            ended = self.daemon.poll() is not None or time.monotonic() > end
            with open(f"{self.place}/log", "rb") as log:
                said = log.read()
            if ended and b"ready on" not in said:
                raise OSError(f"the daemon of the page did not start: {said[-200:]!r}")
            time.sleep(0.02)

    def used(self):
        """Whether somebody has signed in: the server then no longer offers the form for this token."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=BOUND)
        try:
            connection.request("GET", f"/open?t={self.token}")
            status = connection.getresponse().status
        finally:
            connection.close()
        if status not in (200, 401):
            raise OSError(f"the page answers {status}")
        return status == 401

    def close(self):
        self.daemon.terminate()
        self.daemon.wait()


SMALL = 4096  # a file of fewer bytes is its own digest


def digest(path, info):
    """Few system calls: this is done to a hundred files of every row."""
    if stat.S_ISLNK(info.st_mode):
        return os.readlink(path)
    if not stat.S_ISREG(info.st_mode):
        return ""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        data = os.read(fd, SMALL)
        if len(data) < SMALL:
            return data
        more = hashlib.sha256(data)
        while data := os.read(fd, 1 << 16):
            more.update(data)
        return more.hexdigest()
    finally:
        os.close(fd)


def own_state(path):
    """The places below HOME where corral itself keeps state: eight megabytes of it, which every run changes."""
    return re.search(r"/\.(local/state|local/share|cache|config)/corral(/|$)", path)


def fingerprint(path, times_of_dirs=True, leave_out=lambda _path: False):
    """All that a change would show: names, types, owners, modes, times, content."""
    found = {}
    todo = [path]
    while todo:
        at = todo.pop()
        if leave_out(at):
            continue
        try:
            info = os.lstat(at)
            is_dir = stat.S_ISDIR(info.st_mode)
            when = info.st_mtime_ns if times_of_dirs or not is_dir else 0
            attributes = tuple(os.listxattr(at, follow_symlinks=False))
            found[at] = (info.st_mode, info.st_uid, info.st_gid, when, attributes,
                         digest(at, info))
            if is_dir:
                todo.extend(os.path.join(at, name) for name in os.listdir(at))
        except OSError as problem:
            found[at] = problem.errno
    return found


def marked(marker, known):
    """Pids of living processes that carry the marker; those of `known` are older than the marker."""
    needle, found = marker.encode(), []
    for name, _ in traces.processes() - known:
        if int(name) == os.getpid():
            continue
        for part in ("cmdline", "environ"):
            try:
                with open(f"/proc/{name}/{part}", "rb") as source:
                    if needle in source.read():
                        found.append(int(name))
                        break
            except OSError:
                continue
    return found


def kill_marked(marker, known):
    for pid in marked(marker, known):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


class Output(threading.Thread):
    """Everything that a command writes, as it comes."""

    def __init__(self, stream):
        super().__init__(daemon=True)
        self.stream, self.data = stream, bytearray()
        self.start()

    def run(self):
        with self.stream:
            while part := os.read(self.stream.fileno(), 65536):
                self.data += part


class Scene:
    """A scratch tree, its fixtures, and the way commands are called in it."""

    def __init__(self, suite, row, caller, side):
        self.suite, self.row, self.caller, self.side = suite, row, caller, side
        self.listeners = self.victim = self.page = None
        self.tty, self.tty_modes = None, None
        self.during = ""
        self.tty_seen = b""
        self.must_show = side == "control"  # the attempt has to succeed
        top = suite.top_tmp if row["place"] == "tmp" else suite.top
        self.base = os.path.join(top, f"{row.ident}-{caller.name}-{side}".replace("/", "-"))
        if os.path.exists(self.base):
            self.base += "-again"
        self.token = "tok" + secrets.token_hex(12)
        self.known = traces.processes()
        self.marker = "mark" + secrets.token_hex(8)
        self.vars = self.make_vars()
        self.build()

    def make_vars(self):
        names = {"W": "work", "O": "outside", "H": "home", "X": "extra"}
        found = {key: os.path.join(self.base, name) for key, name in names.items()}
        found.update({
            "P": self.suite.probe, "BIN": self.suite.bin, "CORRAL": self.suite.corral,
            "LEVEL": " ".join(self.suite.ask),
            "M": self.marker, "U": str(self.caller.uid), "G": str(self.caller.gid),
            "OUT": os.path.join(self.base, "output"), "K": str(random.randrange(1, 2**31)),
            "XU": found["O"] + "/s.sock", "XH": found["H"] + "/.gnupg/S.agent",
            "XT": f"/tmp/{self.marker}.sock", "XR": f"/run/{self.marker}.sock",
            "DONE": f"{self.suite.bin}/done-{self.marker}", "FILTERED": FILTERED, "PROXIED": FILTERED + " --proxy",
            "XA": "@" + self.marker, "LP": str(random.randrange(20000, 30000)), "VF": "3",
        })
        return found

    def build(self):
        v = self.vars
        self.make_dir(self.base)
        for path in [v[name] for name in "WOHX"] + [f"{v['H']}/{name}" for name in DIRS_OF_HOME]:
            self.make_dir(path)
        self.plant(v["O"] + "/canary", self.token)
        self.plant(v["X"] + "/held", self.token)
        self.plant(v["W"] + "/plain", "plain")
        for name in HOME_SECRETS:
            self.plant(f"{v['H']}/{name}", self.token)
        for name in HOME_PLAIN:
            self.plant(f"{v['H']}/{name}", "# plain")
        needs = self.row.words("need")
        if "victim" in needs:
            self.start_victim()
        if "tcp" in needs or "unix" in needs:
            self.listeners = Listeners(self, needs)
        if "page" in needs:
            self.page = Page(self)
        if "tty" in needs or "tty-stdin" in needs:
            self.open_tty()

    @staticmethod
    def write(path, text):
        with open(path, "w", encoding="utf-8") as out:
            out.write(text + "\n")

    def make_dir(self, path, mode=0o777):
        os.mkdir(path, mode)
        if self.caller.switch:
            os.chown(path, self.caller.uid, self.caller.gid)

    def plant(self, path, text):
        """A file of the caller's, in a directory that is there."""
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        try:
            os.write(fd, text.encode() + b"\n")
            if self.caller.switch:
                os.fchown(fd, self.caller.uid, self.caller.gid)
        finally:
            os.close(fd)

    def start_victim(self):
        argv = [*self.become(), self.suite.probe, "victim", self.token, self.vars["X"] + "/held"]
        self.victim = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, cwd=self.vars["O"],
            env={"VICTIM_SECRET": self.token}, start_new_session=True)
        self.victim.stdout.readline()
        self.vars["V"] = str(self.victim.pid)

    def open_tty(self):
        self.tty = os.openpty()
        name = os.ttyname(self.tty[1])
        os.chown(name, self.caller.uid, -1)
        self.vars["TTY"] = name
        self.tty_modes = termios.tcgetattr(self.tty[1])

    def remember(self):
        """What verdicts compare with, and inside the invariants; taken when the bait lies ready."""
        named = {line.split()[0] for line in self.row.lines("verdict")}
        wanted = {"O": "outside", "H": "home", "W": "same"}
        self.before = {key: self.print_of(key) for key, verdict in wanted.items()
                       if verdict in named or self.side == "inside" and key != "W"}

    def print_of(self, key):
        """The fingerprint of a tree; of HOME without what every run writes there."""
        home = key == "H"
        return fingerprint(self.vars[key], times_of_dirs=not home, leave_out=own_state if home else lambda _path: False)

    def assignments(self, with_token):
        lines = [f"{key}={shlex.quote(value)}" for key, value in self.vars.items()]
        if with_token:
            lines.append(f"T={self.token}")
        return "\n".join(lines) + "\n"

    def substitute(self, text):
        """$NAME in the arguments of a verdict."""
        for key in sorted(self.vars, key=len, reverse=True):
            text = text.replace("$" + key, self.vars[key])
        return text

    def environment(self):
        return {"PATH": PATH, "HOME": self.vars["H"], "LANG": "C.UTF-8", "TERM": "dumb"}

    def host(self, script, as_root=False):
        """A helper script outside; returns (status, output)."""
        in_lab = "lab" in self.row.words("need") and self.suite.lab
        words = [*(self.suite.lab.words(self.vars["W"]) if in_lab else []), *([] if as_root else self.become())]
        try:
            done = subprocess.run(
                [*words, SHELL, "-c", self.assignments(False) + script], cwd=self.vars["W"],
                env=self.environment() | {"T": self.token}, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=BOUND, check=False)
        except subprocess.TimeoutExpired:
            return 124, "timed out"
        return done.returncode, done.stdout.decode(errors="replace")

    def inner_script(self, text):
        ran = 'export M\necho "ran-$M" >&2 || :\n'
        return self.assignments(False) + ran + text

    def outer_script(self, inside, args, launch):
        command = f"{SHELL} -c"
        if inside:
            config = "" if self.row["config"] == "yes" else "--no-config"
            command = f'"$CORRAL" run $LEVEL {config} --read "$BIN" {args} -- {SHELL} -c'
        return (self.assignments(True) + f'set -- {command} "$1"\n' + launch +
                '\nunset T\nexec "$@"\n')

    def argv(self, text, inside, args, escalate, twin):
        launch = (twin and self.row["twin-launch"]) or self.row["launch"]
        outer = self.outer_script(inside, args, "" if launch == "-" else launch)
        argv = [SHELL, "-c", outer, "sh", self.inner_script(text)]
        needs = self.row.words("need")
        if "lab" in needs:
            return self.suite.lab.words(self.vars["W"]) + self.become() + argv
        if self.tty:
            argv = [self.suite.probe, "with-tty", self.vars["TTY"],
                    "all" if "tty" in needs else "stdin"] + argv
        if escalate and escalate[0] == "userns":
            argv = ["unshare", "-Ur"] + escalate[1:] + argv
        if self.row["mounts"]:
            return ["unshare", "-m", "--propagation", "private", SHELL, "-c",
                    self.assignments(False) + self.row["mounts"] + '\nexec "$@"\n', "sh",
                    *([] if escalate else self.become()), *argv]
        return argv if escalate and escalate[0] == "root" else self.become() + argv

    def become(self):
        """The words that make a command the caller's.  Popen's own way copies the harness first, and all its pages after."""
        if not self.caller.switch:
            return []
        groups = ",".join(map(str, self.caller.groups)) or "-"
        return [self.suite.probe, "as", str(self.caller.uid), str(self.caller.gid), groups, "--"]

    def call(self, text, inside, args="", escalate=None, twin=False):
        """Runs one side's command, bounded, and ends whatever it left over."""
        result, start = Call(), time.monotonic()
        process = subprocess.Popen(
            self.argv(text, inside, args, escalate, twin), cwd=self.vars["W"],
            env=self.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, start_new_session=True)
        output = Output(process.stdout)
        helpers = [] if twin else self.start_helpers(process, output)
        try:
            self.wait(process, output, start + self.bound(inside), twin)
        except subprocess.TimeoutExpired:
            result.timed_out = True
            self.end(process, output)
        result.seconds = time.monotonic() - start
        for helper in helpers:
            helper.join()
        result.status = process.returncode
        result.output = bytes(output.data).decode(errors="replace") + self.tty_output()
        self.write(self.vars["OUT"], result.output)
        return result

    def bound(self, inside):
        """Seconds for a call.  A control that has to hang does so for `within`; inside a loaded machine may take longer."""
        within = float(self.row["within"] or 0)
        return max(within, BOUND) if inside or "within" not in self.row.lines("verdict") else within

    def wait(self, process, output, end, twin):
        if twin or not self.row["kill-after"]:
            output.join(max(0, end - time.monotonic()))
            if output.is_alive():
                raise subprocess.TimeoutExpired(process.args, 0)
        process.wait(timeout=max(0.1, end - time.monotonic()))
        output.join(0.2)  # the pipe may be held by a survivor: what was said before is enough

    def end(self, process, output):
        os.kill(process.pid, signal.SIGKILL)
        kill_marked(self.marker, self.known)
        process.wait()
        output.join(2)

    def start_helpers(self, process, output):
        """What the harness does while the attempt runs: a moment after it has begun."""
        helpers = []
        if self.row["kill-after"]:
            helpers.append((float(self.row["kill-after"]), process.kill))
        if self.row["during"]:
            helpers.append((0.4, self.run_during))
        threads = [threading.Thread(target=self.help, args=(process, output, *helper)) for helper in helpers]
        for thread in threads:
            thread.start()
        return threads

    def help(self, process, output, delay, act):
        mark = f"ran-{self.marker}".encode()
        end = time.monotonic() + BOUND
        while mark not in output.data + self.read_tty() and process.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
        time.sleep(delay)
        act()

    def run_during(self):
        self.during = self.host(self.row["during"])[1]
        self.write(self.vars["DONE"], "")

    def read_tty(self):
        """What the caller's terminal has shown so far."""
        if self.tty:
            os.set_blocking(self.tty[0], False)
            try:
                self.tty_seen += os.read(self.tty[0], 65536)
            except OSError:
                pass
        return self.tty_seen

    def tty_output(self):
        seen, self.tty_seen = self.read_tty(), b""
        return seen.decode(errors="replace")

    def tty_typed(self):
        """What waits to be read at the caller's terminal."""
        os.set_blocking(self.tty[1], False)
        try:
            return os.read(self.tty[1], 4096).decode(errors="replace")
        except OSError:
            return ""

    def close(self):
        if self.row["cleanup"]:
            self.host(self.row["cleanup"], as_root=os.geteuid() == 0)
        kill_marked(self.marker, self.known)
        if self.listeners:
            self.listeners.close()
        if self.page:
            self.page.close()
        if self.victim:
            self.victim.kill()
            self.victim.wait()
            self.victim.stdout.close()
        if os.path.exists(self.vars["DONE"]):
            os.unlink(self.vars["DONE"])
        for fd in self.tty or ():
            os.close(fd)
