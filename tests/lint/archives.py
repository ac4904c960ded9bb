# SPDX-License-Identifier: Apache-2.0
"""The static libraries of others: built against glibc, linked with musl.

archives.txt lists the symbols that they may need, layouts.txt the types and constants that they share with the C
library.  A new version of a library that needs more is named here, before it crashes."""
import os
import platform
import re
import shutil
import struct
import subprocess
import tempfile

from harness import append, check, replace

SYMBOLS = "tests/lint/archives.txt"
LAYOUTS = "tests/lint/layouts.txt"
SHIMS = "src/base/fortified.c"
HEADERS = ("errno.h", "fcntl.h", "locale.h", "poll.h", "pthread.h", "signal.h", "stddef.h", "stdio.h", "sys/mman.h",
           "sys/stat.h", "sys/time.h", "sys/types.h", "unistd.h")
ARCHS = ("x86_64", "aarch64")

# The linker and the compiler's runtime have these.
GIVEN = re.compile(r"_GLOBAL_OFFSET_TABLE_|__aarch64_(ldadd|swp|cas)\w+")


def output(*argv):
    return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout


def entries(tree, name):
    """(what, middle, reason) of each line "WHAT: MIDDLE -- REASON"."""
    for number, line in enumerate(tree.text(name).splitlines(), 1):
        if line and not line.startswith("#"):
            match = re.fullmatch(r"([^:]+): (.+) -- (.+)", line)
            yield (number, *match.groups()) if match else (number, line, "", "")


def libraries(tree):
    """The static dependencies of the build, by their pkg-config name."""
    return re.findall(r"dependency\('([^']+)', static: true\)", tree.text("meson.build"))


def archive_of(library):
    directory = output("pkg-config", "--variable=libdir", library).strip()
    name = output("pkg-config", "--libs-only-l", library).split()
    path = f"{directory}/lib{name[0][2:]}.a" if name else ""
    return path if os.path.exists(path) else None


def symbols(path, kind):
    return {line.split()[-1] for line in output("nm", "-g", kind, path).splitlines() if len(line.split()) in (2, 3)}


def listed(tree):
    found = {}
    for _, names, given, _ in entries(tree, SYMBOLS):
        for library in names.split():
            found.setdefault(library, set()).update(given.split())
    return found


@check("every symbol that a linked archive needs is listed with a reason",
       replace(SYMBOLS, "strtod strtoll", "strtod"), replace(SYMBOLS, " -- struct stat", ""))
def needed(tree):
    bad = [f"{SYMBOLS}:{number}: LIBRARIES: SYMBOLS -- REASON expected"
           for number, _, _, reason in entries(tree, SYMBOLS) if not reason]
    known = listed(tree)
    for library in libraries(tree):
        archive = archive_of(library)
        if archive is None:
            bad.append(f"{library}: no static archive is found")
            continue
        outside = symbols(archive, "--undefined-only") - symbols(archive, "--defined-only")
        bad += [f"{archive} needs {name}, which {SYMBOLS} does not list for {library}: find out whether musl has it with "
                f"the same arguments, else add it to {SHIMS}" for name in sorted(outside - known.get(library, set()))]
    return bad


def musl_archive():
    path = f"/usr/lib/{platform.machine()}-linux-musl/libc.a"
    return path if os.path.exists(path) else None


@check("every symbol that an archive needs is in musl or in base/fortified.c",
       replace(SHIMS, "char *__strncpy_chk(char *out, const char *from, size_t len, size_t size) {",
               "char *__strncpy_other(char *out, const char *from, size_t len, size_t size) {"))
def provided(tree):
    if musl_archive() is None:
        return []  # the build uses glibc, which has all of them
    defined = re.findall(r"^\w[\w ]*?[ *](__\w+)\([^;{]*\) \{", tree.text(SHIMS), re.MULTILINE)
    have = symbols(musl_archive(), "--defined-only") | set(defined)
    wanted = set()
    for library in libraries(tree):
        archive = archive_of(library)
        if archive is not None:
            wanted |= symbols(archive, "--undefined-only") - symbols(archive, "--defined-only")
    return [f"{name} is neither in musl nor in {SHIMS}" for name in sorted(wanted - have) if not GIVEN.fullmatch(name)]


