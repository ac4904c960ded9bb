# SPDX-License-Identifier: Apache-2.0
"""Real container engines: what a run is in their containers, and `corral oci` as their runtime.

podman, dockerd and containerd of this machine, with storage of the test's own.  A container has this host's /usr and a root of its
own.  Rows of the escape suite run in a podman container with its default settings, at the level that a run reports
there.
"""
import collections
import contextlib
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import time

from harness import PATH, PATIENCE, Skip, check, contains, equal

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)

# Rows of the escape suite about other processes and /proc, which a run shares there; the whole suite takes long.
ROWS = "PR01,PR05,PR05a,PR05b,PR07,PR21,PF14,PF18,NS01,NS02,FS01,DN01"

# Calls that the profile of `corral oci` adds, tried by the command; each must be refused, whatever its arguments.
ADDED = """
import ctypes, errno, sys
libc = ctypes.CDLL(None, use_errno=True)
NR = {"unshare": (272, 0x10000000), "mount": (165, b"t", b"/tmp", b"tmpfs", 0, 0), "umount2": (166, b"/tmp", 0),
      "pivot_root": (155, b"/tmp", b"/tmp"), "fsopen": (430, b"tmpfs", 0), "open_tree": (428, -100, b"/", 1),
      "fsconfig": (431, -1, 0, 0, 0, 0), "fsmount": (432, -1, 0, 0),
      "mount_setattr": (442, -100, b"/", 0, 0, 0), "move_mount": (429, -100, b"/", -100, b"/", 0),
      "sethostname": (170, b"x", 1), "setdomainname": (171, b"x", 1), "pidfd_getfd": (438, -1, 0, 0),
      "landlock_create_ruleset": (444, 0, 0, 1), "landlock_add_rule": (445, -1, 0, 0, 0),
      "landlock_restrict_self": (446, -1, 0), "clone3": (435, 0, 0),
      # SECCOMP_SET_MODE_FILTER with a listener, the one thing that it gives
      "seccomp": (317, 1, 8, 0), "clone": (56, 0x10000000 | 17, 0, 0, 0, 0)}
for name, (number, *args) in NR.items():
    got = libc.syscall(number, *args)
    print(name, got, errno.errorcode.get(ctypes.get_errno(), "-"))
    if got == 0 and name == "clone":
        import os; os._exit(0)
    sys.stdout.flush()
"""


def needs(*programs):
    for program in programs:
        if shutil.which(program, path=PATH) is None:
            raise Skip(f"{program} is not installed")
    if os.getuid() != 0:
        raise Skip("only root starts this engine")


def make_root(top):
    """A root file system that has nothing but mount points and two files."""
    for name in ("usr", "etc", "tmp", "proc", "sys", "dev", "run", "root", "srv", "work", "corral", "tests", "var/tmp"):
        os.makedirs(f"{top}/{name}", exist_ok=True)
    for name in ("tmp", "work", "srv"):
        os.chmod(f"{top}/{name}", 0o1777)
    for name in ("bin", "sbin", "lib", "lib64"):
        os.symlink(f"usr/{name}", f"{top}/{name}")
    with open(f"{top}/etc/passwd", "w", encoding="utf-8") as out:
        out.write("root:x:0:0:root:/root:/bin/sh\ngames:x:5:60:games:/usr/games:/bin/false\n")
    with open(f"{top}/etc/group", "w", encoding="utf-8") as out:
        out.write("root:x:0:\ngames:x:60:\n")


def runtime_script(box, runtime, *options):
    """As packaging/oci/corral-oci, with the paths of this test."""
    box.write("corral-oci", f"#!/bin/sh\nexec {box.corral} oci {' '.join(options)} --runtime {runtime} -- \"$@\"\n")
    os.chmod(f"{box.dir}/corral-oci", 0o755)
    return f"{box.dir}/corral-oci"


# Engines raise them by default, for which this machine may lack the right.
LIMITS = ("--ulimit=nofile=1024:1024", "--ulimit=nproc=4096:4096")


def remove(*directories):
    """The engine's own processes may still write there for a moment."""
    end = time.monotonic() + PATIENCE
    while any(os.path.exists(d) for d in directories):
        subprocess.run(["rm", "-rf", *directories], stderr=subprocess.DEVNULL, check=False)
        check(time.monotonic() < end, f"{directories} cannot be removed")


