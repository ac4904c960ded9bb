# SPDX-License-Identifier: Apache-2.0
"""What was built: the program, the library, and what a file's code can reach."""
import os
import re
import subprocess
import tempfile

from harness import FLAGS, MINUTES, Built, append, check, replace, without_comments

EMPTY = "int main(void) { return 0; }\n"


def readelf(option, path):
    return subprocess.run(["readelf", option, "-W", path], stdout=subprocess.PIPE, text=True, check=True).stdout


def program(tree):
    return f"{tree.build}/corral"


def library(tree):
    return f"{tree.build}/src/libcorral.so"


def products(tree):
    """A planted build has one of them; that a real one has both, other checks see."""
    return [path for path in (program(tree), library(tree)) if os.path.exists(path)]


@check("the program is static, at a fixed address, and asks for no library",
       Built("corral", EMPTY), Built("corral", EMPTY, "-static-pie"), Built("corral", EMPTY, "-no-pie"))
def static(tree):
    segments = readelf("-l", program(tree))
    bad = [word for word in ("INTERP", "DYNAMIC") if re.search(rf"^  {word} ", segments, re.MULTILINE)]
    # Nothing inside the sandbox runs in this process; a fixed address starts faster.
    return bad + ([] if "EXEC (" in readelf("-h", program(tree)) else ["it is position-independent"])


@check("no page of program or library is both writable and executable, and no stack is executable",
       Built("corral", EMPTY, "-static", "-z", "execstack"))
def writable_code(tree):
    bad = []
    for path in products(tree):
        segments = re.findall(r"^  (\w+) +(?:0x\w+ +){5}([RWE ]{3}) ", readelf("-l", path), re.MULTILINE)
        bad += [f"{path}: {name} is {flags}" for name, flags in segments if "W" in flags and "E" in flags]
        if "GNU_STACK" not in dict(segments):
            bad.append(f"{path}: nothing is said of the stack")
    return bad


@check("what is relocated is read-only afterwards", Built("corral", EMPTY, "-static", "-z", "norelro"))
def relro(tree):
    return [path for path in products(tree) if "GNU_RELRO" not in readelf("-l", path)]


@check("neither program nor library searches libraries in places of its own",
       Built("corral", EMPTY, "-Wl,-rpath,/planted"))
def search_path(tree):
    return [path for path in products(tree) if re.search(r"\((RPATH|RUNPATH)\)", readelf("-d", path))]


@check("the stack protector guards the library",
       Built("src/libcorral.so", "void corral_f(void) {}\n", "-shared", "-fPIC", "-fno-stack-protector"))
def protector(tree):
    return [] if "__stack_chk_fail" in readelf("--dyn-syms", library(tree)) else ["no function is guarded"]


@check("what is loaded does not tell where it was built",
       Built("corral", 'const char *p = "@ROOT@/x";\n' + EMPTY, "-static"))
def build_paths(tree):
    """Debugging information may: it is not loaded, and a package strips it."""
    bad = []
    for path in products(tree):
        with open(path, "rb") as file:
            raw = file.read()
        for offset, size in re.findall(r"^  LOAD +0x(\w+) 0x\w+ 0x\w+ 0x(\w+) ", readelf("-l", path), re.MULTILINE):
            if tree.root.encode() + b"/" in raw[int(offset, 16):int(offset, 16) + int(size, 16)]:
                bad.append(path)
    return bad


@check("the shared library exports corral_* and nothing else",
       Built("src/libcorral.so", "void corral_f(void) {}\nvoid planted(void) {}\n", "-shared", "-fPIC"),
       Built("src/libcorral.so", "", "-shared", "-fPIC", "-nostdlib"))
def exported(tree):
    said = subprocess.run(["nm", "-D", "--defined-only", library(tree)], stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.DEVNULL, check=True).stdout
    # "A" is the name of the version, not a symbol.
    names = [line.split()[-1].split("@")[0] for line in said.splitlines() if line.split()[-2] != "A"]
    return [name for name in names if not name.startswith("corral_")] if names else ["it exports nothing"]


@check("every function of the public headers is exported, and has its place in libcorral(3)",
       append("include/corral/url.h", "\nint corral_planted(void);\n"))
def public(tree):
    whole = tree.whole()
    declared = re.findall(r"\b(corral_\w+)\(", without_comments(whole.public_text()))
    page = whole.text("man/libcorral.3")
    said = whole.run("nm", "-D", "--defined-only", library(tree))[1]
    return [f"{name} is not in {where}" for name in sorted(set(declared))
            for where, text in (("libcorral(3)", page), ("libcorral.so", said)) if not re.search(rf"\b{name}\b", text)]


# ---- E2: what the child can reach ----

