# SPDX-License-Identifier: Apache-2.0
"""Which file may know which, and what stands where."""
import os
import re

from harness import FLAGS, ROOT, Tree, append, check, replace, without_comments

# Who may include whom: a room sees the rooms to its left, and itself.
ROOMS = {
    "base": [],
    "data": ["base"],
    "policy": ["base", "data"],
    "command": ["base", "data", "policy"],
    "plan": ["base", "data", "policy"],
    "leak": ["base", "data"],
    "files": ["base", "data", "policy", "plan"],
    "net": ["base", "data", "policy", "plan"],
    "gate": ["base", "data", "policy", "plan", "net"],
    "backend": ["base", "data", "policy", "plan"],
    "linux": ["base", "data", "policy", "plan", "net", "gate", "backend"],
    "docker": ["base", "data", "policy", "plan", "net", "gate", "backend", "linux"],
    "vault": ["base", "data"],
    "cow": ["base", "data", "policy", "plan"],
    "audit": ["base", "data"],
    "run": ["base", "data", "policy", "plan", "leak", "net", "gate", "backend"],
    "macos": ["base", "data", "policy", "plan", "run"],
    "windows": ["base", "data", "policy", "run"],
    "lib": ["base", "data", "policy", "command", "plan", "leak", "files", "net", "gate", "backend", "vault", "cow", "audit", "run"],
    "selftest": ["base", "data", "policy", "plan", "backend", "lib"],
    "agents": ["base", "data"],
    "cli": ["base", "data", "agents"],
    "http": ["base", "data", "policy", "plan", "net"],
    "rpc": ["base", "data", "cli", "http"],
    "client": ["base", "data", "cli", "rpc"],
    "ui": ["base", "data", "http", "rpc"],
    "session": ["base", "data", "cli", "rpc", "client", "ui"],
    "oci": ["base", "data", "cli"],
}

# Rooms for any operating system: they include no header of Linux.
PORTABLE = ("data", "policy", "command", "plan", "net", "leak", "files", "vault", "audit", "backend", "agents")

# Rooms of one operating system or engine each, behind the table of src/backend; a build has some of them.
BACKENDS = ("linux", "docker", "macos", "windows")


def included(text):
    return re.findall(r'^#include "([^"]+)"', text, re.MULTILINE)


def graph(tree):
    """{room: {room that it includes: how often}}"""
    found = {room: {} for room in ROOMS}
    for path in tree.whole().sources():
        room = path.split("/")[1]
        for target in included(tree.whole().text(path)):
            other = target.split("/")[0]
            if other in ROOMS and other != room:
                found[room][other] = found[room].get(other, 0) + 1
    return found


def size(tree, room):
    return sum(tree.whole().text(path).count("\n") for path in tree.whole().files(f"src/{room}/**/*.[ch]"))


@check("ARCHITECTURE.md shows every room, its includes and its size",
       replace("ARCHITECTURE.md", "| `src/cow` |", "| `src/cows` |"), append("src/cow/text.c", '#include "plan/plan.h"\n'))
def table_of_rooms(tree):
    rows = re.findall(r"^\| `src/(\w+)` \|[^|]*\|([^|]*)\| (\d+) \|$", tree.whole().text("ARCHITECTURE.md"), re.MULTILINE)
    bad = sorted({room for room, _, _ in rows} ^ ROOMS.keys())
    found = graph(tree)
    for room, includes, lines in rows:
        if room in ROOMS and set(includes.split()) != found[room].keys():
            bad.append(f"{room} includes {' '.join(found[room])}")
        if room in ROOMS and abs(size(tree, room) - int(lines)) > int(lines) / 5:
            bad.append(f"{room} has {size(tree, room)} lines")
    return bad


@check("every include points the written way", append("src/run/run.c", '#include "linux/spawn.h"\n'),
       append("src/lib/run.c", '#include "docker/container.h"\n'),
       append("src/base/fd.c", '#include "run/run.h"\n'), append("src/plan/plan.c", '#include "corral.h"\n'))