def end_daemon(daemon):
    if daemon.poll() is None:
        daemon.send_signal(signal.SIGTERM)
        try:
            daemon.wait(PATIENCE * 6)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()


class Podman:
    """podman as root."""

    HYBRID = "umount -R /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup && exec \"$@\""

    def __init__(self, box, runtime=None):
        needs("podman", "crun")
        self.box = box
        os.chmod(box.ws, 0o777)  # for a container's ordinary user
        make_root(f"{box.dir}/root")
        box.write("containers.conf", '[engine]\nruntime_supports_nocgroup = ["crun", "corral-oci"]\n[engine.runtimes]\n'
                                     f'corral-oci = ["{box.dir}/corral-oci"]\n')
        self.words = []
        if os.path.isdir("/sys/fs/cgroup/unified"):  # crun refuses both versions of control groups
            self.words = ["unshare", "-m", "--propagation", "private", "/bin/sh", "-c", self.HYBRID, "sh"]
        self.words += ["env", f"CONTAINERS_CONF={box.dir}/containers.conf", "podman",
                       *([f"--runtime={runtime}"] if runtime else []), "--log-level=error", f"--root={box.dir}/store",
                       "--storage-driver=vfs", f"--runroot={box.dir}/runroot", "--cgroup-manager=cgroupfs", "--events-backend=none"]

    def run(self, *words, flags=(), timeout=4 * PATIENCE, root=None):
        bin_dir = os.path.dirname(self.box.corral)
        return self.box.execute([*self.words, "run", "--rm", "--cgroups=disabled", "--network=host", "--log-driver=none",
                                 *LIMITS, "--volume=/usr:/usr:ro", f"--volume={bin_dir}:{bin_dir}:ro",
                                 f"--volume={self.box.ws}:/work", "--workdir=/work", *flags,
                                 *(root or ("--rootfs", f"{self.box.dir}/root")), *words], timeout=timeout)

    def run_marked_image(self, *words):
        key, _, value = MARK.partition("=")
        if not os.path.exists(f"{self.box.dir}/layout"):
            archive = make_archive(f"{self.box.dir}/root", f"{self.box.dir}/layout", {key: value})
            self.box.execute([*self.words, "load", f"--input={archive}"], timeout=4 * PATIENCE).exited(0)
        return self.run(*words, root=("localhost/base:1",))

    def close(self):
        remove(f"{self.box.dir}/store", f"{self.box.dir}/runroot")


class Docker:
    """A dockerd of the test's own, with one image."""

    def __init__(self, box, runtime=None):
        needs("dockerd", "docker", "runc")
        self.box = box
        make_root(f"{box.dir}/root")
        self.socket = f"unix://{box.dir}/d.sock"
        self.log = open(f"{box.dir}/log", "wb")  # closed with the daemon
        self.daemon = subprocess.Popen(
            [*self.before(), "--iptables=false", "--ip6tables=false", "--bridge=none", "--storage-driver=vfs",
             f"--data-root={box.dir}/data", f"--exec-root={box.dir}/exec", f"--pidfile={box.dir}/pid", "-H", self.socket,
             *([f"--add-runtime=corral={runtime}"] if runtime else [])],
            stdout=self.log, stderr=subprocess.STDOUT, start_new_session=True)
        self.flags = ["--runtime=corral"] if runtime else []
        try:
            self.wait()
            tar = subprocess.run(["tar", "-C", f"{box.dir}/root", "-c", "."], stdout=subprocess.PIPE, check=True).stdout
            subprocess.run(["docker", "-H", self.socket, "import", "-", "base"], input=tar, check=True,
                           stdout=subprocess.DEVNULL)
        except BaseException:
            self.close()
            raise

    def before(self):
        """The daemon, and what starts it."""
        return ["dockerd"]

    def wait(self):
        end = time.monotonic() + PATIENCE * 6
        while subprocess.run(["docker", "-H", self.socket, "version"], stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL, check=False).returncode != 0:
            if self.daemon.poll() is not None or time.monotonic() > end:
                raise Skip("dockerd does not start here")
            time.sleep(0.2)

    def docker(self, *words):
        return self.box.execute(["docker", "-H", self.socket, *words], timeout=4 * PATIENCE)

    def start(self, *words, flags=()):
        bin_dir = os.path.dirname(self.box.corral)
        return self.docker("run", "--network=none", *self.flags, *LIMITS, "--volume=/usr:/usr:ro",
                           f"--volume={bin_dir}:{bin_dir}:ro", f"--volume={self.box.ws}:/work", "--workdir=/work", *flags,
                           "base", *words)

    def run(self, *words, flags=()):
        return self.start(*words, flags=("--rm", *flags))

    def close(self):
        end_daemon(self.daemon)
        self.log.close()
        remove(f"{self.box.dir}/data", f"{self.box.dir}/exec")