# libc functions that are one system call, or none.  What is not here may take a
# lock or allocate: then it has no place between clone and exec.
ALLOWED = {
    "system calls": """_exit chdir clock_gettime clone close dup3 fchdir fchmod chmod fcntl flock fstat fstatat fstatfs getpid getppid
        accept4 bind connect epoll_create1 epoll_ctl epoll_wait getrandom getrlimit getrusage getsockname getsockopt
        ioctl kill listen lseek mkdir mkdirat mknodat mmap munmap open openat pipe2 poll prctl pread prlimit pwrite read readlinkat recv
        recvfrom recvmsg renameat rmdir send sendmsg sendto setdomainname sethostname setitimer setns setpgid setrlimit setsid setsockopt
        shutdown sigaction signalfd socket splice symlinkat syscall tcsetattr umask umount2 unlinkat unshare
        waitpid write""",
    "memory and text": "memchr memcmp memcpy memmem memmove memset strcasecmp strchr strcmp strcspn strlen strncasecmp strncmp strnlen strrchr strspn strstr",
    "data": "in6addr_loopback",
    "sets of signals": "sigaddset sigemptyset sigfillset",
    "errno, which belongs to the thread": "__errno_location",
}
# The tables of layers hold prepare() too, which runs in the parent; every enter() is a root of its own.
NOT_FOLLOWED = re.compile(r"layers$|layer_\w+$")

# The files outside base and linux with functions that the child calls: the broker in the guard's loop, and time stamps.
JUDGES = ("src/backend/journal.c", "src/backend/timings.c", "src/data/lasting.c", "src/data/ranges.c",
          "src/data/syscalls.c", "src/plan/limits.c", "src/plan/rules.c", "src/plan/visibility.c")
BROKER = ["broker_init", "broker_serve"]
# A process of its own that puts a new file into the view; it is a copy of the caller too.
HELPERS = ["follow_help"]
# Likewise the gate's process, and those that sample limits.
GATE = ["become_gate"]
SAMPLERS = ["become_sampler"]


def references(path, file):
    """{symbol: the symbols that its code or data refers to} of one object file; a static one has the file behind it."""
    said = subprocess.run(["objdump", "-t", "-r", path], stdout=subprocess.PIPE, text=True, check=True).stdout
    table, *relocations = re.split(r"^RELOCATION RECORDS FOR ", said, flags=re.MULTILINE)
    homes, own = {}, {}  # section: the symbols in it; a static symbol: its name in the graph
    for flags, section, name in re.findall(r"^\w+ (.{7}) (\S+)\t\w+ +(?:\.hidden )?(\S+)$", table, re.MULTILINE):
        if flags.startswith("l"):
            own[name] = name = f"{name}@{file}"
        homes.setdefault(section, []).append(name)
    found = {name: set() for section, names in homes.items() for name in names if section != "*UND*"}
    for block in relocations:
        section = re.match(r"\[(\S+)\]", block).group(1)
        for name in homes.get(section, []):
            for target in re.findall(r"^\w+ R_\w+ +(\S+?)(?:[+-]0x\w+)?$", block, re.MULTILINE):
                found[name].update(homes.get(target, [target]) if target.startswith(".") else [own.get(target, target)])
    return found


def reference_graph(tree):
    """Of everything that pid 1 is made of; compiled without inlining, so that functions keep their names."""
    graph = {}
    with tempfile.TemporaryDirectory() as place:
        sources = tree.whole().files("src/base/*.c", "src/linux/**/*.c", "src/gate/**/*.c", "src/net/*.c", *JUDGES)
        files = {file: f"{place}/{number}.o" for number, file in enumerate(sources) if not file.endswith("_macos.c")}
        said = tree.each_of(files, lambda file: ["gcc", *FLAGS, "-O1", "-fno-inline", "-fno-pic", "-ffunction-sections",
                                                 "-fdata-sections", "-c", "-o", files[file], file])
        assert not said, said
        for file, out in files.items():
            graph.update(references(out, file))
    return graph


@check("between clone and exec there are system calls only",
       replace("src/linux/init.c", "\tstatic char stack[", "\tfree(k);\n\tstatic char stack["),
       replace("src/linux/layers/hostname.c", "err *e) {\n", "err *e) {\n\tsetenv(\"x\", \"y\", 1);\n"), cost=MINUTES)
def system_calls_only(tree):
    graph = reference_graph(tree)
    roots = [name for file in tree.whole().files("src/linux/layers/*.c")
             for name in re.findall(r"\.(?:enter|guard|start) = (\w+)", tree.whole().text(file))]
    roots += ["child_main"] + BROKER + HELPERS + GATE + SAMPLERS
    allowed = {word for words in ALLOWED.values() for word in words.split()}
    known = {}
    for name in graph:
        known.setdefault(name.split("@")[0], []).append(name)
    bad = [f"{root} is not in the objects" for root in roots if root not in known]
    way = {name: name for root in roots for name in known.get(root, ())}  # how each symbol is reached
    todo = list(way)
    while todo:
        name = todo.pop()
        for target in graph.get(name, ()):
            if target in way or NOT_FOLLOWED.match(target):
                continue
            way[target] = f"{way[name]} > {target}"
            if target in graph:
                todo.append(target)
            elif target not in allowed and not target.startswith("."):
                bad.append(way[target])
    return bad + [f"{name} is allowed and not needed" for name in sorted(allowed - way.keys())]