def compilers():
    """(architecture, name, argv) of each pair of compiler and C library on this host."""
    own = platform.machine()
    yield own, "glibc", ["gcc"]
    if shutil.which("musl-gcc"):
        yield own, "musl", ["musl-gcc"]
    cross = "aarch64-linux-gnu-gcc"
    if own != "aarch64" and shutil.which(cross):
        yield "aarch64", "glibc", [cross]
        headers = os.environ.get("CORRAL_MUSL_AARCH64", "/usr/include/aarch64-linux-musl")
        if os.path.isdir(headers):
            compiler = output(cross, "-print-file-name=include").strip()
            yield "aarch64", "musl", [cross, "-nostdinc", "-isystem", headers, "-isystem", compiler]


def expression(what):
    kind, _, rest = what.partition(" ")
    kind_type, _, last = rest.rpartition(" ")
    return {"size": f"sizeof({rest})", "room": f"sizeof({rest})", "offset": f"offsetof({kind_type}, {last})", "value": f"({rest})"}[kind]


def measured(argv, whats):
    """The values as this compiler sees them; nothing is executed, so another architecture's are seen too."""
    with tempfile.TemporaryDirectory() as place:
        source, object_file = f"{place}/layout.c", f"{place}/layout.o"
        with open(source, "w", encoding="utf-8") as file:
            file.writelines(f"#include <{name}>\n" for name in HEADERS)
            file.write("__attribute__((section(\".layout\"))) const long long layout[] = {\n")
            file.writelines(f"\t(long long){expression(what)},\n" for what in whats)
            file.write("};\n")
        done = subprocess.run([*argv, "-std=gnu17", "-D_GNU_SOURCE", "-w", "-c", source, "-o", object_file],
                              stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            return done.stderr.strip().splitlines()[0]
        with open(object_file, "rb") as file:
            return section(file.read(), len(whats))


def section(elf, count):
    """The numbers of the section .layout of a 64-bit object file."""
    offset, = struct.unpack_from("<Q", elf, 0x28)
    size, number, names = struct.unpack_from("<HHH", elf, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", elf, offset + size * i) for i in range(number)]
    strings = headers[names][4]
    for name, _, _, _, at, _ in headers:
        if elf[strings + name:elf.index(b"\0", strings + name)] == b".layout":
            return list(struct.unpack_from(f"<{count}q", elf, at))
    return "no section .layout"


@check("types and constants that the archives use are the same in glibc and musl",
       append(LAYOUTS, "value BUFSIZ: 8192 8192 -- planted, and different in musl\n"),
       replace(LAYOUTS, "room pthread_mutex_t: 40 48", "room pthread_mutex_t: 32 48"),
       replace(LAYOUTS, "offset struct stat st_mode: 24", "offset struct stat st_mode: 16"))
def layouts(tree):
    rows = list(entries(tree, LAYOUTS))
    bad = [f"{LAYOUTS}:{number}: KIND NAME: X86_64 AARCH64 -- REASON expected" for number, _, values, reason in rows
           if not reason or not re.fullmatch(r"\d+ \d+", values)]
    if bad:
        return bad
    for arch, libc, argv in compilers():
        if arch not in ARCHS:
            continue
        got = measured(argv, [what for _, what, _, _ in rows])
        if isinstance(got, str):
            bad.append(f"{arch} with {libc}: {got}")
            continue
        for (number, what, values, _), value in zip(rows, got):
            wanted = int(values.split()[ARCHS.index(arch)])
            fits = what.startswith("room ") and libc == "musl" and value <= wanted
            if value != wanted and not fits:
                bad.append(f"{LAYOUTS}:{number}: {what} is {value} on {arch} with {libc}, and {wanted} is listed")
    return bad