class RootlessDocker(Docker):
    """A dockerd of an ordinary user: rootlesskit makes it root of a user namespace."""

    SCRIPT = "/usr/share/docker.io/contrib/dockerd-rootless.sh"  # where Debian has it
    # Ids for the user, and control groups of one version.
    PLACE = ("{{ umount -R /sys/fs/cgroup; mount -t cgroup2 none /sys/fs/cgroup; }} 2>/dev/null; "
             "mount --bind {0} /etc/subuid && mount --bind {0} /etc/subgid && exec \"$@\"")

    def __init__(self, box, runtime=None):
        needs("rootlesskit", "newuidmap", "setpriv")
        if not os.path.exists(self.SCRIPT):
            raise Skip(f"{self.SCRIPT} does not exist")
        for name in ("data", "exec", "xdg"):
            box.mkdir(name, 0o700)
        box.write("ids", f"{box.user.name}:300000:65536\n")
        super().__init__(box, runtime)

    def before(self):
        box, user = self.box, self.box.user
        kit = {"NET": "host", "PORT_DRIVER": "none", "MTU": "0", "FLAGS": f"--state-dir={box.dir}/xdg/kit"}
        return ["unshare", "-m", "--propagation", "private", "/bin/sh", "-c", self.PLACE.format(f"{box.dir}/ids"), "sh",
                "setpriv", f"--reuid={user.uid}", f"--regid={user.gid}", "--clear-groups", "--", "env", f"HOME={box.home}",
                f"XDG_RUNTIME_DIR={box.dir}/xdg", f"PATH={PATH}",
                *(f"DOCKERD_ROOTLESS_ROOTLESSKIT_{key}={value}" for key, value in kit.items()), self.SCRIPT]


def blob(place, data):
    """A file of an OCI image layout; returns its descriptor without the type."""
    digest = hashlib.sha256(data).hexdigest()
    with open(f"{place}/blobs/sha256/{digest}", "wb") as out:
        out.write(data)
    return {"digest": f"sha256:{digest}", "size": len(data)}


def make_archive(root, place, annotations=None, settings=None):
    """An image in the layout of the OCI's specification, of one layer; returns the path of its archive."""
    os.makedirs(f"{place}/blobs/sha256")
    layer = subprocess.run(["tar", "--numeric-owner", "-C", root, "-c", "."], stdout=subprocess.PIPE, check=True).stdout
    diff = blob(place, layer)
    kind = "application/vnd.oci.image"
    config = {"architecture": "amd64" if os.uname().machine == "x86_64" else "arm64", "os": "linux", "config": settings or {},
              "rootfs": {"type": "layers", "diff_ids": [diff["digest"]]}}
    manifest = {"schemaVersion": 2, "mediaType": f"{kind}.manifest.v1+json", "annotations": annotations or {},
                "config": {"mediaType": f"{kind}.config.v1+json", **blob(place, json.dumps(config).encode())},
                "layers": [{"mediaType": f"{kind}.layer.v1.tar", **diff}]}
    index = {"schemaVersion": 2, "manifests": [{"mediaType": f"{kind}.manifest.v1+json",
                                                **blob(place, json.dumps(manifest).encode()),
                                                "annotations": {"io.containerd.image.name": "localhost/base:1",
                                                                "org.opencontainers.image.ref.name": "localhost/base:1"}}]}
    for name, value in (("index.json", index), ("oci-layout", {"imageLayoutVersion": "1.0.0"})):
        with open(f"{place}/{name}", "w", encoding="utf-8") as out:
            json.dump(value, out)
    subprocess.run(["tar", "-C", place, "-cf", f"{place}.tar", "."], check=True)
    return f"{place}.tar"


