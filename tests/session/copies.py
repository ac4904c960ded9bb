# SPDX-License-Identifier: Apache-2.0
"""--copy: a session gets a copy of a directory, changes it, and leaves the original as it was."""
import hashlib
import os
import shutil
import signal
import socket
import stat

from service import acting_as, check, equal, wait_until

PRIVATE = "the key of another program"


def picture(root):
    """Every fact of a tree that a change would show."""
    found = {}
    for place, dirs, files in os.walk(root):
        for path in [place] + [os.path.join(place, name) for name in dirs + files]:
            st = os.lstat(path)
            what = b""
            if stat.S_ISREG(st.st_mode) and os.access(path, os.R_OK):  # "locked" is root's to read
                with open(path, "rb") as file:
                    what = file.read()
            elif stat.S_ISLNK(st.st_mode):
                what = os.readlink(path).encode()
            found[path] = (st.st_mode, st.st_uid, st.st_nlink, st.st_mtime_ns, hashlib.sha256(what).hexdigest())
    return found


def write(path, text, mode=0o644):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)


def agent(service):
    """The files of an agent, among them some that no session may read."""
    home = f"{service.place}/home"
    root = f"{home}/agent"
    shutil.rmtree(root, ignore_errors=True)
    with acting_as(service.uid):
        os.makedirs(f"{root}/tools/deep")
        write(f"{root}/AGENTS.md", "be brief\n", 0o640)
        write(f"{root}/tools/run", "#!/bin/sh\necho ran\n", 0o4755)
        write(f"{root}/tools/deep/big", "x" * (5 << 20))
        write(f"{root}/secret.pem", PRIVATE)
        write(f"{root}/locked", PRIVATE, 0o000)
        os.link(f"{root}/secret.pem", f"{root}/tools/harmless")
        write(f"{home}/outside.txt", PRIVATE)
        os.symlink("../outside.txt", f"{root}/out")
        os.symlink("AGENTS.md", f"{root}/in")
        os.symlink(home, f"{root}/tools/up")
        os.mkfifo(f"{root}/fifo")
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(f"{root}/socket")
    return root


def copy_of(service, session):
    return service.good("session", "exec", session, "-c", "echo $CORRAL_COPY_PATH").strip()


def test_a_copy_can_be_changed_and_the_original_cannot(service):
    root = agent(service)
    before = picture(root)
    session = service.create("--copy", "../home/agent", "--deny", "*.pem")
    path = copy_of(service, session)
    check(path.startswith(f"{service.place}/run/corral/s/{session}"), f"the path of the copy: {path}")
    equal(service.good("session", "exec", session, "-c", "cd $CORRAL_COPY_PATH && cat in && tools/run && wc -c <tools/deep/big"),
          f"be brief\nran\n{5 << 20}\n", "what the session reads")
    # The host's verdict: names, modes, owner, and no byte that a rule hides.
    shown = picture(path)
    names = {name[len(path) + 1:] for name in shown}
    equal(names, {"", "AGENTS.md", "in", "out", "tools", "tools/run", "tools/up", "tools/deep", "tools/deep/big"}, "the copy")
    equal({row[1] for row in shown.values()}, {service.uid}, "owners")
    equal((stat.S_IMODE(shown[f"{path}/AGENTS.md"][0]), stat.S_IMODE(shown[f"{path}/tools/run"][0]), stat.S_IMODE(shown[path][0])),
          (0o640, 0o755, 0o700), "modes")
    # A link that leads out leads to nothing that the session may not read.
    out = service.good("session", "exec", session, "-c", "cat $CORRAL_COPY_PATH/out $CORRAL_COPY_PATH/tools/up/outside.txt 2>&1 || :")
    check(PRIVATE not in out, f"a symlink leads out: {out}")
    # A change inside; the same on the original fails.
    service.good("session", "exec", session, "-c", "cd $CORRAL_COPY_PATH && echo more >>AGENTS.md && rm -r tools && echo new >new")
    with open(f"{path}/AGENTS.md", encoding="utf-8") as file:
        equal(file.read(), "be brief\nmore\n", "the changed copy")
    status, _, _ = service.run("session", "exec", session, "-c", f"echo more >>{root}/AGENTS.md")
    check(status != 0, "the session writes the original")
    equal(picture(root), before, "the original")
    # Control: outside, the same user can.
    equal(service.outside(["sh", "-c", f"test -w {root}/AGENTS.md && cat {root}/secret.pem"])[1], PRIVATE, "the user outside")
    text = service.good("session", "activity", session)
    for name in ("secret.pem", "tools/harmless", "fifo", "socket", "locked"):
        check(name in text, f"{name} is not reported: {text}")
    other = service.create()
    equal(service.good("session", "exec", other, "-c", f"ls {path} >/dev/null 2>&1 && echo seen || echo hidden"), "hidden\n",
          "the copy of another session")
    service.good("session", "stop", other)
    service.good("session", "stop", session)
    check(wait_until(lambda: not os.path.lexists(path)), "the copy is left")
    shutil.rmtree(root)


