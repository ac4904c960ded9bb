# SPDX-License-Identifier: Apache-2.0
"""The hosts: how each is made of this one, and what a run is on it.

A host is a list of words before the command: outer filters (without.c), setpriv(1),
a container, or corral itself.  Each says, exactly, which engine and level a plain
`corral run` has there, and words of what the refusal says when full is asked for.
"""
import os
import shutil
import signal
import subprocess

from harness import PATH, Skip, lines_of

# What Docker leaves to root in a container.
DOCKER_CAPS = ("chown dac_override fowner fsetid kill setgid setuid setpcap net_bind_service net_raw sys_chroot mknod "
               "audit_write setfcap").split()


class Place:
    """One box, and the words that turn this host into another for it."""

    def __init__(self, box, without):
        self.box, self.without = box, without
        self.bin = os.path.dirname(box.corral)

    def close(self):
        """Nothing to undo for most hosts."""

    def popen(self):
        """What Popen needs beyond the box's own words."""
        return {}


def make_root(box):
    """A root file system that has nothing but mount points and two files."""
    for name in ("usr", "etc", "tmp", "proc", "sys", "dev", "run", "root"):
        box.mkdir(f"root/{name}", 0o1777 if name == "tmp" else 0o755)
    for name in ("bin", "sbin", "lib", "lib64"):
        os.symlink(f"usr/{name}", f"{box.dir}/root/{name}")
    box.write("root/etc/passwd", "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n")
    box.write("root/etc/group", "root:x:0:\nnogroup:x:65534:\n")


class Plain(Place):
    def words(self):
        return []


class Without(Place):
    """Outer filters."""

    lacks = ""

    def words(self):
        return [self.without, self.lacks]


class Bare(Place):
    """An identity with fewer privileges than its number suggests."""

    flags = ()
    lacks = ""

    def words(self):
        return ["setpriv", *self.flags, "--", *([self.without, self.lacks] if self.lacks else [])]


class Nested(Place):
    """Inside another run, which grants what the box has unless `outer` gives other options."""

    level = ""

    def words(self, outer=None):
        more = ["--write", self.box.outer] if outer is None else outer
        return [self.box.corral, "run", "--no-config", "--allow-nested", "--level", self.level,
                "--read", self.bin, *more, "--"]


class Chroot(Place):
    """A chroot in a mount namespace: the kernel creates no user namespace in it."""

    ENTER = """root=$1; shift
        mount -t tmpfs -o mode=1777 tmpfs "$root/tmp" && mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev" || exit 99
        while [ "$1" != -- ]; do
            mkdir -p "$root$1" && mount --bind "$1" "$root$1" || exit 99
            shift
        done
        shift
        exec chroot "$root" /usr/bin/env -C "$PWD" "$@"
        """

    def __init__(self, box, without):
        super().__init__(box, without)
        make_root(box)

    def words(self):
        shown = ["/usr", self.bin, os.path.dirname(self.without), self.box.ws, self.box.home, self.box.outer]
        return ["unshare", "-m", "--propagation", "private", "/bin/sh", "-c", self.ENTER, "sh", f"{self.box.dir}/root",
                *dict.fromkeys(shown), "--"]


class ChangedProc(Place):
    """/proc as a container's manager leaves it."""

    script = ""

    def words(self):
        return ["unshare", "-m", "--propagation", "private", "/bin/sh", "-c", f'{self.script} && exec "$@"', "sh"]


READ_ONLY_SYS = "mount --bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys"


class LxcNesting(ChangedProc):
    """As LXC's nesting.conf: /proc/sys is read-only, and another procfs lets the kernel mount new ones."""

    def words(self):
        self.box.mkdir("other")
        self.script = f"{READ_ONLY_SYS} && mount -t proc proc {self.box.dir}/other"
        return super().words()


class Nspawn(ChangedProc):
    """As systemd-nspawn: /proc/kmsg is a file that was deleted."""

    def words(self):
        kmsg = f"{self.box.dir}/kmsg"
        self.script = f"{READ_ONLY_SYS} && : >{kmsg} && mount --bind {kmsg} /proc/kmsg && rm {kmsg}"
        return super().words()


