#!/usr/bin/env python3
"""Real work inside, with no options.

    tests/work/run.py --corral build/corral [--user games] [--jobs N] [PATTERN]

Every row is done twice: outside as the control, then inside.  Exit status and
what the row prints have to be the same; a tool that is missing outside, or a
control that fails, is a skip with its reason.
"""
import argparse
import os
import re
import shutil
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "cli"))
from harness import Skip, Suite, check, equal, short  # noqa: E402  the path has to be set first

# A row may take long on a small machine; it must never hang the suite.
LONGEST = 180


class Row:
    """One piece of work: a script, what it needs, what it prepares."""

    def __init__(self, name, script, needs=(), prepare=None, status=0, root=False, user=True, blur=()):
        self.name, self.script, self.needs, self.prepare = name, script, needs, prepare
        self.status, self.root, self.user, self.blur = status, root, user, blur


def fixture(*names):
    def prepare(_box, top):
        for name in names:
            shutil.copy(f"{HERE}/fixtures/{name}", top)
    return prepare


def write(top, name, text):
    os.makedirs(os.path.dirname(f"{top}/{name}"), exist_ok=True)
    with open(f"{top}/{name}", "w", encoding="utf-8") as file:
        file.write(text)


def c_project(_box, top):
    """24 small files, a header, a library and a Makefile."""
    count = 24
    write(top, "parts.h", "".join(f"int part{i}(void);\n" for i in range(count)))
    for i in range(count):
        write(top, f"part{i}.c", f"#include \"parts.h\"\nint part{i}(void) {{ return {i}; }}\n")
    calls = " + ".join(f"part{i}()" for i in range(count))
    write(top, "main.c", f"#include <stdio.h>\n#include \"parts.h\"\nint main(void) {{ printf(\"%d\\n\", {calls}); }}\n")
    objects = " ".join(f"part{i}.o" for i in range(count))
    write(top, "Makefile", f"CC = gcc\nprog: main.o libparts.a\n\t$(CC) -o $@ $^\nlibparts.a: {objects}\n"
          "\tar rcs $@ $^\n%.o: %.c parts.h\n\t$(CC) -O1 -g -c -o $@ $<\nclean:\n\trm -f *.o *.a prog\n")
    write(top, "CMakeLists.txt", "cmake_minimum_required(VERSION 3.10)\nproject(parts C)\nfile(GLOB all *.c)\n"
          "add_executable(prog ${all})\nenable_testing()\nadd_test(NAME t COMMAND prog)\n")


def python_tests(_box, top):
    write(top, "code.py", "def add(a, b):\n    return a + b\n")
    write(top, "test_code.py", "import code as _stdlib\nimport importlib.util, pytest, subprocess, tempfile\n"
          "def load():\n    spec = importlib.util.spec_from_file_location('c', 'code.py')\n"
          "    m = importlib.util.module_from_spec(spec); spec.loader.exec_module(m); return m\n"
          "def test_add():\n    assert load().add(2, 3) == 5\n"
          "@pytest.mark.parametrize('n', range(5))\ndef test_many(n, tmp_path):\n    (tmp_path / 'x').write_text(str(n))\n"
          "def test_child():\n    assert subprocess.run(['true']).returncode == 0\n"
          "def test_wrong():\n    assert load().add(2, 2) == 5\n")


def npm_package(_box, top):
    write(top, "package.json", '{"name": "x", "version": "1.0.0", "scripts": {"pretest": "node -e \\"console.log(1)\\"", '
          '"test": "node test.js"}}')
    write(top, "test.js", "const assert = require('assert'); const fs = require('fs'); const os = require('os');\n"
          "fs.writeFileSync('made', 'x'); assert.strictEqual(fs.readFileSync('made', 'utf8'), 'x');\n"
          "fs.mkdtempSync(os.tmpdir() + '/t-'); assert.ok(os.cpus().length > 0); assert.ok(os.homedir());\n"
          "require('dns').lookup('localhost', (e, a) => { assert.ifError(e); console.log('tests passed'); });\n")


def java_source(_box, top):
    write(top, "Main.java", "import java.util.stream.*; public class Main { public static void main(String[] a) throws Exception {"
          " System.out.println(IntStream.range(0, 1000).parallel().sum());"
          " Process p = new ProcessBuilder(\"echo\", \"child\").inheritIO().start(); p.waitFor();"
          " System.out.println(java.nio.file.Files.createTempFile(\"x\", \"y\").toFile().delete()); } }\n")


