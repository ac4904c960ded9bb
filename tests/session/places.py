# SPDX-License-Identifier: Apache-2.0
"""What another process may have left under the names of the daemon's directories and sockets.

The daemon refuses a plant with its path and a remedy, or replaces it; it never follows a symlink.  The
control of each plant: the daemon starts when it is gone.
"""
import contextlib
import os
import shutil
import socket
import stat

from service import check, equal

STRANGER = 61183  # no account of a test
SECRET = "keep me\n"


@contextlib.contextmanager
def without_daemon(service):
    """The runtime directory as no daemon has made it yet; afterwards the daemon runs again."""
    service.stop()
    runtime = f"{service.place}/run/corral"
    try:
        shutil.rmtree(runtime)
        yield runtime
    finally:
        for path in (runtime, f"{service.place}/home/elsewhere"):
            if os.path.islink(path):
                os.unlink(path)
            else:
                shutil.rmtree(path, ignore_errors=True)
        service.start()


def own(service, path, mode):
    os.chown(path, service.uid, service.uid)
    os.chmod(path, mode)


def make(service, path, mode=0o700):
    os.makedirs(path, exist_ok=True)
    own(service, path, mode)


def starts(service, what):
    """Starts the daemon, and stops it."""
    service.start()
    equal(stat.S_ISSOCK(os.lstat(service.admin).st_mode), True, f"{what}: the admin socket is a socket")
    service.good("daemon", "status")
    service.stop()


def refused(service, what, path, remedy):
    process, err = service.command("daemon"), ""
    for line in process.stderr:
        err += line.decode()
        if "ready on" in err:  # it would not end
            process.kill()
    process.communicate()
    check(process.returncode == 125 and path in err and f"remedy: {remedy}" in err, f"{what}: {process.returncode} {err!r}")


def test_a_runtime_directory_that_is_not_private_is_refused(service):
    elsewhere = f"{service.place}/home/elsewhere"
    for name in ("", "/s", "/x", "/p"):
        with without_daemon(service) as runtime:
            path = runtime + name
            make(service, runtime)
            make(service, elsewhere)
            if not name:
                os.rmdir(path)
            os.symlink(elsewhere, path)
            equal(os.path.isdir(path), True, f"control: who follows {name or 'the directory'} gets to another one")
            refused(service, f"a symlink as {path}", path, "remove it: a symlink is not followed here")
            equal(os.listdir(elsewhere), [], f"{path}: the directory that the symlink names")
            os.unlink(path)
            make(service, path, 0o755)
            refused(service, f"{path} for all", path, f"chmod 700 {path}")
            equal(stat.S_IMODE(os.stat(path).st_mode), 0o755, f"{path}: its mode")
            os.rmdir(path)
            with open(path, "w", encoding="utf-8") as file:
                file.write(SECRET)
            refused(service, f"a file as {path}", path, "remove it: it is not a directory")
            os.unlink(path)
            if os.geteuid() == 0:
                make(service, path)
                os.chown(path, STRANGER, STRANGER)
                refused(service, f"{path} of another user", path, f"remove it: it belongs to the user {STRANGER}")
                equal(os.listdir(path), [], f"{path}: what is in it")
                os.chown(path, service.uid, service.uid)
            starts(service, f"control, {path} is private")


def test_a_symlink_or_a_file_as_a_socket_is_replaced(service):
    """The file that a symlink names keeps its content and mode; one that does not exist is not created."""
    elsewhere = f"{service.place}/home/elsewhere"
    with without_daemon(service) as runtime:
        make(service, elsewhere)
        kept, new = f"{elsewhere}/kept", f"{elsewhere}/new"
        for target in (kept, new, None):
            make(service, runtime)
            with open(kept, "w", encoding="utf-8") as file:
                file.write(SECRET)
            own(service, kept, 0o644)
            if target is None:
                shutil.copy(kept, service.admin)
            else:
                os.symlink(target, service.admin)
                with contextlib.suppress(FileNotFoundError):
                    equal(os.stat(service.admin).st_ino, os.stat(kept).st_ino, "control: who follows it gets to the file")
            starts(service, f"{target} as admin.sock")
            with open(kept, encoding="utf-8") as file:
                equal((file.read(), stat.S_IMODE(os.stat(kept).st_mode)), (SECRET, 0o644), f"{target}: content and mode")
            equal(sorted(os.listdir(elsewhere)), ["kept"], f"{target}: files that the daemon made")


def test_what_cannot_be_replaced_is_refused(service):
    elsewhere = f"{service.place}/home/elsewhere"
    with without_daemon(service) as runtime:
        make(service, runtime)
        make(service, service.admin)
        refused(service, "a directory as admin.sock", service.admin, "remove what is there")
        equal(os.listdir(service.admin), [], "the directory")
        os.rmdir(service.admin)
        make(service, elsewhere)
        lock = f"{runtime}/daemon.lock"
        os.unlink(lock)
        os.symlink(f"{elsewhere}/lock", lock)
        refused(service, "a symlink as the lock", lock, "remove it")
        equal(os.listdir(elsewhere), [], "the lock that the symlink names")
        os.unlink(lock)
        starts(service, "control, they are gone")


def test_a_socket_of_another_listener_is_replaced(service):
    """One that another process has bound under the name: the daemon has the lock, so it is no daemon's."""
    with without_daemon(service) as runtime:
        make(service, runtime)
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(service.admin)
            own(service, service.admin, 0o777)
            other.listen()
            other.setblocking(False)
            service.client().close()
            other.accept()[0].close()  # control: a client gets there
            starts(service, "the socket of another process")
            try:
                other.accept()
                check(False, "a client of the daemon got to the other process")
            except BlockingIOError:
                pass
