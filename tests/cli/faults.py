# SPDX-License-Identifier: Apache-2.0
"""Callers in trouble: no /dev/null, no /proc, no room, closed streams, tiny limits.

Every row runs at both levels, as the user and as root: the command runs, or one
sentence says what is wrong and the status is right; nothing is left behind.
"""
import errno
import itertools
import os
import pwd
import re
import resource
import shutil
import socket
import subprocess

from harness import Skip, check, contains, equal

LEVELS = ("full", "standard")
RAN = "ran\n"


def lines_of_one_error(done):
    """One sentence, and at most a remedy; a hint may follow."""
    lines = done.err.splitlines()
    check(lines and lines[0].startswith("corral: "), f"no sentence: {done}")
    check(len(lines) <= 2 and (len(lines) == 1 or lines[1].startswith("  remedy: ")), f"more than one: {done}")


def in_mounts(box, script, *words, **more):
    """Runs words as the box's user in a mount namespace that root prepared by script."""
    user = box.user
    drop = ["/usr/bin/setpriv", f"--reuid={user.uid}", f"--regid={user.gid}", "--clear-groups"] if user.drop else []
    done = box.execute(["unshare", "-m", "--propagation", "private", "/bin/sh", "-c", f"{script}\nexec \"$@\"", "sh",
                        *drop, *words], user=None, group=None, extra_groups=None, **more)
    if "unshare:" in done.err or "mount:" in done.err:
        raise Skip("no mount namespace can be made here")
    return done


# What root does to the caller's mounts; what the run says, by level: None when it runs.
MOUNTS = [
    ("no /dev/null", "mount -t tmpfs none /dev", "mknod -m 666 /dev/null", "mknod -m 666 /dev/null"),
    ("no /proc", "umount -l /proc && mount -t tmpfs none /proc", "procfs is not mounted", "procfs is not mounted"),
    ("/tmp without space", "mount -t tmpfs -o size=4k,mode=1777 none /tmp && dd if=/dev/zero of=/tmp/fill bs=4k "
     "count=2 2>/dev/null; true", None, None),
    ("/tmp without inodes", "mount -t tmpfs -o nr_inodes=2,mode=1777 none /tmp && touch /tmp/x",
     None, "No space left on device"),
    ("/tmp read-only", "mount -t tmpfs -o ro none /tmp", None, "no directory for temporary files"),
    ("/tmp read-only and TMPDIR missing", "mount -t tmpfs -o ro none /tmp; export TMPDIR=/no/such/dir", None,
     "no directory for temporary files"),
    ("TMPDIR missing", "export TMPDIR=/no/such/dir", None, None),
    ("HOME missing", "export HOME=/no/such/home", None, None),
    ("HOME not set", "unset HOME", None, None),
    ("HOME relative", "export HOME=home", None, None),
    ("HOME a file", "export HOME=/etc/passwd", None, None),
    ("no passwd file", "mount --bind /dev/null /etc/passwd", None, None),
]

LIMITS = [
    # Of less, arguments and the kernel's random offset may leave a program nothing to say so with.
    ("a stack of 32 KiB", resource.RLIMIT_STACK, 32 << 10, "stack limit"),
    ("a stack of 64 KiB", resource.RLIMIT_STACK, 64 << 10, "stack limit"),
    ("a stack of 1 MiB", resource.RLIMIT_STACK, 1 << 20, None),
    ("3 open files", resource.RLIMIT_NOFILE, 3, "ulimit -n"),
    ("4 open files", resource.RLIMIT_NOFILE, 4, "ulimit -n"),
    ("5 open files", resource.RLIMIT_NOFILE, 5, "ulimit -n"),
    ("8 open files", resource.RLIMIT_NOFILE, 8, "ulimit -n"),
    ("12 open files", resource.RLIMIT_NOFILE, 12, "ulimit -n"),
    ("40 open files", resource.RLIMIT_NOFILE, 40, None),
    ("files of no size", resource.RLIMIT_FSIZE, 0, "record of the private home"),
    ("no locked memory", resource.RLIMIT_MEMLOCK, 0, None),
    ("no queued signals", resource.RLIMIT_SIGPENDING, 0, None),
]


def outside_tmp():
    """A place that a new /tmp does not cover; None: the default."""
    return "/var/tmp" if os.access("/var/tmp", os.W_OK) else None


