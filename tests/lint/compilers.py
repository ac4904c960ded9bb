# SPDX-License-Identifier: Apache-2.0
"""Other readers of the code: compilers, analysers, formatters.

None of them has a list of accepted findings.  clang-tidy's selection, with its
reasons, is .clang-tidy; cppcheck's exceptions are suppressions.txt."""
import os
import re

from harness import FLAGS, JOBS, LONGER, MINUTES, append, check, replace

C_FILES = "src/**/*.c"
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers"]

UNUSED = "\nint planted(void) {\n\tint unused;\n\treturn 1;\n}\n"
NULL_READ = "\nint planted(int a);\nint planted(int a) {\n\tint *p = NULL;\n\treturn a > 3 ? *p : 0;\n}\n"
DOUBLE_FREE = "\nvoid planted(char *p) {\n\t__builtin_free(p);\n\t__builtin_free(p);\n}\n"
SAME = ("\nint planted(int a);\nint planted(int a) {\n\tif (a == 1) {\n\t\treturn 2;\n\t} else {\n\t\treturn 2;\n"
        "\t}\n}\n")


# Files that call Windows: only the compiler for it reads them.
CALLING = "src/windows/meson.build"
MINGW = "x86_64-w64-mingw32-gcc"


def calling(tree):
    block = re.search(r"sources_calling = files\((.*?)\)", tree.whole().text(CALLING), re.DOTALL).group(1)
    return {f"src/windows/{name}" for name in re.findall(r"'(\w+\.c)'", block)}


def native(tree):
    """The files that compile for Linux; tests/seatbelt/compile.py compiles those for macOS."""
    of_macos = re.compile(r"src/(macos/|base/\w+_macos\.c$)")
    return [name for name in tree.files(C_FILES) if name not in calling(tree) and not of_macos.match(name)]


@check("every file of corral.exe compiles for Windows without a warning", append("src/windows/job.c", UNUSED), cost=MINUTES,
       tool=(MINGW, None))
def windows(tree):
    before = FLAGS[:FLAGS.index("-include")]  # api.h comes before banned.h
    flags = ["-D__USE_MINGW_ANSI_STDIO=1", "-D_WIN32_WINNT=0x0A00", "-Wno-format", "-include", "src/windows/api.h",
             "-include", "src/base/banned.h"]
    return tree.each(tree.files("src/windows/*.c"), MINGW, *before, *WARNINGS, *flags, "-fsyntax-only")


@check("every file compiles with clang without a warning", append("src/base/fd.c", UNUSED), cost=MINUTES)
def clang(tree):
    return tree.each(native(tree), "clang", *FLAGS, *WARNINGS, "-O2", "-D_FORTIFY_SOURCE=2", "-fsyntax-only")


# Each other architecture, by its cross compiler.
CROSS = {"aarch64": "aarch64-linux-gnu-gcc", "riscv64": "riscv64-linux-gnu-gcc"}


def cross(tree, files, compiler, *more):
    # The libraries' headers are the same on every architecture.
    shared = ["-idirafter", "/usr/include", "-idirafter", "/usr/include/x86_64-linux-gnu"]
    return tree.each(files, compiler, *FLAGS, *WARNINGS, *shared, *more)


def dependent(tree):
    """The files that differ between architectures, or have numbers of one: by their text, and by a header of theirs."""
    word = re.compile(r"__(aarch64|riscv|x86_64)\w*|\"base/raw_call.h\"|data/syscalls.inc|AUDIT_ARCH_")
    return [name for name in native(tree) if word.search(tree.text(name))]


@check("the files that depend on the architecture compile to code for aarch64 and riscv64",
       append("src/linux/bpf.c", UNUSED), replace("src/base/raw_call.h", "__riscv", "__unheard"))
def architectures(tree):
    files = dependent(tree.whole()) if tree.only else dependent(tree)
    return [line for compiler in CROSS.values() for line in cross(tree, files, compiler, "-O1", "-S", "-o", os.devnull)]


