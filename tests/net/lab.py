#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The network lab: a machine with an internet of its own, in fresh namespaces.

    lab.py [--service NAME]… [--user NAME] -- COMMAND…    COMMAND on that machine

The machine is the network namespace in which corral runs, with the lab's own resolv.conf,
hosts file and trusted certificates in a mount namespace; the internet is a second network
namespace at the other end of a cable, with a name server, origins and services that log every
request (world.py, origins.py, services.py).  The verdict of a test is read from that log.

Should:   work for root and, with a user namespace, for anybody; be gone without a trace when
          its owner is, however that one ended.
Must not: touch the host's own network, or need it.
"""
import argparse
import json
import os
import pwd
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import careless  # noqa: E402  the path has to be set first
import origins  # noqa: E402
import sites  # noqa: E402
import world  # noqa: E402

PYTHON = "/usr/bin/python3"
SERVICES = ("git", "git_daemon", "ssh", "postgres", "redis", "rsync", "rpc", "rpc_plain", "http2", "java")
LOCAL = (80, 8080, 7)  # what the machine itself serves, to whoever reaches its loopback
STARTS = 60.0  # seconds


class NoLab(Exception):
    """This host cannot have one; the text says why."""


# ---- files of the machine ----

def openssl(folder, *words):
    subprocess.run(["openssl", *words], cwd=folder, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)


def certify(folder, java):
    """A certificate authority that exists for this lab only, and one certificate for all origins."""
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    with open(f"{folder}/extensions", "w", encoding="utf-8") as out:
        names = ",".join(f"DNS:{name}" for name in world.CERTIFIED)
        out.write(f"subjectAltName={names}\nbasicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth\n"
                  "subjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid\n")
    openssl(folder, "req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=lab authority",
            "-addext", "keyUsage=critical,keyCertSign,cRLSign")  # Python 3.13 asks for it
    openssl(folder, "req", "-new", *key, "-keyout", "origin.key", "-out", "origin.csr", "-subj", "/CN=origin")
    openssl(folder, "x509", "-req", "-in", "origin.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days",
            "2", "-extfile", "extensions", "-out", "origin.pem")
    os.mkdir(f"{folder}/certs")
    shutil.copy(f"{folder}/ca.pem", f"{folder}/certs/ca-certificates.crt")
    shutil.copy(f"{folder}/ca.pem", f"{folder}/certs/lab.pem")
    openssl(folder, "rehash", "certs")
    if java and shutil.which("keytool"):
        os.mkdir(f"{folder}/certs/java")
        subprocess.run(["keytool", "-importcert", "-noprompt", "-alias", "lab", "-file", f"{folder}/ca.pem", "-keystore",
                        f"{folder}/certs/java/cacerts", "-storetype", "JKS", "-storepass", "changeit"], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def write_files(folder, java):
    for name, text in (("resolv.conf", world.RESOLV_CONF), ("hosts", world.HOSTS), ("nsswitch.conf", world.NSSWITCH)):
        with open(f"{folder}/{name}", "w", encoding="utf-8") as out:
            out.write(text)
    for name in ("keeper", "keys"):
        os.mkdir(f"{folder}/{name}")
    certify(folder, java)


def own_etc(folder):
    """A copy, as far as it can be read, so that its files can be replaced while something runs."""
    etc = f"{folder}/etc"
    try:
        shutil.copytree("/etc", etc, symlinks=True)
    except shutil.Error:
        pass  # what is not ours to read
    for name in ("resolv.conf", "hosts", "nsswitch.conf"):
        put(f"{folder}/{name}", f"{etc}/{name}")
    shutil.rmtree(f"{etc}/ssl/certs", ignore_errors=True)
    shutil.copytree(f"{folder}/certs", f"{etc}/ssl/certs", symlinks=True)
    subprocess.run(["mount", "--bind", etc, "/etc"], check=True)


def put(source, target):
    """As those who manage networks do it: the name has the old file or the new one."""
    shutil.copy(source, f"{target}.new")
    os.rename(f"{target}.new", target)


# ---- the process that keeps the namespaces ----

def cable(pid):
    yield "link set lo up"
    yield f"link add up0 type veth peer name net0 netns {pid}"
    yield "link set up0 up"
    yield f"address add {world.HOST4}/24 dev up0"
    yield f"address add {world.HOST4_SECOND}/24 dev up0"
    yield f"address add {world.HOST6}/64 dev up0 nodad"
    yield f"route add local {world.HOST6_NETWORK} dev lo"
    yield f"route add default via {world.DNS4}"
    yield f"route add default via {world.DNS6}"


def keep(folder, uid, gid, wanted):
    """In the machine's namespaces: makes the internet, serves the loopback, waits for its owner's end."""
    own_etc(folder)
    child = subprocess.Popen(
        ["unshare", "-n", "-m", "-p", "--fork", "--kill-child", "--propagation", "private", PYTHON, f"{HERE}/internet.py",
         folder, str(uid), str(gid), *wanted], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    if child.stdout.readline() != "here\n":
        sys.exit("lab: the internet does not come up")
    subprocess.run(["ip", "-batch", "-"], input="\n".join(cable(child.pid)), text=True, check=True,
                   stdout=subprocess.DEVNULL)
    with open(f"{folder}/internet.pid", "w", encoding="ascii") as out:
        out.write(str(child.pid))
    # As systemd has it on most machines.
    with open("/proc/sys/net/ipv4/ping_group_range", "w", encoding="ascii") as out:
        out.write("0 65534" if os.geteuid() == 0 else f"{gid} {gid}")
    child.stdin.write("go\n")
    child.stdin.flush()
    local = origins.Origins(origins.Log(f"{folder}/origin.log"), sites.Pages(folder))
    for port in LOCAL:
        local.listen(port, local.echo if port == 7 else local.http)
    careless.start(local)
    print(child.stdout.readline().strip(), flush=True)
    sys.stdin.read()
    child.kill()
    child.wait()
    shutil.rmtree(folder, ignore_errors=True)


# ---- the owner's side ----

class Lab:
    """A running lab."""

    def __init__(self, wanted=(), user="games"):
        for name in ("ip", "unshare", "nsenter", "openssl", "mount"):
            if shutil.which(name) is None:
                raise NoLab(f"{name} is not installed")
        self.rootless = os.geteuid() != 0
        entry = pwd.getpwuid(os.geteuid()) if self.rootless else pwd.getpwnam(user)
        self.folder = tempfile.mkdtemp(prefix="lab-", dir="/tmp")
        os.chmod(self.folder, 0o755)
        self.log = f"{self.folder}/origin.log"
        self.keeper = None
        try:
            write_files(self.folder, "java" in wanted)
            self.start([self.folder, str(entry.pw_uid), str(entry.pw_gid), *wanted])
        except (NoLab, OSError, subprocess.CalledProcessError) as problem:
            self.close()
            raise NoLab(str(problem)) from problem

    def start(self, words):
        own = ["-U", "--map-current-user", "--keep-caps"] if self.rootless else []
        self.keeper = subprocess.Popen(
            ["unshare", *own, "-m", "-n", "--propagation", "private", PYTHON, f"{HERE}/lab.py", "keep", *words],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.keeper.stdout.readline() != "ready\n":
            raise NoLab("the namespaces or the services did not come up")
        with open(f"{self.folder}/services", encoding="utf-8") as source:
            self.absent = {name: why for name, why in json.load(source).items() if why}

    def enter(self, pid, *flags):
        own = ["-U", "--preserve-credentials"] if self.rootless else []
        return ["nsenter", "-t", str(pid), *own, *flags, "--"]

    def words(self, folder="/"):
        """What to put before a command, so that it runs on the lab's machine."""
        return [*self.enter(self.keeper.pid, "-m", "-n"), "/bin/sh", "-c", 'cd "$0" && exec "$@"', folder]

    def internet_words(self):
        """The same for a server of the internet."""
        with open(f"{self.folder}/internet.pid", encoding="ascii") as source:
            return self.enter(source.read(), "-n")

    # -- the log --

    def mark(self):
        """A place in the log, to read from later."""
        return os.path.getsize(self.log) if os.path.exists(self.log) else 0

    def lines(self, since=0):
        if not os.path.exists(self.log):
            return []
        with open(self.log, "rb") as source:
            source.seek(since)
            return source.read().decode("utf-8", "replace").split("\n")[:-1]  # what was said may hold other ends of lines

    def heard(self, pattern, since=0, seconds=0.3):
        """The first line that matches, waiting a little for one that is on its way."""
        end = time.monotonic() + seconds
        while True:
            found = next((line for line in self.lines(since) if re.search(pattern, line)), None)
            if found or time.monotonic() > end:
                return found
            time.sleep(0.02)

    def close(self):
        if self.keeper:
            self.keeper.stdin.close()
            try:
                self.keeper.wait(5)
            except subprocess.TimeoutExpired:
                self.keeper.kill()
                self.keeper.wait()
            self.keeper.stdout.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def main():
    if sys.argv[1:2] == ["keep"]:
        return keep(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5:])
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--service", action="append", default=[], choices=SERVICES)
    parser.add_argument("--user", default="games", help="who runs the services when root makes the lab")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    with Lab(options.service, options.user) as lab:
        for name, why in lab.absent.items():
            print(f"lab: no {name}: {why}", file=sys.stderr)
        status = subprocess.run([*lab.words(os.getcwd()), *options.command], env=os.environ | {"LAB": lab.folder},
                                check=False).returncode
        sys.stderr.write("".join(f"{line}\n" for line in lab.lines()))
        return status


if __name__ == "__main__":
    sys.exit(main())