def register_mounts(suite):
    for name, script, *says in MOUNTS:
        @suite.test(f"fault: {name}", root=True, base=outside_tmp)
        def _(box, script=script, says=says):
            corral = f"{box.dir}/corral"
            subprocess.run(["/bin/cp", box.corral, corral], check=True)
            if "HOME" in script and not box.user.drop:  # state goes to the account's own home, and has to go again
                script = f"mount -t tmpfs -o mode=700 none {pwd.getpwuid(box.user.uid).pw_dir}; {script}"
            for level, text in zip(LEVELS, says):
                done = in_mounts(box, script, corral, "run", "--level", level, "--", "echo", "ran")
                if text is None:
                    equal((done.status, done.out), (0, RAN), f"{level}: {done}")
                    continue
                contains(done.exited(125).err, text, level)
                equal(done.out, "", "stdout")
                lines_of_one_error(done)


def register_limits(suite):
    for name, which, value, text in LIMITS:
        @suite.test(f"fault: {name}", root=True)
        def _(box, which=which, value=value, text=text):
            for level in LEVELS:
                done = box.run("--level", level, "--", "echo", "ran",
                               preexec_fn=lambda: resource.setrlimit(which, (value, value)))
                if text is None:
                    equal((done.status, done.out), (0, RAN), f"{level}: {done}")
                    continue
                contains(done.exited(125).err, text, level)
                lines_of_one_error(done)

    @suite.test("fault: with few open files a run is whole, or says that they are too few", root=True)
    def _(box):
        # At level standard the command's parent is the guard, which it may not signal.
        script = "kill -0 $PPID 2>/dev/null && echo reached; echo ran"
        for level, more, most in ((level, more, most) for level in LEVELS for most in range(13, 41)
                                  for more in ((), ("--allow-host", "example.com"))):
            done = box.run("--level", level, *more, "--", "sh", "-c", script if level == "standard" else "echo ran",
                           preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most)))
            told = f"{level}, {more}, {most}: {done}"
            if done.status == 0:
                equal(done.out, RAN, told)
                continue
            contains(done.exited(125).err, "ulimit -n", told)
            lines_of_one_error(done)

    @suite.test("fault: little address space ends in a run or a reported failure", root=True)
    def _(box):
        for kib in (1000, 2000, 4000, 5000, 6000, 8000, 12000, 20000):
            for level in LEVELS:
                done = box.run("--level", level, "--", "echo", "ran", preexec_fn=lambda: resource.setrlimit(
                    resource.RLIMIT_AS, (kib << 10, kib << 10)))
                if done.status in (127, 139) and "corral: " not in done.err:
                    continue  # the program itself could not be loaded, or the command's loader failed
                check(done.status in (0, 125), f"{kib} KiB at {level}: {done}")
                equal(done.out, RAN if done.status == 0 else "", f"{kib} KiB at {level}: {done}")

    @suite.test("fault: no process can be made")
    def _(box):
        if not suite.root:
            raise Skip("the limit would count the caller's own processes")
        os.chmod(box.home, 0o777)
        os.chmod(box.ws, 0o777)
        attempts = [(level, most) for level in LEVELS for most in (1, 2, 3, 4, 5)]
        for number, (level, most) in enumerate(attempts):
            other = 60140 + number  # nobody has a process with this id yet, and it has no passwd entry
            def become():
                os.setgroups([])
                os.setresgid(other, other, other)
                resource.setrlimit(resource.RLIMIT_NPROC, (most, most))
                os.setresuid(other, other, other)
            done = box.run("--level", level, "--", "echo", "ran", user=None, group=None, extra_groups=None,
                           preexec_fn=become)
            if most > 1 and done.status == 0:
                continue
            contains(done.exited(125).err, "Resource temporarily unavailable", f"{level}, {most}")
            contains(done.err, "ulimit -u", "the remedy")
            lines_of_one_error(done)

    @suite.test("fault: the user has too many descriptors in flight")
    def _(box):
        code = ("import array, os, socket, subprocess, sys\n"
                "fd, held = os.open('/dev/null', os.O_RDONLY), []\n"
                "try:\n"
                "    while True:\n"
                "        held.append(socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM))\n"
                "        for _ in range(8):\n"
                "            held[-1][0].sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [fd] * 250))])\n"
                "except OSError as error:\n"
                "    print(error.errno, flush=True)\n"
                "sys.exit(subprocess.run([os.environ['CORRAL'], 'run', '--', 'true']).returncode)\n")
        if not suite.root:
            raise Skip("only root can become somebody else, and the kernel counts them for the whole user")
        def become():
            os.setgroups([])
            resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))
            os.setresgid(60160, 60160, 60160)
            os.setresuid(60160, 60160, 60160)
        os.chmod(box.home, 0o777)
        os.chmod(box.ws, 0o777)
        done = box.execute(["/usr/bin/python3", "-c", code], user=None, group=None, extra_groups=None, preexec_fn=become)
        equal(done.out, f"{errno.ETOOMANYREFS}\n", "the limit is reached")
        if done.status != 0:  # a run that passes no descriptor does not meet the limit
            done.exited(125).said("ulimit -n")
            check("No error information" not in done.err, f"{done}")
            lines_of_one_error(done)

    @suite.test("fault: the caller has no passwd entry")
    def _(box):
        if not suite.root:
            raise Skip("only root can become somebody unknown")
        other = 60124
        os.chmod(box.home, 0o777)
        os.chmod(box.ws, 0o777)
        for level in LEVELS:
            def become():
                os.setgroups([])
                os.setresgid(other, other, other)
                os.setresuid(other, other, other)
            done = box.run("--level", level, "--", "id", "-u", user=None, group=None, extra_groups=None,
                           preexec_fn=become)
            equal((done.status, done.out), (0, f"{other}\n"), f"{level}: {done}")


