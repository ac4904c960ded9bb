# SPDX-License-Identifier: Apache-2.0
"""The shape of functions, and the few calls that have a form of their own."""
import re

from harness import append, check, functions, replace, without_comments

MAX_FUNCTION = 45
MAX_FILE = 600
MAX_NESTING = 3
MAX_PARAMETERS = 5  # and the error
GLIBC = "src/base/fortified.c"  # the parameters of these functions are glibc's choice
C_FILES = "src/**/*.c"


@check("these checks see every function that was compiled",
       replace("src/base/err.c", "int(err_sys)(", "int(err_planted)("))
def seen(tree):
    said = tree.run("nm", "--defined-only", f"{tree.build}/src/libcorral.a")[1]
    compiled = set(re.findall(r"^\w+ T (\w+)$", said, re.MULTILINE))
    return sorted(compiled - {f.name for f in functions(tree.whole(), C_FILES)}) if compiled else ["nothing was"]


def long_function(lines):
    return "\nint planted(int a) {\n" + "\ta++;\n" * lines + "\treturn a;\n}\n"


@check("no function is longer than a screen", append("src/base/fd.c", long_function(MAX_FUNCTION)))
def lengths(tree):
    return [f"{f}: {len(f.body)} lines" for f in functions(tree, C_FILES) if len(f.body) > MAX_FUNCTION]


@check("no file holds two rooms", append("src/base/fd.c", "\n" * MAX_FILE), append("include/corral/url.h", "\n" * MAX_FILE),
       append("sdk/node/src/options.js", "\n" * MAX_FILE))
def sizes(tree):
    counts = ((path, tree.text(path).count("\n")) for path in tree.files("src/**/*.[ch]", "include/**/*.h", "sdk/**/*.py", "sdk/**/*.[jt]s"))
    return [f"{path}: {count} lines" for path, count in counts if count > MAX_FILE]


def nesting(body):
    """The deepest block of statements inside; initialisers are not counted."""
    depth = deepest = 0
    opened = []
    for line in body:
        for at, char in enumerate(line):
            if char == "{":
                statement = re.match(r"\s*(\}?\s*(else\b|if\b|for\b|while\b|switch\b|do\b)|\w+_foreach)", line) or \
                    re.match(r"\s+.*\)\s*\{$", line)
                opened.append(bool(statement) and at == len(line) - 1)
                depth += opened[-1]
            elif char == "}" and opened:
                depth -= opened.pop()
            deepest = max(deepest, depth)
    return deepest


NESTED = ("\nint planted(int a) {\n\tif (a) {\n\t\tif (a) {\n\t\t\tif (a) {\n\t\t\t\tif (a) {\n\t\t\t\t\ta++;\n"
          "\t\t\t\t}\n\t\t\t}\n\t\t}\n\t}\n\treturn a;\n}\n")


@check("no function nests deeper than three blocks", append("src/base/fd.c", NESTED))
def depths(tree):
    return [f"{f}: {nesting(f.body)} levels" for f in functions(tree, C_FILES) if nesting(f.body) > MAX_NESTING]


@check("no function has more than five parameters and an error",
       append("src/base/fd.c", "\nint planted(int a, int b, int c, int d, int e, int f) {\n\treturn a;\n}\n"))
def parameters(tree):
    bad = []
    for f in functions(tree, C_FILES):
        given = [p for p in re.sub(r"\([^()]*\)", "", f.parameters).split(",")
                 if not re.search(r"struct (corral_error|err) \*", p)]
        if len(given) > MAX_PARAMETERS and f.file != GLIBC:
            bad.append(f"{f}: {len(given)}")
    return bad


@check("goto goes forward only", append("src/base/fd.c", "\nint planted(int a) {\nback:\n\tgoto back;\n}\n"))
def jumps(tree):
    bad = []
    for f in functions(tree, C_FILES):
        labels = {m.group(1): n for n, line in enumerate(f.body) if (m := re.match(r"\s*(\w+):\s*$", line))}
        bad += [f"{f}: goto {m.group(1)}" for n, line in enumerate(f.body)
                if (m := re.search(r"\bgoto (\w+)", line)) and labels.get(m.group(1), n + 1) < n]
    return bad


# Calls that make a descriptor, and never close it on exec: there is a newer one that can.
LEAKY = re.compile(r"(?<![\w>.])(creat|pipe|dup|accept|epoll_create|inotify_init|dup2)\(")
# Calls that do so when they are told to.
TOLD = re.compile(r"(?<![\w>.])(open|openat|open_tree|socket|socketpair|accept4|pipe2|dup3|memfd_create|signalfd|"
                  r"timerfd_create|eventfd|epoll_create1|inotify_init1|fsopen|fsmount|posix_openpt)\(")
# One that is meant to stay says so on its line.
MEANT = "close-on-exec"


def statement(code, at):
    """From a call's name to the end of what it stands in."""
    return code[at:code.find(";", at)]


@check("every descriptor is born close-on-exec",
       append("src/base/fd.c", '\nint planted(void) {\n\treturn open("x", 0);\n}\n'),
       append("src/base/fd.c", "\nint planted(void) {\n\treturn dup(0);\n}\n"))
def descriptors(tree):
    bad = []
    for path in tree.files(C_FILES):
        code, lines = without_comments(tree.text(path)), tree.text(path).splitlines()
        for pattern, told in ((LEAKY, False), (TOLD, True)):
            for match in pattern.finditer(code):
                number = code.count("\n", 0, match.start())
                cloexec = told and "CLOEXEC" in statement(code, match.start())
                if not cloexec and MEANT not in "".join(lines[max(0, number - 2):number + 2]):
                    bad.append(f"{path}:{number + 1}: {lines[number].strip()}")
    return bad


# System calls whose result may be dropped only with a word about why.
CALLS = ("close closedir read write kill raise syscall ioctl fcntl prctl mount umount2 mkdir mkdirat rmdir unlink "
         "unlinkat rename renameat link symlink chmod fchmod chown fchown chdir fchdir setsid setpgid setrlimit "
         "sigaction sigprocmask pthread_sigmask waitid waitpid tcsetattr tcsetpgrp ftruncate fd_write_all sendmsg "
         "recvmsg shutdown setsockopt poll").split()
DROPPED = re.compile(rf"\(void\)!?({'|'.join(CALLS)})\(")


@check("no system call's result is dropped without a reason",
       append("src/base/fd.c", "\nvoid planted(void) {\n\tint a = 0;\n\n\t(void)close(a);\n}\n"))
def dropped(tree):
    """The reason stands on the line, on the next one when the call is longer, above
    it, or above the run of such calls that it belongs to."""
    bad = []
    for path in tree.files("src/**/*.[ch]"):
        lines = tree.text(path).splitlines()
        for number, line in enumerate(lines):
            if not DROPPED.search(line):
                continue
            first = number
            while first > 0 and "(void)" in lines[first - 1] and "/*" not in lines[first]:
                first -= 1
            if not re.search(r"/\*|\*/", "".join(lines[max(0, first - 1):number + 2])):
                bad.append(f"{path}:{number + 1}: {line.strip()}")
    return bad
