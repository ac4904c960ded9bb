"""Which file may know which, and what stands where."""
import os
import re

from harness import FLAGS, append, check, replace

# Who may include whom: a room sees the rooms to its left, and itself.
ROOMS = {
    "base": [],
    "data": ["base"],
    "policy": ["base", "data"],
    "plan": ["base", "data", "policy"],
    "files": ["base", "data", "policy", "plan"],
    "gate": ["base", "data", "policy", "plan"],
    "linux": ["base", "data", "policy", "plan", "gate"],
    "cow": ["base", "data", "policy", "plan"],
    "run": ["base", "data", "policy", "plan", "gate", "linux"],
    "lib": ["base", "data", "policy", "plan", "files", "gate", "linux", "cow", "run"],
    "cli": ["base", "data"],
}


def included(text):
    return re.findall(r'^#include "([^"]+)"', text, re.MULTILINE)


@check("every include points the written way",
       append("src/base/fd.c", '#include "run/run.h"\n'), append("src/plan/plan.c", '#include "corral.h"\n'))
def includes(tree):
    bad = []
    for path in tree.sources():
        room = path.split("/")[1]
        for target in included(tree.text(path)):
            other = target.split("/")[0]
            public = target == "corral.h" and room in ("lib", "cli")
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


@check("every header compiles alone", append("src/base/fd.h", "struct unheard f(void);\nextern uint8_t u;\n"))
def headers(tree):
    return tree.each(tree.files("src/**/*.h", "include/*.h"), "gcc", *FLAGS, "-Wall", "-Wextra", "-Werror",
                     "-Wno-unused", "-fsyntax-only", "-x", "c")


@check("the operating system is asked for in base alone", append("src/run/run.c", "#ifdef __linux__\n#endif\n"))
def systems(tree):
    word = re.compile(r"^#\s*(if|ifdef|ifndef|elif)\b.*__(linux|APPLE|FreeBSD|OpenBSD|NetBSD)\w*|\b_WIN32\b")
    return [f"{f}:{n}: {line}" for f, n, line in tree.lines("src/**/*.[ch]")
            if word.search(line) and not f.startswith("src/base/")]


CONTRACT = ("Should:", "Must not:", "Fails:")


@check("every layer says what it should, must not, and how it fails",
       replace("src/linux/layers/landlock.c", "Must not:", "Never:"))
def contracts(tree):
    return [f"{path} lacks '{word}'" for path in tree.files("src/linux/layers/*.c") for word in CONTRACT
            if word not in tree.text(path).split("*/")[0]]


@check("every file begins by saying what it is for",
       replace("src/linux/layers.c", "/*", "static int unsaid;\n/*"))
def heads(tree):
    """A file without a comment at its head has a header of its name that has one."""
    bad = []
    for path in tree.sources() + tree.files("include/*.h"):
        header = path[:-1] + "h"
        told = tree.text(path).startswith("/*") or (
            path.endswith(".c") and os.path.exists(tree.path(header)) and tree.text(header).startswith("/*"))
        if not told:
            bad.append(path)
    return bad