@check("every file compiles for aarch64 without a warning", append("src/base/fd.c", UNUSED), cost=MINUTES)
def aarch64(tree):
    return cross(tree, native(tree), CROSS["aarch64"], "-fsyntax-only")


@check("every file compiles for riscv64 without a warning", append("src/base/fd.c", UNUSED), cost=MINUTES)
def riscv64(tree):
    return cross(tree, native(tree), CROSS["riscv64"], "-fsyntax-only")


@check("a banned function does not compile",
       replace("src/base/banned.h", "strcpy strcat", ""), replace("src/base/banned.h", "atoi", ""))
def banned(tree):
    names = "strcpy strcat sprintf vsprintf strtok gets mktemp tmpnam system popen alloca atoi atol".split()
    return [name for name in names
            if tree.run("sh", "-c", f"echo 'void *f(void) {{ return (void *){name}; }}' | "
                                     f"gcc {' '.join(FLAGS)} -fsyntax-only -x c -")[0] == 0]


@check("gcc's analyser finds nothing", append("src/base/fd.c", NULL_READ), append("src/base/fd.c", DOUBLE_FREE),
       cost=MINUTES, tool=("gcc", "12"))
def gcc_analyser(tree):
    return tree.each(native(tree), "gcc", *FLAGS, "-O2", "-Werror", "-fanalyzer", "-S", "-o", os.devnull)


# Functions that replace musl's.  The header that is read here is glibc's, with other names of parameters.
GLIBC_NAMES = {"src/base/string_functions.c", "src/base/open_once.c"}


def tidy(tree, *less):
    """Without some checks; a file at a time: clang-tidy 14 carries its knowledge of va_list from one to the next."""
    def argv(file):
        without = [*less, "readability-inconsistent-declaration-parameter-name"] if file in GLIBC_NAMES else less
        checks = ["--checks=" + ",".join(f"-{name}" for name in without)] if without else []
        return ["clang-tidy", "--quiet", *checks, file, "--", *FLAGS]
    return tree.each_of(native(tree), argv)


@check("clang-tidy finds nothing", append("src/base/fd.c", SAME), cost=MINUTES, tool=("clang-tidy", "14"))
def clang_tidy(tree):
    return tidy(tree, "clang-analyzer-*")


@check("clang's analyser finds nothing", append("src/base/fd.c", NULL_READ), cost=LONGER, tool=("clang-tidy", "14"))
def clang_analyser(tree):
    return tidy(tree)


@check("cppcheck finds nothing",
       append("src/base/fd.c", "\nint planted(void) {\n\tint a[2] = {0};\n\treturn a[2];\n}\n"),
       cost=MINUTES, tool=("cppcheck", "2.10"))
def cppcheck(tree):
    status, said = tree.run(
        "cppcheck", f"-j{JOBS}", "--quiet", "--std=c11", "--enable=warning,performance,portability,style",
        "-D_GNU_SOURCE", "-D__x86_64__", "-Iinclude", "-Isrc", "--error-exitcode=1",
        "--suppressions-list=tests/lint/suppressions.txt", "--template={file}:{line}: {id}: {message}",
        *native(tree))
    return said.splitlines() or [f"exit status {status}"] if status != 0 else []


@check("shellcheck finds nothing", append("packaging/packages.sh", "rm $unquoted\n"))
def shellcheck(tree):
    return tree.each(tree.files("**/*.sh"), "shellcheck")


@check("every C file is formatted", append("src/base/fd.c", "int  planted ;\n"), cost=MINUTES,
       tool=("clang-format", "14"))
def formatted(tree):
    return tree.each(tree.files("src/**/*.[ch]", "include/**/*.h", "tests/**/*.[ch]", "examples/*.c"),
                     "clang-format", "--dry-run", "-Werror")