def rust_package(_box, top):
    write(top, "Cargo.toml", "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2021\"\n")
    write(top, "src/main.rs", "fn main() { println!(\"{}\", (0..10).sum::<i32>()); }\n"
          "#[test]\nfn adds() { assert_eq!(1 + 1, 2); }\n")


def go_module(_box, top):
    write(top, "go.mod", "module x\n\ngo 1.19\n")
    write(top, "main.go", "package main\nimport \"fmt\"\nfunc main() { fmt.Println(1 + 1) }\n")


def page(box, top):
    write(top, "page.txt", "a page\n")
    fixture("server.py")(box, top)


POSTGRES = r"""
set -e
bin=$(ls -d /usr/lib/postgresql/*/bin | tail -1)
$bin/initdb -D data -U me --auth=trust -E UTF8 --locale=C.UTF-8 >init.log 2>&1 || { cat init.log; exit 1; }
$bin/pg_ctl -D data -w -t 60 -l server.log -o "-k $PWD -p 18475 -c listen_addresses=127.0.0.1" start >start.log 2>&1 ||
	{ cat start.log server.log; exit 1; }
psql -U me -h "$PWD" -p 18475 -d postgres -Atc 'create table t (n int); insert into t select generate_series(1, 1000); select sum(n) from t'
psql -U me -h 127.0.0.1 -p 18475 -d postgres -Atc 'select count(*) from t'
$bin/pg_ctl -D data -w -m fast stop >/dev/null
grep -c 'database system is shut down' server.log
"""

TMUX = r"""
export TMUX_TMPDIR=$PWD
tmux -L t -f /dev/null new-session -d -s s 'echo in-tmux >out; tty >>out; sleep 30'
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do test -s out && break; sleep 0.1; done
tmux -L t list-sessions -F '#{session_name}'
sleep 0.2
head -1 out; tail -1 out | sed 's/[0-9]*$//'
tmux -L t kill-server
"""

