# SPDX-License-Identifier: Apache-2.0
"""The programs that a start is compared with: the words that run a command in each.

Should:   give every tool that is installed the job that Corral does: the host's files read-only, one writable directory,
          processes of its own, and where the tool can do it no network.
Must not: leave one out in silence.
"""
import json
import os
import shutil
import subprocess

from bench import PATH


def version(program, *words):
    """The first line that names a version; "" when there is none."""
    try:
        done = subprocess.run([program, *(words or ("--version",))], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", timeout=20, check=False, env={"PATH": PATH, "HOME": "/nonexistent"})
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return next((line.strip() for line in done.stdout.splitlines() if any(c.isdigit() for c in line) and "GPL" not in line), "")[:80]


def installed(program):
    return shutil.which(program, path=PATH)


def bundle(bench, account):
    """An OCI bundle with this host's /usr, for crun and runc."""
    place = bench.make_dir(f"bundle-{account.kind}", account)
    for name in ("rootfs", *(f"rootfs/{part}" for part in ("usr", "proc", "dev", "tmp", "sys", "etc", "work"))):
        bench.make_dir(f"{place}/{name}", account)
    for name in ("bin", "lib", "lib64", "sbin"):
        if os.path.islink(f"/{name}") and not os.path.lexists(f"{place}/rootfs/{name}"):
            os.symlink(os.readlink(f"/{name}"), f"{place}/rootfs/{name}")
    return place


def oci_config(bench, account, workspace):
    place = bundle(bench, account)
    uid, gid = account.words.get("user", os.geteuid()), account.words.get("group", os.getegid())
    binds = [{"destination": "/usr", "type": "none", "source": "/usr", "options": ["rbind", "ro"]},
             {"destination": "/work", "type": "none", "source": workspace, "options": ["rbind", "rw"]}]
    config = {
        "ociVersion": "1.0.0", "root": {"path": "rootfs", "readonly": True}, "hostname": "bench",
        "process": {"terminal": False, "user": {"uid": 0, "gid": 0}, "args": ["/bin/true"], "cwd": "/", "env": [f"PATH={PATH}"],
                    "noNewPrivileges": True},
        "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"},
                   {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755"]}, *binds],
        "linux": {"namespaces": [{"type": kind} for kind in ("pid", "ipc", "uts", "mount", "network", "user")],
                  "uidMappings": [{"containerID": 0, "hostID": uid, "size": 1}],
                  "gidMappings": [{"containerID": 0, "hostID": gid, "size": 1}]},
    }
    bench.write(f"{place}/config.json", json.dumps(config))
    return place


def oci(program):
    def words(bench, account, workspace):
        place = oci_config(bench, account, workspace)
        state = bench.make_dir(f"{program}-{account.kind}", account)
        more = ["--cgroup-manager=disabled"] if program == "crun" else []
        return [program, *more, "--root", state, "run", "--bundle", place, f"bench-{account.kind}"]
    return words


def podman(bench, account, workspace):
    state = bench.make_dir(f"podman-{account.kind}", account)
    words = ["podman", "--log-level=error", "--cgroup-manager=cgroupfs", "--events-backend=file", f"--root={state}/root",
             f"--runroot={state}/run", "run", "--rm", "--cgroups=disabled", "--network=none", "--ulimit=host", "--rootfs"]
    return [*words, f"--volume=/usr:/usr:ro,rbind", f"--volume={workspace}:/work", f"{bundle(bench, account)}/rootfs", "/bin/true"]


def simple(*before, after=("/bin/true",)):
    def words(_bench, _account, workspace):
        return [*(part.replace("@ws", workspace) for part in before), *after]
    return words


# Name, with "~" for a slow one (latency.c); program; the words.  What fails in its first run is left out, with the first line of its output.
PEERS = (
    ("~firejail --noprofile", "firejail", simple("firejail", "--quiet", "--noprofile", "--net=none", "--private-tmp")),
    ("~firejail, default profile", "firejail", simple("firejail", "--quiet", "--net=none", "--private-tmp")),
    ("~crun", "crun", oci("crun")),
    ("~runc", "runc", oci("runc")),
    ("~podman", "podman", podman),
    ("nsjail", "nsjail", simple("nsjail", "-Mo", "-Q", "-R", "/usr", "-R", "/bin", "-R", "/lib", "-R", "/lib64", "-R", "/etc",
                                "-B", "@ws", "-T", "/tmp", "--cwd", "@ws", "--")),
    ("minijail", "minijail0", simple("minijail0", "-U", "-m", "-M", "-v", "-p", "-l", "-e", "-n", "--")),
    ("~srt", "srt", simple("srt")),
    ("~codex sandbox", "codex", simple("codex", "sandbox", "linux", "--")),
)


def in_session(bench, account, workspace):
    """The ways into a session that is open: captured output, a handle, the verb."""
    yield "corral, session", ["@session"]
    yield "corral, session, handle", ["@exec"]
    yield "corral, session exec", [bench.corral, "session", "exec", bench.session(account, workspace), "/bin/true"]


def corrals(bench, account, workspace):
    """Corral in each of its forms; the library runs in the process that measures."""
    def words(*options, program=None):
        return [*bench.corral_words(workspace, *options, program=program), "/bin/true"]
    yield "corral, full", words()
    yield "corral, standard", words("--level", "standard")
    yield "corral, --json", words("--json")
    yield "corral, filtered", words("--net", "filtered", "--allow-host", "example.com")
    yield "corral, --cow", words("--cow")
    yield "corral, ephemeral home", words("--home", "ephemeral")
    yield "corral, in process", ["@library"]
    yield from in_session(bench, account, workspace)
    if bench.base:
        yield "corral, BENCH_BASE", words(program=bench.base)


BARE, BWRAP, BWRAP_000 = "bare spawn", "bubblewrap, --unshare-all", "bubblewrap, --unshare-pid"


def starts(bench, account, workspace):
    """(name, words) of all that can be tried here; the others are named aloud."""
    yield BARE, ["/bin/true"]
    yield from corrals(bench, account, workspace)
    if installed("bwrap"):
        yield BWRAP_000, [*bench.bwrap_words(workspace, "--unshare-pid"), "--chdir", workspace, "/bin/true"]
        yield BWRAP, [*bench.bwrap_words(workspace, "--unshare-all"), "--chdir", workspace, "/bin/true"]
    else:
        bench.note("bubblewrap: left out: it is not installed (packaging/packages.sh bench)")
    if os.environ.get("LANDRUN"):
        yield "landrun", [os.environ["LANDRUN"], "--rox", "/usr", "--ro", "/etc", "--rw", workspace, "/bin/true"]
    for name, program, words in PEERS:
        if installed(program):
            yield name, words(bench, account, workspace)
        else:
            bench.note(f"{name.lstrip('~')}: left out: {program} is not installed")
