# SPDX-License-Identifier: Apache-2.0
"""What Corral's runs leave on the host: control groups and directories.

Should:   name only what stays: a run that is alive holds its directory and its control
          group, also a run of somebody else, and the tests wait for what is on its way out.
Must not: count what was there before, or what goes by itself while the test looks.
"""
import fcntl
import glob
import os
import time

# How long a test waits for what a loaded machine does late.  What never comes fails only then.
PATIENCE = 60.0
HUNG = 5 * PATIENCE  # a command or an answer that takes longer does not come


def processes():
    """(pid, inode of its directory) of all processes, in a few system calls.

    A pid that is used again has another inode.  So may a process whose inode the kernel has dropped: a test that takes
    the difference of two answers looks at it once more."""
    with os.scandir("/proc") as entries:
        return {(entry.name, entry.inode()) for entry in entries if entry.name.isdigit()}


def owner_of(cgroup):
    """The pid in the name of a control group of ours."""
    return os.path.basename(cgroup).split("-")[1]


def cgroups():
    return set(glob.glob("/sys/fs/cgroup/**/corral-*", recursive=True))


def dead_cgroups():
    """Control groups whose supervisor is dead.  The next run there removes them, if it may."""
    return {path for path in cgroups() if not os.path.exists(f"/proc/{owner_of(path)}") and os.access(path, os.W_OK)}


def is_held(path):
    """Whether a process holds the lock of a run's directory, or the directory is gone."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return not os.path.lexists(path)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(fd)
    return False


def directories(uid):
    """Directories of a user's runs, and of `corral test`, that no process holds."""
    found = glob.glob(f"/tmp/corral-{uid}-" + "[0-9a-f]" * 16)
    found += [path for path in glob.glob("/tmp/corral-selftest-*") if os.path.exists(path) and os.lstat(path).st_uid == uid]
    return {path for path in found if not is_held(path)}


def staying(look, before=frozenset(), seconds=PATIENCE):
    """Those of look() that were not there before and are still there after all that time."""
    end = time.monotonic() + seconds
    left = set(look()) - before
    while left and time.monotonic() < end:
        time.sleep(0.1)
        left &= set(look())
    return left
