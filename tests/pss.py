# SPDX-License-Identifier: Apache-2.0
"""The memory of processes, by their proportional set size (PSS).

Of a process that is not dumpable only root may read it.
"""
import contextlib
import ctypes
import platform

LIBC = ctypes.CDLL(None, use_errno=True)
KCMP = {"x86_64": 312, "aarch64": 272, "riscv64": 272}  # libc has no function for it
KCMP_VM = 1


def pss(pid):
    """Kilobytes; a process that has just ended has none."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        with open(f"/proc/{pid}/smaps_rollup", encoding="utf-8") as file:
            for line in file:
                if line.startswith("Pss:"):
                    return int(line.split()[1])
    return 0


def share_memory(one, other):
    """Whether two processes have one address space, as a zygote and its leaders have."""
    return LIBC.syscall(KCMP[platform.machine()], one, other, KCMP_VM, 0, 0) == 0


def memory(pids):
    """Kilobytes of all of them; an address space counts once."""
    families = {}
    for pid in sorted(pids):
        with contextlib.suppress(OSError, IndexError):
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                parent = file.read().rsplit(")", 1)[1].split()[1]
            firsts = families.setdefault(parent, [])
            if not any(share_memory(pid, first) for first in firsts):
                firsts.append(pid)
    return sum(pss(pid) for firsts in families.values() for pid in firsts)