def test_a_copy_of_a_home_has_no_credentials(service):
    home = f"{service.place}/home"
    with acting_as(service.uid):
        os.makedirs(f"{home}/.ssh")
        write(f"{home}/.ssh/id_ed25519", PRIVATE, 0o600)
        write(f"{home}/notes.txt", "mine\n")
    equal(service.outside(["cat", f"{home}/.ssh/id_ed25519"])[1], PRIVATE, "the user outside")
    session = service.create("--copy", home)
    path = copy_of(service, session)
    found = picture(path)
    check(f"{path}/notes.txt" in found, f"the twin is not copied: {sorted(found)}")
    check(f"{path}/.ssh/id_ed25519" not in found and f"{path}/.local/state/corral/daemon/sessions.db" not in found,
          f"a credential is copied: {sorted(found)}")
    service.good("session", "stop", session)
    shutil.rmtree(f"{home}/.ssh")
    os.unlink(f"{home}/notes.txt")


def refused(service, *words):
    status, _, err = service.run("session", "create", "--level", service.level, *words)
    check(status != 0, f"created: {words}")
    return err


def test_a_copy_is_bounded_and_refused_with_a_reason(service):
    root = f"{service.place}/home/large"
    with acting_as(service.uid):
        os.mkdir(root)
        write(f"{root}/sparse", "")
        os.truncate(f"{root}/sparse", (64 << 20) + 1)
    check("more than 64 MiB" in refused(service, "--copy", root), "a large file")
    os.truncate(f"{root}/sparse", 0)
    with acting_as(service.uid):
        os.makedirs(root + "/d" * 66)
    check("more than 64 levels" in refused(service, "--copy", root), "a deep tree")
    shutil.rmtree(f"{root}/d")
    with acting_as(service.uid):
        for number in range(10001):
            os.symlink("x", f"{root}/{number}")
    check("more than 10000 files" in refused(service, "--copy", root), "many files")
    shutil.rmtree(root)
    check("cannot find it" in refused(service, "--copy", root), "a directory that does not exist")
    check("--copy" in refused(service, "--copy", "/etc/passwd"), "a file")
    root = agent(service)
    check("fs.deny" in refused(service, "--copy", root, "--deny", root), "a denied directory")
    shutil.rmtree(root)
    with os.scandir(f"{service.place}/run/corral/s") as entries:
        left = [entry.name for entry in entries if entry.name.endswith(".c")]
    check(wait_until(lambda: not any(os.path.lexists(f"{service.place}/run/corral/s/{name}") for name in left)), f"left: {left}")


def test_a_copy_goes_with_a_killed_daemon(service):
    root = agent(service)
    session = service.create("--copy", root)
    path = copy_of(service, session)
    check(os.path.exists(f"{path}/AGENTS.md"), "there is no copy")
    os.kill(service.show(session)["supervisor"], signal.SIGKILL)
    check(wait_until(lambda: not os.path.lexists(path)), "the copy of a killed supervisor is left")
    path = copy_of(service, service.create("--copy", root))
    service.process.kill()
    service.process.wait()
    service.start()
    check(wait_until(lambda: not os.path.lexists(path)), "the copy of a killed daemon is left")
    shutil.rmtree(root)