def includes(tree):
    bad = []
    for path in tree.sources():
        room = path.split("/")[1]
        for target in included(tree.text(path)):
            other = target.split("/")[0]
            public = target == "corral.h" and room in ("lib", "selftest", "agents", "cli", "rpc", "client", "session")
            if not public and other != room and other not in ROOMS[room]:
                bad.append(f"{path} includes {target}")
    return bad


@check("every file includes its own header first", replace("src/base/fd.c", '#include "base/fd.h"\n', ""))
def own_header(tree):
    bad = []
    for path in tree.files("src/**/*.c"):
        own = path[len("src/"):-1] + "h"
        first = included(tree.text(path))[:1]
        if os.path.exists(tree.path(f"src/{own}")) and first != [own]:
            bad.append(f"{path} begins with {first}, not with {own}")
    return bad


@check("every header of src compiles alone", append("src/base/fd.h", "struct unheard f(void);\nextern uint8_t u;\n"))
def headers(tree):
    # src/macos/sdk takes the place of the headers of macOS.
    return tree.each([f for f in tree.files("src/**/*.h") if not f.startswith("src/macos/sdk/")], "gcc", *FLAGS, "-Wall", "-Wextra", "-Werror",
                     "-Wno-unused", "-fsyntax-only", "-x", "c")


# The compilers of programs that use the library.  They have none of our own flags, not even a directory of headers.
USERS = (("gcc", "-std=c17", "-x", "c"), ("clang", "-std=c17", "-x", "c"),
         ("g++", "-std=c++11", "-x", "c++"), ("clang++", "-std=c++11", "-x", "c++"))


@check("every public header compiles alone, as C17 and as C++11, with gcc and clang",
       append("include/corral/error.h", "extern uint8_t u;\n"), append("include/corral/url.h", "extern int class;\n"))