def register_places(suite):
    @suite.test("fault: the current directory was deleted", root=True)
    def _(box):
        gone = box.mkdir("gone")
        script = f"cd {gone} && rmdir {gone} && exec \"$@\""
        for words in ([], ["-w", box.ws], ["-w", "."], ["--chdir", box.ws]):
            for level in LEVELS:
                os.makedirs(gone, exist_ok=True)
                box.own(gone)
                done = box.execute(["/bin/sh", "-c", script, "sh", box.corral, "run", "--level", level, *words, "--",
                                    "pwd"])
                contains(done.exited(125).err, "current directory was deleted", f"{words}")
                lines_of_one_error(done)

    @suite.test("fault: a home that cannot be read")
    def _(box):
        os.chmod(box.home, 0)
        for level in LEVELS:
            done = box.run("--level", level, "--", "echo", "ran")
            os.chmod(box.home, 0)
            check(done.status in (0, 2, 125), f"{level}: {done}")  # 2: a policy file may be in there
            equal(done.out, RAN if done.status == 0 else "", level)
            check(done.status == 0 or done.err.startswith("corral: "), f"{level}: {done}")
        os.chmod(box.home, 0o755)


def register_streams(suite):
    for closed in itertools.chain.from_iterable(itertools.combinations((0, 1, 2), n) for n in (1, 2, 3)):
        words = " ".join(f"{fd}{'<' if fd == 0 else '>'}&-" for fd in closed)

        @suite.test(f"fault: closed streams: {words}", root=True)
        def _(box, closed=closed, words=words):
            for level in LEVELS:
                # No descriptor of ours slips into the gap, and the command has all three.
                done = box.sh(f"\"$CORRAL\" run --level {level} -c 'ls /proc/self/fd | wc -l >count; echo out; "
                              f"echo err >&2; cat; exit 5' {words}")
                done.exited(5)
                equal(box.read("ws/count").strip(), "4", f"{level}: descriptors")  # and that of ls itself
                equal(done.out, "" if 1 in closed else "out\n", f"{level}: stdout")
                equal(done.err, "" if 2 in closed else "err\n", f"{level}: stderr")
                done = box.sh(f"\"$CORRAL\" run --level {level} --json -- touch made {words}")
                if 1 not in closed:
                    equal(done.exited(0).json["exit_code"], 0, f"{level}: result")
                    os.unlink(f"{box.ws}/made")
                    continue
                done.exited(125)
                check(2 in closed or "stdout is closed" in done.err, f"{level}: {done}")
                check(not box.exists("ws/made"), f"{level}: the command ran without a place for its result")

    @suite.test("fault: other verbs report that stdout is closed")
    def _(box):
        for words in ("status", "explain", "--help", "policy show", "completion bash"):
            done = box.sh(f"\"$CORRAL\" {words} >&-").exited(125)
            contains(done.err, "cannot write to stdout", words)


# A script, and the words that its failure needs.
SCRIPTS = [
    ("a missing interpreter", "#!/no/such/program -x\n", ["its interpreter /no/such/program does not exist in the sandbox"]),
    ("an interpreter without a path", "#! python3.99\n", ["its interpreter python3.99 does not exist"]),
    ("line ends of DOS", "#!/bin/sh\r\necho x\r\n", ["carriage return", "sed -i"]),
]

# An option that other tools have, and what it is here.
SYNONYMS = [
    ("--ro", "--mode read-only"), ("--readonly", "--mode read-only"), ("--rw", "--write PATH"),
    ("--no-net", "--net none"), ("--ro-bind", "--read PATH"), ("--network", "--net MODE"),
]


