# SPDX-License-Identifier: Apache-2.0
"""Projects that the rows of the tool chains work on and that are made, not kept.

What is a handful of files lies in fixtures/ as it is; here is what repeats.
"""
import os


def write(top, name, text):
    path = os.path.join(top, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def many_sources(top, count=40):
    """A program of many small files: enough for every job of a parallel build."""
    names = [f"part{i}" for i in range(count)]
    write(top, "parts.h", "".join(f"int {name}(void);\n" for name in names))
    for i, name in enumerate(names):
        write(top, f"{name}.c", f'#include "parts.h"\n\nint {name}(void) {{\n\treturn {i};\n}}\n')
    calls = " + ".join(f"{name}()" for name in names)
    write(top, "main.c", '#include "parts.h"\n\n#include <stdio.h>\n\n'
          f'int main(void) {{\n\tprintf("%d\\n", {calls});\n}}\n')
    objects = " ".join(f"{name}.o" for name in names)
    write(top, "Makefile", f"program: main.o libparts.a\n\t$(CC) -o $@ $^\nlibparts.a: {objects}\n\tar rcs $@ $^\n"
          "%.o: %.c parts.h\n\t$(CC) -O1 -g -c -o $@ $<\nclean:\n\trm -f *.o *.a program\n")
    rules = "".join(f"build {name}.o: cc {name}.c\n" for name in ["main", *names])
    write(top, "build.ninja", "rule cc\n  command = cc -MD -MF $out.d -c -o $out $in\n"
          "  depfile = $out.d\n  deps = gcc\n"
          f"rule link\n  command = cc -o $out $in\n{rules}build program: link main.o {objects}\n")


FIXTURES = {
    "many-sources": many_sources,
}