SHARED = "/run/containerd"  # of the shims' sockets and runc's files, for every containerd
WAS_THERE = os.path.exists(SHARED)


class Containerd:
    """A containerd of the test's own, used by ctr, without its CRI."""

    PROGRAMS = ("containerd", "ctr", "runc", "containerd-shim-runc-v2")
    before = ()  # words that start the daemon
    CONFIG = """version = 2
root = "{0}/cdata"
state = "{0}/cstate"
disabled_plugins = ["io.containerd.grpc.v1.cri", "io.containerd.internal.v1.opt"]
[grpc]
address = "{0}/c.sock"
"""

    def __init__(self, box, runtime=None):
        needs(*self.PROGRAMS)
        self.box, self.count = box, 0
        make_root(f"{box.dir}/root")
        box.write("containerd.toml", self.settings())
        self.flags = [f"--runc-root={box.dir}/runc", *([f"--runc-binary={runtime}"] if runtime else [])]
        self.log = open(f"{box.dir}/clog", "wb")  # closed with the daemon
        self.daemon = subprocess.Popen([*self.before, "containerd", "--config", f"{box.dir}/containerd.toml"], stdout=self.log,
                                       stderr=subprocess.STDOUT, start_new_session=True)
        try:
            end = time.monotonic() + PATIENCE * 6
            while self.ctr("version").status != 0:
                if self.daemon.poll() is not None or time.monotonic() > end:
                    raise Skip("containerd does not start here")
                time.sleep(0.2)
            self.load()
        except BaseException:
            self.close()
            raise

    def settings(self):
        """The daemon's file."""
        return self.CONFIG.format(self.box.dir)

    def load(self):
        archive = make_archive(f"{self.box.dir}/root", f"{self.box.dir}/layout")
        self.ctr("images", "import", "--snapshotter=native", archive).exited(0)

    def ctr(self, *words):
        return self.box.execute(["ctr", f"--address={self.box.dir}/c.sock", *words], timeout=4 * PATIENCE)

    def run(self, *words, flags=()):
        """Volumes and the environment in the words of podman and docker."""
        self.count += 1
        bin_dir = os.path.dirname(self.box.corral)
        mounts = [f"{self.box.ws}:/work", "/usr:/usr:ro", f"{bin_dir}:{bin_dir}:ro"]
        others = []
        for flag in flags:
            if flag.startswith("--volume="):
                mounts.append(flag.removeprefix("--volume="))
            else:
                others.append(flag)
        for mount in mounts:
            source, target, *mode = mount.split(":")
            others.append(f"--mount=type=bind,src={source},dst={target},options=rbind:{mode[0] if mode else 'rw'}")
        # No other containerd of this machine has it.  Two "_" and "-" in a row are refused.
        name = f"{os.path.basename(self.box.dir).replace('_', '0')}-{self.count}"
        return self.ctr("run", "--rm", "--snapshotter=native", *self.flags, f"--fifo-dir={self.box.dir}", f"--cgroup=/{name}",
                        "--cwd=/work", *others, "localhost/base:1", name, *words)

    def close(self):
        end_daemon(self.daemon)
        self.log.close()
        remove(f"{self.box.dir}/cdata", f"{self.box.dir}/cstate")
        for directory in () if WAS_THERE else ("s", "runc/k8s.io", "runc", ""):
            with contextlib.suppress(OSError):  # another one may use it by now
                os.rmdir(f"{SHARED}/{directory}")


