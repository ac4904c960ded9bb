# SPDX-License-Identifier: Apache-2.0
"""Services that the lab borrows from Debian: an SSH server, PostgreSQL, Redis, git, rsync, gRPC, HTTP/2.

Should:   start each only where its program is installed, behind a relay that logs; say
          in a file of the folder which ones are there.
Must not: outlive the lab: all of them are in its process namespace.
"""
import json
import os
import shutil
import subprocess
import time

import world

POSTGRES = "/usr/lib/postgresql"
GRPC = "/usr/lib/python3/dist-packages/grpc"
PYTHON = "/usr/bin/python3"
HERE = os.path.dirname(os.path.abspath(__file__))
PATIENCE = 30.0


class Absent(Exception):
    """What the service needs is not installed."""


def program(name, *places):
    found = shutil.which(name) or next((place for place in places if os.path.exists(place)), None)
    if found is None:
        raise Absent(f"{name} is not installed")
    return found


class Services:
    """Started one by one, as an account that is not root."""

    def __init__(self, folder, uid, gid):
        self.folder, self.uid, self.gid = folder, uid, gid
        self.switch = {"user": uid, "group": gid, "extra_groups": []} if os.geteuid() == 0 else {}
        self.env = {"PATH": os.environ["PATH"], "HOME": f"{folder}/keeper", "LANG": "C.UTF-8"}

    def run(self, *argv, **more):
        subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True, env=self.env, **self.switch,
                       **more)

    def spawn(self, name, *argv, as_root=False):
        with open(f"{self.folder}/{name}.out", "wb") as out:
            subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=self.env,
                             **({} if as_root else self.switch))

    def own(self, name):
        path = f"{self.folder}/{name}"
        os.makedirs(path, exist_ok=True)
        if self.switch:
            os.chown(path, self.uid, self.gid)
        return path

    # -- one function each; it returns what the relay leads to, or None --

    def git(self):
        program("git")
        bare, work = f"{self.own('repositories')}/project.git", self.own("keeper/work")
        self.run("git", "init", "-q", "--bare", "-b", "main", bare)
        self.run("git", "-C", bare, "config", "http.receivepack", "true")
        self.run("git", "init", "-q", "-b", "main", work)
        self.run("sh", "-c", "echo 'of the lab' >file && git add file && git -c user.name=a -c user.email=a@b commit -qm first"
                 f" && git push -q {bare} main", cwd=work)

    def ssh(self):
        """The account is git, whose home is in the lab's folder."""
        server, key = program("dropbear", "/usr/sbin/dropbear"), program("dropbearkey")
        home, keys = self.own("keeper/git"), self.own("keys")
        os.chmod(home, 0o755)
        self.own("keeper/git/.ssh")
        self.run(program("ssh-keygen"), "-q", "-t", "ed25519", "-N", "", "-C", "lab", "-f", f"{keys}/id")
        self.run("cp", f"{keys}/id.pub", f"{home}/.ssh/authorized_keys")
        self.run("chmod", "600", f"{home}/.ssh/authorized_keys")
        self.run("sh", "-c", f"{key} -t ed25519 -f {keys}/server >/dev/null 2>&1")
        self.run("sh", "-c", f"{key} -y -f {keys}/server | sed -n 's/^ssh-ed25519/* ssh-ed25519/p' >{keys}/known_hosts")
        self.spawn("ssh", server, "-F", "-E", "-s", "-r", f"{keys}/server", "-p", "127.0.0.1:2222", "-P",
                   f"{self.folder}/ssh.pid")
        return ("127.0.0.1", 2222)

    def postgres(self):
        if not os.path.isdir(POSTGRES):
            raise Absent("postgresql is not installed")
        bin_dir = f"{POSTGRES}/{max(os.listdir(POSTGRES), key=float)}/bin"
        data, sockets = self.own("postgres"), self.own("sockets")
        self.run(f"{bin_dir}/initdb", "-D", data, "-U", "me", "-A", "trust", "-N", "-E", "UTF8", "--locale=C")
        self.spawn("postgres-server", f"{bin_dir}/postgres", "-D", data, "-k", sockets, "-c", "listen_addresses=", "-c",
                   "fsync=off", "-c", "dynamic_shared_memory_type=mmap")  # it is killed, and would leave /dev/shm full
        return f"{sockets}/.s.PGSQL.5432"

    def redis(self):
        socket = f"{self.own('sockets')}/redis"
        self.spawn("redis", program("redis-server"), "--port", "0", "--unixsocket", socket, "--unixsocketperm", "777",
                   "--save", "", "--dir", self.own("keeper"))
        return socket

    def git_daemon(self):
        """git's own protocol; what is served is that of `git`."""
        self.spawn("git-daemon", program("git"), "daemon", "--listen=127.0.0.1", "--port=9419", "--export-all", "--base-path=" +
                   self.own("repositories"), "--reuseaddr")
        return ("127.0.0.1", 9419)

    def rsync(self):
        files, where = self.own("files"), f"{self.folder}/rsyncd.conf"
        for name in ("one", "two"):
            with open(f"{files}/{name}", "w", encoding="ascii") as out:
                out.write(f"{name} of the lab\n" * 1000)
        with open(where, "w", encoding="ascii") as out:
            out.write(f"use chroot = no\n[files]\npath = {files}\nread only = yes\n")
        self.spawn("rsync", program("rsync"), "--daemon", "--no-detach", "--address=127.0.0.1", "--port=8730", f"--config={where}")
        return ("127.0.0.1", 8730)

    def rpc(self):
        return self.serve_rpc("rpc", f"{self.folder}/origin.pem", f"{self.folder}/origin.key")

    def rpc_plain(self):
        return self.serve_rpc("rpc_plain")

    def serve_rpc(self, name, *files):
        if not os.path.isdir(GRPC):
            raise Absent("python3-grpcio is not installed")
        socket = f"{self.own('sockets')}/{name}"
        self.spawn(name, PYTHON, f"{HERE}/rpc_server.py", socket, *files, as_root=True)
        return socket

    def http2(self):
        self.spawn("http2", program("node"), f"{HERE}/http2.js", self.folder, str(world.HTTP2), as_root=True)
        return None

    def java(self):
        program("java")
        program("keytool")


PORTS = {"ssh": world.SSH, "postgres": world.POSTGRES, "redis": world.REDIS, "git_daemon": world.GIT, "rsync": world.RSYNC,
         "rpc": world.RPC, "rpc_plain": world.RPC_PLAIN}


def await_service(folder, name, backend):
    """A unix socket appears; the others answer soon enough for whoever tries again."""
    end = time.monotonic() + PATIENCE
    while isinstance(backend, str) and not os.path.exists(backend):
        if time.monotonic() > end:
            with open(f"{folder}/{name}.out", encoding="utf-8", errors="replace") as said:
                raise Absent(f"{name} does not start: {said.read()[-200:]}")
        time.sleep(0.05)


def start(origins, wanted, folder, account):
    """Leaves folder/services: name → why it is absent, or the empty string."""
    services, found = Services(folder, *account), {}
    for name in wanted:
        try:
            backend = getattr(services, name)()
            await_service(folder, name, backend)
            found[name] = ""
            if name in PORTS:
                origins.listen(PORTS[name], origins.relay(backend))
        except (Absent, subprocess.CalledProcessError, OSError) as problem:
            found[name] = str(problem)
    with open(f"{folder}/services", "w", encoding="utf-8") as out:
        json.dump(found, out)
