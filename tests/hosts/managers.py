# SPDX-License-Identifier: Apache-2.0
"""Real containers that no engine of containers.py makes: LXC, systemd-nspawn and gVisor, as root.

`corral status` names each, and its remedies are those that help there; with their settings the level or the
guarantees are higher.
"""
import contextlib
import json
import os

from containers import make_root, needs, weaker
from harness import PATIENCE, check, contains, equal

# Their control groups have to be of one version.
HYBRID = "umount -R /sys/fs/cgroup 2>/dev/null; mount -t cgroup2 none /sys/fs/cgroup && exec \"$@\""
OWN_MOUNTS = ("unshare", "-m", "--propagation", "private", "/bin/sh", "-c", HYBRID, "sh")


class Manager:
    """One container for each command."""

    def __init__(self, box):
        needs(*self.programs)
        self.box = box
        make_root(f"{box.dir}/root")
        self.bin = os.path.dirname(box.corral)
        os.makedirs(f"{box.dir}/root{self.bin}", exist_ok=True)

    def execute(self, *words):
        return self.box.execute(words, timeout=8 * PATIENCE)

    def close(self):
        """Nothing is left."""


class Lxc(Manager):
    programs = ("lxc-execute",)
    CONFIG = """lxc.include = /usr/share/lxc/config/common.conf
{more}lxc.rootfs.path = dir:{dir}/root
lxc.uts.name = c1
lxc.net.0.type = empty
lxc.mount.entry = /usr usr none bind,ro 0 0
lxc.mount.entry = {bin} {bin_inside} none bind,ro 0 0
lxc.apparmor.profile = unconfined
lxc.environment = HOME=/root
"""

    def run(self, *words, settings=()):
        self.box.mkdir("lxc/c1")
        self.box.write("lxc/c1/config", self.CONFIG.format(more="".join(f"{line}\n" for line in settings), dir=self.box.dir,
                                                           bin=self.bin, bin_inside=self.bin.lstrip("/")))
        return self.execute(*OWN_MOUNTS, "lxc-execute", "-P", f"{self.box.dir}/lxc", "-n", "c1", "--", *words)

    def close(self):
        for top in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"):
            with contextlib.suppress(OSError):
                os.rmdir(f"{top}/lxc.pivot")  # LXC's own leftover


class Nspawn(Manager):
    programs = ("systemd-nspawn",)

    def run(self, *words, settings=()):
        environment = [word for word in settings if not word.startswith("-")]
        return self.execute("env", *environment, "systemd-nspawn", "-q", "--pipe", "--register=no", "--keep-unit",
                            "--private-network", "-D", f"{self.box.dir}/root", "--bind-ro=/usr", f"--bind-ro={self.bin}",
                            "-E", "HOME=/root", *(word for word in settings if word.startswith("-")), *words)


class Gvisor(Manager):
    programs = ("runsc",)

    def run(self, *words, settings=()):
        check(not settings, "gVisor has no settings here")

        def bind(path):
            return {"destination": path, "type": "bind", "source": path, "options": ["rbind", "ro"]}

        self.box.write("bundle/config.json", json.dumps({
            "ociVersion": "1.0.2",
            "process": {"user": {"uid": 0, "gid": 0}, "args": words, "cwd": "/", "env": [f"PATH={os.environ['PATH']}", "HOME=/root"]},
            "root": {"path": f"{self.box.dir}/root"},
            "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"}, bind("/usr"), bind(self.bin),
                       {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs"}],
            "linux": {"namespaces": [{"type": kind} for kind in ("pid", "network", "ipc", "uts", "mount")]}}))
        return self.execute(*OWN_MOUNTS, "runsc", "--network=none", "--ignore-cgroups", "--platform=ptrace",
                            f"--root={self.box.dir}/runsc", "run", "--bundle", f"{self.box.dir}/bundle",
                            os.path.basename(self.box.dir))


LANDLOCK = "--system-call-filter=landlock_create_ruleset landlock_add_rule landlock_restrict_self pidfd_getfd"
# manager, what status names, settings, level (None: no run starts), guarantees that are not enforced, words of a remedy
ROWS = (
    (Lxc, "lxc", (), "full", {"pid"}, "/usr/share/lxc/config/nesting.conf"),
    (Lxc, "lxc", ("lxc.include = /usr/share/lxc/config/nesting.conf",), "full", set(), None),
    (Nspawn, "systemd-nspawn", (), "standard", {"net", "ipc"}, LANDLOCK.split("=")[1]),
    (Nspawn, "systemd-nspawn", (LANDLOCK,), "full", set(), None),
    (Gvisor, "gVisor", (), None, set(), "gVisor's kernel has no Landlock"),
)


def ask(manager, row):
    _, name, settings, level, lost, remedy = row
    done = manager.run(manager.box.corral, "status", "--json", settings=settings)
    check(done.raw_out, f"no report: {done}")
    status = done.json
    equal(status["mechanisms"]["container"], name, "the runtime that status names")
    equal((status["starts"], status["level"]), (level is not None, level), "the level")
    if level is not None:
        equal(weaker(status), lost, "guarantees of the boundary that are not enforced")
    raising = [row["do"] for row in status["remedies"] if not row["raises"].startswith("limits.")]
    equal(len(raising), 1 if remedy else 0, f"remedies that are not about limits: {raising}")
    contains("".join(raising), remedy or "", "the remedy")


def register(suite):
    for row in ROWS:
        manager, name, settings, *_ = row

        @suite.test(f"{name}{', ' if settings else ''}{' '.join(settings)}: what status says in it", user=False, root=True)
        def one(box, manager=manager, row=row):
            made = manager(box)
            try:
                ask(made, row)
            finally:
                made.close()