# (engine, name, flags, level, guarantees that are not enforced there, a flag that status names)
SETTINGS = (
    (Podman, "podman, default", (), "full", {"pid"}, "unmask=ALL"),
    (Podman, "podman, an ordinary user", ("--user=5:60", "--env=HOME=/tmp"), "full", {"pid"}, "unmask=ALL"),
    (Podman, "podman, no capabilities", ("--cap-drop=all",), "standard", {"pid", "net"}, "--cap-add SETFCAP"),
    (Podman, "podman, unmasked", ("--security-opt=unmask=ALL",), "full", set(), None),
    (Docker, "docker, default", (), "standard", {"pid"}, "seccomp=unconfined"),
    (Docker, "docker, hardened", ("--cap-drop=ALL", "--security-opt=no-new-privileges", "--read-only", "--tmpfs=/tmp"),
     "standard", {"pid"}, "seccomp=unconfined"),
    (Docker, "docker, CAP_SYS_ADMIN", ("--cap-add=SYS_ADMIN",), "standard", {"pid"}, "seccomp=unconfined"),
    (Docker, "docker, no profile, no capabilities", ("--cap-drop=ALL", "--security-opt=seccomp=unconfined"), "standard",
     {"pid", "net"}, "--cap-add SETFCAP"),
    (Docker, "docker, no profile", ("--security-opt=seccomp=unconfined",), "full", {"pid"}, "systempaths=unconfined"),
    (Docker, "docker, no profile, no masks",
     ("--security-opt=seccomp=unconfined", "--security-opt=systempaths=unconfined"), "full", set(), None),
    (RootlessDocker, "rootless docker, default", (), "standard", {"pid"}, "seccomp=unconfined"),
    (RootlessDocker, "rootless docker, no profile", ("--security-opt=seccomp=unconfined",), "full", {"pid"},
     "systempaths=unconfined"),
    (Containerd, "containerd, its seccomp profile", ("--seccomp",), "standard", {"pid"}, "seccomp=unconfined"),
    (Containerd, "containerd, no profile", (), "full", {"pid"}, "systempaths=unconfined"),
)
BOUNDARY = ("fs.write", "fs.read", "fs.deny", "net", "ipc", "pid", "env", "lifetime")


def weaker(report):
    """The guarantees of the boundary that are not enforced."""
    return {g["name"] for g in report["guarantees"] if g["name"] in BOUNDARY and g["state"] != "enforced"}


def ask_remedy(engine, flags, status):
    """The flags that status names raise the level, or what is reported at it; ctr has other words for them."""
    named = [word for row in status["remedies"] if row["raises"].startswith(("level full", "pid"))
             for word in re.findall(r"--(?:security-opt|cap-add) [\w=]+", row["do"].split(", or")[0])]
    if not named or isinstance(engine, Containerd):
        return
    more = [word.replace(" ", "=") for word in named]
    raised = engine.run(engine.box.corral, "status", "--json", flags=(*flags, *more)).exited(0).json
    equal(raised["level"], "full", f"the level with {more}")
    check(status["level"] != "full" or weaker(raised) < weaker(status), f"{more} changed nothing")
    for word in more if len(more) > 1 else ():
        fewer = [one for one in more if one != word]
        one = engine.run(engine.box.corral, "status", "--json", flags=(*flags, *fewer)).exited(0).json
        check(one["level"] != "full", f"{word} is not needed")


def ask_level(engine, flags, row):
    """status and a run agree with the row, and the checks of `corral test` do, too."""
    level, lost, flag = row
    status = engine.run(engine.box.corral, "status", "--json", flags=flags).exited(0).json
    equal(status["level"], level, "the level")
    kind = type(engine).__name__.lower().removeprefix("rootless")
    equal(status["mechanisms"]["container"], kind, "the runtime that status names")
    if flag is not None:
        contains(json.dumps(status["remedies"]), flag, "the flag that raises it")
    ask_remedy(engine, flags, status)
    report = engine.run(engine.box.corral, "run", "--json", "--", "sh", "-c", "echo x >made; mkdir -p a/b; mv made a/b/c",
                        flags=flags).exited(0).json
    equal((report["level"], report["engine"]), (level, "namespaces" if level == "full" else "landlock"), "a run's level and engine")
    equal(weaker(report), lost, "guarantees of the boundary that are not enforced")
    done = engine.run(engine.box.corral, "test", "--json", flags=flags)
    failed = {c["name"] for c in done.json["checks"] if c["state"] not in ("pass", "limit", "skip")}
    equal(failed, set(), "checks of corral test")


