# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the shell, text, git and project rows."""
import json
import os
import subprocess

# Fixed, so that every run makes the same commits.
GIT = {
    "PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": "/nonexistent", "LC_ALL": "C.UTF-8",
    "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_DATE": "2024-01-02T03:04:05Z", "GIT_COMMITTER_DATE": "2024-01-02T03:04:05Z",
}
IDENTITY = ("user.name=Ann", "user.email=ann@example.org")


def write(top, name, text, mode=0o644):
    path = os.path.join(top, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)


def git(top, *words):
    subprocess.run(["git", "-C", top, *words], env=GIT, check=True, stdout=subprocess.DEVNULL)


def commit(top, message):
    git(top, "add", "-A")
    git(top, "commit", "-q", "-m", message)


def empty_repository(top):
    git(top, "init", "-q", "-b", "main", ".")
    for setting in IDENTITY:
        git(top, "config", *setting.split("="))


def repository(top):
    """Three commits, a tag, and a branch `side` that merges without a conflict."""
    empty_repository(top)
    write(top, "README.md", "# A project\n\nOne line.\n")
    write(top, "src/main.c", "int main(void) {\n\treturn 0;\n}\n")
    commit(top, "first")
    write(top, "notes.txt", "".join(f"note {n}\n" for n in range(1, 21)))
    commit(top, "second: notes")
    git(top, "tag", "-a", "v1.0", "-m", "the first version")
    git(top, "branch", "side")
    write(top, "README.md", "# A project\n\nOne line.\nAnother.\n")
    commit(top, "third: the readme grows")
    git(top, "switch", "-q", "side")
    write(top, "side.txt", "made on the side\n")
    commit(top, "side: a file")
    git(top, "switch", "-q", "main")


def conflict(top):
    """`repository`, and a branch `clash` that changes the same line as main."""
    repository(top)
    git(top, "switch", "-q", "-c", "clash", "HEAD~1")
    write(top, "README.md", "# A project\n\nOne line.\nSomething else.\n")
    commit(top, "clash: the readme differs")
    git(top, "switch", "-q", "main")


def text_files(top):
    """Words, numbers, a table and source lines to search and reshape."""
    names = ("oak", "elm", "ash", "fir", "yew", "box", "bay", "fig")
    write(top, "words.txt", "".join(f"{name}\n" for name in names))
    write(top, "table.csv", "name,height,year\n" + "".join(
        f"{name},{10 + 3 * i},{1990 + i}\n" for i, name in enumerate(names)))
    write(top, "data.json", '{"trees": [{"name": "oak", "height": 10}, {"name": "elm", "height": 13}], "count": 2}\n')
    write(top, "prose.txt", "The quick brown fox jumps over the lazy dog. " * 12 + "\n")
    write(top, "src/a.c", "/* TODO: shorter */\nint a(void) { return 1; }\n")
    write(top, "src/b.c", "int b(void) { return 2; } // TODO\n")
    write(top, "src/deep/c.py", "def c():\n    return 3  # TODO\n")


def c_project(top):
    """24 small files, a header, a library and a Makefile."""
    parts = [f"part{n}" for n in range(24)]
    write(top, "parts.h", "".join(f"int {part}(void);\n" for part in parts))
    for n, part in enumerate(parts):
        write(top, f"{part}.c", f'#include "parts.h"\nint {part}(void) {{ return {n}; }}\n')
    calls = " + ".join(f"{part}()" for part in parts)
    write(top, "main.c", '#include <stdio.h>\n#include "parts.h"\n'
          f'int main(void) {{ printf("%d\\n", {calls}); }}\n')
    objects = " ".join(f"{part}.o" for part in parts)
    write(top, "Makefile", f"CC = gcc\nprog: main.o libparts.a\n\t$(CC) -o $@ $^\nlibparts.a: {objects}\n"
          "\tar rcs $@ $^\n%.o: %.c parts.h\n\t$(CC) -O1 -g -c -o $@ $<\nclean:\n\trm -f *.o *.a prog\n")
    write(top, "CMakeLists.txt", "cmake_minimum_required(VERSION 3.10)\nproject(parts C)\nfile(GLOB all *.c)\n"
          "add_executable(prog ${all})\nenable_testing()\nadd_test(NAME t COMMAND prog)\n")
    write(top, "meson.build", "project('parts', 'c')\nsources = run_command('sh', '-c', 'ls part*.c', check: true)\n"
          "test('t', executable('prog', 'main.c', sources.stdout().strip().split('\\n')))\n")


def python_package(top):
    """A module with eight tests, of which one fails."""
    write(top, "code_under_test.py", "def add(a, b):\n    return a + b\n")
    write(top, "test_code.py", "import subprocess\n\nimport pytest\n\nfrom code_under_test import add\n\n\n"
          "def test_add():\n    assert add(2, 3) == 5\n\n\n"
          "@pytest.mark.parametrize('n', range(5))\ndef test_many(n, tmp_path):\n"
          "    (tmp_path / 'x').write_text(str(n))\n\n\n"
          "def test_child():\n    assert subprocess.run(['true']).returncode == 0\n\n\n"
          "def test_wrong():\n    assert add(2, 2) == 5\n")


def npm_package(top):
    scripts = {"pretest": "node -e 'console.log(1)'", "test": "node test.js", "fails": "node -e 'process.exit(7)'"}
    write(top, "package.json", json.dumps({"name": "x", "version": "1.0.0", "scripts": scripts}))
    write(top, "test.js", "const assert = require('assert'); const fs = require('fs'); const os = require('os');\n"
          "fs.writeFileSync('made', 'x'); assert.strictEqual(fs.readFileSync('made', 'utf8'), 'x');\n"
          "fs.mkdtempSync(os.tmpdir() + '/t-'); assert.ok(os.cpus().length > 0); assert.ok(os.homedir());\n"
          "require('dns').lookup('localhost', (e, a) => { assert.ifError(e); console.log('tests passed'); });\n")


def java_source(top):
    write(top, "Main.java", "import java.util.stream.*;\npublic class Main {\n"
          "\tpublic static void main(String[] a) throws Exception {\n"
          "\t\tSystem.out.println(IntStream.range(0, 1000).parallel().sum());\n"
          "\t\tnew ProcessBuilder(\"echo\", \"child\").inheritIO().start().waitFor();\n"
          "\t\tSystem.out.println(java.nio.file.Files.createTempFile(\"x\", \"y\").toFile().delete());\n\t}\n}\n")


def rust_crate(top):
    write(top, "Cargo.toml", "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2021\"\n")
    write(top, "src/main.rs", "fn main() {\n    println!(\"{}\", (0..10).sum::<i32>());\n}\n\n"
          "#[test]\nfn adds() {\n    assert_eq!(1 + 1, 2);\n}\n")


def go_module(top):
    write(top, "go.mod", "module x\n\ngo 1.19\n")
    write(top, "main.go", "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(1 + 1) }\n")


FIXTURES = {
    "c-parts": c_project,
    "conflict": conflict,
    "empty-repo": empty_repository,
    "go-hello": go_module,
    "java-main": java_source,
    "npm-small": npm_package,
    "python-tests": python_package,
    "repo": repository,
    "rust-hello": rust_crate,
    "text": text_files,
}
