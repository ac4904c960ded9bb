# SPDX-License-Identifier: Apache-2.0
"""Other readers of the code: compilers, analysers, formatters.

None of them has a list of accepted findings.  clang-tidy's selection, with its
reasons, is .clang-tidy; cppcheck's exceptions are suppressions.txt."""
import os

from harness import FLAGS, JOBS, LONGER, MINUTES, append, check, replace

C_FILES = "src/**/*.c"
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers"]

UNUSED = "\nint planted(void) {\n\tint unused;\n\treturn 1;\n}\n"
NULL_READ = "\nint planted(int a);\nint planted(int a) {\n\tint *p = NULL;\n\treturn a > 3 ? *p : 0;\n}\n"
DOUBLE_FREE = "\nvoid planted(char *p) {\n\t__builtin_free(p);\n\t__builtin_free(p);\n}\n"
SAME = ("\nint planted(int a);\nint planted(int a) {\n\tif (a == 1) {\n\t\treturn 2;\n\t} else {\n\t\treturn 2;\n"
        "\t}\n}\n")


@check("every file compiles with clang without a warning", append("src/base/fd.c", UNUSED), cost=MINUTES)
def clang(tree):
    return tree.each(tree.files(C_FILES), "clang", *FLAGS, *WARNINGS, "-O2", "-D_FORTIFY_SOURCE=2", "-fsyntax-only")


@check("every file compiles for aarch64 without a warning", append("src/base/fd.c", UNUSED), cost=MINUTES)
def aarch64(tree):
    # The libraries' headers are the same on every architecture.
    shared = ["-idirafter", "/usr/include", "-idirafter", "/usr/include/x86_64-linux-gnu"]
    return tree.each(tree.files(C_FILES), "aarch64-linux-gnu-gcc", *FLAGS, *WARNINGS, *shared, "-fsyntax-only")


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
    return tree.each(tree.files(C_FILES), "gcc", *FLAGS, "-O2", "-Werror", "-fanalyzer", "-S", "-o", os.devnull)


# Functions that replace musl's.  The header that is read here is glibc's, with other names of parameters.
GLIBC_NAMES = {"src/base/string_functions.c", "src/base/open_once.c"}


def tidy(tree, *less):
    """Without some checks; a file at a time: clang-tidy 14 carries its knowledge of va_list from one to the next."""
    def argv(file):
        without = [*less, "readability-inconsistent-declaration-parameter-name"] if file in GLIBC_NAMES else less
        checks = ["--checks=" + ",".join(f"-{name}" for name in without)] if without else []
        return ["clang-tidy", "--quiet", *checks, file, "--", *FLAGS]
    return tree.each_of(tree.files(C_FILES), argv)


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
        *tree.files(C_FILES))
    return said.splitlines() or [f"exit status {status}"] if status != 0 else []


@check("shellcheck finds nothing", append("packaging/packages.sh", "rm $unquoted\n"))
def shellcheck(tree):
    return tree.each(tree.files("**/*.sh"), "shellcheck")


@check("every C file is formatted", append("src/base/fd.c", "int  planted ;\n"), cost=MINUTES,
       tool=("clang-format", "14"))
def formatted(tree):
    return tree.each(tree.files("src/**/*.[ch]", "include/*.h", "tests/**/*.[ch]", "examples/*.c"),
                     "clang-format", "--dry-run", "-Werror")