def with_engine(box, engine, ask, runtime=None):
    made = engine(box, runtime)
    try:
        ask(made)
    finally:
        made.close()


# A line of the report (run.py).
Line = collections.namedtuple("Line", "name about engine level weaker")


def register_levels(suite):
    for engine, name, flags, *row in SETTINGS:
        line = Line(name, " ".join(flags), "namespaces" if row[0] == "full" else "landlock", *row[:2])

        rootless = engine is RootlessDocker

        @suite.test(f"{name}: the level, its guarantees, and the flag that raises it", user=rootless, root=not rootless)
        def one(box, engine=engine, flags=flags, row=row, line=line):
            good = False
            try:
                with_engine(box, engine, lambda made: ask_level(made, flags, row))
                good = True
            finally:
                suite.answers.append((line, box.user, good))


def register_rows(suite):
    @suite.test("podman, default: rows of the escape suite at the level that it reports", user=False, root=True)
    def rows(box):
        probe = f"{suite.build}/tests/escape/probe"
        if not os.path.exists(probe):
            raise Skip("the probe of the escape suite is not built")
        probes = shutil.copy(probe, f"{box.dir}/probe")

        def ask(podman):
            done = podman.run("python3", f"{TESTS}/escape/run.py", "--corral", box.corral, "--probe", "/probe", "--only", ROWS,
                              "--quick", "--as", "user", "--shared-proc", timeout=20 * PATIENCE,
                              flags=(f"--volume={TESTS}:{TESTS}:ro", f"--volume={probes}:/probe:ro"))
            bad = [line for line in done.out.splitlines() if line.startswith("not ok")]
            check(not bad and "CONTAINED" in done.out, "\n".join(bad) or done.out[-2000:] + done.err[-2000:])
        with_engine(box, Podman, ask)


def ask_wrapped(engine):
    """The command is in a sandbox, with its workspace and its volumes; nothing else can be written."""
    box = engine.box
    box.mkdir("ref")
    box.write("ref/f", "read\n")
    done = engine.run("sh", "-c", "echo $CORRAL_LEVEL $VALUE; pwd; cat /ref/f; echo x >made; echo x >/etc/made; "
                      "echo x >/ref/made; exit 3", flags=(f"--volume={box.dir}/ref:/ref:ro", "--env=VALUE=v"))
    equal(done.status, 3, "the exit status")
    equal(done.out.splitlines(), ["full v", "/work", "read"], "the output")
    check(box.exists("ws/made") and not box.exists("ref/made"), "the workspace, and a read-only volume")
    check(not box.exists("root/etc/made"), "a file of the image was written")


def calls_of_profile():
    """{call: why the command gains nothing}"""
    with open(f"{TESTS}/../src/oci/seccomp.c", encoding="utf-8") as source:
        return dict(re.findall(r'^\t\{"([a-z_0-9]+)", "([^"]+)"\},$', source.read(), re.MULTILINE))


def ask_profile(engine):
    """O2: the calls that are added to the profile are refused to the command."""
    box = engine.box
    box.write("ws/added.py", ADDED)
    flags = ("--seccomp",) if isinstance(engine, Containerd) else ()  # ctr has none by itself
    done = engine.run("python3", "added.py", flags=flags).exited(0)
    lines = dict(line.split(" ", 1) for line in done.out.splitlines())
    calls = calls_of_profile()
    equal(set(lines), {*calls, "mount"}, "calls that were tried, and those of src/oci/seccomp.c")
    for name in (name for name, why in calls.items() if why == "takes rights away"):
        check(lines.pop(name).startswith("-1 "), f"{name} gave the command a descriptor")
    open_ = {name: got for name, got in lines.items() if not got.startswith("-1 ") or "EFAULT" in got or "EBADF" in got}
    equal(open_, {}, "added calls that reach the command")
    filters = engine.run("grep", "Seccomp", "/proc/self/status", flags=flags).exited(0).out
    contains(filters, "Seccomp_filters:\t2", "the engine's filter and the sandbox's")