class FirstAbi(Place):
    """Landlock ABI 1, as Linux 5.13 to 5.18 have it: a tracer answers Landlock's calls (abi.c)."""

    lacks = ""

    def words(self):
        abi = f"{os.path.dirname(self.without)}/abi"
        if os.uname().machine != "x86_64":
            raise Skip("the tracer is for x86-64")
        return [abi, *([self.without, self.lacks] if self.lacks else [])]


class Podman(Place):
    """A rootless container with podman's own seccomp profile, over a root of its own with this host's /usr."""

    flags = ()
    lacks = ""
    # crun refuses hosts that have both versions of control groups mounted.
    HYBRID = "umount -R /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup && "
    # Ids for a user who has none: a file of ours in their place.
    IDS = "mount --bind {0} /etc/subuid && mount --bind {0} /etc/subgid && "

    def __init__(self, box, without):
        super().__init__(box, without)
        for program in ("podman", "crun", "newuidmap"):
            if shutil.which(program, path=PATH) is None:
                raise Skip(f"{program} is not installed")
        self.hybrid = os.path.isdir("/sys/fs/cgroup/unified")
        if self.hybrid and os.getuid() != 0:
            raise Skip("both versions of control groups are mounted, which only root can change for crun")
        self.ids = ""
        if box.user.uid != 0 and not any(line.startswith(f"{box.user.name}:") for line in lines_of("/etc/subuid")):
            if os.getuid() != 0:
                raise Skip(f"{box.user.name} has no subordinate ids")
            box.write("ids", f"{box.user.name}:200000:65536\n")
            self.ids = self.IDS.format(f"{box.dir}/ids")
        self.own = bool(self.ids) or self.hybrid
        self.runtime = box.mkdir("run", 0o700)
        make_root(box)

    def words(self):
        box, words = self.box, []
        if self.own:
            script = (self.HYBRID if self.hybrid else "") + self.ids + 'exec "$@"'
            words += ["unshare", "-m", "--propagation", "private", "/bin/sh", "-c", script, "sh"]
            if box.user.drop:
                words += ["setpriv", f"--reuid={box.user.uid}", f"--regid={box.user.gid}", "--clear-groups", "--"]
        words += ["env", f"XDG_RUNTIME_DIR={self.runtime}", "podman", "--log-level=error", "--cgroup-manager=cgroupfs",
                  "--events-backend=none", "run", "--rm", "--cgroups=disabled", "--network=host", "--log-driver=none"]
        for path in {self.bin, os.path.dirname(self.without)}:
            words.append(f"--volume={path}:{path}:ro")
        words += ["--volume=/usr:/usr:ro", f"--volume={box.ws}:{box.ws}", f"--volume={box.home}:{box.home}",
                  f"--volume={box.outer}:{box.outer}", f"--env=HOME={box.home}", f"--workdir={box.ws}",
                  *self.flags, "--rootfs", f"{box.dir}/root"]
        return words + ([self.without, self.lacks] if self.lacks else [])

    def popen(self):
        return {"user": None, "group": None, "extra_groups": None} if self.own else {}

    def close(self):
        """podman leaves a process that keeps its user namespace; it is ours, its pid is in a file of ours."""
        for pid in lines_of(f"{self.runtime}/libpod/tmp/pause.pid"):
            if pid.strip().isdigit():
                os.kill(int(pid), signal.SIGKILL)
        subprocess.run(["rm", "-rf", f"{self.box.home}/.local/share/containers"], check=False)


def without(lacks):
    return type("Without", (Without,), {"lacks": lacks})


def first_abi(lacks=""):
    return type("FirstAbi", (FirstAbi,), {"lacks": lacks})


def bare(*flags, lacks=""):
    return type("Bare", (Bare,), {"flags": flags, "lacks": lacks})


def nested(level):
    return type("Nested", (Nested,), {"level": level})


def podman(*flags, lacks=""):
    return type("Podman", (Podman,), {"flags": flags, "lacks": lacks})


class Host:
    """A row of the table below."""

    def __init__(self, name, about, place, engine, level, remedy="", who="user", quick=True, uncontrolled=(), warns="", advice="", weaker=None):
        self.name, self.about, self.place = name, about, place
        self.engine, self.level = engine, level
        self.remedy = remedy  # said when --level full is refused
        self.who, self.quick = who, quick
        self.warns = warns  # said by every run
        self.advice = advice  # what the remedies of `corral status` name
        self.wanted = weaker  # what `weaker` has to be; None: anything
        self.weaker = ()  # guarantees of the boundary that its last run did not enforce
        self.uncontrolled = set(uncontrolled)  # checks of `corral test` whose control cannot be made there