ROWS = [
    Row("git: init, add, commit, branch, merge, log, gc", """
set -e
git init -q -b main . && git config user.email a@b.c && git config user.name n
echo one >f && git add f && git commit -qm one && git branch side && git checkout -q side
echo two >>f && git commit -qam two && git checkout -q main && git merge -q side
git log --format=%s --all --graph; git status --short; git stash list; git gc -q; git fsck 2>&1 | grep -v -i checking || true
git clone -q . copy && git -C copy log --oneline | wc -l
git worktree add -q ../ws-tree 2>/dev/null || git worktree add -q inner-tree && git worktree list | wc -l
""", ["git"], root=True, blur=[(r"ws-tree", "tree"), (r"inner-tree", "tree")]),
    Row("make -j4 of a C project with 26 files, twice, and clean", """
set -e
make -j4 >log; ./prog; make -j4 | tail -1; touch parts.h; make -j4 | wc -l; make clean >/dev/null; ls | wc -l
""", ["make", "gcc"], c_project, root=True),
    Row("cmake, build and ctest", "set -e; cmake -S . -B b >log 2>&1 && cmake --build b -j4 >>log && b/prog && "
        "(cd b && ctest 2>&1 | grep 'tests passed')", ["cmake", "gcc"], c_project),
    Row("meson and ninja", "set -e; printf \"project('x','c')\\nexecutable('prog', 'main.c', include_directories: '.', "
        "objects: [])\\n\" >meson.build; printf 'int main(void){return 0;}' >main.c; meson setup b >log 2>&1 || { cat log; exit 1; }; "
        "ninja -C b >>log; b/prog; echo built", ["meson", "ninja", "gcc"]),
    Row("clang compiles and runs", "printf '#include <stdio.h>\\nint main(void){puts(\"x\");}' >x.c; clang -O2 x.c -o x && ./x", ["clang"]),
    Row("python3 -m venv with pip, and a program in it", """
set -e
/usr/bin/python3 -m venv v; . v/bin/activate; python -c 'import sys; print(sys.prefix != sys.base_prefix)'
pip --version | cut -d' ' -f1,2; pip list 2>/dev/null | head -1; echo fine
""", prepare=lambda box, top: None, root=True),
    Row("pytest -q, one test of eight failing", "/usr/bin/python3 -m pytest -q 2>&1 | tail -2; test -d .pytest_cache && echo cached",
        prepare=python_tests, blur=[(r"in [0-9.]+s", "in N s")], root=True),
    Row("npm test", "npm test 2>&1 | grep -v -e '^$' -e notice", ["npm", "node"], npm_package, root=True),
    Row("node: spawnSync, worker_threads, cluster", "node node.js", ["node"], fixture("node.js")),
    Row("node: a failing test and npm's exit status", "npm test >/dev/null 2>&1; echo $?", ["npm"],
        lambda box, top: write(top, "package.json", '{"name":"x","scripts":{"test":"node -e \\"process.exit(7)\\""}}')),
    Row("python http.server and urllib on loopback", "/usr/bin/python3 server.py", prepare=page, root=True),
    Row("sockets: tcp, udp, ipv6, unix, abstract, descriptors", "/usr/bin/python3 sockets.py", prepare=fixture("sockets.py"), root=True),
    Row("nc server and client", "nc -l -p 18476 >got & sleep 0.5; echo word | nc -q1 127.0.0.1 18476; wait; cat got", ["nc"]),
    Row("bash /dev/tcp against a server of its own", """
/usr/bin/python3 -c 'import socket; s=socket.create_server(("127.0.0.1",18477)); print("up",flush=True); c=s.accept()[0]; c.sendall(b"hello\\n"); c.close()' >up &
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do test -s up && break; sleep 0.1; done
bash -c 'exec 3<>/dev/tcp/127.0.0.1/18477; cat <&3'; wait
""", ["bash"]),
    Row("Postgres: initdb, start, query by socket and by TCP, stop", POSTGRES, ["psql"]),
    Row("gdb -batch: run, backtrace, registers", "gcc -g -O0 crash.c -o crash && gdb -batch -ex run -ex bt -ex 'p 6*7' ./crash 2>&1 | "
        "grep -E '^(begun|#[0-9]|\\$1|Program received)'", ["gdb", "gcc"], fixture("crash.c"), root=True,
        blur=[(r"0x[0-9a-f]+", "ADDR")]),
    Row("gdb attaches to a running process", "sleep 30 & p=$!; sleep 0.2; gdb -batch -p $p -ex 'p 6*7' 2>&1 | grep -F '$1 = 42'; kill $p",
        ["gdb"], root=True),
    Row("AddressSanitizer finds an overflow", "gcc -g -fsanitize=address leak.c -o leak 2>&1 && ./leak x 2>&1 | "
        "grep -E 'ERROR|SUMMARY|#0 .* in main' | sed 's/==[0-9]*==//'; echo", ["gcc"], fixture("leak.c"),
        blur=[(r"0x[0-9a-f]+", "ADDR")]),
    Row("LeakSanitizer finds a planted leak", "gcc -g -fsanitize=address leak.c -o leak && ./leak >out 2>&1; echo $?; "
        "grep -E 'SUMMARY|Direct leak' out", ["gcc"], fixture("leak.c"), root=True),
    Row("UndefinedBehaviorSanitizer reports", "printf 'int main(int c,char**v){(void)v; int x=2147483647; return (x+c)!=0;}' >u.c; "
        "gcc -fsanitize=undefined u.c -o u && ./u 2>&1 | cut -d: -f4-; true", ["gcc"]),
    Row("ThreadSanitizer finds a planted race", "gcc -g -fsanitize=thread race.c -o race && ./race >out 2>&1; echo $?; grep -c SUMMARY out",
        ["gcc"], fixture("race.c")),
    Row("strace -f true", "strace -f -o trace true; echo $?; grep -c execve trace; tail -1 trace | sed 's/^[0-9]* *//'", ["strace"], root=True),
    Row("valgrind runs a program", "gcc -g leak.c -o leak && valgrind -q --error-exitcode=9 ./leak; echo $?", ["valgrind", "gcc"], fixture("leak.c")),
    Row("python: pools, shared memory, spawn, threads, asyncio", "/usr/bin/python3 pool.py", prepare=fixture("pool.py"), root=True),
    Row("python: locks, links, maps, fifos, xattrs, temporary files", "/usr/bin/python3 files.py", prepare=fixture("files.py"), root=True),
    Row("sqlite3 with a write-ahead log and two writers", """
sqlite3 db 'pragma journal_mode=wal; create table t (n);'
for i in 1 2 3 4; do sqlite3 db ".timeout 5000" "insert into t values ($i)" & done; wait
sqlite3 db 'select sum(n) from t'
""", ["sqlite3"]),
    Row("tar, gzip, xz, zip and back", """
set -e
mkdir d && seq 1 5000 >d/f && ln -s f d/l && chmod 751 d/f
tar czf a.tgz d && tar cJf a.txz d && zip -qry a.zip d
for a in 'tar xzf a.tgz' 'tar xJf a.txz' 'unzip -qo a.zip'; do rm -rf d; $a; cksum <d/f; readlink d/l; stat -c %a d/f; done
""", ["xz", "zip", "unzip"]),
    Row("find -exec, xargs -P8, sort, awk, sed, tee, process substitution", """
mkdir t; seq 1 200 | xargs -P8 -I{} sh -c 'echo {} >t/{}'
find t -type f -exec cat {} + | sort -n | awk '{s+=$1} END {print s}'
find t -name '1*' -exec rm {} \\; ; ls t | wc -l
bash -c 'diff <(seq 3) <(seq 4) | tee out >/dev/null; wc -l <out; cat <<<here'
""", ["bash"]),
    Row("openssl: key, certificate, digest, a TLS server and client", """
set -e
openssl req -x509 -newkey rsa:2048 -nodes -keyout k.pem -out c.pem -subj /CN=localhost -days 1 2>/dev/null
openssl x509 -in c.pem -noout -subject; echo x | openssl dgst -sha256
openssl s_server -accept 127.0.0.1:18478 -key k.pem -cert c.pem -quiet >/dev/null 2>&1 & p=$!
for i in 1 2 3 4 5 6 7 8 9 10; do echo Q | openssl s_client -connect 127.0.0.1:18478 >o 2>/dev/null && break; sleep 0.2; done
grep -c 'BEGIN CERTIFICATE' o; kill $p
""", ["openssl"]),
    Row("ssh-keygen", "ssh-keygen -q -t ed25519 -N '' -f key -C c && ssh-keygen -lf key.pub | cut -d' ' -f1,3,4", ["ssh-keygen"]),
    Row("gpg: a key, a signature, and its agent", """
export GNUPGHOME=$PWD/g; mkdir -m 700 g
gpg --batch --quiet --passphrase '' --quick-gen-key me@example.org ed25519 2>err || { cat err; exit 1; }
echo text | gpg --batch --quiet --clearsign >s && gpg --batch --verify s 2>&1 | grep -c 'Good signature'
gpgconf --kill all
""", ["gpg"]),
    Row("ps, nproc, free, df, uptime, id, who am I", """
ps aux | head -1; ps -e | grep -c ' ps$'; nproc; free | head -1; df . | wc -l; uptime >/dev/null && echo up; id -u; pwd
test -r /proc/meminfo && test -r /proc/cpuinfo && test -r /proc/self/status && echo proc
""", ["ps", "free"], root=True, blur=[(r"USER +PID", "USER PID")]),
    Row("tmux: a detached session with a terminal", TMUX, ["tmux"]),
    Row("script makes a terminal", "script -qec 'tty; stty size' /dev/null </dev/null | sed 's/[0-9]*\\r*$//' | head -1", ["script"]),
    Row("python pty and a shell in it", "/usr/bin/python3 -c 'import pty; pty.spawn([\"/bin/echo\", \"through a pty\"])' </dev/null"),
    Row("javac and java", "javac Main.java && java -cp . Main", ["javac", "java"], java_source, root=True),
    Row("rustc and cargo build, run, test", "cargo build -q --offline 2>&1 && target/debug/x && cargo test -q --offline 2>&1 | grep 'test result' | cut -d. -f1",
        ["cargo", "rustc"], rust_package, root=True),
    Row("go build", "go build -o x . && ./x", ["go"], go_module),
    Row("perl, and a module that forks", "perl -MPOSIX -e 'my $p = fork; if (!$p) { exit 3 } waitpid $p, 0; print $? >> 8, \"\\n\"'", ["perl"]),
    Row("background jobs, traps, wait, timeout, nohup, flock, mktemp", """
bash -c 'set -m; sleep 0.1 & wait $!; trap "echo trapped" USR1; kill -USR1 $$; echo $?'
timeout 0.2 sleep 5; echo $?; nohup true >/dev/null 2>&1; echo $?; flock lock true; echo $?
t=$(mktemp -d) && rmdir $t && echo temporary; nice -n 5 true; echo $?; setsid -w true; echo $?; ulimit -n >/dev/null; echo $?
""", ["bash", "flock"]),
    Row("users, groups, names and the clock", "getent passwd $(id -u) | cut -d: -f1; getent hosts localhost | wc -l; date +%Z; locale 2>/dev/null | head -1; dpkg -s bash | head -2"),
    Row("a Debian package is built", """
set -e
mkdir -p p/DEBIAN p/usr/share/x; printf 'Package: x\\nVersion: 1\\nArchitecture: all\\nMaintainer: n <a@b.c>\\nDescription: x\\n' >p/DEBIAN/control
echo x >p/usr/share/x/f; dpkg-deb --root-owner-group -b p x.deb >/dev/null; dpkg-deb -c x.deb | wc -l; dpkg-deb -x x.deb out; cat out/usr/share/x/f
""", ["dpkg-deb"]),
    Row("a large tree: 2000 files written, listed, copied, removed", """
mkdir t; seq 1 2000 | xargs touch -- ; ls | wc -l; cp -r . ../big-copy 2>/dev/null || cp -r . /tmp/big-copy; rm -f -- [0-9]*; ls | wc -l
""", blur=[(r".*big-copy.*\n", "")]),
]