def ask_refused(engine):
    """An image cannot bring a policy, and a mount cannot cover Corral's own."""
    done = engine.run("true", flags=("--volume=/tmp:/run/corral/corral",))
    check(done.status != 0, "a mount over the sandbox's program was accepted")
    contains(done.err, "would cover Corral's own", "the refusal")
    hostile = engine.run("--level", "none")
    check(hostile.status != 0, "an argument of the image became an option")


MARK = "io.kubernetes.cri.container-type=sandbox"


def ask_marked(engine, unmarked):
    """An annotation of the user or the image does not switch the sandbox off; with --pods, the control, it does."""
    level = "" if unmarked else "full"
    done = engine.run("sh", "-c", "echo \"=$CORRAL_LEVEL\"", flags=(f"--annotation={MARK}",)).exited(0)
    equal(done.out.strip(), f"={level}", "the level under the mark of a pause container")
    if isinstance(engine, Podman):
        done = engine.run_marked_image("sh", "-c", "echo \"=$CORRAL_LEVEL\"").exited(0)
        equal(done.out.strip(), f"={level}", "the level with an image that has the mark")


def register_marks(suite):
    for engine, runtime in ((Podman, "/usr/bin/crun"), (Containerd, shutil.which("runc", path=PATH))):
        name = engine.__name__.lower()
        for options, title in (((), "an annotation does not switch the sandbox off"),
                               (("--pods",), "with --pods, the control, an annotation does")):
            @suite.test(f"{name} with corral oci: {title}", user=False, root=True)
            def one(box, engine=engine, runtime=runtime, options=options):
                script = runtime_script(box, runtime, *options)
                with_engine(box, engine, lambda made: ask_marked(made, bool(options)),
                            "corral-oci" if engine is Podman else script)


def register_settings(suite):
    @suite.test("podman with corral oci: packaging/oci/containers.conf lets a container have no control groups",
                user=False, root=True)
    def settings(box):
        runtime_script(box, "/usr/bin/crun")
        with open(f"{TESTS}/../packaging/oci/containers.conf", encoding="utf-8") as source:
            text = source.read().replace("/usr/libexec/corral-oci", f"{box.dir}/corral-oci")

        def ask(podman):
            box.write("containers.conf", text)
            equal(podman.run("sh", "-c", "echo $CORRAL_LEVEL").exited(0).out, "full\n", "a container without control groups")
            box.write("containers.conf", re.sub(r"(?m)^runtime_supports_nocgroup = .*", "", text))
            without = podman.run("true")
            check(without.status != 0, "control: podman does not need the setting")
            contains(without.err.lower(), "cgroups", "control: its reason")
        with_engine(box, Podman, ask, "corral-oci")


def register_oci(suite):
    runc = shutil.which("runc", path=PATH)
    for engine, runtime in ((Podman, "/usr/bin/crun"), (Docker, runc), (Containerd, runc)):
        name = engine.__name__.lower()
        for title, ask in ((f"{name} with corral oci: the command is in a sandbox", ask_wrapped),
                           (f"{name} with corral oci: the command is under the engine's profile", ask_profile),
                           (f"{name} with corral oci: images and mounts cannot change the sandbox", ask_refused)):
            @suite.test(title, user=False, root=True)
            def one(box, engine=engine, runtime=runtime, ask=ask):
                script = runtime_script(box, runtime)
                with_engine(box, engine, ask, "corral-oci" if engine is Podman else script)

    @suite.test("docker with corral oci: exec does not go past the sandbox", user=False, root=True)
    def execs(box):
        def ask(docker):
            docker.start("sleep", "600", flags=("--detach", "--name=c1")).exited(0)
            done = docker.docker("exec", "--env", "X=1", "c1", "sh", "-c", "echo $CORRAL_LEVEL $X; echo x >/etc/made; "
                                 "grep Seccomp_filters /proc/self/status")
            equal(done.out.splitlines()[0], "full 1", "the level of an exec")
            contains(done.out, "Seccomp_filters:\t2", "the filters of an exec")
            contains(done.err, "Read-only file system", "a file of the image")
            docker.docker("kill", "c1").exited(0)
        with_engine(box, Docker, ask, runtime_script(box, shutil.which("runc", path=PATH)))


def register(suite):
    register_levels(suite)
    register_rows(suite)
    register_oci(suite)
    register_marks(suite)
    register_settings(suite)