def register_messages(suite):
    for name, text, parts in SCRIPTS:
        @suite.test(f"fault: a script with {name}", root=True)
        def _(box, text=text, parts=parts):
            box.write("ws/sub/script", text, 0o755)
            for level in LEVELS:
                for words in (["--", "./sub/script"], ["--chdir", "sub", "--", "./script"],
                              ["--", f"{box.ws}/sub/script"], ["--cow", "--", "sub/script"]):
                    if level == "standard" and "--cow" in words:
                        continue
                    done = box.run("--level", level, *words).exited(127)
                    done.said("script cannot start", *parts)
                    lines_of_one_error(done)

    @suite.test("fault: a link to a script is not followed for a message")
    def _(box):
        box.write("outside", "#!/secret-program\n", 0o755)
        os.symlink(f"{box.dir}/outside", f"{box.ws}/link")
        done = box.run("--", "./link").exited(127)
        check("secret-program" not in done.err, f"{done}")

    @suite.test("fault: an option of other tools")
    def _(box):
        for option, use in SYNONYMS:
            done = box.run(option, "--", "true").exited(2).said(option, use)
            check("--cow" not in done.err, f"{done}")
        box.run("--jsn", "--", "true").exited(2).said("did you mean --json?")

    @suite.test("fault: a port that is in use cannot be published")
    def _(box):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = str(taken.getsockname()[1])
            done = box.run("--level", "full", "--publish", port, "--", "true").exited(125)
            done.said("--publish", port, "ss -ltnp")
            lines_of_one_error(done)

    @suite.test("fault: a workspace that cannot be read")
    def _(box):
        box.mkdir("closed", 0)
        for level in LEVELS:
            done = box.run("--level", level, "-w", f"{box.dir}/closed", "--", "true")
            check(done.status in (2, 125), f"{done}")
            done.said(f"{box.dir}/closed", "readable")
        os.chmod(f"{box.dir}/closed", 0o755)

    @suite.test("fault: --chdir to nowhere")
    def _(box):
        for level in LEVELS:
            for nowhere in ("nowhere", "/nowhere", f"{box.dir}/nowhere"):
                box.run("--level", level, "--chdir", nowhere, "--", "true").exited(2).said("nowhere", "--chdir", "existing")

    @suite.test("fault: a Corral inside a Corral is refused in one sentence")
    def _(box):
        done = box.run("--read", box.corral, "--", box.corral, "run", "--", "true").exited(125)
        done.said("in a Corral sandbox", "--allow-nested")
        check("sysctl" not in done.err, f"{done}")


def podman_image(box):
    """The environment of a podman with a storage of its own, and the id of an image with busybox."""
    for name in ("podman", "crun", "busybox"):
        if shutil.which(name) is None:
            raise Skip(f"{name} is not installed")
    root = box.mkdir("pod/root/bin")
    for name in ("tmp", "etc", "proc", "sys", "dev", "run", "usr"):
        box.mkdir(f"pod/root/{name}")
    shutil.copy(shutil.which("busybox"), f"{root}/busybox")
    os.symlink("busybox", f"{root}/sh")
    storage = box.write("pod/storage.conf", f'[storage]\ndriver = "vfs"\ngraphroot = "{box.dir}/pod/graph"\nrunroot = "{box.dir}/pod/run"\n')
    env = {**box.env, "CONTAINERS_STORAGE_CONF": storage, "XDG_RUNTIME_DIR": box.mkdir("pod/runtime")}
    done = box.execute(["sh", "-c", f"tar -C {box.dir}/pod/root -c . | podman import - corral-test"], env=env)
    if done.status != 0:
        raise Skip(f"podman imports no image: {done.err.strip()[-200:]}")
    return env, f"sha256:{done.out.split()[-1].removeprefix('sha256:')}"


def register_engines(suite):
    @suite.test("fault: a container engine that does not start the container, which is a failed set-up", root=True, user=False)
    def _(box):
        env, image = podman_image(box)
        words = ("--no-config", "--backend", "podman", "--image", image)
        command = ("--", "sh", "-c", "true")
        box.corral_("explain", *words, env=env).exited(0)
        done = box.run(*words, *command, env=env)
        if done.status == 0:
            raise Skip("the engine starts containers here")
        done.exited(125).said("corral: container: the engine could not start the container: ", "  remedy: ")
        check("cannot be executed" not in done.err, f"the program is blamed: {done}")
        told = re.search(r"^Error: (.*)$", done.err, re.M).group(1)
        done = box.run("--json", *words, *command, env=env).exited(125)
        contains(done.json["error"]["message"], told[:60], "the engine's message in the result")


def register(suite):
    if suite.root:
        register_engines(suite)
        register_mounts(suite)
    register_limits(suite)
    register_places(suite)
    register_streams(suite)
    register_messages(suite)