def toolchain_environment(box, env):
    """Compilers in the invoker's own home, where this user can reach them."""
    home = os.path.expanduser("~")
    for name, variable in ((".cargo", "CARGO_HOME"), (".rustup", "RUSTUP_HOME")):
        path = f"{home}/{name}"
        reachable = os.path.isdir(path) and (box.user.uid == os.getuid())
        if reachable:
            env[variable] = path
            if name == ".cargo":
                env["PATH"] = f"{path}/bin:{env['PATH']}"
    return env


def blurred(row, text, *tops):
    for top in tops:
        text = text.replace(top, "WORK")
    for pattern, plain in row.blur:
        text = re.sub(pattern, plain, text)
    return text


def work(box, row):
    env = toolchain_environment(box, dict(box.env))
    for tool in row.needs:
        if shutil.which(tool, path=env["PATH"]) is None:
            raise Skip(f"{tool} is not installed for {box.user.name}")
    places = {"outside": box.mkdir("outside/ws"), "inside": box.mkdir("inside/ws")}
    for top in places.values():
        if row.prepare:
            row.prepare(box, top)
        for base, dirs, files in os.walk(top):
            for name in dirs + files:
                box.own(f"{base}/{name}")
    outside = {**env, "TMPDIR": box.mkdir("tmp", 0o777)}  # so that the control leaves nothing on the host
    control = box.execute(["/bin/sh", "-c", row.script], cwd=places["outside"], env=outside, timeout=LONGEST)
    if control.status != row.status:
        raise Skip(f"the control fails with {control.status}: {short(control.out + control.err, 300)}")
    check(control.out.strip() or row.status, "the control prints nothing, so nothing could be compared")
    done = box.execute([box.corral, "run", "-c", row.script], cwd=places["inside"], env=env, timeout=LONGEST)
    if done.status != control.status:
        equal(done.status, control.status, f"status; stdout {short(done.out)}, stderr {short(done.err, 1500)}, {row.name}")
    wanted = blurred(row, control.out, places["outside"])
    got = blurred(row, done.out, places["inside"])
    equal(got, wanted, f"output (stderr {short(done.err)})")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--corral", required=True)
    parser.add_argument("--user", default="games")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("-v", action="store_true", help="print how long each row took")
    parser.add_argument("only", nargs="?", help="a regular expression for names of rows")
    args = parser.parse_args()
    suite = Suite(args.corral, args.user)
    for row in ROWS:
        suite.test(row.name, root=row.root, user=row.user)(lambda box, row=row: work(box, row))
    return suite.run(args.only, args.jobs)


if __name__ == "__main__":
    sys.exit(main())
