# SPDX-License-Identifier: Apache-2.0
"""Which system calls a kernel has that the table of src/data/syscalls.inc does not.

The machine tries every number without a row, with arguments that no call can
use, and reads the names of the kernel's calls; the host, which has the table,
compares.  What is new is closed (the filter answers ENOSYS) until somebody has
reviewed it and written its row: this says what there is to review.
"""
import ctypes
import errno
import os
import re
import signal

HIGHEST = 1023  # well above the newest number
COLUMNS = {"amd64": 0, "arm64": 1, "riscv64": 2}
ROW = re.compile(r"^SYSCALL\((\w+), (-?\d+), (-?\d+), (-?\d+)\)", re.MULTILINE)
SYMBOL = re.compile(r"\b__(?:x64|arm64|riscv)_sys_(\w+)$", re.MULTILINE)
# Functions of other tables: 32-bit programs, other architectures, and names of the source alone.
OTHER_TABLES = re.compile(r"(16|_time32|32|32_.*)$|^(ia32|old|s390|pciconfig|spu|vm86|subpage|rtas)")
OTHER_NAMES = set("""arm64_personality fadvise64_64 fstat64 fstatat64 fstatfs64 gethostname ipc llseek lstat64
    mmap_pgoff newfstat newlstat newstat newuname ni_syscall nice recv send sendfile64 sgetmask signal
    sigpending sigprocmask sigsuspend socketcall ssetmask stat64 statfs64 stime sync_file_range2 time umount
    waitpid""".split())
SECONDS = 2  # for a call that waits


def known(source):
    """{name: (number on amd64, on arm64, on riscv64)}, -1 where there is none."""
    with open(source, encoding="utf-8") as text:
        return {name: tuple(map(int, numbers)) for name, *numbers in ROW.findall(text.read())}


def holes(table, architecture):
    """The numbers without a row, as ranges: 337-423,470-1023."""
    taken = {numbers[COLUMNS[architecture]] for numbers in table.values()}
    ranges = []
    for number in range(HIGHEST + 1):
        if number in taken:
            continue
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ",".join(f"{first}-{last}" for first, last in ranges)


def exists(libc, number):
    """Whether the kernel has a call of this number; tried in a process of its own."""
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        bad = libc.syscall(*map(ctypes.c_long, (number, -1, -1, -1, -1, -1, -1)))
        os._exit(1 if bad == -1 and ctypes.get_errno() == errno.ENOSYS else 0)
    return os.waitpid(child, 0)[1] != 1 << 8


def present(ranges):
    """In the machine: the numbers of these ranges that the kernel has, and the names of all its calls."""
    libc, numbers = ctypes.CDLL(None, use_errno=True), []
    for part in filter(None, ranges.split(",")):
        first, last = map(int, part.split("-"))
        numbers += [number for number in range(first, last + 1) if exists(libc, number)]
    with open("/proc/kallsyms", encoding="utf-8") as source:
        names = sorted(set(SYMBOL.findall(source.read())))
    return {"numbers": numbers, "names": names}


def new(table, found):
    """On the host: (numbers, names) that the table lacks."""
    names = [name for name in found["names"]
             if name not in table and name not in OTHER_NAMES and not OTHER_TABLES.search(name)]
    return found["numbers"], names