NO_CAPS = ("--bounding-set=-all", "--inh-caps=-all")
DOCKER = ("--bounding-set=-all," + ",".join(f"+{name}" for name in DOCKER_CAPS),)
HOSTS = (
    Host("plain", "this host", Plain, "namespaces", "full", who="both"),
    Host("no new privileges", "setpriv --no-new-privs", bare("--no-new-privs"), "namespaces", "full", who="both"),
    # Since 5.12 the kernel maps user 0 for nobody who lacks CAP_SETFCAP.
    Host("root without capabilities", "setpriv, empty bounding set", bare(*NO_CAPS), "landlock", "standard",
         "CAP_SETFCAP", who="root", advice="SETFCAP"),
    Host("root without capabilities, no new privileges", "the same, --no-new-privs", bare(*NO_CAPS, "--no-new-privs"),
         "landlock", "standard", "CAP_SETFCAP", who="root", advice="SETFCAP"),
    Host("a chroot", "chroot(1) in a mount namespace", Chroot, "landlock", "standard", "user namespaces", who="root",
         advice="pivot_root(2)"),
    Host("a container with nesting", "read-only /proc/sys, a second procfs", LxcNesting, "namespaces", "full", who="root",
         weaker=()),
    Host("a container with deleted files", "read-only /proc/sys, a deleted file over /proc/kmsg", Nspawn, "namespaces", "full",
         who="root", weaker=("pid",)),
    Host("without userns", "outer filter: clone, clone3, unshare", without("userns"), "landlock", "standard",
         "user namespaces", who="both"),
    Host("without mounts", "outer filter: a user namespace without rights", without("mounts"), "landlock", "standard",
         "AppArmor profile", who="user"),
    Host("docker", "root with Docker's capabilities, outer filter: clone, clone3, unshare", bare(*DOCKER, lacks="userns"),
         "landlock", "standard", "user namespaces", who="root"),
    Host("without landlock", "outer filter: landlock_*", without("landlock"), "namespaces", "standard", "Landlock",
         who="both"),
    Host("landlock abi 1", "a tracer: Linux 5.13 to 5.18", first_abi(), "namespaces", "standard", "Landlock ABI 4"),
    Host("landlock abi 1 without userns", "the same, outer filter: userns", first_abi("userns"), "landlock", "standard",
         "user namespaces"),
    Host("without both", "outer filter: userns and landlock", without("userns,landlock"), "seccomp", "minimal",
         "user namespaces"),
    Host("without notify", "outer filter: a listener is refused", without("notify"), "namespaces", "full",
         warns="fs.deny is weaker"),
    Host("without userns and notify", "outer filter: userns and notify", without("userns,notify"), "landlock",
         "standard", "user namespaces", warns="fs.deny is weaker"),
    Host("without any", "outer filter: userns, landlock and seccomp", without("userns,landlock,seccomp"), "none", "none",
         "user namespaces"),
    Host("inside corral at full", "corral run --level full", nested("full"), "landlock", "standard",
         "inside a Corral sandbox"),
    Host("inside corral at standard", "corral run --level standard", nested("standard"), "landlock", "standard",
         "inside a Corral sandbox", uncontrolled=("udp", "unix-socket", "abstract-socket", "workspace-socket", "tcp",
                                                  "child-tcp", "child-socket")),
    Host("rootless podman", "podman run, default seccomp profile", podman(), "namespaces", "full",
         quick=False),
    Host("rootless podman, hardened", "podman run --cap-drop=all --security-opt=no-new-privileges",
         podman("--cap-drop=all", "--security-opt=no-new-privileges"), "landlock", "standard", "CAP_SETFCAP",
         quick=False),
    Host("rootless podman, docker's filter", "podman run, outer filter: clone, clone3, unshare",
         podman(lacks="userns"), "landlock", "standard", "user namespaces", quick=False),
    Host("rootless podman, not root", "podman run --userns=keep-id", podman("--userns=keep-id"), "namespaces",
         "full", quick=False),
)