def public_headers(tree):
    return [line for compiler in USERS
            for line in tree.each(tree.files("include/**/*.h"), *compiler, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only")]


@check("every public header declares its functions with C linkage", replace("include/corral/url.h", 'extern "C" {', ""))
def linkage(tree):
    return [name for name in tree.files("include/**/*.h")
            if "(" in without_comments(tree.text(name)) and 'extern "C" {' not in tree.text(name)]


@check("the operating system is asked for in base and in the backends alone", append("src/run/run.c", "#ifdef __linux__\n#endif\n"),
       append("src/backend/choose.c", "#if defined(_WIN32)\n#endif\n"))
def systems(tree):
    word = re.compile(r"^#\s*(if|ifdef|ifndef|elif)\b.*__(linux|APPLE|FreeBSD|OpenBSD|NetBSD)\w*|\b_WIN32\b")
    return [f"{f}:{n}: {line}" for f, n, line in tree.lines("src/**/*.[ch]")
            if word.search(line) and f.split("/")[1] not in ("base", *BACKENDS)]


@check("portable rooms include no header of Linux, and use no flag or file of its own", append("src/net/url.c", "#include <linux/if.h>\n"),
       append("src/files/place.c", "int root = O_PATH;\n"), append("src/files/read.c", 'const char *self = "/proc/self/fd/0";\n'),
       append("src/plan/plan.c", "#include <sys/epoll.h>\n"), append("src/vault/store.c", "#include <sys/syscall.h>\n"))
def portable(tree):
    bound = re.compile(r'^#include <(linux/|sys/(epoll|prctl|ioctl|syscall|mount|eventfd|signalfd|timerfd|inotify|vfs|statfs|fsuid|sysmacros|xattr|sendfile)\.h)')
    # Not data, whose tables have paths of the sandbox's own /dev.
    own = re.compile(r'\bO_(PATH|TMPFILE)\b|"/proc/self/fd|\b(memfd_create|getrandom|openat2|signalfd|eventfd|pidfd_open)\(')
    return [f"{f}:{n}: {line}" for f, n, line in tree.lines(*(f"src/{room}/**/*.[ch]" for room in PORTABLE))
            if bound.search(line) or (own.search(line.split("/*")[0]) and not f.startswith("src/data/") and not line.lstrip().startswith("*"))]


# The functions that a row of the table has, and the files that call those of the kernel's row: the recorder of a host
# and the view of the file tools plan for it, whatever row the policy names.
BEHIND = re.compile(r"\b(spawn_start|spawn_read|spawn_finish|plan_build|probe_(broker|cgroups|scope|sampling|without_namespaces))\(")
KERNELS_OWN = ("src/lib/snapshot.c", "src/lib/files.c", "src/lib/file_task.c")


@check("a run reaches its backend through the table alone", append("src/run/start.c", "spawn_finish(&c, NULL);\n"))
def behind_table(tree):
    return [f"{f}:{n}: {line}" for f, n, line in tree.lines("src/run/**/*.c", "src/lib/**/*.c")
            if BEHIND.search(line) and f not in KERNELS_OWN and not line.lstrip().startswith(("*", "/*"))]


# Prefixes of functions that a room shares, beside the names of its files.
SHARED_PREFIXES = {
    "src/linux/broker/": "serve",  # the handlers of broker.c's table, one a system call
    "src/files/": "tool",          # the file tools, declared in tools.h
    "src/docker/": "container",    # the functions of a row, declared in container.h
    "src/policy/": "doc",          # documents of any format, declared in doc.h
    "src/": "corral",              # the public headers
}
DEFINITION = re.compile(r"^(?!static\b|typedef\b|extern\b)(?:[a-z_]\w*[ *]+)+\**(\w+)\([^;]*\{$", re.MULTILINE)


def prefixes(path):
    """The words that a public function of this file may begin with: its file, its room, what they share."""
    parts = path[len("src/"):-len(".c")].split("/")
    stem = parts[-1]
    singular = re.sub(r"ies$", "y", stem) if stem.endswith("ies") else stem[:-1] if stem.endswith("s") else stem
    return {stem, singular, stem.split("_")[0], stem + "s", stem + "d", *parts[:-1],
            *(word for room, word in SHARED_PREFIXES.items() if path.startswith(room))}


# Functions of the C library, for musl.
LIBC = ("src/base/string_functions.c", "src/base/open_once.c")


@check("a public function begins with the name of its file or of its room",
       append("src/base/fd.c", "\nint planted_read(void) {\n\treturn 0;\n}\n"))
def prefixed(tree):
    return [f"{path}: {name}()" for path in tree.files("src/**/*.c") if not path.startswith("src/cli/")
            for name in DEFINITION.findall(tree.text(path)) if not name.startswith("__") and name not in ("main", "wmain") and path not in LIBC
            if not any(name == word or name.startswith(word + "_") for word in prefixes(path))]


LICENSE = "/* SPDX-License-Identifier: Apache-2.0 */\n"


def after_license(text):
    return text.removeprefix(LICENSE).lstrip("\n")


CONTRACT = ("Should:", "Must not:", "Fails:")


@check("every source file says what it should, must not, and how it fails",
       replace("src/linux/layers/landlock.c", "Must not:", "Never:"))
def contracts(tree):
    return [f"{path} lacks '{word}'" for path in tree.files("src/**/*.c") for word in CONTRACT
            if word not in after_license(tree.text(path)).split("*/")[0]]


@check("every file begins by saying what it is for",
       replace("src/linux/layers.c", LICENSE, "static int unsaid;\n"),
       append("src/base/planted.c", "/* SPDX-License-Identifier: Apache-2.0 */\nstatic int unsaid;\n"))
def heads(tree):
    """A file without a comment at its head has a header of its name that has one.  The line of the license says nothing."""
    def begins(name):
        return after_license(tree.text(name)).startswith("/*")
    bad = []
    for path in tree.sources() + tree.files("include/**/*.h"):
        header = path[:-1] + "h"
        told = begins(path) or (path.endswith(".c") and os.path.exists(tree.path(header)) and begins(header))
        if not told:
            bad.append(path)
    return bad


if __name__ == "__main__":
    HOUSE = Tree(ROOT, None)
    for ROOM, OTHERS in graph(HOUSE).items():
        print(f"{ROOM:9} {size(HOUSE, ROOM):6} lines  " + "  ".join(f"{other} {n}" for other, n in OTHERS.items()))
